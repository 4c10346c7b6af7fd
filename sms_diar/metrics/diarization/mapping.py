"""One-to-one mappings of speakers that share the most.

Whole numbers are added exactly: among mappings that differ by less than a float can
show, the better one is still found.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from sms_diar.types import AnyArray, IntArray

Weights: TypeAlias = list[list[Any]]
"""Rows of numbers of one kind, ints or floats."""

LARGE = 10_000
"""Cells of a table that scipy assigns. Plain Python needs 10 ms for a table of this
size, and loading scipy takes 300 ms."""

_EXACT = 2**53
"""Whole numbers up to this one are floats."""


def best_assignment(weights: AnyArray) -> IntArray:
    """Assign rows to columns, each used at most once, for the largest sum.

    Parameters
    ----------
    weights : ndarray of shape (n, m)
        Not negative; of ints, floats, or objects that are Python ints.

    Returns
    -------
    column : ndarray of shape (n,)
        Column of each row, -1 where the row gains nothing.

    Notes
    -----
    Large tables of whole numbers go to scipy if all sums are exact in floats, after
    division by their common factor. Others need time that is cubic in plain Python:
    a table of 700 by 700 takes several seconds.

    Examples
    --------
    >>> best_assignment(np.array([[3, 2], [2, 0]])).tolist()
    [1, 0]
    """
    n, m = weights.shape
    if not n or not m:
        return np.full(n, -1, dtype=np.int64)
    if n * m < LARGE or (floats := _as_floats(weights)) is None:
        return np.array(_assign(weights.tolist()), dtype=np.int64)
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - takes 300 ms

    rows, columns = linear_sum_assignment(floats, maximize=True)
    gains = floats[rows, columns] > 0
    choice = np.full(n, -1, dtype=np.int64)
    choice[rows[gains]] = columns[gains]
    return choice


def best_mapping(primary: IntArray, secondary: IntArray) -> IntArray:
    """Assignment for the largest sum of `primary`; ties go by `secondary`.

    Parameters
    ----------
    primary, secondary : ndarray of shape (n, m)
        Whole numbers, not negative.

    Notes
    -----
    With the tie-break the sum of both does not depend on the order of rows and
    columns, and so does not depend on the names of speakers.
    """
    if not primary.size or np.array_equal(primary, secondary):
        return best_assignment(primary)
    return best_assignment(_joint(primary, secondary))


def _joint(first: IntArray, second: IntArray) -> AnyArray:
    """Weights whose sums are in the order of `first`, among equals of `second`."""
    first, second = _reduced(first), _reduced(second)
    # More than any assignment gains by `second`.
    scale = 1 + min(sum(second.max(axis=axis).tolist()) for axis in (0, 1))
    if int(first.max()) * scale + int(second.max()) >= 2**63:
        first, second = first.astype(object), second.astype(object)
    joint: AnyArray = first * scale + second
    return joint


def _reduced(weights: AnyArray) -> AnyArray:
    """Divide by the common factor, which is large for times of few decimals."""
    reduced: AnyArray = weights // (np.gcd.reduce(weights, axis=None) or 1)
    return reduced


def _as_floats(weights: AnyArray) -> AnyArray | None:
    """The same order of sums in floats; None if floats cannot add them exactly."""
    if weights.dtype.kind == "f":
        return weights
    weights = _reduced(weights)
    # The method of shortest paths adds a path, a weight and the prices of a row and a
    # column. None exceeds the largest weight, since a free column has the price 0.
    if 4 * int(weights.max()) >= _EXACT:
        return None
    return weights.astype(np.float64)


# Most tables are small, a few speakers by a few: lists are faster than arrays there,
# and their ints do not overflow.


def _assign(weights: Weights) -> list[int]:
    """Column of each row for the largest sum, -1 where the row gains nothing."""
    best = [max(row) for row in weights]
    choice = [row.index(top) for row, top in zip(weights, best, strict=True)]
    used = [column for column, top in zip(choice, best, strict=True) if top > 0]
    if len(set(used)) < len(used):  # rows compete
        if len(weights) <= len(weights[0]):
            choice = _shortest_paths(weights)
        else:
            choice = [-1] * len(weights)
            turned = [list(column) for column in zip(*weights, strict=True)]
            for column, row in enumerate(_shortest_paths(turned)):
                choice[row] = column
    return [
        column if column >= 0 and row[column] > 0 else -1
        for column, row in zip(choice, weights, strict=True)
    ]


def _shortest_paths(weights: Weights) -> list[int]:
    """Hungarian method by shortest augmenting paths, for n <= m."""
    n, m = len(weights), len(weights[0])
    most = max(map(max, weights))
    # Column 0 and row 0 are the method's auxiliary ones.
    cost = [[most - weight for weight in row] for row in weights]
    row_price: list[float] = [0, *map(min, cost)]
    column_price: list[float] = [0] * (m + 1)
    row_of = [0] * (m + 1)
    # Rows whose best column is free take it; only the others need a path.
    waiting = []
    for row, costs in enumerate(cost, start=1):
        column = costs.index(row_price[row]) + 1
        if row_of[column]:
            waiting.append(row)
        else:
            row_of[column] = row
    for row in waiting:
        _augment(cost, row, row_price, column_price, row_of)
    choice = [-1] * n
    for column, row in enumerate(row_of[1:]):
        if row:
            choice[row - 1] = column
    return choice


def _augment(
    cost: Weights,
    row: int,
    row_price: list[float],
    column_price: list[float],
    row_of: list[int],
) -> None:
    """Give one more row a column, moving others along the cheapest path."""
    row_of[0] = row
    column = 0
    free = list(range(1, len(row_of)))
    done = []
    distance = [math.inf] * len(row_of)
    came_from = [0] * len(row_of)
    while True:
        done.append(column)
        at = row_of[column]
        costs, price = cost[at - 1], row_price[at]
        step, nearest = math.inf, 0
        for other in free:
            reduced = costs[other - 1] - price - column_price[other]
            if reduced < distance[other]:
                distance[other] = reduced
                came_from[other] = column
            if distance[other] < step:
                step, nearest = distance[other], other
        for other in done:
            row_price[row_of[other]] += step
            column_price[other] -= step
        free.remove(nearest)
        for other in free:
            distance[other] -= step
        column = nearest
        if not row_of[column]:
            break
    while column:
        previous = came_from[column]
        row_of[column] = row_of[previous]
        column = previous
