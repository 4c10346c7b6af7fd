"""Labelled windows to turns."""

import bisect
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.timeline.regions import speech_of_turns
from sms_diar.timeline.turns import (
    exclusive_turns,
    labels_to_turns,
    tidy_turns,
    turn_confidence,
)
from sms_diar.types import Segment, Turn


def turns_of(*windows, **kwargs):
    """Turns of windows (start, end, speaker) of one recording, as such triples."""
    segments = {f"w{i:05d}": Segment("r", s, e) for i, (s, e, _) in enumerate(windows)}
    labels = {f"w{i:05d}": speaker for i, (_, _, speaker) in enumerate(windows)}
    turns = labels_to_turns(segments, labels, **kwargs)
    return [(turn.segment.start, turn.segment.end, turn.speaker) for turn in turns]


@pytest.mark.parametrize(
    ("windows", "turns"),
    [
        ([(0, 1, "a"), (1, 2, "a"), (1.5, 3, "a")], [(0, 3, "a")]),
        # Overlap from 2 to 5, half way at 3.5.
        ([(0, 5, "a"), (2, 6, "b")], [(0, 3.5, "a"), (3.5, 6, "b")]),
        ([(0, 1, "a"), (1.5, 2, "a")], [(0, 1, "a"), (1.5, 2, "a")]),
        # 1.5 s every 0.25 s; the third of five is b. Its neighbours overlap it from 0.5
        # to 1.75 (half way: 1.125) and from 0.75 to 2.0 (half way: 1.375).
        (
            [(0.25 * i, 0.25 * i + 1.5, "aabaa"[i]) for i in range(5)],
            [(0, 1.125, "a"), (1.125, 1.375, "b"), (1.375, 2.5, "a")],
        ),
        ([(0, 10, "a"), (3, 5, "b")], [(0, 3, "a"), (3, 5, "b"), (5, 10, "a")]),
        (
            [(0, 10, "a"), (2, 8, "b"), (4, 6, "a")],
            [(0, 2, "a"), (2, 4, "b"), (4, 6, "a"), (6, 8, "b"), (8, 10, "a")],
        ),
        # Inner overlap from 4 to 5, half way at 4.5.
        (
            [(0, 10, "a"), (2, 5, "b"), (4, 7, "c")],
            [(0, 2, "a"), (2, 4.5, "b"), (4.5, 7, "c"), (7, 10, "a")],
        ),
        # A window inside one of the same speaker does not displace b.
        (
            [(1, 9, "a"), (0, 10, "a"), (8, 9.5, "b")],
            [(0, 8, "a"), (8, 9.5, "b"), (9.5, 10, "a")],
        ),
        # Shared from 0 to 4, and from 6 to 10.
        ([(0, 10, "a"), (0, 4, "b")], [(0, 2, "b"), (2, 10, "a")]),
        ([(0, 10, "a"), (6, 10, "b")], [(0, 8, "a"), (8, 10, "b")]),
    ],
    ids=[
        "windows of one speaker are joined",
        "the boundary is half way in the overlap",
        "gaps stay gaps",
        "a sliding window owns its middle",
        "an inner window is laid over the outer one",
        "the innermost window is on top",
        "inner windows are cut among themselves",
        "an inner window of the same speaker is ignored",
        "windows that share their start are cut half way",
        "windows that share their end are cut half way",
    ],
)
def test_turns_of_windows_by_hand(windows, turns):
    assert turns_of(*windows) == turns_of(*windows[::-1]) == turns


def test_small_gaps_of_one_speaker_can_be_bridged():
    # gaps: 0.5 (bridged), 0.25 and 0.25 (another speaker), 0.75 (too long)
    rest = [(2.25, 3, "b"), (3.25, 4, "a"), (4.75, 5, "a")]
    windows = [(0, 1, "a"), (1.5, 2, "a"), *rest]
    assert turns_of(*windows, max_gap=0.5) == [(0, 2, "a"), *rest]


def test_identical_windows_are_halved_in_order_of_their_ids():
    window = Segment("r", 0.0, 4.0)
    halves = [Turn(Segment("r", 0.0, 2.0), "z"), Turn(Segment("r", 2.0, 4.0), "a")]
    segments = {"i1": window, "i2": window, "i3": window}
    labels = {"i3": "a", "i2": "m", "i1": "z"}
    assert labels_to_turns(segments, labels) == halves
    assert labels_to_turns(segments, dict(reversed(labels.items()))) == halves


