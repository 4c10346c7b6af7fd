"""Merge resting points: clusters are components of "closer than a threshold".

Thousands of points rest at almost the same position, so comparing all pairs would cost
more than the clustering. Equal points are compared once. Usually only a few positions
remain, and all pairs of them are compared. A larger number is first sorted into cells
so small that any two points of one cell are neighbours; then only cells whose points
might be close are compared, and one close pair joins two cells.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from sms_diar._numba import inlined, kernel
from sms_diar.types import AnyArray, FloatArray, IntArray

_BLOCK = 2048  # cells whose candidate neighbours are listed at a time
_FEW = 256  # positions of which all pairs are compared
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits well spread


def merge_resting_points(points: FloatArray, threshold: float) -> IntArray:
    """Label resting points of shape (n, d), by first appearance.

    Points strictly closer than the threshold are in one cluster, and so are the ends of
    any chain of such points.
    """
    position, firsts = distinct_rows(points)
    distinct = points[firsts]
    # Positions and cells are numbered by first appearance, and so are components.
    labels: IntArray
    if len(distinct) <= _FEW:
        labels = _join_all(distinct, threshold)[position]
        return labels
    cells = _cells(distinct, threshold)
    order = np.argsort(cells, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cells))]).astype(np.int64)
    labels = _join_near(distinct[order], starts, threshold)[cells][position]
    return labels


def average_clusters(points: FloatArray, labels: IntArray) -> FloatArray:
    """Return the mean of the points of each cluster, for labels 0, 1, ..."""
    sizes = np.bincount(labels)
    anchors = points[np.unique(labels, return_index=True)[1]]
    # Averaging offsets from one member leaves equal points exactly where they are.
    offsets = points - anchors[labels]
    sums = [np.bincount(labels, column) for column in offsets.T]
    means: FloatArray = anchors + np.transpose(sums) / sizes[:, None]
    return means


def _join_all(points: FloatArray, threshold: float) -> IntArray:
    """Return the component of each point, comparing all pairs."""
    squared = np.zeros((len(points), len(points)))
    for column in points.T:
        squared += (column - column[:, None]) ** 2
    is_far = squared >= threshold * threshold
    labels = np.arange(len(points))
    while True:
        # Each point takes the least label among its neighbours, then the label of the
        # point with that number, so that even long chains need few rounds.
        least = np.where(is_far, labels[:, None], labels).min(axis=1)
        least = least[least]
        if np.array_equal(least, labels):
            return by_first_appearance(labels)
        labels = least


def _cells(points: FloatArray, threshold: float) -> IntArray:
    """Number the cells of a grid whose diagonal is half the threshold."""
    side = threshold / (2.0 * np.sqrt(points.shape[1]))
    # Relative to one corner, so that far-away data do not lose the grid's digits;
    # floor() of numbers beyond 2**53 is still a valid, if coarser, grouping only
    # when the points are equal; in this case the points themselves are numbered.
    corner = points.min(axis=0)
    with np.errstate(over="ignore"):
        grid = np.floor((points - corner) / side)
    if not np.all(np.abs(grid) < 2.0**52):
        grid = points
    return number_rows(grid)


def _join_near(grouped: FloatArray, starts: IntArray, threshold: float) -> IntArray:
    """Component of each cell; cell c owns the rows starts[c]:starts[c + 1]."""
    representatives = grouped[starts[:-1]]
    n_cells = len(representatives)
    tree = cKDTree(representatives)
    # Each representative is within half a threshold of its cell's other points.
    reach = 2.0 * threshold * (1.0 + 1e-9)
    parents = np.arange(n_cells)
    for begin in range(0, n_cells, _BLOCK):
        block = np.arange(begin, min(begin + _BLOCK, n_cells))
        near = tree.query_ball_point(representatives[block], reach)
        first = np.repeat(block, [len(found) for found in near])
        second = np.concatenate([np.asarray(found, dtype=np.int64) for found in near])
        pairs = first[first > second], second[first > second]
        _join_pairs(grouped, starts, *pairs, threshold * threshold, parents)
    return _components(parents)


@inlined
def _touch(grouped: FloatArray, starts: IntArray, a: int, b: int, limit: float) -> bool:
    """Return whether some pair of points of two cells is near."""
    for i in range(starts[a], starts[a + 1]):
        for j in range(starts[b], starts[b + 1]):
            squared = 0.0
            for d in range(grouped.shape[1]):
                gap = grouped[j, d] - grouped[i, d]
                squared += gap * gap
            if squared < limit:
                return True
    return False


@inlined
def root_of(parents: IntArray, cell: int) -> int:
    """Return the first cell known to be in the same component; halve the path to it."""
    while parents[cell] != cell:
        parents[cell] = parents[parents[cell]]
        cell = parents[cell]
    return cell


@kernel
def _join_pairs(
    grouped: FloatArray,
    starts: IntArray,
    first: IntArray,
    second: IntArray,
    limit: float,
    parents: IntArray,
) -> None:
    """Join those pairs of cells that touch."""
    # Near first points need no search, and most other pairs are joined then.
    for reach in (limit, np.inf):
        for pair in range(first.shape[0]):
            a, b = first[pair], second[pair]
            squared = 0.0
            for d in range(grouped.shape[1]):
                gap = grouped[starts[a], d] - grouped[starts[b], d]
                squared += gap * gap
            if squared > reach:
                continue
            root, other = root_of(parents, a), root_of(parents, b)
            if root != other and _touch(grouped, starts, a, b, limit):
                parents[max(root, other)] = min(root, other)


@kernel
def _components(parents: IntArray) -> IntArray:
    """Number the trees of a forest in which no cell comes before its parent."""
    components = np.empty_like(parents)
    n_components = 0
    for cell in range(parents.shape[0]):
        if parents[cell] == cell:
            components[cell] = n_components
            n_components += 1
        else:
            components[cell] = components[parents[cell]]
    return components


def number_rows(rows: FloatArray) -> IntArray:
    """Number distinct rows 0, 1, ... in the order in which they first occur."""
    return distinct_rows(rows)[0]


def distinct_rows(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """Number distinct rows; also return the first row with each number."""
    # Adding zero makes -0.0 and 0.0 the same bits.
    bits = np.ascontiguousarray(rows + 0.0).view(np.uint64)
    keys = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        keys = (keys ^ column ^ (column >> np.uint64(32))) * _FACTOR
        keys ^= keys >> np.uint64(29)
    order = np.argsort(keys)
    if not _has_equal_runs(bits[order], keys[order]):  # two rows share a key
        order = np.lexsort(bits.T)
    is_new = np.ones(len(bits), dtype=bool)
    is_new[1:] = np.any(np.diff(bits[order], axis=0) != 0, axis=1)
    firsts = np.minimum.reduceat(order, np.flatnonzero(is_new))
    rank = np.empty(len(firsts), dtype=np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    numbers = np.empty(len(bits), dtype=np.int64)
    numbers[order] = rank[np.cumsum(is_new) - 1]
    return numbers, np.sort(firsts)


def _has_equal_runs(rows: AnyArray, keys: AnyArray) -> bool:
    """Return whether neighbouring rows are equal wherever their keys are."""
    is_same = keys[1:] == keys[:-1]
    return bool(np.all(rows[1:][is_same] == rows[:-1][is_same]))


def by_first_appearance(values: IntArray) -> IntArray:
    """Number labels 0, 1, ... in the order in which they first occur."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]
