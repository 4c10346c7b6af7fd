"""Speakers of very many embeddings: who is who across many recordings.

1. Every row gets its nearest neighbours (`nearest`).
2. Two rows that are each other's nearest are nearly always one speaker's. If the model
   is wrong about how much these differ (`variance`), such pairs teach it; without a
   trained model, they teach all of it.
3. Stochastic mean shift over the neighbours gives fragments (`fragments`), which are
   joined as long as likelihood ratios say one speaker (`joins`). What comes out teaches
   the model again, since nearest pairs vary less than others.
4. Neighbours are looked for once more, in the space of the model that was learnt, and
   fragments and joins made of them are the speakers.

Nothing of it needs more than a few numbers for each row and neighbour: time grows like
the search for neighbours, memory with the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.many.fragments import find_fragments
from sms_diar.clustering.many.joins import COARSENING, Groups, join_groups, links_of
from sms_diar.clustering.many.nearest import (
    NearArray,
    Rows,
    Search,
    SingleArray,
    find_neighbours,
)
from sms_diar.clustering.many.variance import variance_within
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_plda import ModelSpace, model_space, phi_of
from sms_diar.scoring.plda import diagonalise
from sms_diar.scoring.session_model import SessionModel, SessionPrior, adapt_session
from sms_diar.types import AnyArray, FloatArray, IntArray

NEIGHBOURS = 10
"""Neighbours of each row."""

ROUNDS = 3
"""Times that fragments teach the model before the last word."""

STAGES = ROUNDS + 3
"""Stages that the listener hears of."""

_TEACHERS = 50_000  # rows that the model learns from, at most
_ITERATIONS = 5  # of expectation maximisation
_CREDIBLE = (0.8, 1.25)  # variances within speakers at which a model is believed
_LEAST_WITHIN, _LEAST_BETWEEN = 1e-3, 0.1  # shares that variances are kept above
_SHRINKAGE = 0.5  # of a covariance that only pairs have taught, to equal variance
_BLOCK = 20_000  # rows that are mapped at a time
_BYTES = 4  # of a number in single precision


@dataclass(frozen=True, eq=False)
class Found:
    """Speakers, and how they were found.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Speaker of each row, numbered from 0 by first appearance.
    n_fragments : int
        Fragments that the last run of mean shift gave.
    n_steps : int
        Moves of single rows in all runs.
    scale_within : float
        Variance within speakers, as a multiple of that of the trained model.
    rows : Rows
        The rows in the space of the model that was learnt.
    near : ndarray of shape (n, k), int32
        Neighbours of each row in that space.
    """

    labels: IntArray
    n_fragments: int
    n_steps: int
    scale_within: float
    rows: Rows
    near: NearArray

    @property
    def n_speakers(self) -> int:
        """Speakers found."""
        return int(self.labels.max()) + 1


def cluster_many(
    X: AnyArray,
    backend: BackEnd | None = None,
    *,
    low: int = 1,
    high: int | None = None,
    seed: int = 0,
    workers: int = 1,
    search: Search = "auto",
    stage: Callable[[str], Callable[[float], None]] = lambda _: lambda _: None,
) -> Found:
    """Find the speakers of very many rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Raw embeddings, finite; single precision will do.
    backend : BackEnd, optional
        Of kind "plda", the model to start from. Without one, or with one of kind
        "cosine", directions are all that is known, and the rows teach the model.
    low, high : int, optional
        Bounds on the number of speakers.
    seed : int, default=0
        Seed of the draws.
    workers : int, default=1
        Threads that look for neighbours; they do not change the result.
    search : {"auto", "exact", "index"}
        How neighbours are found; see `find_neighbours`.
    stage : callable, optional
        Called with the name of each stage; what it returns is called with the share
        of it that is done.

    Returns
    -------
    found : Found
        Speakers.
    """
    n = len(X)
    high = n if high is None else high
    if n < 2:
        raise InvalidParameterError(
            f"must have at least two rows, got {n}", owner="cluster_many", parameter="X"
        )
    rng = np.random.default_rng(seed)

    def neighbours(rows: Rows, name: str) -> NearArray:
        return find_neighbours(
            rows,
            NEIGHBOURS,
            search=search,
            seed=seed,
            workers=workers,
            tell=stage(name),
        )[0]

    def speakers(
        rows: Rows, near: NearArray, name: str, low: int, high: int
    ) -> tuple[IntArray, int, int]:
        tell = stage(name)
        fragments, steps = find_fragments(
            rows, near, rng=rng, tell=lambda done: tell(0.9 * done)
        )
        owner = join_groups(
            Groups.of(rows, fragments),
            rows.psi,
            links_of(near, fragments),
            low=low,
            high=high,
            search=search,
            seed=seed,
            workers=workers,
            tell=lambda done: tell(0.9 + 0.1 * done),
        )
        return owner[fragments], int(fragments.max()) + 1, steps

    # How a product is cut among threads can change its last bit.
    with threadpool_limits(limits=1):
        space = _Space.of(X, backend)
        near = neighbours(Rows(space.rows(), space.psi), "neighbours")
        space, model = space.start(nearest_pairs(near[:, 0]), rng)
        n_steps = 0
        for number in range(ROUNDS):
            rows = Rows(space.rows(model), model.psi)
            name = f"learning, round {number + 1}"
            # Without bounds: a number that was asked for is no teacher.
            labels, _, steps = speakers(rows, near, name, 1, n)
            n_steps += steps
            model = space.adapted(labels, rng)
        rows = Rows(space.rows(model), model.psi)
        near = neighbours(rows, "neighbours, once more")
        labels, n_fragments, steps = speakers(rows, near, "speakers", low, high)
    if int(labels.max()) + 1 < low:
        raise InvalidParameterError(
            f"found {int(labels.max()) + 1} groups of rows that differ, which is less "
            f"than the {low} speakers asked for; ask for fewer",
            owner="cluster_many",
        )
    return Found(
        by_first_appearance(labels),
        n_fragments,
        n_steps + steps,
        model.scale_within,
        rows,
        near,
    )


def nearest_pairs(first: AnyArray) -> IntArray:
    """Pairs of rows that are each other's nearest neighbour.

    Examples
    --------
    >>> nearest_pairs(np.array([1, 0, 1, 4, 3])).tolist()
    [[0, 1], [3, 4]]
    """
    rows = np.arange(len(first))
    mutual = (first >= 0) & (first[first] == rows) & (rows < first)
    return np.stack((rows[mutual], first[mutual].astype(np.int64)), axis=1)


def estimate_memory(n: int, d: int) -> int:
    """Bytes that clustering n rows of d dimensions takes at its peak, about.

    The rows as they are read, in the space of the model, and moved or in the index;
    neighbours, three numbers each; and what teaches the model, in double precision,
    ten times over. Measured: 1.3 GiB for 100,000 rows of 192 dimensions, 3.8 GiB for a
    million.
    """
    rows = n * (8 * d + 2 * _BYTES * (d + 1) + 3 * 8 * 2 * NEIGHBOURS)
    return rows + min(n, _TEACHERS) * 80 * d + (200 << 20)


@dataclass(frozen=True, eq=False)
class _Space:
    """Rows as raw vectors, and the way to where a prior model is diagonal.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Raw vectors.
    vectors : callable
        Some of them to vectors of variance 1 within speakers.
    psi : ndarray of shape (q,)
        Variances between speakers.
    trained : bool
        Whether the model is more than a guess.
    """

    X: AnyArray
    vectors: Callable[[FloatArray], FloatArray]
    psi: FloatArray
    trained: bool

    @classmethod
    def of(cls, X: AnyArray, backend: BackEnd | None) -> _Space:
        """Where to begin: the space of a trained model, or directions as they are."""
        if backend is not None and backend.kind == "plda":
            space: ModelSpace = model_space(backend)
            return cls(X, space.vectors, space.psi, trained=True)

        def directions(rows: FloatArray) -> FloatArray:
            # Of unit length each and of equal variances: scores order as cosines do.
            return scale_rows(rows if backend is None else phi_of(backend, rows))

        q = X.shape[1] if backend is None else backend.score_dim
        return cls(X, directions, np.ones(q), trained=False)

    def rows(self, model: SessionModel | None = None) -> SingleArray:
        """All rows, where the prior or a model that was learnt is diagonal."""
        n = len(self.X)
        out = np.empty((n, len(self.psi)), dtype=np.float32)
        for first in range(0, n, _BLOCK):
            part = slice(first, first + _BLOCK)
            vectors = self._take(part)
            out[part] = vectors if model is None else model.project(vectors)
        return out

    def start(
        self, pairs: IntArray, rng: np.random.Generator
    ) -> tuple[_Space, SessionModel]:
        """A space and a model in it: as trained, if it fits, or as pairs teach it."""
        if self.trained:
            prior = SessionPrior(self.psi).start
            if _CREDIBLE[0] <= self._variance(prior) <= _CREDIBLE[1]:
                return self, prior
        space, model = self._taught_by(pairs, rng)
        scale = space._variance(model)
        # Pairs vary too little. What is theirs no longer is no difference of speakers.
        within = scale * model.within
        between, total = np.trace(model.between), np.trace(model.within + model.between)
        share = max(float((total - np.trace(within)) / between), _LEAST_BETWEEN)
        return space, replace(
            model, within=within, between=share * model.between, scale_within=scale
        )

    def _variance(self, model: SessionModel) -> float:
        if len(self.psi) < 2:
            return 1.0
        return max(variance_within(Rows(self.rows(model), model.psi)), _LEAST_WITHIN)

    def _taught_by(
        self, pairs: IntArray, rng: np.random.Generator
    ) -> tuple[_Space, SessionModel]:
        """What pairs of one speaker each say: a space, and a model in it."""
        if 2 * len(pairs) > _TEACHERS:
            drawn = rng.choice(len(pairs), _TEACHERS // 2, replace=False)
            pairs = pairs[np.sort(drawn)]
        vectors = self._take(pairs.ravel()).reshape(len(pairs), 2, len(self.psi))
        differ = (vectors[:, 0] != vectors[:, 1]).any(axis=1)  # copies teach nothing
        vectors = vectors[differ]
        space = self if self.trained else self._learnt(vectors[:, 0] - vectors[:, 1])
        prior = SessionPrior(space.psi)
        if not len(vectors) or not self.trained:
            return space, prior.start
        labels = np.repeat(np.arange(len(vectors)), 2)
        rows = vectors.reshape(-1, len(self.psi))
        return space, adapt_session(
            prior, prior.start, rows, labels, weight=1.0, n_iter=_ITERATIONS
        )

    def adapted(self, labels: IntArray, rng: np.random.Generator) -> SessionModel:
        """Model that groups teach: whole ones, drawn until there are enough rows."""
        sizes = np.bincount(labels)
        order = rng.permutation(len(sizes))
        enough = int(np.searchsorted(np.cumsum(sizes[order]), _TEACHERS)) + 1
        drawn = np.zeros(len(sizes), dtype=np.bool_)
        drawn[order[:enough]] = True
        chosen = np.flatnonzero(drawn[labels])[: 2 * _TEACHERS]
        groups = np.unique(labels[chosen], return_inverse=True)[1].astype(np.int64)
        size = len(chosen) / (int(groups.max()) + 1)
        prior = SessionPrior(self.psi)
        return adapt_session(
            prior,
            prior.start,
            self._take(chosen),
            groups,
            weight=COARSENING / (COARSENING + size),
            n_iter=_ITERATIONS,
        )

    def _learnt(self, differences: FloatArray) -> _Space:
        """Space in which differences of pairs are white, and what is left varies."""
        n, q = len(self.X), len(self.psi)
        sample = self._take(np.unique(np.linspace(0, n - 1, _BLOCK).astype(np.int64)))
        mean = sample.mean(axis=0)
        total = np.cov(sample.T, bias=True).reshape(q, q) + 1e-9 * np.eye(q)
        within = differences.T @ differences / max(2 * len(differences), 1)
        level = float(np.trace(within)) / q or float(np.trace(total)) / q
        within = (1.0 - _SHRINKAGE) * within + _SHRINKAGE * level * np.eye(q)
        transform, variances = diagonalise("cluster_many", within, total)
        before = self.vectors

        def vectors(rows: FloatArray) -> FloatArray:
            projected: FloatArray = (before(rows) - mean) @ transform.T
            return projected

        return _Space(self.X, vectors, np.maximum(variances - 1.0, 1e-2), trained=False)

    def _take(self, part: slice | IntArray) -> FloatArray:
        return self.vectors(np.asarray(self.X[part], dtype=np.float64))
