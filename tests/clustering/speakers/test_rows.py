"""Rows of a session: times, overlap, and rows that are evidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.clustering.speakers import rows as rows_module
from sms_diar.clustering.speakers.rows import (
    RowTimes,
    _leaders,
    distance_blocks,
    estimate_row_weight,
    find_representatives,
    row_weight_of,
)
from sms_diar.preprocessing import scale_rows
from sms_diar.types import Segment

# --- times


def pairs(found):
    return list(zip(*(side.tolist() for side in found), strict=True))


def test_recordings_are_far_apart_on_one_axis():
    times = RowTimes.of_segments(
        [Segment("b", 0.0, 2.0), Segment("a", 1.0, 2.0), Segment("b", 1.0, 3.0)]
    )
    # "a" is the first recording by name.
    assert times.start[1] == 1.0
    # Recordings are farther apart than the longest one, of which the end is at 3 s.
    assert times.start[0] - times.end[1] > 3.0
    assert times.start[2] - times.start[0] == 1.0
    np.testing.assert_allclose(times.end - times.start, [2.0, 1.0, 2.0])


def test_steps_have_as_much_new_speech_as_rows_weigh():
    times = RowTimes.of_steps(4, 0.25)
    np.testing.assert_array_equal(times.start, [0.0, 0.25, 0.5, 0.75])
    np.testing.assert_array_equal(times.end, [1.0, 1.25, 1.5, 1.75])


def test_rows_are_taken_in_the_given_order():
    taken = RowTimes.of_steps(4, 0.5).take(np.array([3, 0]))
    np.testing.assert_array_equal(taken.start, [1.5, 0.0])
    np.testing.assert_array_equal(taken.end, [2.5, 1.0])


def test_the_successor_begins_where_a_row_ends():
    starts = [0.0, 0.5, 1.0, 1.505, 2.45]
    times = RowTimes(np.array(starts), np.array(starts) + 1.0)
    # 0-1 s: the row from 1.0; .5-1.5 s: the one from 1.505, which may be rounded;
    # 1-2 s: none, because the next one begins .45 s later; 1.505-2.505 s overlaps the
    # last one.
    assert pairs(times.successors()) == [(0, 2), (1, 3)]


def test_rows_of_different_recordings_neither_follow_nor_overlap():
    times = RowTimes.of_segments([Segment("a", 0.0, 1.0), Segment("b", 1.0, 2.0)])
    assert pairs(times.successors()) == []
    assert pairs(times.halves()) == []


def test_rows_next_to_each_other_may_share_half():
    starts = np.array([2.0, 0.0, 0.5, 4.0, 2.55, 4.8])
    times = RowTimes(starts, starts + 1.0)
    # In order of time: rows 1, 2, 0, 4, 3, 5; 1 and 2 share half, 0 and 4 almost.
    assert pairs(times.halves()) == [(1, 2), (0, 4)]


def test_a_single_row_has_neither_successor_nor_overlap():
    times = RowTimes.of_steps(1, 1.0)
    assert pairs(times.successors()) == []
    assert pairs(times.halves()) == []


SPANS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=12
)


@given(SPANS)
def test_successors_are_those_of_a_loop(spans):
    times = RowTimes(
        np.array([first / 10 for first, _ in spans]),
        np.array([(first + length) / 10 for first, length in spans]),
    )
    expected = []
    for row, (first, length) in enumerate(spans):
        end = first + length
        later = [(start, i) for i, (start, _) in enumerate(spans) if start >= end]
        if later and min(later)[0] == end:
            expected.append((row, min(later)[1]))
    assert pairs(times.successors()) == expected


# --- weights


def test_the_weight_is_the_share_of_time_that_is_covered():
    # 0 to 3 s of one recording by windows of 2 s, and 1 s of another by one of 1 s:
    # 4 s covered by 5.
    segments = [Segment("a", 0.0, 2.0), Segment("b", 0.0, 1.0), Segment("a", 1.0, 3.0)]
    assert row_weight_of(segments) == pytest.approx(0.8)
    assert row_weight_of([]) == 1.0


@pytest.mark.parametrize("steps", [2, 3, 6])
def test_the_weight_of_overlapping_windows_is_estimated(steps):
    # A window is the mean of this many independent stretches of speech.
    stretches = np.random.default_rng(0).standard_normal((600, 20))
    windows = np.lib.stride_tricks.sliding_window_view(stretches, steps, axis=0)
    assert estimate_row_weight(windows.mean(axis=-1)) == pytest.approx(1.0 / steps)


@pytest.mark.parametrize(
    ("n_speakers", "each", "scale", "noise"),
    [
        (20, 5, 1.0, 1.0),
        (20, 30, 1.0, 1.0),
        (3, 20, 3.0, 0.3),
        (30, 5, 3.0, 0.3),
        (280, 2, 3.0, 0.3),
    ],
)
@pytest.mark.parametrize("in_order", [True, False])
def test_rows_sorted_by_speaker_are_not_overlapping_windows(
    n_speakers, each, scale, noise, in_order
):
    rng = np.random.default_rng(n_speakers)
    speakers = scale * rng.standard_normal((n_speakers, 12))
    rows = np.repeat(speakers, each, axis=0)
    rows = rows + noise * rng.standard_normal(rows.shape)
    assert estimate_row_weight(rows if in_order else rng.permutation(rows)) == 1.0


@pytest.mark.parametrize("n_speakers", [2, 3, 4])
def test_a_few_rows_in_random_order_are_not_overlapping_windows(n_speakers):
    rng = np.random.default_rng(0)
    for _ in range(200):
        speakers = rng.standard_normal((n_speakers, 12))
        rows = np.repeat(speakers, rng.integers(4, 20), axis=0)
        rows = rng.permutation(rows + 0.5 * rng.standard_normal(rows.shape))
        assert estimate_row_weight(rows) == 1.0


@pytest.mark.parametrize("rows", [np.zeros((40, 3)), np.eye(5), np.ones((1, 2))])
def test_equal_or_few_rows_have_weight_1(rows):
    assert estimate_row_weight(rows) == 1.0


# --- representatives


def speech(n, d=40, seed=0, n_speakers=3):
    """Rows of unit length of a few speakers in turn."""
    rng = np.random.default_rng(seed)
    speakers = rng.standard_normal((n_speakers, d))
    rows = speakers[np.arange(n) % n_speakers] + rng.standard_normal((n, d))
    return scale_rows(rows)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 30])
def test_different_rows_represent_themselves_and_equal_rows_the_first(n):
    chosen = find_representatives(speech(n), None, 1.0)
    assert chosen.rows.tolist() == chosen.of.tolist() == list(range(n))
    equal = find_representatives(np.tile(speech(1), (n, 1)), None, 1.0)
    assert equal.rows.tolist() == [0]
    assert equal.of.tolist() == [0] * n


def test_representatives_of_equal_rows_are_in_order():
    chosen = find_representatives(np.eye(3)[[2, 0, 2, 1, 0, 2]], None, 1.0)
    assert chosen.rows.tolist() == [0, 1, 3]
    assert chosen.of.tolist() == [0, 1, 0, 2, 1, 0]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=25))
def test_copies_have_the_representative_of_the_original(numbers):
    rows = speech(10)[numbers]
    chosen = find_representatives(rows, None, 1.0)
    assert len(chosen.rows) == len(set(numbers))
    np.testing.assert_array_equal(rows[chosen.rows][chosen.of], rows)


def test_windows_with_a_sixth_of_new_speech_are_thinned_to_every_third():
    # Length 1, a sixth of it new: the next window that starts half a length later is
    # the third. Others go to the nearest middle; 1 to 0, 2 to 3.
    chosen = find_representatives(speech(13), RowTimes.of_steps(13, 1 / 6), 1 / 6)
    assert chosen.rows.tolist() == [0, 3, 6, 9, 12]
    assert chosen.of.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4]


def test_thinning_does_not_depend_on_the_order_of_the_rows():
    rows, order = speech(13), np.random.default_rng(0).permutation(13)
    times = RowTimes.of_steps(13, 1 / 6)
    plain = find_representatives(rows, times, 1 / 6)
    mixed = find_representatives(rows[order], times.take(order), 1 / 6)
    assert set(order[mixed.rows]) == set(plain.rows)
    assert (order[mixed.rows][mixed.of] == plain.rows[plain.of][order]).all()
    assert (np.diff(mixed.rows) > 0).all()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_overlapping_windows_have_one_representative(n):
    chosen = find_representatives(speech(n), RowTimes.of_steps(n, 0.1), 0.1)
    assert chosen.rows.tolist() == [0]
    assert chosen.of.tolist() == [0] * n


def half_overlapping_windows(frames, length=20):
    """Windows of frames with half of the previous one, and their times."""
    starts = np.arange(0, len(frames) - length + 1, length // 2)
    rows = np.stack([frames[start : start + length].mean(axis=0) for start in starts])
    times = RowTimes(starts.astype(float), starts + float(length))
    return scale_rows(rows), times


def frames_of_speech(n, seed=0, d=40):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(d) + 3.0 * rng.standard_normal((n, d))


def test_windows_of_speech_that_never_recurs_represent_themselves():
    rows, times = half_overlapping_windows(frames_of_speech(4000))
    chosen = find_representatives(rows, times, 0.5)
    assert len(chosen.rows) == len(rows) == 399
    assert chosen.new_speech == 0.5


def test_windows_that_overlap_by_half_are_kept():
    turns = [frames_of_speech(60, seed=turn) for turn in range(6)]
    rows, times = half_overlapping_windows(np.concatenate(turns))
    assert len(find_representatives(rows, times, 0.5).rows) == len(rows) == 35


def test_speech_of_two_people_at_once_does_not_show_how_windows_repeat():
    # The only two rows that share half of their time are of two speakers.
    start = np.array([*range(0, 38, 2), 36.5])
    chosen = find_representatives(speech(20), RowTimes(start, start + 1.0), 1.0)
    assert len(chosen.rows) == 20


def test_passages_that_recur_in_other_cuts_are_recognised():
    passage = frames_of_speech(400)
    rng = np.random.default_rng(1)
    parts = [np.roll(passage, -int(rng.integers(400)), axis=0) for _ in range(10)]
    rows, times = half_overlapping_windows(np.concatenate(parts))
    chosen = find_representatives(rows, times, 0.5)
    # Ten times 40 windows, of a passage that has 40.
    assert 25 <= len(chosen.rows) <= 60
    # Representatives are at least as near as windows that share half.
    shared = np.sum(rows * rows[chosen.rows][chosen.of], axis=1)
    halves = np.sum(rows[:-1] * rows[1:], axis=1)
    assert shared.min() > np.median(halves) - 1e-9


def test_a_third_of_the_speech_that_recurs_is_recognised():
    # 400 frames that recur once, and 800 new ones.
    speech_once = frames_of_speech(1200)
    rows, times = half_overlapping_windows(
        np.concatenate([speech_once, speech_once[7:407]])
    )
    once, once_times = half_overlapping_windows(speech_once)
    assert len(find_representatives(once, once_times, 0.5).rows) == len(once)
    chosen = find_representatives(rows, times, 0.5)
    assert len(chosen.rows) < 0.8 * len(once)


def test_rows_in_the_plane_are_close_by_chance():
    rows = scale_rows(np.random.default_rng(0).standard_normal((60, 2)))
    assert len(find_representatives(rows, None, 1.0).rows) == 60


def test_rows_are_near_their_leader_and_leaders_are_apart():
    # More than two blocks: leaders of earlier blocks and of the same block.
    rows = scale_rows(np.random.default_rng(0).standard_normal((700, 3)))
    radius2 = 0.2
    kept, of = _leaders(rows, radius2)
    leaders = rows[kept]
    gaps = np.sum((leaders[:, None] - leaders) ** 2, axis=2)
    assert gaps[~np.eye(len(gaps), dtype=bool)].min() > radius2
    assert np.sum((rows - leaders[of]) ** 2, axis=1).max() <= radius2 + 1e-12
    np.testing.assert_array_equal(of[kept], np.arange(len(leaders)))


# --- distances


def test_blocks_contain_the_distances_of_all_queries(monkeypatch):
    rows = np.random.default_rng(0).standard_normal((11, 3))
    queries = np.array([0, 3, 4, 8, 10])
    monkeypatch.setattr(rows_module, "_BLOCK", 2)
    blocks = list(distance_blocks(rows, None, queries))
    assert [first for first, _ in blocks] == [0, 2, 4]
    expected = np.sum((rows[queries][:, None] - rows) ** 2, axis=2)
    expected[np.arange(5), queries] = np.inf
    found = np.concatenate([distances for _, distances in blocks])
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_rows_that_overlap_in_time_are_infinitely_far():
    rows = np.array([[0.0], [1.0], [3.0], [6.0]])
    times = RowTimes.of_steps(4, 0.5)  # each overlaps the previous and the next one
    [(_, distances)] = distance_blocks(rows, times, np.arange(4))
    far = np.inf
    assert distances.tolist() == [
        [far, far, 9.0, 36.0],
        [far, far, far, 25.0],
        [9.0, far, far, far],
        [36.0, 25.0, far, far],
    ]