def test_recordings_are_kept_apart_and_sorted():
    segments = {"1": Segment("y", 0.0, 2.0), "2": Segment("x", 1.0, 3.0)}
    assert labels_to_turns(segments, {"1": "a", "2": "a"}) == [
        Turn(Segment("x", 1.0, 3.0), "a"),
        Turn(Segment("y", 0.0, 2.0), "a"),
    ]


def test_windows_without_a_label_are_left_out():
    segments = {"1": Segment("x", 0.0, 2.0), "2": Segment("x", 1.0, 3.0)}
    assert labels_to_turns(segments, {"2": "a"}) == [Turn(Segment("x", 1.0, 3.0), "a")]
    assert labels_to_turns(segments, {}) == []


@pytest.mark.parametrize(
    ("segments", "labels", "max_gap", "message"),
    [
        ({}, {"2": "a"}, 0, "segments must cover all labels, got none for '2'"),
        ({"1": Segment("x", 0.0, 1.0)}, {"1": 0}, 0, "labels must be names, got 0"),
        ({}, {}, -1, "max_gap must be"),
        ("segments", {}, 0, "segments must be a mapping, got the path 'segments'"),
        ({}, "utt2spk", 0, "labels must be a mapping, got the path 'utt2spk'"),
    ],
)
def test_wrong_arguments_are_refused(segments, labels, max_gap, message):
    with pytest.raises(InvalidParameterError, match=f"^labels_to_turns: {message}"):
        labels_to_turns(segments, labels, max_gap=max_gap)


# Times on a coarse grid, so that edges often coincide.
spans = st.tuples(st.integers(0, 24), st.integers(1, 12)).map(lambda t: (t[0], sum(t)))
labelled = st.lists(
    st.tuples(spans, st.sampled_from("abc")).map(lambda w: (*w[0], w[1])), max_size=12
)


def union(spans):
    """Disjoint, non-touching intervals that cover the same moments."""
    merged = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(end, merged[-1][1])
        else:
            merged.append([start, end])
    return merged


any_floats = st.lists(
    st.tuples(st.floats(0, 9), st.floats(0, 9), st.sampled_from("ab"))
).map(lambda windows: [window for window in windows if window[0] < window[1]])


@given(labelled | any_floats)
def test_turns_cover_exactly_what_the_windows_cover(windows):
    covered = union(turn[:2] for turn in turns_of(*windows))
    assert covered == union(window[:2] for window in windows)


@given(labelled)
def test_turns_are_sorted_merged_and_do_not_overlap(windows):
    for before, after in pairwise(turns_of(*windows)):
        assert before[1] <= after[0]
        assert before[1] < after[0] or before[2] != after[2]


@given(labelled)
def test_every_moment_has_the_label_of_a_window_that_covers_it(windows):
    for start, end, speaker in turns_of(*windows):
        own = [window[:2] for window in windows if window[2] == speaker]
        assert any(s <= start and end <= e for s, e in union(own))


@given(labelled, st.permutations("abc"))
def test_renaming_speakers_renames_turns(windows, names):
    rename = dict(zip("abc", names, strict=True))
    renamed = turns_of(*[(s, e, rename[speaker]) for s, e, speaker in windows])
    assert renamed == [(s, e, rename[speaker]) for s, e, speaker in turns_of(*windows)]


@given(labelled, st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(windows, random):
    segments = {f"w{i}": Segment("r", s, e) for i, (s, e, _) in enumerate(windows)}
    labels = [(f"w{i}", speaker) for i, (_, _, speaker) in enumerate(windows)]
    turns = labels_to_turns(segments, dict(labels))
    random.shuffle(labels)
    assert labels_to_turns(segments, dict(labels)) == turns


@given(labelled.filter(len), st.data())
def test_splitting_a_window_where_nobody_else_speaks_changes_nothing(windows, data):
    which = data.draw(st.integers(0, len(windows) - 1))
    start, end, speaker = windows[which]
    place = data.draw(st.integers(2 * start + 1, 2 * end - 1)) / 2
    others = [window for window in windows if window[2] != speaker]
    assume(not any(s <= place <= e for s, e, _ in others))
    halves = [(start, place, speaker), (place, end, speaker)]
    split = [*windows[:which], *halves, *windows[which + 1 :]]
    assert turns_of(*split) == turns_of(*windows)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from("ab"))))
