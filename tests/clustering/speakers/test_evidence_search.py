"""Inner loops of the search for evidence, and how much a row tells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.clustering.speakers._evidence_kernels import merge_groups, move_segments
from sms_diar.clustering.speakers.row_weight import estimate_row_weight, row_weight_of
from sms_diar.scoring.evidence import group_sums, partition_evidence
from sms_diar.types import Segment

pytestmark = pytest.mark.compiled

PSI = np.array([4.0, 1.0, 0.25])


def tables(n, weight):
    counts = np.arange(n + 1)[:, None]
    return 0.5 * np.sum(np.log1p(weight * counts * PSI), axis=1)


def drawn(seed, sizes):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    speakers = np.sqrt(PSI) * rng.standard_normal((len(sizes), 3)) * 2.0
    return speakers[labels] + rng.standard_normal((len(labels), 3)), labels


def merged(U, labels, weight=1.0, fewest=1, most=10**6):
    sizes, sums = group_sums(U, labels)
    parent = merge_groups(
        sizes.astype(np.int64), sums, PSI, tables(len(U), weight), weight, fewest, most
    )
    return parent[labels]


def plain_merging(U, labels, weight):
    """The best of all pairs, again and again, from the definition."""
    labels = labels.copy()
    while True:
        names = np.unique(labels)
        best, here = None, partition_evidence(U, labels, PSI, weight=weight)
        for i, one in enumerate(names):
            for two in names[i + 1 :]:
                tried = np.where(labels == two, one, labels)
                value = partition_evidence(U, tried, PSI, weight=weight)
                if value > here + 1e-12 and (best is None or value > best[0]):
                    best = value, tried
        if best is None:
            return labels
        labels = best[1]


@given(st.integers(0, 1000), st.sampled_from([1.0, 0.3]))
def test_merging_takes_the_best_pair_every_time(seed, weight):
    U, _ = drawn(seed, (4, 3, 3, 2))
    labels = np.arange(len(U))
    expected = plain_merging(U, labels, weight)
    np.testing.assert_array_equal(merged(U, labels, weight), expected)


def test_merging_stops_at_the_bounds():
    U, labels = drawn(1, (6, 6, 6, 6))
    assert len(set(merged(U, np.arange(24), fewest=9))) == 9
    assert len(set(merged(U, labels, most=2))) <= 2


def test_equal_vectors_end_in_one_group():
    U = np.ones((7, 3))
    assert len(set(merged(U, np.arange(7)))) == 1


@given(st.integers(0, 1000), st.sampled_from([1.0, 0.3]), st.integers(1, 3))
def test_moving_never_lowers_the_evidence(seed, weight, fewest):
    U, truth = drawn(seed, (6, 5, 4))
    labels = np.random.default_rng(seed).permutation(truth)
    before = partition_evidence(U, labels, PSI, weight=weight)
    sizes, sums = group_sums(U, labels)
    counts = sizes.astype(np.int64)
    args = (PSI, tables(len(U), weight), weight, fewest, 20)
    move_segments(U, labels, counts, sums, *args)
    after = partition_evidence(U, labels, PSI, weight=weight)
    assert after >= before - 1e-9
    assert len(set(labels)) >= fewest
    # What was kept up to date along the way is what the labels say.
    np.testing.assert_array_equal(counts, np.bincount(labels, minlength=3))


def test_a_stray_segment_goes_home():
    U = np.array([[3.0, 0, 0]] * 5 + [[-3.0, 0, 0]] * 5)
    labels = np.array([0] * 5 + [1] * 4 + [0])
    sizes, sums = group_sums(U, labels)
    counts = sizes.astype(np.int64)
    sweeps = move_segments(U, labels, counts, sums, PSI, tables(10, 1.0), 1.0, 1, 9)
    assert labels.tolist() == [0] * 5 + [1] * 5
    assert sweeps == 2  # one that moved it, one that found nothing to do


@pytest.mark.parametrize("steps", [2, 3, 6])
def test_overlapping_windows_are_noticed(steps):
    # A window is the mean of so many independent stretches of speech.
    rng = np.random.default_rng(0)
    stretches = rng.standard_normal((600, 20))
    windows = np.lib.stride_tricks.sliding_window_view(stretches, steps, axis=0)
    assert estimate_row_weight(windows.mean(axis=-1)) == pytest.approx(1.0 / steps)


@pytest.mark.parametrize("per_speaker", [5, 30])
@pytest.mark.parametrize("in_order", [True, False])
def test_speakers_in_order_are_no_overlap(per_speaker, in_order):
    rng = np.random.default_rng(0)
    speakers = np.repeat(rng.standard_normal((20, 20)), per_speaker, axis=0)
    rows = speakers + rng.standard_normal(speakers.shape)
    rows = rows if in_order else rng.permutation(rows)
    assert estimate_row_weight(rows) == 1.0


@pytest.mark.parametrize(("n_speakers", "each"), [(3, 20), (30, 5)])
def test_rows_sorted_by_speaker_are_no_overlapping_windows(n_speakers, each):
    rng = np.random.default_rng(n_speakers)
    speakers = 3.0 * rng.standard_normal((n_speakers, 6))
    rows = np.repeat(speakers, each, axis=0)
    rows = rows + 0.3 * rng.standard_normal(rows.shape)
    assert estimate_row_weight(rows) == 1.0


@pytest.mark.parametrize("rows", [np.zeros((40, 3)), np.eye(5), np.ones((1, 2))])
def test_equal_or_few_rows_count_in_full(rows):
    assert estimate_row_weight(rows) == 1.0


def test_weights_from_times_by_hand():
    # 0 to 3 s of one recording by windows of 2 s, and 1 s of another by one of 1 s:
    # 4 s told by 5.
    segments = [Segment("a", 0.0, 2.0), Segment("b", 0.0, 1.0), Segment("a", 1.0, 3.0)]
    assert row_weight_of(segments) == pytest.approx(0.8)
    assert row_weight_of([]) == 1.0
