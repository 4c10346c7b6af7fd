"""Rows that are evidence of their own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sms_diar.clustering.speakers.representatives import (
    COPY,
    NEW_OF_HALF,
    _leaders,
    find_representatives,
)
from sms_diar.clustering.speakers.times import RowTimes

from sms_diar.preprocessing import scale_rows


def speech(n, d=40, seed=0, n_speakers=3):
    """Rows of unit length of a few voices that take turns."""
    rng = np.random.default_rng(seed)
    voices = rng.standard_normal((n_speakers, d))
    rows = voices[np.arange(n) % n_speakers] + rng.standard_normal((n, d))
    return scale_rows(rows)


def test_rows_that_differ_all_stand_for_themselves():
    chosen = find_representatives(speech(30), None, 1.0)
    np.testing.assert_array_equal(chosen.rows, np.arange(30))
    np.testing.assert_array_equal(chosen.of, np.arange(30))


def test_the_first_of_equal_rows_stands_for_all():
    rows = np.eye(3)[[2, 0, 2, 1, 0, 2]]
    chosen = find_representatives(rows, None, 1.0)
    assert chosen.rows.tolist() == [0, 1, 3]
    assert chosen.of.tolist() == [0, 1, 0, 2, 1, 0]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_handful_of_rows_is_kept(n):
    assert find_representatives(speech(n), None, 1.0).rows.tolist() == list(range(n))
    equal = find_representatives(np.tile(speech(1), (n, 1)), None, 1.0)
    assert equal.rows.tolist() == [0]
    assert equal.of.tolist() == [0] * n


def test_windows_that_overlap_six_times_are_thinned_to_every_third():
    # Length 1, a sixth of it new: the next that begins half a length later is the
    # third. Others go to the nearest middle; 1 to 0, 2 to 3.
    rows = speech(13)
    chosen = find_representatives(rows, RowTimes.of_steps(13, 1 / 6), 1 / 6)
    assert chosen.rows.tolist() == [0, 3, 6, 9, 12]
    assert chosen.of.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4]


def test_thinning_does_not_mind_the_order_of_the_rows():
    rows, order = speech(13), np.random.default_rng(0).permutation(13)
    times = RowTimes.of_steps(13, 1 / 6)
    plain = find_representatives(rows, times, 1 / 6)
    mixed = find_representatives(rows[order], times.take(order), 1 / 6)
    assert set(order[mixed.rows]) == set(plain.rows)
    assert (order[mixed.rows][mixed.of] == plain.rows[plain.of][order]).all()
    assert (np.diff(mixed.rows) > 0).all()


def test_windows_that_overlap_by_half_are_all_kept():
    chosen = find_representatives(speech(20), RowTimes.of_steps(20, 0.5), 0.5)
    assert len(chosen.rows) == 20


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_overlapping_windows_are_thinned_as_well(n):
    chosen = find_representatives(speech(n), RowTimes.of_steps(n, 0.1), 0.1)
    assert chosen.rows.tolist() == [0]
    assert chosen.of.tolist() == [0] * n


def test_passages_that_recur_a_little_changed_are_copies():
    once = speech(40)
    rng = np.random.default_rng(1)
    again = scale_rows(once + 0.005 * rng.standard_normal(once.shape))
    chosen = find_representatives(np.concatenate([once, again]), None, 1.0)
    assert chosen.rows.tolist() == list(range(40))
    assert chosen.of.tolist() == [*range(40), *range(40)]


def windows(frames, length=20):
    """Windows of frames, each with half of the one before, and their times."""
    starts = np.arange(0, len(frames) - length + 1, length // 2)
    rows = np.stack([frames[start : start + length].mean(axis=0) for start in starts])
    times = RowTimes(starts.astype(float), starts + float(length))
    return scale_rows(rows), times


def frames_of_speech(n, seed=0, d=40):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(d) + 3.0 * rng.standard_normal((n, d))


def test_windows_of_speech_that_never_recurs_stand_for_themselves():
    rows, times = windows(frames_of_speech(4000))
    chosen = find_representatives(rows, times, 0.5)
    assert len(chosen.rows) == len(rows) == 399
    assert chosen.new_speech == 0.5


def test_passages_that_recur_in_other_cuts_are_recognised():
    passage = frames_of_speech(400)
    rng = np.random.default_rng(1)
    parts = [np.roll(passage, -int(rng.integers(400)), axis=0) for _ in range(10)]
    rows, times = windows(np.concatenate(parts))
    chosen = find_representatives(rows, times, 0.5)
    # Ten times 40 windows, of a passage that has 40.
    assert 25 <= len(chosen.rows) <= 60
    assert chosen.new_speech == NEW_OF_HALF
    # What stands for a window is as near as windows are that share half.
    shared = np.sum(rows * rows[chosen.rows][chosen.of], axis=1)
    halves = np.sum(rows[:-1] * rows[1:], axis=1)
    assert shared.min() > np.median(halves) - 1e-9


def test_rows_in_the_plane_are_near_by_chance():
    rng = np.random.default_rng(0)
    rows = scale_rows(rng.standard_normal((60, 2)))
    assert len(find_representatives(rows, None, 1.0).rows) == 60


def test_every_row_is_near_its_leader_and_leaders_are_apart():
    rng = np.random.default_rng(0)
    # More than two blocks, in which leaders are found in different ways.
    rows = scale_rows(rng.standard_normal((700, 3)))
    radius2 = 0.2
    kept, of = _leaders(rows, radius2)
    leaders = rows[kept]
    gaps = np.sum((leaders[:, None] - leaders) ** 2, axis=2)
    assert gaps[~np.eye(len(gaps), dtype=bool)].min() > radius2
    own = np.sum((rows - leaders[of]) ** 2, axis=1)
    assert own.max() <= radius2 + 1e-12
    np.testing.assert_array_equal(of[kept], np.arange(len(leaders)))
    assert 0.0 < COPY < 1.0


@given(st.lists(st.integers(0, 9), min_size=1, max_size=25))
def test_copies_have_the_representative_of_the_original(numbers):
    rows = speech(10)[numbers]
    chosen = find_representatives(rows, None, 1.0)
    assert len(chosen.rows) == len(set(numbers))
    np.testing.assert_array_equal(rows[chosen.rows][chosen.of], rows)