def test_ordered_windows_are_cut_between_neighbours(steps):
    # The rule by itself, for windows whose starts and ends both increase: windows i
    # and i + 1 that overlap are cut at (end of i + start of i + 1) / 2.
    start, end, windows = 0, 1, []
    for step, stretch, speaker in steps:
        start += step
        end = max(end + stretch, start + 1)
        windows.append((start, end, speaker))
    pieces = [list(window) for window in windows]
    for (_, end, _), (start, _, _), left, right in zip(
        windows, windows[1:], pieces, pieces[1:], strict=False
    ):
        if start < end:
            left[1] = right[0] = (end + start) / 2
    joined = []
    for start, end, speaker in pieces:
        if start == end:
            continue
        if joined and joined[-1][1] == start and joined[-1][2] == speaker:
            joined[-1][1] = end
        else:
            joined.append([start, end, speaker])
    assert turns_of(*windows) == [tuple(piece) for piece in joined]


def test_long_recordings_take_no_quadratic_time():
    rng = np.random.default_rng(3)
    windows = [(0.25 * i, 0.25 * i + 1.5, f"s{rng.integers(4)}") for i in range(20_000)]
    nested = [(0.0, 5001.5 + i, "outer") for i in range(3)]
    turns = turns_of(*windows, *nested)
    assert sum(end - start for start, end, _ in turns) == 5003.5


@pytest.mark.corpus
def test_boundaries_of_a_meeting_are_those_of_vbx(corpus_data):
    # VBx's labels are not stored, but every window holds its own middle, so its
    # label is the speaker of VBx's answer there.
    folder = corpus_data / "ami-es2005a"
    windows = read_segments(folder / "segments")
    answer = sorted(read_rttm(folder / "vbx.rttm"))
    starts = [turn.segment.start for turn in answer]
    labels = {}
    for name, window in windows.items():
        middle = (window.start + window.end) / 2.0
        labels[name] = answer[bisect.bisect(starts, middle) - 1].speaker
    turns = labels_to_turns(windows, labels)
    assert [turn.speaker for turn in turns] == [turn.speaker for turn in answer]
    np.testing.assert_allclose(
        [(turn.segment.start, turn.segment.end) for turn in turns],
        [(turn.segment.start, turn.segment.end) for turn in answer],
        rtol=0.0,
        atol=1e-6,
    )


def tidied(*turns, **kwargs):
    """Tidied turns (start, end, speaker) of one recording, as such triples."""
    given = [Turn(Segment("r", start, end), name) for start, end, name in turns]
    return [
        (round(turn.segment.start, 6), round(turn.segment.end, 6), turn.speaker)
        for turn in tidy_turns(given, **kwargs)
    ]


def test_a_short_turn_under_the_speech_of_others_is_dropped():
    turns = (0.0, 3.0, "a"), (1.0, 1.1, "b"), (4.0, 5.0, "b")
    assert tidied(*turns, min_turn=0.2) == [(0.0, 3.0, "a"), (4.0, 5.0, "b")]


def test_the_time_of_a_short_turn_goes_to_the_turns_that_it_touches():
    # between two turns of one speaker, between two speakers, at one turn only
    turns = (0.0, 1.0, "a"), (1.0, 1.1, "b"), (1.1, 2.0, "a"), (3.0, 4.0, "b")
    assert tidied(*turns, min_turn=0.2) == [(0.0, 2.0, "a"), (3.0, 4.0, "b")]
    turns = (0.0, 1.0, "a"), (1.0, 1.1, "c"), (1.1, 2.0, "b"), (3.0, 4.0, "c")
    want = [(0.0, 1.05, "a"), (1.05, 2.0, "b"), (3.0, 4.0, "c")]
    assert tidied(*turns, min_turn=0.2) == want
    turns = (0.0, 1.0, "a"), (1.0, 1.1, "b"), (3.0, 4.0, "b")
    assert tidied(*turns, min_turn=0.2) == [(0.0, 1.1, "a"), (3.0, 4.0, "b")]
    # its first half is covered, its second half touches the speech that covers it
    turns = (0.0, 1.0, "a"), (0.9, 1.05, "b"), (3.0, 4.0, "b")
    assert tidied(*turns, min_turn=0.2) == [(0.0, 1.05, "a"), (3.0, 4.0, "b")]


