"""Mappings of speakers: optimal, exact, ties broken."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sms_diar.metrics.diarization import mapping
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


def random_table(shape, largest, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(1, largest, shape) * (rng.random(shape) < 0.3)


@pytest.mark.parametrize("shape", [(100, 120), (120, 100)], ids=str)
@pytest.mark.parametrize("largest", [3, 10**6, 10**14])
def test_large_tables_have_the_same_sum_as_plain_python(shape, largest):
    weights = random_table(shape, largest)
    assert weights.size >= mapping.LARGE
    want = gain(weights, mapping._assign(weights.tolist()))
    assert gain(weights, best_assignment(weights)) == want


def test_a_large_table_does_not_need_plain_python(monkeypatch):
    monkeypatch.setattr(mapping, "_assign", None)
    weights = random_table((200, 200), 10**6)
    secondary = np.minimum(weights, 500)
    choice = best_mapping(weights * 10**9, secondary * 10**9)
    assert len(set(choice[choice >= 0].tolist())) > 150


def test_a_large_table_that_floats_cannot_add_is_assigned_exactly():
    weights = np.zeros((100, 100), dtype=np.int64)
    weights[:2, :2] = [[2**53, 2**53], [2**53, 2**53 + 1]]
    assert best_assignment(weights)[:2].tolist() == [0, 1]
    assert best_assignment(weights[:, ::-1].copy())[:2].tolist() == [99, 98]


def test_ties_in_a_large_table_go_by_the_second_table():
    primary = random_table((100, 100), 3)
    secondary = np.minimum(primary, random_table((100, 100), 3, seed=1))
    choice = best_mapping(primary, secondary)
    joint = primary * 1000 + secondary
    assert gain(joint, choice) == gain(joint, mapping._assign(joint.tolist()))
