"""Resting points to clusters: connected components of "closer than a threshold".

Thousands of points rest at almost the same place, so comparing all pairs would
cost more than the clustering. Equal points are looked at once; as a rule a handful
of places is left, and these are compared directly. Where many are left, they are
first sorted into cells so small that any two points of one cell are neighbours;
only cells whose points might touch are then compared, and one touching pair
decides.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from sms_diar._numba import inlined, kernel, part
from sms_diar.clustering._hash import mix
from sms_diar.types import FloatArray, IntArray

_BLOCK = 2048  # cells whose candidate neighbours are listed at a time
_FEW = 1024  # places or cells that are faster compared all with all
_TABLE = 256  # entries of a hash table at first


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
    points = np.ascontiguousarray(points)
    at, firsts = distinct_rows(points)
    places = points[firsts]
    # Places and cells are numbered by first appearance, and so are components.
    labels: IntArray
    if len(places) <= _FEW:
        labels = _join_all(places, np.arange(len(places) + 1), threshold)[at]
        return labels
    cells = _cells(places, threshold)
    order = np.argsort(cells, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cells))]).astype(np.int64)
    join = _join_all if len(starts) <= _FEW else _join_near
    labels = join(places[order], starts, threshold)[cells][at]
    return labels


def average_clusters(points: FloatArray, labels: IntArray) -> FloatArray:
    """Mean of the points of each cluster, labels being 0, 1, ..."""
    return _average(points, labels, int(labels.max()) + 1)


@kernel
def _average(points: FloatArray, labels: IntArray, n_clusters: int) -> FloatArray:
    n, n_dims = points.shape
    sizes = np.zeros(n_clusters, dtype=np.int64)
    anchors = np.zeros(n_clusters, dtype=np.int64)
    means = np.zeros((n_clusters, n_dims))
    # Averaging offsets from one member keeps equal points exactly where they are.
    for i in range(n):
        label = labels[i]
        if sizes[label] == 0:
            anchors[label] = i
        sizes[label] += 1
        for d in range(n_dims):
            means[label, d] += points[i, d] - points[anchors[label], d]
    for label in range(n_clusters):
        for d in range(n_dims):
            means[label, d] = points[anchors[label], d] + means[label, d] / sizes[label]
    return means


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
    """Tell whether some pair of points of two cells is near."""
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
    """Least cell known to be of the same component; paths to it are halved."""
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
def _join_all(grouped: FloatArray, starts: IntArray, threshold: float) -> IntArray:
    """Do what `_join_near` does by comparing each cell with each."""
    limit = threshold * threshold
    reach = 4.0 * limit * (1.0 + 1e-8)
    parents = np.empty(starts.shape[0] - 1, dtype=np.int64)
    for a in range(parents.shape[0]):
        parents[a] = a
        for b in range(a):
            # Written out here as well: most pairs are out of reach, and a call for
            # each of them takes five times as long.
            squared = 0.0
            for d in range(grouped.shape[1]):
                gap = grouped[starts[a], d] - grouped[starts[b], d]
                squared += gap * gap
            if squared > reach:
                continue
            root, other = root_of(parents, a), root_of(parents, b)
            if root != other and _touch(grouped, starts, a, b, limit):
                parents[max(root, other)] = min(root, other)
    return _components(parents)


@kernel
def _components(parents: IntArray) -> IntArray:
    """Number the trees of a forest in which no cell comes before its parent."""
    components = np.empty(parents.shape[0], dtype=np.int64)
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
    """Numbers of the rows, as `number_rows`, and where each number first occurs."""
    return _number_rows(_bits(rows))


def _bits(rows: FloatArray) -> IntArray:
    # Adding zero makes -0.0 and 0.0 the same bits.
    return np.ascontiguousarray(rows + 0.0).view(np.int64)


@inlined
def _key(bits: IntArray, row: int) -> int:
    key = 0
    for c in range(bits.shape[1]):
        key = mix(key, int(bits[row, c]))
    return key


@part
def _empty_table(size: int) -> IntArray:
    table = np.empty(size, dtype=np.int64)
    for at in range(size):
        table[at] = -1
    return table


@kernel
def _number_rows(bits: IntArray) -> tuple[IntArray, IntArray]:
    n, n_columns = bits.shape
    numbers = np.empty(n, dtype=np.int64)
    firsts = np.empty(n, dtype=np.int64)
    # Few distinct rows are the rule, and a small table stays in the cache.
    table = _empty_table(_TABLE)
    count = 0
    for i in range(n):
        if 2 * count >= table.shape[0]:
            table = _empty_table(4 * table.shape[0])
            for number in range(count):
                at = _key(bits, firsts[number]) & (table.shape[0] - 1)
                while table[at] >= 0:
                    at = (at + 1) & (table.shape[0] - 1)
                table[at] = number
        mask = table.shape[0] - 1
        at = _key(bits, i) & mask
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
    return numbers, firsts[:count]


def by_first_appearance(values: IntArray) -> IntArray:
    """Number labels 0, 1, ... in the order in which they first occur."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.ravel()]
