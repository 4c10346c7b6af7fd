"""Arrays that arrived somewhere in a message are copied, wherever they are kept."""

import functools
from dataclasses import dataclass
from types import FunctionType
from typing import NamedTuple

import numpy as np
import pytest

from sms_diar._aligned import align


def unaligned(count=3):
    """The numbers from 0 on, in an array that begins one byte too late."""
    raw = np.zeros(8 * count + 1, dtype=np.uint8)
    array = raw[1:].view(np.float64)
    array[:] = np.arange(count)
    assert not array.flags.aligned
    return array


class Pair(NamedTuple):
    name: str
    numbers: np.ndarray


@dataclass(frozen=True, eq=False)
class Model:
    numbers: np.ndarray

    def own(self, _=None):
        return self.numbers


@dataclass(frozen=True, eq=False, slots=True)
class Narrow:
    numbers: np.ndarray


def closure():
    numbers = unaligned()

    def inner():
        return numbers

    return inner


def default():
    def inner(numbers=unaligned()):  # noqa: B008
        return numbers

    return inner


def code_with_globals():
    """As functions arrive that were sent as code."""
    code = (lambda: numbers_of_a_script).__code__  # noqa: F821
    return FunctionType(code, {"numbers_of_a_script": unaligned()})


def first(numbers):
    return numbers


@pytest.mark.parametrize(
    ("made", "inner"),
    [
        (unaligned, lambda found: found),
        (lambda: (1, unaligned()), lambda found: found[1]),
        (lambda: Pair("a", unaligned()), lambda found: found.numbers),
        (lambda: [0, [unaligned()]], lambda found: found[1][0]),
        (lambda: {"a": {"b": unaligned()}}, lambda found: found["a"]["b"]),
        (lambda: Model(unaligned()), lambda found: found.numbers),
        (lambda: Narrow(unaligned()), lambda found: found.numbers),
        (lambda: Model(unaligned()).own, lambda found: found()),
        (lambda: functools.partial(first, unaligned()), lambda found: found()),
        (lambda: functools.partial(first, numbers=unaligned()), lambda found: found()),
        (closure, lambda found: found()),
        (default, lambda found: found()),
        (code_with_globals, lambda found: found()),
    ],
    ids=[
        "array",
        "tuple",
        "named tuple",
        "list",
        "dict",
        "object",
        "slots",
        "method",
        "partial",
        "keyword",
        "closure",
        "default",
        "globals",
    ],
)
def test_arrays_are_found_wherever_they_are_kept(made, inner):
    value = made()
    found = align(value)
    assert type(found) is type(value)
    assert inner(found).flags.aligned
    assert inner(found).tolist() == [0.0, 1.0, 2.0]


def test_what_is_aligned_stays_what_it_is():
    numbers = np.arange(3.0)
    value = Pair("a", numbers)
    assert align(value) is value
    assert align(value).numbers is numbers


def test_what_is_there_twice_is_copied_once_and_circles_end():
    numbers = unaligned()
    value = [numbers, {"a": numbers}]
    value.append(value)
    found = align(value)
    assert found is value
    assert found[0] is found[1]["a"]
    assert found[0].flags.aligned


def test_the_order_of_columns_and_rows_is_kept():
    raw = np.zeros(6 * 8 + 1, dtype=np.uint8)
    columns = raw[1:].view(np.float64).reshape((2, 3), order="F")
    found = align(columns)
    assert found.flags.f_contiguous
    assert found.shape == (2, 3)


def test_products_of_unaligned_arrays_are_those_of_aligned_ones():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((83, 2)), rng.standard_normal((83, 3))
    late = unaligned(left.size).reshape(left.shape)
    late[...] = left
    assert (align(late).T @ right).tobytes() == (left.T @ right).tobytes()
