"""Nearest neighbours of many rows: candidates of an index, ranked by exact scores.

The score of rows i and j is ``U_i . U_j + b_i + b_j + c``. For a given i it decreases
with the distance between ``(U_i, 0)`` and ``(U_j, e_j)``, where
``e_j**2 = m - 2 b_j - |U_j|**2`` with any m for which no square is negative: ::

    |(U_i, 0) - (U_j, e_j)|**2 = |U_i|**2 + m - 2 (U_i . U_j + b_j)

Any index for Euclidean distances therefore orders by PLDA or cosine scores. Up to
`EXACT` rows all distances are computed, as products of blocks. Above, rows are sorted
into cells around centres (an inverted file of faiss), and only the cells nearest to a
row are searched. Distances are in single precision; candidates are scored in double
precision and ranked by that.

Blocks do not depend on the number of workers, and each is computed by one thread, so
the results do not depend on the number of workers either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sms_diar._parallel import ordered_map
from sms_diar.clustering.many._kernels import score_neighbours
from sms_diar.errors import MissingExtraError
from sms_diar.scoring.plda import pair_coefficients
from sms_diar.types import AnyArray, FloatArray, IntArray

SingleArray: TypeAlias = npt.NDArray[np.float32]
NearArray: TypeAlias = npt.NDArray[np.int32]
Search: TypeAlias = Literal["auto", "exact", "index"]

EXACT = 50_000
"""Maximum number of rows for which all distances are computed."""

PROBES = 32
"""Number of cells of the index that are searched for each row."""

_BLOCK = 512  # rows whose neighbours are searched at a time
_COLUMNS = 16_384  # rows that they are compared with at a time, without an index
_SPARE = 1.5  # candidates per neighbour, because rounding may swap close ones
_CELLS = 8.0  # number of cells, as a multiple of the square root of the rows
_SAMPLE = 16  # rows per cell from which its centre is estimated
_ROUNDS = 3  # of k-means for the centres
_STEP = 8_192  # rows that are added to the index at a time


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of shape (n, d), in single precision, where a PLDA model is diagonal.

    The variances are 1 within speakers and `psi` between them.
    """

    vectors: SingleArray
    psi: FloatArray

    def __len__(self) -> int:
        return len(self.vectors)

    def positions(self, part: slice | AnyArray) -> tuple[SingleArray, SingleArray]:
        """Return ``U`` of some rows, and ``-2 b - |U|**2``, which is not positive."""
        weights = pair_coefficients(self.psi)
        rows = self.vectors[part].astype(np.float64)
        U = rows * np.sqrt(weights.cross)
        rest = rows**2 @ (-2.0 * weights.test - weights.cross)
        return U.astype(np.float32), rest.astype(np.float32)


class Index(Protocol):
    """Search for the nearest positions."""

    def search(self, queries: SingleArray, k: int) -> AnyArray:
        """Return the k nearest rows of each query; -1 if there are fewer."""


def find_neighbours(
    rows: Rows,
    k: int,
    *,
    search: Search = "auto",
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[float], None] = lambda _: None,
) -> tuple[NearArray, SingleArray]:
    """Find the k other rows of highest score for each row, best first.

    Returns indices (n, k), which are -1 if the index proposes too few candidates, and
    log-likelihood ratios. There are fewer columns if there are fewer rows. "auto" uses
    the index above `EXACT` rows; `seed` draws the sample for its cells. `workers` do
    not change the result; `tell` is called with the finished share. Time is O(n**2 d)
    without an index, and O(n**1.5 d) with one, whose cells grow with the root of n.
    """
    n = len(rows)
    k = min(k, n - 1)
    exact = search == "exact" or (search == "auto" and n <= EXACT)
    index: Index
    if exact:
        index, share = _Exact(rows), 0.0
    else:
        share = 0.4
        index = build_index(
            rows, seed=seed, workers=workers, tell=lambda done: tell(share * done)
        )
    return ranked_neighbours(
        rows,
        index,
        k,
        workers=workers,
        tell=lambda done: tell(share + (1.0 - share) * done),
    )


