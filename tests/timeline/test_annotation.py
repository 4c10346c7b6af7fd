"""Who speaks when, as a value."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.annotation import Annotation, AnnotationBuilder, turn_problems
from sms_diar.timeline.ticks import ticks_of
from sms_diar.types import Segment, Turn


def turn(start, end, speaker="s", recording="r"):
    return Turn(Segment(recording, start, end), speaker)


def annotation(*rows, name="x"):
    """Lines of a file: (start, end, speaker)."""
    builder = AnnotationBuilder()
    for number, (start, end, speaker) in enumerate(rows, start=1):
        builder.add("r", "1", speaker, ticks_of(start), ticks_of(end), number)
    builder.close_file(name)
    return builder.annotation()


def test_turns_in_memory_become_columns():
    turns = Annotation.from_turns([turn(0.1, 0.3)])
    assert (turns.recordings, turns.speakers) == (("r",), ("s",))
    assert (turns.start.tolist(), turns.end.tolist()) == ([10**11], [3 * 10**11])
    assert turns.line.tolist() == [0]
    assert turn_problems(turns) == []
    numpy_turn = turn(np.float64(0.1), np.float64(0.3))
    assert Annotation.from_turns([numpy_turn]) == turns


def test_turns_come_back_in_the_order_given():
    turns = [turn(2.0, 3.5, "b"), turn(0.1, 0.3, "a", "q"), turn(0.0, 1.0, "a")]
    value = Annotation.from_turns(iter(turns))
    assert list(value) == turns
    assert list(value) == turns  # and not only once
    assert len(value) == 3
    assert (value.recordings, value.speakers) == (("r", "q"), ("b", "a"))
    assert repr(value) == "<Annotation: 3 turns, 2 speakers, 2 recordings>"


def test_lines_without_length_are_kept_but_are_not_turns():
    value = annotation((0, 1, "s"), (2, 2, "s"), (8, 4, "t"))
    assert list(value) == [turn(0.0, 1.0)]
    assert len(value) == 1
    assert len(value.start) == 3
    assert [(p.line, p.kind) for p in turn_problems(value)] == [
        (2, "no length"),
        (3, "negative length"),
    ]


def test_a_turn_too_short_for_floats_is_no_turn():
    # floats near 999,999 are 1.2e-10 apart
    value = annotation(("999999", "999999.000000000001", "s"))
    assert (len(value), list(value)) == (0, [])


def test_equal_means_the_same_lines_in_the_same_order():
    one = annotation((0, 1, "s"), (1, 2, "t"))
    assert one == annotation((0, 1, "s"), (1, 2, "t"), name="elsewhere")
    assert one == Annotation.from_turns([turn(0, 1), turn(1, 2, "t")])
    # however the names are numbered
    swapped = replace(one, speakers=("t", "s"), speaker=one.speaker[::-1])
    assert one == swapped
    assert one != annotation((1, 2, "t"), (0, 1, "s"))
    assert one != annotation((0, 1, "s"), (1, 2, "s"))
    assert one != annotation((0, 1, "s"), (1, 3, "t"))
    assert one != annotation((0, 1, "s"))
    assert one != Annotation.from_turns([turn(0, 1), turn(1, 2, "t", "q")])
    assert one != replace(one, channels=("2",))
    assert one != [turn(0, 1), turn(1, 2, "t")]


def test_self_overlaps_are_found_across_turns_in_between():
    # s 0-10 covers s 4-5 although s 1-2 ended before; t is another speaker
    value = annotation((0, 10, "s"), (1, 2, "s"), (3, 4, "t"), (4, 5, "s"))
    assert [(p.line, p.kind) for p in turn_problems(value)] == [
        (2, "self-overlap"),
        (4, "self-overlap"),
    ]


@pytest.mark.parametrize("turns", ["x.rttm", [3]])
def test_what_is_not_turns_is_refused(turns):
    with pytest.raises(InvalidParameterError, match="from_turns: turns must be"):
        Annotation.from_turns(turns)


def test_an_annotation_is_a_sequence_of_its_turns():
    turns = [
        turn(2.0, 3.5, "cy", "b"),
        turn(0.0, 1.0, "ann", "a"),
        turn(0.25, 1.0, "bob", "b"),
        turn(2.0, 3.5, "cy", "b"),
    ]
    annotation = Annotation.from_turns(turns)
    assert isinstance(annotation, Sequence)
    assert [annotation[i] for i in range(-4, 4)] == turns + turns
    assert annotation[np.int64(1)] == turns[1]
    assert list(reversed(annotation)) == turns[::-1]
    assert (annotation.index(turns[2]), annotation.count(turns[0])) == (2, 2)
    assert turns[1] in annotation
    assert turn(0.0, 1.0, "bob", "a") not in annotation
    for index in (4, -5):
        with pytest.raises(IndexError, match="the annotation has 4"):
            annotation[index]
    for index in (1.0, "1", None):
        with pytest.raises(TypeError):
            annotation[index]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3))), st.data())
def test_a_slice_is_the_annotation_of_these_turns(drawn, data):
    turns = [
        Turn(Segment(f"r{recording}", float(place), place + 1.0), f"s{speaker}")
        for place, (recording, speaker) in enumerate(drawn)
    ]
    chosen = data.draw(st.slices(len(turns)))
    part = Annotation.from_turns(turns)[chosen]
    expected = Annotation.from_turns(turns[chosen])
    assert part == expected
    assert list(part) == turns[chosen]
    assert part.recordings == expected.recordings
    assert part.speakers == expected.speakers


def test_lines_that_are_not_turns_have_no_index():
    lines = annotation((0, 0, "a"), (5, 6, "b"), (9, 3, "c"))
    assert [lines[0], lines[-1]] == [turn(5, 6, "b")] * 2
    assert len(lines[:]) == 1
