"""Merging of resting points by each of its ways, and what follows from it."""

import numpy as np
import pytest

from sms_diar.clustering import _modes
from sms_diar.clustering._modes import (
    average_clusters,
    merge_resting_points,
    number_rows,
)
from sms_diar.clustering.points import _reference

pytestmark = pytest.mark.compiled

# Most positions of which all pairs are compared: all of them, or none.
WAYS = {"pairs": 1024, "tree": 0}


def chains_and_crowds(seed):
    """Points that touch in chains, crowds of several cells, and repeated points."""
    rng = np.random.default_rng(seed)
    crowds = rng.integers(-2, 3, (120, 2)) + rng.normal(scale=0.02, size=(120, 2))
    chain = np.column_stack([np.arange(40) * 0.299, np.full(40, 5.0)])
    X = np.concatenate([crowds, chain, rng.uniform(-8, 8, (40, 2))])
    return X[rng.integers(len(X), size=300)]


@pytest.mark.parametrize("few", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("seed", range(5))
def test_each_way_of_merging_gives_the_connected_components(few, seed, monkeypatch):
    monkeypatch.setattr(_modes, "_FEW", few)
    X = chains_and_crowds(seed)
    for threshold in (0.01, 0.1, 0.3, 1.0, 30.0):
        np.testing.assert_array_equal(
            merge_resting_points(X, threshold), _reference.merge(X, threshold)
        )


@pytest.mark.parametrize("few", WAYS.values(), ids=WAYS)
def test_points_at_the_threshold_stay_apart(few, monkeypatch):
    monkeypatch.setattr(_modes, "_FEW", few)
    X = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [0.0, -4.75], [-0.0, 0.0]])
    assert merge_resting_points(X, 5.0).tolist() == [0, 1, 1, 0, 0]
    assert merge_resting_points(X, 4.75).tolist() == [0, 1, 1, 2, 0]
    assert merge_resting_points(X, 5.1).tolist() == [0] * 5


def test_layout_of_the_points_does_not_matter():
    X = chains_and_crowds(0)
    expected = merge_resting_points(X, 0.3)
    for given in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(merge_resting_points(given, 0.3), expected)


def test_rows_are_numbered_by_first_appearance_however_many_there_are():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(700, 3))
    order = np.concatenate([np.arange(700), rng.integers(700, size=700)])
    np.testing.assert_array_equal(number_rows(rows[order]), order)


def test_rows_with_equal_keys_still_get_different_numbers(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 3))
    order = np.concatenate([np.arange(50), rng.integers(50, size=50)])
    monkeypatch.setattr(_modes, "_FACTOR", np.uint64(0))  # all keys are equal
    numbers, firsts = _modes.distinct_rows(rows[order])
    np.testing.assert_array_equal(numbers, order)
    np.testing.assert_array_equal(firsts, np.arange(50))


def test_means_of_equal_points_are_these_points():
    X = np.array([[0.1, 1e9], [0.7, -3.3], [0.1, 1e9], [0.1, 1e9], [0.7, -3.3]])
    centers = average_clusters(X, np.array([0, 1, 0, 0, 1]))
    np.testing.assert_array_equal(centers, X[:2])


def test_means_add_offsets_from_the_first_member_in_order():
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(50, 3)), np.arange(50) % 4
    for label, center in enumerate(average_clusters(X, labels)):
        members = X[labels == label]
        total = np.zeros(3)
        for member in members:
            total += member - members[0]
        np.testing.assert_array_equal(center, members[0] + total / len(members))
