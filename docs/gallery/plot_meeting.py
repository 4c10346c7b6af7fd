"""
A meeting, and what was heard of it
===================================

The conversation that comes with the package: ninety seconds, four speakers, a little
overlap. It is diarized by the i-vector model that comes with the package as well, and
drawn below its reference.
"""

# %%
# Who spoke when. ``model="embedded"`` is what a machine without the networks does.

import matplotlib.pyplot as plt

import sms_diar
from sms_diar.datasets import sample_conversation
from sms_diar.report.figures import COLOURS

audio, reference = sample_conversation()
found = sms_diar.diarize(audio, model="embedded")
print(found)

# %%
# The score says which found speaker is which true one.

truth = list(sms_diar.read_rttm(reference))
turns = list(found.recordings[0].turns)
report = sms_diar.score(truth, turns, collar=0.25)
[score] = report.recordings.values()
print(report)

# %%
# Speakers found have the colour and the lane of the true speaker they were mapped to.
# The lowest lane shows where the two disagree.

names = sorted({turn.speaker for turn in truth})
lanes = {name: lane for lane, name in enumerate(names)}
extra = sorted({turn.speaker for turn in turns} - set(score.mapping))
lanes |= {name: len(names) + place for place, name in enumerate(extra)}


def lane_of(turn, mapping):
    """Return the lane of the true speaker to which a turn is mapped."""
    return lanes[mapping.get(turn.speaker, turn.speaker)]


figure, axes = plt.subplots(
    3,
    1,
    figsize=(9, 5.6),
    sharex=True,
    height_ratios=(4, 4, 1),
    layout="constrained",
)
for one, title, listed, mapping in (
    (axes[0], "Reference", truth, {}),
    (axes[1], "Found", turns, score.mapping),
):
    for turn in listed:
        lane = lane_of(turn, mapping)
        bar = (turn.segment.start, turn.segment.duration)
        one.broken_barh([bar], (lane - 0.38, 0.76), facecolors=COLOURS[lane])
    words = {lanes[name]: name for name in names}
    if mapping:
        short = {
            name: name.removeprefix("conversation-") for name in (*mapping, *extra)
        }
        words = {lanes[true]: f"{short[own]} = {true}" for own, true in mapping.items()}
        words |= {lanes[name]: f"{short[name]} = nobody" for name in extra}
    one.set_yticks(list(words), list(words.values()))
    one.set_ylim(max(lanes.values()) + 0.5, -0.5)
    one.set_title(title, loc="left")
    one.grid(visible=True, axis="x", alpha=0.25)


def speaking(listed, time, mapping):
    """Return the true speakers at a time."""
    return {
        mapping.get(turn.speaker, turn.speaker)
        for turn in listed
        if turn.segment.start <= time < turn.segment.end
    }


step = 0.05
for place in range(int(found.recordings[0].duration / step)):
    time = (place + 0.5) * step
    true = speaking(truth, time, {})
    said = speaking(turns, time, score.mapping)
    if true != said:
        colour = "#D55E00" if true and said else "#555555" if true else "#E69F00"
        axes[2].broken_barh([(time - step / 2, step)], (0, 1), facecolors=colour)
axes[2].set(yticks=[], xlabel="seconds", xlim=(0, found.recordings[0].duration))
axes[2].set_title(
    "Errors: grey missed, red wrong speaker, yellow false alarm", loc="left"
)
figure.suptitle(
    f"Who spoke when: DER {100 * report.overall['der']:.1f} %, collar 0.25 s"
)
plt.show()

# %%
# ``sms_diar.report_page(found, audio=audio).write("report.html")`` writes a page in
# which these turns can be heard and corrected.