def ranked_neighbours(
    rows: Rows,
    index: Index,
    k: int,
    *,
    workers: int = 1,
    tell: Callable[[float], None] = lambda _: None,
) -> tuple[NearArray, SingleArray]:
    """Rank the candidates of an index by exact score, as for `find_neighbours`."""
    n = len(rows)
    weights = pair_coefficients(rows.psi)
    n_candidates = min(math.ceil(_SPARE * k) + 1, n)
    near = np.empty((n, k), dtype=np.int32)
    scores = np.empty((n, k), dtype=np.float32)

    def best(part: slice) -> tuple[slice, AnyArray, AnyArray]:
        U, _ = rows.positions(part)
        queries = _beside(U, np.zeros(len(U), dtype=np.float32))
        candidates = index.search(queries, n_candidates)
        exact = np.empty(candidates.shape)
        score_neighbours(
            rows.vectors,
            candidates,
            weights.cross,
            weights.test,
            weights.constant,
            part.start,
            part.stop,
            exact,
        )
        # Of equal scores the lower row is preferred, independent of the index.
        order = np.lexsort((candidates, -exact), axis=1)[:, :k]
        kept = np.take_along_axis(exact, order, axis=1)
        chosen = np.take_along_axis(candidates, order, axis=1)
        return part, np.where(np.isfinite(kept), chosen, -1), kept

    for part, chosen, kept in ordered_map(best, _parts(n, _BLOCK), workers=workers):
        near[part], scores[part] = chosen, kept
        tell(part.stop / n)
    return near, scores


def exact_neighbours(rows: Rows, indices: IntArray, k: int) -> IntArray:
    """Find the k best rows for some rows, in any order, by computing all scores."""
    index = _Exact(rows)
    found = np.empty((len(indices), k), dtype=np.int64)
    for part in _parts(len(indices), _BLOCK):
        U, _ = rows.positions(indices[part])
        near = index.search(_beside(U, np.zeros(len(U), dtype=np.float32)), k + 1)
        is_self = near == indices[part, None]
        # The row itself is nearest, except for rounding; then the last one is dropped.
        is_self[~is_self.any(axis=1), -1] = True
        found[part] = near[~is_self].reshape(-1, k)
    return found


def build_index(
    rows: Rows,
    *,
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[float], None] = lambda _: None,
) -> Index:
    """Sort all rows into cells; raises MissingExtraError without faiss."""
    faiss = load_faiss(len(rows))
    n, d = len(rows), len(rows.psi) + 1
    lowest = min(float(rows.positions(part)[1].min()) for part in _parts(n, _STEP))
    cells = max(1, int(min(_CELLS * math.sqrt(n), n / _SAMPLE)))
    quantizer = faiss.IndexFlatL2(d)
    coarse = _Quantizer(faiss, quantizer, workers)
    centres = _centres(coarse, rows, lowest, cells, seed, lambda done: tell(0.5 * done))
    coarse.set_centres(centres)
    index = faiss.IndexIVFFlat(quantizer, d, cells, faiss.METRIC_L2)
    index.nprobe = min(PROBES, cells)
    positions = (_lifted(rows, part, lowest) for part in _parts(n, _STEP))
    first = 0
    for block, owners in coarse.assign(positions):
        ids = np.arange(first, first + len(block), dtype=np.int64)
        pointers = (faiss.swig_ptr(a) for a in (block, ids, owners))
        index.add_core(len(block), *pointers)
        first += len(block)
        tell(0.5 + 0.5 * first / n)
    return _Cells(faiss, index)


def load_faiss(n: int) -> Any:
    """Import the library of the index, or raise an error with a remedy."""
    try:
        import faiss  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            f"clustering {n} vectors across recordings needs an index of neighbours "
            f"(above {EXACT}), and faiss is not installed; install it with: "
            f"pip install 'sms-diar[index]'"
        ) from error
    return faiss