def test_a_short_turn_in_silence_is_extended_unless_it_is_too_short_to_be_speech():
    turns = (0.0, 1.0, "a"), (2.0, 2.1, "a"), (3.0, 3.3, "b"), (4.0, 5.0, "b")
    want = [(0.0, 1.0, "a"), (2.9, 3.4, "b"), (4.0, 5.0, "b")]
    assert tidied(*turns, min_turn=0.5) == want


def test_short_turns_in_a_row_are_one_turn_of_the_speaker_with_most_of_it():
    row = (2.0, 2.1, "a"), (2.1, 2.25, "b"), (2.25, 2.35, "b"), (2.35, 2.45, "a")
    turns = (0.0, 1.0, "a"), *row, (4.0, 5.0, "b")
    want = [(0.0, 1.0, "a"), (2.0, 2.45, "b"), (4.0, 5.0, "b")]
    assert tidied(*turns, min_turn=0.3) == want


def test_a_speaker_with_short_turns_only_keeps_the_longest():
    turns = (0.0, 3.0, "a"), (1.0, 1.05, "b"), (2.0, 2.1, "b")
    assert tidied(*turns, min_turn=0.2) == [(0.0, 3.0, "a"), (1.95, 2.15, "b")]
    assert tidied((0.0, 0.1, "a"), min_turn=0.5) == [(0.0, 0.1, "a")]
    # It stays within the time from the first start to the last end.
    turns = (0.0, 3.0, "a"), (2.9, 3.0, "b")
    assert tidied(*turns, min_turn=0.2) == [(0.0, 3.0, "a"), (2.8, 3.0, "b")]


def test_short_pauses_are_bridged_where_no_other_speaker_talks():
    turns = (0.0, 1.0, "a"), (1.2, 2.0, "a"), (2.05, 2.5, "b"), (2.6, 4.0, "a")
    want = [(0.0, 2.0, "a"), (2.05, 2.5, "b"), (2.6, 4.0, "a")]
    assert tidied(*turns, max_gap=0.7) == want
    # once a fragment of another speaker is gone, the pause around it is clear
    turns = (0.0, 1.0, "a"), (1.1, 1.15, "b"), (1.25, 2.0, "a"), (3.0, 4.0, "b")
    assert tidied(*turns, min_turn=0.2, max_gap=0.3) == [
        (0.0, 2.0, "a"),
        (3.0, 4.0, "b"),
    ]


def test_pieces_that_are_bridged_to_a_long_turn_are_not_short():
    turns = [(0.15 * i, 0.15 * i + 0.1, "a") for i in range(10)]
    assert tidied(*turns, min_turn=0.5, max_gap=0.1) == [(0.0, 1.45, "a")]


def test_recordings_are_tidied_apart():
    turns = [
        Turn(Segment("r", 0.0, 3.0), "a"),
        Turn(Segment("r", 1.0, 1.1), "b"),
        Turn(Segment("r", 4.0, 5.0), "b"),
        Turn(Segment("s", 1.0, 1.1), "b"),
    ]
    assert tidy_turns(turns, min_turn=0.1) == turns
    assert tidy_turns(turns[:1] + turns[2:], min_turn=0.2) == turns[:1] + turns[2:]


SPOKEN = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 12), st.sampled_from("abc")),
    min_size=1,
    max_size=25,
)


@given(SPOKEN, st.integers(0, 10), st.integers(0, 10))
def test_tidied_turns_keep_speakers_and_have_the_least_length(spoken, least, gap):
    given = [(s / 20, (s + d) / 20, name) for s, d, name in spoken]
    min_turn, max_gap = least / 20, gap / 20
    found = tidied(*given, min_turn=min_turn, max_gap=max_gap)
    assert {name for *_, name in found} == {name for *_, name in given}
    first, last = min(s for s, *_ in given), max(e for _, e, _ in given)
    shortest = min(min_turn, last - first)
    assert all(end - start >= shortest - 1e-5 for start, end, _ in found)
    assert all(first - 1e-5 <= s and e <= last + 1e-5 for s, e, _ in found)
    for name in "abc":  # the turns of a speaker neither touch nor overlap
        own = [turn for turn in found if turn[2] == name]
        assert all(one[1] < two[0] for one, two in pairwise(own))


