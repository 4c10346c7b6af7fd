"""Resting points to clusters: connected components of "closer than a threshold".

Thousands of points rest at almost the same place, so comparing all pairs would
cost more than the clustering. Points are first sorted into cells so small that
any two points of one cell are neighbours; only cells whose points might touch
are then compared, and one touching pair decides.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from sms_diar._numba import kernel
from sms_diar.clustering._hash import mix
from sms_diar.types import FloatArray, IntArray

_BLOCK = 2048  # cells whose candidate neighbours are listed at a time


def merge_resting_points(points: FloatArray, threshold: float) -> IntArray:
    """Label resting points.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Where each point came to rest.
    threshold : float
        Points strictly closer than this belong together, and so do the ends of
        any chain of such points.

    Returns
    -------
    labels : ndarray of shape (n,)
        Clusters, numbered from 0 by first appearance.
    """
    # Many points rest at the very same place; each place is looked at once.
    at = number_rows(points)
    places = points[np.unique(at, return_index=True)[1]]
    cells = _cells(places, threshold)
    order = np.argsort(cells, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cells))]).astype(np.int64)
    components = _join_cells(places[order], starts, threshold)
    return by_first_appearance(components[cells][at])


def average_clusters(points: FloatArray, labels: IntArray) -> FloatArray:
    """Mean of the points of each cluster, labels being 0, 1, ..."""
    n_clusters = int(labels.max()) + 1
    # Averaging offsets from one member keeps equal points exactly where they are.
    anchors = points[np.unique(labels, return_index=True)[1]]
    sizes = np.bincount(labels, minlength=n_clusters)
    offsets = points - anchors[labels]
    return np.column_stack(
        [
            anchors[:, d] + np.bincount(labels, offsets[:, d], n_clusters) / sizes
            for d in range(points.shape[1])
        ]
    )


def _cells(points: FloatArray, threshold: float) -> IntArray:
    """Number the cells of a grid whose diagonal is half the threshold."""
    side = threshold / (2.0 * np.sqrt(points.shape[1]))
    # Relative to one corner, so that far-away data do not lose the grid's digits;
    # floor() of numbers beyond 2**53 is still a valid, if coarser, grouping only
    # when the points are equal, hence the fall-back to the points themselves.
    corner = points.min(axis=0)
    with np.errstate(over="ignore"):
        grid = np.floor((points - corner) / side)
    if not np.all(np.abs(grid) < 2.0**52):
        grid = points
    return number_rows(grid)


def _join_cells(grouped: FloatArray, starts: IntArray, threshold: float) -> IntArray:
    """Component of each cell; cell c owns the rows starts[c]:starts[c + 1]."""
    representatives = grouped[starts[:-1]]
    n_cells = len(representatives)
    if n_cells == 1:
        return np.zeros(1, dtype=np.int64)
    tree = cKDTree(representatives)
    # Each representative is within half a threshold of its cell's other points.
    reach = 2.0 * threshold * (1.0 + 1e-9)
    firsts: list[IntArray] = []
    seconds: list[IntArray] = []
    for begin in range(0, n_cells, _BLOCK):
        block = np.arange(begin, min(begin + _BLOCK, n_cells))
        near = tree.query_ball_point(representatives[block], reach)
        first = np.repeat(block, [len(found) for found in near])
        second = np.concatenate([np.asarray(found, dtype=np.int64) for found in near])
        first, second = first[first < second], second[first < second]
        touching = _touching(grouped, starts, first, second, threshold * threshold)
        firsts.append(first[touching])
        seconds.append(second[touching])
    pairs = np.concatenate(firsts), np.concatenate(seconds)
    graph = coo_array((np.ones(len(pairs[0]), dtype=np.int8), pairs), (n_cells,) * 2)
    components: IntArray = connected_components(graph, directed=False)[1]
    return components


@kernel
def _touching(
    grouped: FloatArray,
    starts: IntArray,
    first: IntArray,
    second: IntArray,
    limit: float,
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell for each pair of cells whether some pair of their points is near."""
    touching = np.zeros(first.shape[0], dtype=np.bool_)
    for pair in range(first.shape[0]):
        a, b = first[pair], second[pair]
        for i in range(starts[a], starts[a + 1]):
            for j in range(starts[b], starts[b + 1]):
                squared = 0.0
                for d in range(grouped.shape[1]):
                    gap = grouped[j, d] - grouped[i, d]
                    squared += gap * gap
                if squared < limit:
                    touching[pair] = True
                    break
            if touching[pair]:
                break
    return touching


def number_rows(rows: FloatArray) -> IntArray:
    """Number distinct rows 0, 1, ... in the order in which they first occur."""
    # Adding zero makes -0.0 and 0.0 the same bits.
    bits = np.ascontiguousarray(rows + 0.0).view(np.int64)
    size = 1 << (2 * len(rows)).bit_length()
    return _number_rows(bits, np.full(size, -1, dtype=np.int64))


@kernel
def _number_rows(bits: IntArray, table: IntArray) -> IntArray:
    """Hash rows into `table`, whose size is a power of two above their number."""
    n, n_columns = bits.shape
    mask = table.shape[0] - 1
    numbers = np.empty(n, dtype=np.int64)
    firsts = np.empty(n, dtype=np.int64)
    count = 0
    for i in range(n):
        key = 0
        for c in range(n_columns):
            key = mix(key, int(bits[i, c]))
        at = key & mask
        while table[at] >= 0:
            same = True
            for c in range(n_columns):
                same &= bits[firsts[table[at]], c] == bits[i, c]
            if same:
                break
            at = (at + 1) & mask
        if table[at] < 0:
            table[at] = count
            firsts[count] = i
            count += 1
        numbers[i] = table[at]
    return numbers


def by_first_appearance(values: IntArray) -> IntArray:
    """Number labels 0, 1, ... in the order in which they first occur."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]
