"""One-to-one mappings of speakers that share the most.

Weights are kept as they come, whole numbers as whole numbers: among mappings
that differ by less than a float can tell, the better one is still found.
"""

from __future__ import annotations

import numpy as np

from sms_diar.types import AnyArray, IntArray

_SAFE = 2**62


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

    Examples
    --------
    >>> best_assignment(np.array([[3, 2], [2, 0]])).tolist()
    [1, 0]
    """
    n, m = weights.shape
    if not n or not m:
        return np.full(n, -1, dtype=np.int64)
    choice = np.asarray(weights.argmax(axis=1), dtype=np.int64)
    used = choice[weights[np.arange(n), choice] > 0]
    if len(set(used.tolist())) < len(used):  # rows compete
        if n <= m:
            choice = _shortest_paths(weights)
        else:
            choice = np.full(n, -1, dtype=np.int64)
            rows = _shortest_paths(weights.T)
            choice[rows] = np.arange(m)
    gain = np.where(choice >= 0, weights[np.arange(n), choice], 0)
    choice[gain == 0] = -1
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
    columns, hence not on the names of speakers.
    """
    if not primary.size:
        return best_assignment(primary)
    if primary is secondary or np.array_equal(primary, secondary):
        return best_assignment(primary)
    # Common factors (times of few decimals) go, so that both fit into one int64.
    first = primary // max(1, int(np.gcd.reduce(primary, axis=None)))
    second = secondary // max(1, int(np.gcd.reduce(secondary, axis=None)))
    scale = int(second.max()) * min(primary.shape) + 1
    if (int(first.max()) * scale + scale) * min(primary.shape) < _SAFE:
        joint: AnyArray = first * scale + second
    else:
        joint = first.astype(object) * scale + second.astype(object)
    return best_assignment(joint)


def _shortest_paths(weights: AnyArray) -> IntArray:
    """Hungarian method by shortest augmenting paths, for n <= m."""
    n, m = weights.shape
    # Column 0 and row 0 are the method's auxiliary ones.
    cost = weights.max() - weights
    row_price = np.zeros(n + 1, dtype=cost.dtype)
    row_price[1:] = cost.min(axis=1)
    column_price = np.zeros(m + 1, dtype=cost.dtype)
    row_of = np.zeros(m + 1, dtype=np.int64)
    # Rows whose best column is free take it; only the others need a path.
    waiting = []
    for row, column in enumerate(cost.argmin(axis=1).tolist(), start=1):
        if row_of[column + 1]:
            waiting.append(row)
        else:
            row_of[column + 1] = row
    for row in waiting:
        _augment(cost, row, row_price, column_price, row_of)
    choice = np.full(n, -1, dtype=np.int64)
    taken = np.flatnonzero(row_of[1:])
    choice[row_of[1:][taken] - 1] = taken
    return choice


def _augment(
    cost: AnyArray,
    row: int,
    row_price: AnyArray,
    column_price: AnyArray,
    row_of: IntArray,
) -> None:
    """Give one more row a column, moving others along the cheapest path."""
    m = len(column_price) - 1
    row_of[0] = row
    column = 0
    distance = np.zeros(m, dtype=cost.dtype)
    is_reached = np.zeros(m, dtype=np.bool_)
    came_from = np.zeros(m, dtype=np.int64)
    is_done = np.zeros(m + 1, dtype=np.bool_)
    while True:
        is_done[column] = True
        at = int(row_of[column])
        reduced = cost[at - 1] - row_price[at] - column_price[1:]
        better = ~is_done[1:] & (~is_reached | (reduced < distance))
        distance[better] = reduced[better]
        came_from[better] = column
        is_reached |= better
        free = np.flatnonzero(~is_done[1:])
        nearest = int(free[int(np.argmin(distance[free]))])
        step = distance[nearest]
        done = np.flatnonzero(is_done)
        row_price[row_of[done]] += step
        column_price[done] -= step
        distance[free] -= step
        column = nearest + 1
        if not row_of[column]:
            break
    while column:
        previous = int(came_from[column - 1])
        row_of[column] = row_of[previous]
        column = previous
