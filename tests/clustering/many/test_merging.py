"""Fragments that become speakers."""

import numpy as np
import pytest

from sms_diar.clustering.many.merging import (
    ClusterSums,
    merge_fragments,
    neighbour_pairs,
    pair_scores,
)
from sms_diar.clustering.many.nearest import Rows

PSI = np.geomspace(4.0, 0.5, 16)


@pytest.fixture(scope="module")
def split():
    """Rows of six speakers in three fragments each."""
    rng = np.random.default_rng(0)
    voices = 1.5 * np.sqrt(PSI) * rng.standard_normal((6, 16))
    speakers = np.repeat(np.arange(6), 30)
    rows = voices[speakers] + rng.standard_normal((180, 16))
    fragments = np.arange(180) // 10
    return Rows(rows.astype(np.float32), PSI), fragments, speakers


NO_LINKS = np.empty((0, 2), dtype=np.int64)


def joined(split, low=1, high=180):
    rows, fragments, _ = split
    groups = ClusterSums.of(rows, fragments)
    return merge_fragments(groups, PSI, NO_LINKS, low=low, high=high)


def test_fragments_of_one_speaker_are_joined_and_no_others(split):
    owner = joined(split)
    assert owner.tolist() == np.repeat(np.arange(6), 3).tolist()


@pytest.mark.parametrize("high", [5, 2, 1])
def test_joins_go_on_until_there_are_as_few_as_asked_for(split, high):
    owner = joined(split, high=high)
    assert len(np.unique(owner)) == high
    # Speakers stay whole: whom the likelihood had joined are still together.
    assert all(len(set(owner[3 * i : 3 * i + 3])) == 1 for i in range(6))


@pytest.mark.parametrize("low", [18, 11, 7])
def test_joins_stop_where_there_must_not_be_fewer(split, low):
    assert len(np.unique(joined(split, low=low))) == low


def test_many_rows_never_count_as_more_than_eleven():
    sums = np.zeros((2, 1))
    counts = ClusterSums(np.array([1, 10**6]), sums).counts
    # 11 / 12, and 11 e6 / (e6 + 11)
    np.testing.assert_allclose(counts, [0.9166667, 10.999879], rtol=1e-6)


def test_sums_are_those_of_the_rows(split):
    rows, fragments, _ = split
    groups = ClusterSums.of(rows, fragments)
    np.testing.assert_allclose(
        groups.means[4], rows.vectors[40:50].mean(axis=0), rtol=1e-4, atol=1e-5
    )
    assert groups.sizes.tolist() == [10] * 18


def test_links_are_pairs_of_groups_that_have_neighbours_in_each_other():
    near = np.array([[1, 2], [0, -1], [3, 0], [2, 1]], dtype=np.int32)
    labels = np.array([0, 0, 1, 2])
    assert neighbour_pairs(near, labels).tolist() == [[0, 1], [0, 2], [1, 2]]


def test_scores_of_pairs_do_not_depend_on_their_order(split):
    rows, fragments, _ = split
    groups = ClusterSums.of(rows, fragments)
    pairs = np.array([[0, 1], [0, 17]])
    one, other = (
        pair_scores(groups, PSI, pairs),
        pair_scores(groups, PSI, pairs[:, ::-1]),
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)
    assert one[0] > 0.0 > one[1]
