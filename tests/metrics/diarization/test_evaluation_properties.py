"""What must hold of any turns whatever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.metrics import CONVENTIONS, RATES, score_diarization
from sms_diar.types import Segment, Turn

times = st.integers(0, 400)
sides = st.lists(
    st.tuples(
        st.sampled_from(["r", "q"]), times, st.integers(1, 80), st.sampled_from("ABCD")
    ),
    min_size=1,
    max_size=10,
)
collars = st.sampled_from([0.0, 0.1, 0.25, 0.5])
rules = st.sampled_from(list(CONVENTIONS))
all_options = st.fixed_dictionaries(
    {"collar": collars, "ignore_overlap": st.booleans(), "convention": rules}
)
PARTS = ("scored", "missed", "false_alarm", "confusion")


def turns(side, names=None, shift=0):
    """Turns in tenths of a second."""
    return [
        Turn(
            Segment(recording, (start + shift) / 10, (start + length + shift) / 10),
            speaker if names is None else names[speaker],
        )
        for recording, start, length, speaker in side
    ]


def figures(ref, hyp, **options):
    result = score_diarization(ref, hyp, **options)
    return [result.overall] + [score.figures for score in result.recordings.values()]


def der_parts(ref, hyp, **options):
    return [[row[name] for name in PARTS] for row in figures(ref, hyp, **options)]


def split(side, data):
    """Split each turn in two, or leave it."""
    parts = []
    for recording, start, length, speaker in side:
        cut = data.draw(st.integers(0, length - 1))
        if cut:
            parts.append((recording, start, cut, speaker))
        parts.append((recording, start + cut, length - cut, speaker))
    return parts


@given(sides, sides, all_options)
def test_renaming_speakers_changes_no_part_of_der(ref, hyp, options):
    names = {"A": "zoe", "B": "ann", "C": "mia", "D": "bob"}
    first = der_parts(turns(ref), turns(hyp), **options)
    assert der_parts(turns(ref, names), turns(hyp), **options) == first
    assert der_parts(turns(ref), turns(hyp, names), **options) == first


@given(sides, sides, all_options, st.randoms())
def test_the_order_of_lines_changes_no_part_of_der(ref, hyp, options, random):
    first = der_parts(turns(ref), turns(hyp), **options)
    shuffled = [random.sample(side, len(side)) for side in (ref, hyp)]
    assert der_parts(turns(shuffled[0]), turns(shuffled[1]), **options) == first


@given(sides, sides, all_options, st.data())
def test_splitting_a_turn_changes_no_part_of_der_without_a_collar(
    ref, hyp, options, data
):
    options["collar"] = 0.0
    first = der_parts(turns(ref), turns(hyp), **options)
    assert der_parts(turns(split(ref, data)), turns(hyp), **options) == first


@given(sides, sides, collars, st.data())
def test_splitting_a_turn_never_matters_by_our_own_rules(ref, hyp, collar, data):
    got = figures(turns(split(ref, data)), turns(hyp), collar=collar)
    want = figures(turns(ref), turns(hyp), collar=collar)
    for mine, theirs in zip(got, want, strict=True):
        assert mine == pytest.approx(theirs, abs=1e-9)


@given(sides, sides, all_options)
def test_parts_are_not_negative_and_add_up(ref, hyp, options):
    rows = figures(turns(ref), turns(hyp), **options)
    for row in rows:
        scored, missed, false_alarm, confusion = (row[name] for name in PARTS)
        assert min(scored, missed, false_alarm, confusion) >= 0.0
        assert missed + confusion <= scored + 1e-9
        if scored > 0:
            total = (missed + false_alarm + confusion) / scored
            assert row["der"] == pytest.approx(total, abs=1e-12)
    for name in PARTS:
        assert sum(row[name] for row in rows[1:]) == pytest.approx(rows[0][name])


@given(sides, all_options)
def test_a_reference_scored_against_itself_has_no_errors(side, options):
    for row in figures(turns(side), turns(side), **options):
        assert [row[name] for name in PARTS[1:]] == [0.0, 0.0, 0.0]
        assert row["der"] in (None, 0.0)


@given(sides, sides, all_options)
def test_shares_lie_between_0_and_1(ref, hyp, options):
    for row in figures(turns(ref), turns(hyp), **options):
        for name in RATES:
            if row[name] is None or name in ("der", "false_alarm_rate"):
                continue
            assert row[name] >= -1e-9, name
            if name not in ("h_ref_sys", "h_sys_ref", "mi"):
                assert row[name] <= 1 + 1e-9, name


@given(sides, sides, st.integers(1, 1000), rules)
def test_a_shift_in_time_changes_no_part_of_der(ref, hyp, shift, rule):
    first = der_parts(turns(ref), turns(hyp), convention=rule, collar=0.25)
    moved = der_parts(
        turns(ref, shift=shift), turns(hyp, shift=shift), convention=rule, collar=0.25
    )
    assert moved == first


@given(sides, sides)
def test_where_no_turns_of_a_speaker_overlap_the_parts_agree_between_tools(ref, hyp):
    # No collar, joint extent, no speaker twice at once: nothing is left to disagree on,
    # but for the recordings that only the hypothesis has.
    def apart(side):
        seen = {}
        for recording, start, length, speaker in sorted(side, key=lambda row: row[1]):
            if start > seen.get((recording, speaker), -1):
                seen[recording, speaker] = start + length
                yield recording, start, length, speaker

    reference = list(apart(ref))
    present = {row[0] for row in reference}
    answer = [row for row in apart(hyp) if row[0] in present]
    got = [
        der_parts(turns(reference), turns(answer), convention=rule, extent="joint")
        for rule in CONVENTIONS
    ]
    assert all(parts == got[0] for parts in got)
