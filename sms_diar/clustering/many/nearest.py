"""Neighbours of very many rows: proposed by an index, ranked by the exact score.

The score of rows i and j is ``U_i . U_j + b_i + b_j + c``. For one i its order is that
of ``U_i . U_j + b_j``, and so that of the distance between ``(U_i, 0)`` and
``(U_j, e_j)`` with ``e_j**2 = m - 2 b_j - |U_j|**2`` and any m that leaves no root
of a negative number: ::

    |(U_i, 0) - (U_j, e_j)|**2 = |U_i|**2 + m - 2 (U_i . U_j + b_j)

Any index for Euclidean distances therefore orders by PLDA, or by cosine, itself. Up to
`EXACT` rows all distances are computed, by products of blocks; beyond, the rows lie in
cells around centres (an inverted file of faiss), and only the cells nearest to a row
are looked through. Rounding is single; what was proposed is scored in double and ranked
by that.

Blocks are always the same, and each is one thread's work from beginning to end: results
do not depend on the number of workers.
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
"""Rows up to which neighbours are found by computing all distances."""

PROBES = 32
"""Cells that the index looks through for each row."""

_BLOCK = 512  # rows whose neighbours are looked for at a time
_COLUMNS = 16_384  # rows that they are compared with at a time, without an index
_SPARE = 1.5  # proposals for each neighbour wanted: rounding may swap near ones
_CELLS = 8.0  # cells, as a multiple of the square root of the number of rows
_TEACHERS = 16  # rows that teach the place of a cell
_ROUNDS = 3  # of k-means that place the cells
_STEP = 8_192  # rows that go into the index at a time


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in the space where a PLDA model is diagonal.

    Parameters
    ----------
    vectors : ndarray of shape (n, d), float32
        The rows; variance 1 within speakers.
    psi : ndarray of shape (d,)
        Variances between speakers.
    """

    vectors: SingleArray
    psi: FloatArray

    def __len__(self) -> int:
        return len(self.vectors)

    def placed(self, part: slice | AnyArray) -> tuple[SingleArray, SingleArray]:
        """Places ``U`` of some rows, and what a place in the index must add.

        The second is ``-2 b - |U|**2``, which is not positive.
        """
        weights = pair_coefficients(self.psi)
        rows = self.vectors[part].astype(np.float64)
        U = rows * np.sqrt(weights.cross)
        rest = rows**2 @ (-2.0 * weights.test - weights.cross)
        return U.astype(np.float32), rest.astype(np.float32)


class Index(Protocol):
    """What finds the nearest of all places."""

    def search(self, queries: SingleArray, k: int) -> AnyArray:
        """Rows of the k nearest places of each query; -1 where there are fewer."""


