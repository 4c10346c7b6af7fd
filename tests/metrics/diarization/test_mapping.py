"""Mappings of speakers: optimal, exact, ties broken."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sms_diar.metrics.diarization.mapping import best_assignment, best_mapping

tables = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 6))
)


def gain(weights, choice):
    return sum(
        int(weights[row, column]) for row, column in enumerate(choice) if column >= 0
    )


def best_by_trying(weights):
    n, m = weights.shape
    if n > m:
        return best_by_trying(weights.T)
    return max(
        sum(int(weights[row, column]) for row, column in enumerate(columns))
        for columns in itertools.permutations(range(m), n)
    )


def test_rows_that_gain_nothing_get_no_column():
    assert best_assignment(np.array([[5, 0], [4, 0]])).tolist() == [0, -1]
    assert best_assignment(np.zeros((2, 0), dtype=np.int64)).tolist() == [-1, -1]


@given(tables)
def test_no_other_assignment_is_better(weights):
    choice = best_assignment(weights)
    used = choice[choice >= 0]
    assert len(set(used.tolist())) == len(used)
    assert gain(weights, choice) == best_by_trying(weights)


@given(tables)
def test_floats_and_python_ints_give_the_same_sum(weights):
    want = best_by_trying(weights)
    assert gain(weights, best_assignment(weights * 0.5)) == want
    assert gain(weights, best_assignment(weights.astype(object))) == want


def test_numbers_that_floats_cannot_tell_apart_are_told_apart():
    # 2**53 + 1 is no float: as floats both assignments would be equal
    big = 2**53
    weights = np.array([[big, big], [big, big + 1]])
    assert best_assignment(weights).tolist() == [0, 1]
    assert best_assignment(weights[:, ::-1].copy()).tolist() == [1, 0]


@given(tables, st.data())
def test_ties_go_by_the_second_table(primary, data):
    shape = primary.shape
    secondary = data.draw(arrays(np.int64, shape, elements=st.integers(0, 4)))
    choice = best_mapping(primary, np.minimum(primary, secondary))
    assert gain(primary, choice) == best_by_trying(primary)
    joint = primary * 1000 + np.minimum(primary, secondary)
    assert gain(joint, choice) == best_by_trying(joint)


@pytest.mark.parametrize("scale", [1, 10**9, 10**15 + 1])
def test_ties_are_broken_for_times_of_any_size(scale):
    primary = np.array([[3, 3], [3, 3]]) * scale
    secondary = np.array([[1, 2], [2, 1]]) * (scale // 2 + 1)
    assert best_mapping(primary, secondary).tolist() == [1, 0]
