"""Inner loops of the search for evidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.clustering.speakers._evidence_kernels import merge_groups, move_segments
from sms_diar.scoring.evidence import group_evidence, group_sums

pytestmark = pytest.mark.compiled

PSI = np.array([4.0, 1.0, 0.25])


def partition_evidence(U, labels, psi, *, weight):
    clusters = np.unique(labels, return_inverse=True)[1]
    return group_evidence(*group_sums(U, clusters), psi, weight=weight).sum()


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