@given(SPOKEN)
def test_nothing_changes_without_a_least_length_and_a_gap(spoken):
    given = [(s / 20, (s + d) / 20, name) for s, d, name in spoken]
    once = tidied(*given)
    assert tidied(*once) == once
    for start, end, name in given:
        assert any(s <= start and end <= e for s, e, who in once if who == name)


@pytest.mark.parametrize("name", ["min_turn", "max_gap"])
def test_lengths_must_not_be_negative(name):
    wrong = f"^tidy_turns: {name} must be a finite number >= 0, got -1$"
    with pytest.raises(InvalidParameterError, match=wrong):
        tidy_turns([], **{name: -1})


def segment(start, end):
    return Segment("r", start, end)


def spoken(start, end, speaker):
    return Turn(segment(start, end), speaker)


def test_windows_of_other_speakers_speak_against_a_spoken():
    windows = [segment(0, 4), segment(4, 6), segment(6, 10)]
    turns = [spoken(0, 5, "a"), spoken(5, 10, "b")]
    found = turn_confidence(turns, windows, ["x", "y", "y"], [0.9, 0.8, 1.0])
    # y stands for b, with 5 s against 1 s: (4 * 0.9 + 1 * (1 - 0.8)) / 5, and
    # (1 * 0.8 + 4 * 1.0) / 5.
    assert found == pytest.approx([0.76, 0.96])


def test_turns_without_windows_have_none():
    assert turn_confidence([spoken(5, 6, "a")], [segment(0, 5)], ["x"], [0.9]) == [None]
    assert turn_confidence([spoken(5, 6, "a")], [], [], []) == [None]


def test_windows_that_overlap_count_by_the_time_they_share():
    windows = [segment(0, 2), segment(1, 3)]
    found = turn_confidence([spoken(0, 3, "a")], windows, ["x", "x"], [0.5, 1.0])
    assert found == [0.75]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        # The turn of a lasts 3 s, that of b 2 s.
        ([(0, 3, "a"), (2, 4, "b")], [(0, 3, "a"), (3, 4, "b")]),
        ([(0, 2, "a"), (1, 4, "b")], [(0, 1, "a"), (1, 4, "b")]),
        ([(0, 9, "a"), (2, 3, "b")], [(0, 9, "a")]),
        # The second turn of a is longer than that of b, the first one is shorter.
        (
            [(0, 2, "a"), (1, 5, "b"), (4, 9, "a")],
            [(0, 1, "a"), (1, 4, "b"), (4, 9, "a")],
        ),
        ([(0, 1, "a"), (2, 3, "b")], [(0, 1, "a"), (2, 3, "b")]),
    ],
)
def test_overlapped_time_goes_to_the_longest_turn(turns, expected):
    given_turns = [Turn(Segment("r", start, end), name) for start, end, name in turns]
    result = exclusive_turns(given_turns)
    assert [(t.segment.start, t.segment.end, t.speaker) for t in result] == expected


@given(
    st.lists(
        st.tuples(
            st.sampled_from("rs"),
            st.integers(0, 40),
            st.integers(1, 20),
            st.sampled_from("abc"),
        ),
        max_size=12,
    )
)
def test_exclusive_turns_do_not_overlap_and_cover_the_same_time(drawn):
    turns = [Turn(Segment(r, s, s + length), name) for r, s, length, name in drawn]
    result = exclusive_turns(turns)
    assert speech_of_turns(result) == speech_of_turns(turns)
    for left, right in pairwise(result):
        is_later = left.segment.end <= right.segment.start
        assert is_later or left.segment.recording < right.segment.recording
    # At each second one of the speakers of that second talks.
    for turn in result:
        for second in range(int(turn.segment.start), int(turn.segment.end)):
            assert any(
                each.speaker == turn.speaker
                and each.segment.recording == turn.segment.recording
                and each.segment.start <= second < each.segment.end
                for each in turns
            )
