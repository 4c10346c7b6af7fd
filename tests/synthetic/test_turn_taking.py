"""Plans of conversations: who speaks when."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar._random import named_generator
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic.conversation import (
    Conversation,
    Passage,
    Placement,
    Supply,
    TurnTaking,
    draw_shares,
    grain_of,
    plan_conversation,
)


def speech(n_speakers, n_passages=34, seed=0):
    """Passages of 0.7 s and more, 2.5 s on average."""
    rng = np.random.default_rng(seed)
    return {
        f"s{s}": [
            Passage(f"s{s}-{i}", f"s{s}", 0, int(700 + rng.exponential(1800)))
            for i in range(n_passages)
        ]
        for s in range(n_speakers)
    }


def plan(n_speakers=2, seconds=600, seed=0, said=None, **style):
    return plan_conversation(
        said or speech(n_speakers),
        TurnTaking(**style),
        recording="r",
        length=1000 * seconds,
        grain_ms=1,
        rng=named_generator(seed, "plan"),
    )


def counted(conversation):
    """How many speak in each millisecond: an independent count of the turns."""
    active = np.zeros(conversation.length, int)
    for turn in conversation.turns:
        start, end = (round(1000 * t) for t in (turn.segment.start, turn.segment.end))
        active[start:end] += 1
    return active


# --- values --------------------------------------------------------------------


def test_a_grain_is_whole_in_samples_and_milliseconds():
    assert grain_of(16000) == (16, 1)
    assert grain_of(22050) == (441, 20)
    assert grain_of(11025) == (441, 40)


def test_touching_speech_of_a_speaker_is_one_turn():
    passage = Passage("p", "rec", 0, 100)
    placements = tuple(
        Placement(who, passage, 0, length, start, False)
        for who, start, length in [
            ("a", 0, 10),
            ("b", 5, 10),
            ("a", 10, 10),
            ("a", 30, 5),
        ]
    )
    made = Conversation("r", 50, 20, placements, {"a": 0.5, "b": 0.5})
    # Grains of 20 ms: 0-20, 5-15 and 30-35 are 0-0.4, 0.1-0.3 and 0.6-0.7 s.
    assert [(t.segment.start, t.segment.end, t.speaker) for t in made.turns] == [
        (0.0, 0.4, "a"),
        (0.1, 0.3, "b"),
        (0.6, 0.7, "a"),
    ]
    assert (made.speech, made.overlapped) == (0.5, 0.2)
    assert made.talk == {"a": 0.5, "b": 0.2}


# --- what was asked for ----------------------------------------------------------


@pytest.mark.parametrize("n_speakers", [2, 8])
@pytest.mark.parametrize("segments", [None, (1, 3)], ids=["length", "segments"])
@pytest.mark.parametrize("overlap", [0.0, 0.25, 0.9])
def test_overlap_is_what_was_asked_for(overlap, segments, n_speakers):
    made = [
        plan(n_speakers, seed=seed, overlap=overlap, turn_segments=segments)
        for seed in range(2)
    ]
    for one in made:
        active = counted(one)
        assert active.max() <= 2
        share = np.sum(active >= 2) / np.sum(active >= 1)
        assert share == pytest.approx(one.overlapped / one.speech)
        assert share == pytest.approx(overlap, abs=0.02 if overlap < 0.9 else 0.03)


def test_turns_and_pauses_have_their_lengths():
    said = {name: [Passage(name, name, 0, 10**7)] for name in ("a", "b")}
    made = plan(said=said, seconds=20_000, turn_mean=3.0, turn_min=0.5, pause_mean=0.8)
    turns = [turn.segment for turn in made.turns]
    lengths = np.array([turn.duration for turn in turns])
    pauses = np.array([b.start - a.end for a, b in pairwise(turns)])
    # The standard deviations of exponentials are their means: 2.5 / sqrt(5200) = 0.035.
    assert lengths.min() >= 0.5
    assert lengths.mean() == pytest.approx(3.0, abs=0.15)
    assert lengths.std() == pytest.approx(2.5, abs=0.2)
    assert pauses.mean() == pytest.approx(0.8, abs=0.05)


def test_turns_of_segments_are_whole_segments():
    made = plan(turn_segments=(1, 3))
    counts = []
    before = None
    for one in made.placements[:-1]:  # the end of the conversation may cut the last
        assert (one.offset, one.length) == (0, one.passage.length)
        touches = before is not None and before.end == one.start
        if touches and before.speaker == one.speaker:
            counts[-1] += 1
        else:
            counts.append(1)
        before = one
    assert set(counts) == {1, 2, 3}


@pytest.mark.parametrize("overlap", [0.0, 0.25])
@pytest.mark.parametrize("dominance", ["even", "uneven", "zipf"])
def test_talk_is_shared_as_was_asked_for(dominance, overlap):
    made = plan(4, 1800, dominance=dominance, overlap=overlap)
    total = sum(made.talk.values())
    for speaker, share in made.shares.items():
        assert made.talk[speaker] / total == pytest.approx(share, abs=0.02)


def test_shares_of_zipf_fall_as_one_over_the_rank():
    shares = draw_shares(["a", "b", "c"], "zipf", np.random.default_rng(0))
    # 1 + 1/2 + 1/3 = 11/6
    assert list(shares.values()) == pytest.approx([6 / 11, 3 / 11, 2 / 11])


def test_uneven_shares_differ_by_no_more_than_five():
    shares = draw_shares([str(i) for i in range(40)], "uneven", named_generator(0))
    values = np.array(list(shares.values()))
    assert sum(values) == pytest.approx(1.0)
    assert 2.0 < values.max() / values.min() <= 5.0


def test_everybody_speaks_even_if_there_is_hardly_time():
    for seed in range(20):
        made = plan(8, 15, seed=seed, dominance="zipf", overlap=0.1)
        assert {turn.speaker for turn in made.turns} == {f"s{i}" for i in range(8)}


def test_speech_recurs_only_when_a_speaker_has_no_more():
    made = plan(2, 600, said=speech(2, 20))
    held = sum(one.length for said in speech(2, 20).values() for one in said) / 1000
    fresh = [one for one in made.placements if not one.is_repeated]
    assert sum(one.length for one in fresh) / 1000 == pytest.approx(held)
    assert made.repeated == pytest.approx(sum(made.talk.values()) - held)
    assert plan(2, 30).repeated == 0.0


@given(
    st.integers(1, 5),
    st.integers(5, 90),
    st.floats(0.0, 0.9),
    st.sampled_from([None, (1, 1), (1, 4)]),
    st.sampled_from(["even", "uneven", "zipf"]),
    st.floats(0.0, 2.0),
    st.integers(0, 10**6),
)
def test_plans_are_sound(
    n_speakers, seconds, overlap, segments, dominance, pause, seed
):
    made = plan(
        n_speakers,
        seconds,
        seed,
        overlap=overlap if n_speakers > 1 else 0.0,
        turn_segments=segments,
        dominance=dominance,
        pause_mean=pause,
    )
    assert set(made.talk) == {turn.speaker for turn in made.turns}
    starts = [one.start for one in made.placements]
    assert starts == sorted(starts)
    last = {}
    for one in made.placements:
        assert one.length > 0
        assert one.offset + one.length <= one.passage.length
        assert last.get(one.speaker, 0) <= one.start < one.end <= made.length
        last[one.speaker] = one.end
    assert counted(made).max() <= 2


# --- what cannot be -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("overlap", 0.95),
        ("overlap", -0.1),
        ("turn_mean", 0.5),  # less than turn_min
        ("turn_min", 0),
        ("pause_mean", -1.0),
        ("turn_segments", (3, 1)),
        ("dominance", "fair"),
    ],
)
def test_wrong_settings_are_refused(name, value):
    with pytest.raises(InvalidParameterError, match=f"^simulate: {name} must be"):
        TurnTaking(**{name: value})


def test_a_conversation_too_short_for_its_speakers_is_refused():
    message = r"duration must let each of 8 speakers have a turn \(8 s\), got 6 s"
    with pytest.raises(InvalidParameterError, match=message):
        plan(8, 6)


# --- speech handed out ---------------------------------------------------------------


def passages(*lengths):
    return [Passage(f"p{i}", "rec", 0, length) for i, length in enumerate(lengths)]


def supply(*lengths, shortest=10):
    return Supply(passages(*lengths), shortest, np.random.default_rng(0))


def test_a_passage_is_cut_and_goes_on_where_it_was_cut():
    one = supply(100)
    first, second = one.take(40), one.take(40)
    assert [(s.offset, s.length) for s in first] == [(0, 40)]
    # 60 are left, of which 40 are wanted; 20 stay.
    assert [(s.offset, s.length) for s in second] == [(40, 40)]
    assert [(s.offset, s.length, s.is_repeated) for s in one.take(20)] == [
        (80, 20, False)
    ]


def test_no_scrap_is_cut_off_or_left_over():
    # 45 of 50 would leave 5, less than 10: all 50 are taken.
    assert [s.length for s in supply(50).take(45)] == [50]
    # 55 of 50 would need 5 of the next one: 50 will do.
    assert [s.length for s in supply(50, 50).take(55)] == [50]
    assert [s.length for s in supply(50, 50).take(60)] == [50, 10]


def test_whole_passages_can_be_asked_for():
    taken = supply(50, 70, 90).take(float("inf"), 2)
    assert [s.length for s in taken] == [s.passage.length for s in taken]
    assert len(taken) == 2


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=6),
    st.lists(st.integers(1, 90), min_size=1, max_size=20),
    st.integers(1, 20),
)
def test_every_grain_is_used_once_before_any_is_used_twice(lengths, wants, shortest):
    one = Supply(passages(*lengths), shortest, np.random.default_rng(1))
    uses = {f"p{i}": np.zeros(length, int) for i, length in enumerate(lengths)}
    for want in wants:
        for stretch in one.take(want):
            used = uses[stretch.passage.id]
            used[stretch.offset : stretch.offset + stretch.length] += 1
            everything = np.concatenate(list(uses.values()))
            assert everything.max() - everything.min() <= 1
            assert stretch.is_repeated == (everything.max() > 1)
