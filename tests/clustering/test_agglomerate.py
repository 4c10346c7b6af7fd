"""Average linkage with pairs that must not, and must, be together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.clustering.agglomerate import constrained_groups
from sms_diar.errors import InvalidParameterError


def symmetric(n, pairs):
    scores = np.full((n, n), -5.0)
    for (one, other), score in pairs.items():
        scores[one, other] = scores[other, one] = score
    return scores


def test_groups_join_by_the_mean_of_their_pairs():
    # 0 and 1 join at 4; with 2 their mean is (3 - 5) / 2 = -1, so 2 stays alone.
    scores = symmetric(3, {(0, 1): 4.0, (0, 2): 3.0})
    apart = np.zeros((3, 3), dtype=bool)
    assert constrained_groups(scores, apart).tolist() == [0, 0, 1]
    assert constrained_groups(scores, apart, threshold=-2.0).tolist() == [0, 0, 0]
    assert constrained_groups(scores, apart, threshold=4.0).tolist() == [0, 1, 2]


def test_what_is_given_together_is_one_group_whatever_the_scores():
    scores = symmetric(4, {(0, 1): 4.0})
    apart = np.zeros((4, 4), dtype=bool)
    together = np.array([-1, 7, -1, 7])
    assert constrained_groups(scores, apart, together=together).tolist() == [0, 1, 2, 1]


def test_what_is_apart_cannot_be_given_together():
    apart = ~np.eye(2, dtype=bool)
    with pytest.raises(InvalidParameterError, match="must not join what is kept apart"):
        constrained_groups(np.zeros((2, 2)), apart, together=np.array([0, 0]))


def test_nothing_makes_no_groups():
    nothing = np.zeros((0, 0))
    assert constrained_groups(nothing, nothing.astype(bool)).tolist() == []


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_constraints_hold_and_the_order_only_renames(n, seed):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n, n))
    scores = half + half.T
    recordings = rng.integers(0, 4, n)
    apart = recordings[:, None] == recordings
    groups = constrained_groups(scores, apart)
    for group in range(groups.max() + 1):
        own = recordings[groups == group]
        assert len(set(own.tolist())) == len(own)
    order = rng.permutation(n)
    again = constrained_groups(scores[np.ix_(order, order)], apart[order][:, order])
    together = groups[:, None] == groups
    assert (together[np.ix_(order, order)] == (again[:, None] == again)).all()
