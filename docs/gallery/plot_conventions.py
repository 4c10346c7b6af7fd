"""
Same turns, different DER
=========================

A diarization error rate means little without its rules. Here one reference and one
hypothesis are scored under many.
"""

# %%
# The reference belongs to the conversation that ships with the package. The
# hypothesis has the faults that systems have: boundaries late by a quarter of a
# second, short turns lost, overlap unknown, one turn with the wrong speaker, and a
# noise taken for speech at the end.

import matplotlib.pyplot as plt

import sms_diar
from sms_diar import Segment, Turn
from sms_diar.datasets import sample_conversation

truth = list(sms_diar.read_rttm(sample_conversation().reference))
truth.sort(key=lambda turn: turn.segment.start)
name = truth[0].segment.recording
speakers = sorted({turn.speaker for turn in truth})

hypothesis = []
last = 0.0
for place, turn in enumerate(truth):
    if turn.segment.duration < 1.5:
        continue
    start, end = turn.segment.start + 0.25, turn.segment.end + 0.25
    start = max(start, last)  # one speaker at a time
    last = end
    who = turn.speaker if place != 7 else speakers[0]
    hypothesis.append(Turn(Segment(name, start, end), who))
hypothesis.append(Turn(Segment(name, last + 2.0, last + 5.0), speakers[1]))

# %%
# Every row is one call of :func:`sms_diar.score`. A collar "in all" is the sum of both
# sides of a boundary, which is how pyannote.metrics counts it.

rules = {
    "default: no collar": {},
    "collar 0.25 s on each side": {"collar": 0.25},
    "collar 0.25 s in all": {"collar_total": 0.25},
    "collar 0.5 s on each side": {"collar": 0.5},
    "overlap ignored": {"ignore_overlap": True},
    "collar 0.25 s, overlap ignored": {"collar": 0.25, "ignore_overlap": True},
    "extent of the reference": {"extent": "reference"},
    "convention nist": {"convention": "nist"},
    "convention dscore": {"convention": "dscore"},
    "convention pyannote": {"convention": "pyannote"},
}
results = {
    words: sms_diar.score(truth, hypothesis, **rule).overall
    for words, rule in rules.items()
}

# %%
# A UEM says which part of a recording is scored. Here it is the middle.

from pathlib import Path
from tempfile import TemporaryDirectory

with TemporaryDirectory() as folder:
    path = Path(folder) / "middle.uem"
    path.write_text(f"{name} 1 20.0 70.0\n", encoding="utf-8")
    regions = sms_diar.read_uem(path)
results["UEM: 20 s to 70 s only"] = sms_diar.score(
    truth, hypothesis, uem=regions
).overall

# %%
# The three parts of each figure.

parts = {
    "missed": ("missed_rate", "#555555"),
    "false alarm": ("false_alarm_rate", "#E69F00"),
    "confusion": ("confusion_rate", "#D55E00"),
}
figure, one = plt.subplots(figsize=(9, 5.6), layout="constrained")
for row, overall in enumerate(results.values()):
    left = 0.0
    for part, (key, colour) in parts.items():
        share = 100 * overall[key]
        label = part if row == 0 else None
        one.barh(row, share, left=left, color=colour, height=0.7, label=label)
        left += share
    der = 100 * overall["der"]
    one.text(left + 0.2, row, f"{der:.1f} %  of {overall['scored']:.1f} s", va="center")
one.axvline(
    100 * results["default: no collar"]["der"],
    color="black",
    ls="--",
    lw=0.8,
    label="default",
)
one.set_yticks(range(len(results)), list(results))
one.invert_yaxis()
one.set(
    xlabel="share of the scored speech, %",
    xlim=(0, 36),
    title="DER of one hypothesis under different rules",
)
one.legend(loc="center right", fontsize=11)
plt.show()

# %%
# A collar forgives late boundaries and takes short turns out altogether. Ignoring
# overlap hides that a system knows none. An extent that ends with the reference does
# not see what a system says after it. None of this is wrong, but two figures can only
# be compared if all of it is the same, so every report names it (`--explain`):

print(sms_diar.score(truth, hypothesis, collar=0.25, ignore_overlap=True))