class _Exact:
    """Index that computes all distances, block by block."""

    def __init__(self, rows: Rows) -> None:
        positions = [rows.positions(part) for part in _parts(len(rows), _STEP)]
        self._positions = np.concatenate([U for U, _ in positions])
        rest = np.concatenate([rest for _, rest in positions])
        # Half the squared distance to (U, e), without the terms common to a query.
        self._halves = 0.5 * (
            rest + np.einsum("ij,ij->i", self._positions, self._positions)
        )

    def search(self, queries: SingleArray, k: int) -> AnyArray:
        """Return the k nearest rows of each query."""
        near = np.empty((len(queries), 0), dtype=np.int64)
        best = np.empty((len(queries), 0), dtype=np.float32)
        for part in _parts(len(self._positions), _COLUMNS):
            distances = queries[:, :-1] @ self._positions[part].T
            np.subtract(self._halves[part], distances, out=distances)
            most = min(k, distances.shape[1])
            new = np.argpartition(distances, most - 1, axis=1)[:, :most]
            best = np.hstack((best, np.take_along_axis(distances, new, axis=1)))
            near = np.hstack((near, new + part.start))
            if near.shape[1] > k:
                kept = np.argpartition(best, k - 1, axis=1)[:, :k]
                best = np.take_along_axis(best, kept, axis=1)
                near = np.take_along_axis(near, kept, axis=1)
        return near


class _Cells:
    """Inverted file of faiss."""

    def __init__(self, faiss: Any, index: Any) -> None:
        self._faiss, self._index = faiss, index

    def search(self, queries: SingleArray, k: int) -> AnyArray:
        """Return the k nearest rows of each query in the searched cells."""
        self._faiss.omp_set_num_threads(1)  # affects the current thread only
        return np.asarray(self._index.search(queries, k)[1])


class _Quantizer:
    """Assignment of positions to cells, with several threads."""

    def __init__(self, faiss: Any, index: Any, workers: int) -> None:
        self._faiss, self._index, self._workers = faiss, index, workers

    def set_centres(self, centres: SingleArray) -> None:
        """Replace all centres."""
        self._index.reset()
        self._index.add(centres)

    def assign(
        self, blocks: Iterator[SingleArray]
    ) -> Iterator[tuple[SingleArray, AnyArray]]:
        """Yield blocks of positions with their cells, in order."""

        def nearest(block: SingleArray) -> tuple[SingleArray, AnyArray]:
            self._faiss.omp_set_num_threads(1)
            return block, np.ascontiguousarray(self._index.search(block, 1)[1][:, 0])

        return ordered_map(nearest, blocks, workers=self._workers)


def _centres(
    coarse: _Quantizer,
    rows: Rows,
    lowest: float,
    cells: int,
    seed: int,
    tell: Callable[[float], None],
) -> SingleArray:
    """Run a few rounds of k-means on a sample; unused centres do not move."""
    n = len(rows)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(n, size=min(n, _SAMPLE * cells), replace=False))
    parts = _parts(len(chosen), _STEP)
    sample = [_lifted(rows, chosen[part], lowest) for part in parts]
    first = np.sort(rng.choice(len(chosen), size=cells, replace=False))
    centres: SingleArray = _lifted(rows, chosen[first], lowest)
    for number in range(_ROUNDS):
        coarse.set_centres(centres)
        sums = np.zeros(centres.shape)
        sizes = np.zeros(cells)
        done = 0
        for block, owners in coarse.assign(iter(sample)):
            np.add.at(sums, owners, block)
            sizes += np.bincount(owners, minlength=cells)
            done += len(block)
            tell((number + done / len(chosen)) / _ROUNDS)
        is_used = sizes > 0
        centres[is_used] = sums[is_used] / sizes[is_used, None]
    return centres


def _lifted(rows: Rows, part: slice | AnyArray, lowest: float) -> SingleArray:
    """Return positions in the index, which has one dimension more than the scores."""
    U, rest = rows.positions(part)
    return _beside(U, np.sqrt(np.maximum(rest - np.float32(lowest), 0.0)))


def _beside(U: SingleArray, last: SingleArray) -> SingleArray:
    return np.ascontiguousarray(np.column_stack((U, last)), dtype=np.float32)


def _parts(n: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]