def find_neighbours(
    rows: Rows,
    k: int,
    *,
    search: Search = "auto",
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[float], None] = lambda _: None,
) -> tuple[NearArray, SingleArray]:
    """Best partners of every row, best first.

    Parameters
    ----------
    rows : Rows
        The rows.
    k : int
        Neighbours wanted, the row itself not among them; fewer if there are fewer rows.
    search : {"auto", "exact", "index"}
        How; "auto" takes the index above `EXACT` rows.
    seed : int, default=0
        Draws the rows that teach the index its cells.
    workers : int, default=1
        Threads; they do not change the result.
    tell : callable, optional
        Called with the share that is done.

    Returns
    -------
    near : ndarray of shape (n, k), int32
        Neighbours of each row; -1 where the index has proposed too few.
    scores : ndarray of shape (n, k), float32
        Their log-likelihood ratios.

    Notes
    -----
    Time O(n**2 d) without an index. With one, cells grow with the root of n, and so
    does what is looked through: O(n**1.5 d).
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
    """What an index proposes for every row, ranked by the exact score.

    Parameters and results are those of `find_neighbours`.
    """
    n = len(rows)
    weights = pair_coefficients(rows.psi)
    asked = min(math.ceil(_SPARE * k) + 1, n)
    near = np.empty((n, k), dtype=np.int32)
    scores = np.empty((n, k), dtype=np.float32)

    def best(part: slice) -> tuple[slice, AnyArray, AnyArray]:
        U, _ = rows.placed(part)
        found = index.search(_beside(U, np.zeros(len(U), dtype=np.float32)), asked)
        known = np.empty(found.shape)
        score_neighbours(
            rows.vectors,
            found,
            weights.cross,
            weights.test,
            weights.constant,
            part.start,
            part.stop,
            known,
        )
        # Of equal scores the first row is the better one, wherever it was proposed.
        order = np.lexsort((found, -known), axis=1)[:, :k]
        kept = np.take_along_axis(known, order, axis=1)
        chosen = np.take_along_axis(found, order, axis=1)
        return part, np.where(np.isfinite(kept), chosen, -1), kept

    for part, chosen, kept in ordered_map(best, _parts(n, _BLOCK), workers=workers):
        near[part], scores[part] = chosen, kept
        tell(part.stop / n)
    return near, scores


def exact_neighbours(rows: Rows, asked: IntArray, k: int) -> IntArray:
    """Rows of highest score of some rows, found by computing all scores.

    Parameters
    ----------
    rows : Rows
        The rows.
    asked : ndarray of shape (m,)
        Those whose neighbours are wanted.
    k : int
        Neighbours, the row itself not among them.

    Returns
    -------
    near : ndarray of shape (m, k)
        In no order.
    """
    index = _Exact(rows)
    found = np.empty((len(asked), k), dtype=np.int64)
    for part in _parts(len(asked), _BLOCK):
        U, _ = rows.placed(asked[part])
        near = index.search(_beside(U, np.zeros(len(U), dtype=np.float32)), k + 1)
        own = near == asked[part, None]
        # The row itself is nearest, but for rounding; else the last one goes.
        own[~own.any(axis=1), -1] = True
        found[part] = near[~own].reshape(-1, k)
    return found


def build_index(
    rows: Rows,
    *,
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[float], None] = lambda _: None,
) -> Index:
    """Put all rows into cells.

    Raises
    ------
    MissingExtraError
        faiss is not installed.
    """
    faiss = load_faiss(len(rows))
    n, d = len(rows), len(rows.psi) + 1
    lowest = min(float(rows.placed(part)[1].min()) for part in _parts(n, _STEP))
    cells = max(1, int(min(_CELLS * math.sqrt(n), n / _TEACHERS)))
    quantizer = faiss.IndexFlatL2(d)
    coarse = _Quantizer(faiss, quantizer, workers)
    centres = _centres(coarse, rows, lowest, cells, seed, lambda done: tell(0.5 * done))
    coarse.place(centres)
    index = faiss.IndexIVFFlat(quantizer, d, cells, faiss.METRIC_L2)
    index.nprobe = min(PROBES, cells)
    places = (_lifted(rows, part, lowest) for part in _parts(n, _STEP))
    first = 0
    for block, owners in coarse.assign(places):
        ids = np.arange(first, first + len(block), dtype=np.int64)
        pointers = (faiss.swig_ptr(a) for a in (block, ids, owners))
        index.add_core(len(block), *pointers)
        first += len(block)
        tell(0.5 + 0.5 * first / n)
    return _Cells(faiss, index)


def load_faiss(n: int) -> Any:
    """The library of the index, or an error that says how to get it."""
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
    """All distances, block by block."""

    def __init__(self, rows: Rows) -> None:
        placed = [rows.placed(part) for part in _parts(len(rows), _STEP)]
        self._places = np.concatenate([U for U, _ in placed])
        rest = np.concatenate([rest for _, rest in placed])
        # Half the squared distance to (U, e), without what all of a query share.
        self._halves = 0.5 * (rest + np.einsum("ij,ij->i", self._places, self._places))

    def search(self, queries: SingleArray, k: int) -> AnyArray:
        """Rows of the k nearest places of each query."""
        near = np.empty((len(queries), 0), dtype=np.int64)
        best = np.empty((len(queries), 0), dtype=np.float32)
        for part in _parts(len(self._places), _COLUMNS):
            distances = queries[:, :-1] @ self._places[part].T
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
    """An inverted file of faiss."""

    def __init__(self, faiss: Any, index: Any) -> None:
        self._faiss, self._index = faiss, index

    def search(self, queries: SingleArray, k: int) -> AnyArray:
        """Rows of the k nearest places of each query, of the cells looked through."""
        self._faiss.omp_set_num_threads(1)  # is told to the thread at hand only
        return np.asarray(self._index.search(queries, k)[1])


class _Quantizer:
    """Finds the cell of each place, on several threads."""

    def __init__(self, faiss: Any, index: Any, workers: int) -> None:
        self._faiss, self._index, self._workers = faiss, index, workers

    def place(self, centres: SingleArray) -> None:
        """Put the centres where they are to be."""
        self._index.reset()
        self._index.add(centres)

    def assign(
        self, blocks: Iterator[SingleArray]
    ) -> Iterator[tuple[SingleArray, AnyArray]]:
        """Blocks of places with their cells, in order."""

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
    """Centres of cells: k-means of a sample, a few rounds.

    A centre that no row is nearest to stays where it is.
    """
    n = len(rows)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(n, size=min(n, _TEACHERS * cells), replace=False))
    parts = _parts(len(chosen), _STEP)
    sample = [_lifted(rows, chosen[part], lowest) for part in parts]
    first = np.sort(rng.choice(len(chosen), size=cells, replace=False))
    centres: SingleArray = _lifted(rows, chosen[first], lowest)
    for number in range(_ROUNDS):
        coarse.place(centres)
        sums = np.zeros(centres.shape)
        sizes = np.zeros(cells)
        done = 0
        for block, owners in coarse.assign(iter(sample)):
            np.add.at(sums, owners, block)
            sizes += np.bincount(owners, minlength=cells)
            done += len(block)
            tell((number + done / len(chosen)) / _ROUNDS)
        found = sizes > 0
        centres[found] = sums[found] / sizes[found, None]
    return centres


def _lifted(rows: Rows, part: slice | AnyArray, lowest: float) -> SingleArray:
    """Places of rows in the index, one dimension above those of the scores."""
    U, rest = rows.placed(part)
    return _beside(U, np.sqrt(np.maximum(rest - np.float32(lowest), 0.0)))


def _beside(U: SingleArray, last: SingleArray) -> SingleArray:
    return np.ascontiguousarray(np.column_stack((U, last)), dtype=np.float32)


def _parts(n: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]
