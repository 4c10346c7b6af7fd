"""Cluster up to millions of embeddings across many recordings.

1. Every row gets its nearest neighbours (`nearest`).
2. Two rows that are each other's nearest neighbour almost always have the same speaker.
   If the variance within speakers differs from the model, the model is adapted to such
   pairs; without a trained model, it is estimated from them.
3. Stochastic mean shift over the neighbours gives pure fragments, which are merged by
   likelihood ratios (`merging`). The model is adapted to the result, because nearest
   pairs vary less than other pairs. This is repeated.
4. Neighbours are searched again in the space of the adapted model; their fragments are
   merged into speakers.

In the mean shift of step 3, one drawn row at a time moves to the mean of its probable
neighbours in the current state. Candidates are fixed, but at each move only those above
a log-likelihood ratio count: if the model is true, a row of another speaker reaches t
with a probability of at most exp(-t), so fewer than one of n reaches log n.

Memory grows linearly with the number of rows, time like the search for neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.many._kernels import shift_rows, unite_resting
from sms_diar.clustering.many.merging import (
    COARSENING,
    ClusterSums,
    merge_fragments,
    neighbour_pairs,
)
from sms_diar.clustering.many.nearest import (
    NearArray,
    Rows,
    Search,
    SingleArray,
    exact_neighbours,
    find_neighbours,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_plda import ModelSpace, model_space, phi_of
from sms_diar.scoring.plda import diagonalise, pair_coefficients
from sms_diar.scoring.session_model import SessionModel, SessionPrior, adapt_session
from sms_diar.types import AnyArray, FloatArray, IntArray

NEIGHBOURS = 10
"""Number of neighbours of each row."""

ROUNDS = 3
"""Number of times the model is adapted to provisional speakers."""

STAGES = ROUNDS + 3
"""Number of stages of which progress is reported."""

SWEEPS = 8
"""Maximum number of moves of each row in a run of mean shift."""

TOL = 0.05
"""A row rests if its move is below this share of its length."""

_MODEL_ROWS = 50_000  # maximum number of rows that the model is adapted to
_ITERATIONS = 5  # of expectation maximisation
_CREDIBLE = (0.8, 1.25)  # variances within speakers for which a model is kept
_LEAST_WITHIN, _LEAST_BETWEEN = 1e-3, 0.1  # minimum factors of the variances
_SHRINKAGE = 0.5  # of a covariance of pairs, towards equal variances
_BLOCK = 20_000  # rows that are mapped, or moved, at a time
_BYTES = 4  # of a number in single precision
_SETTLED = 0.01  # share of rows that may still move when a run ends
_TOGETHER = 0.2  # maximum distance within a fragment, as a share of the length
_SAMPLE = 1000  # rows whose neighbours show the variance within speakers


@dataclass(frozen=True, eq=False)
class Found:
    """Speakers, numbered from 0 by first appearance, and details of the run.

    `n_fragments` is counted in the last run of mean shift, `n_steps` are moves of
    single rows in all runs, and `scale_within` is the variance within speakers relative
    to the trained model. `rows` and their neighbours `near`, of shape (n, k), are in
    the space of the adapted model.
    """

    labels: IntArray
    n_fragments: int
    n_steps: int
    scale_within: float
    rows: Rows
    near: NearArray

    @property
    def n_speakers(self) -> int:
        """Number of speakers."""
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
    """Find the speakers of many raw embeddings `X`, shape (n, d).

    A `backend` of kind "plda" is the initial model. Without one, or with one of kind
    "cosine", the model is estimated from directions of the rows. `low` and `high` are
    bounds on the number of speakers. `stage` is called with the name of each stage and
    returns a function that takes the finished share of it. The number of `workers`,
    threads that search neighbours, does not change the result.
    """
    n = len(X)
    high = n if high is None else high
    if n < 2:
        problem = f"must have at least two rows, got {n}"
        raise InvalidParameterError(problem, owner="cluster_many", parameter="X")
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
        owner = merge_fragments(
            ClusterSums.of(rows, fragments),
            rows.psi,
            neighbour_pairs(near, fragments),
            low=low,
            high=high,
            search=search,
            seed=seed,
            workers=workers,
            tell=lambda done: tell(0.9 + 0.1 * done),
        )
        return owner[fragments], int(fragments.max()) + 1, steps

    # The split of a product among threads can change its last bit.
    with threadpool_limits(limits=1):
        space = _Space.of(X, backend)
        near = neighbours(Rows(space.rows(), space.psi), "neighbours")
        space, model = space.start(nearest_pairs(near[:, 0]), rng)
        n_steps = 0
        for number in range(ROUNDS):
            rows = Rows(space.rows(model), model.psi)
            name = f"learning, round {number + 1}"
            # Bounds must not influence the model.
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
    """Return the pairs of rows that are each other's nearest neighbour.

    >>> nearest_pairs(np.array([1, 0, 1, 4, 3])).tolist()
    [[0, 1], [3, 4]]
    """
    rows = np.arange(len(first))
    mutual = (first >= 0) & (first[first] == rows) & (rows < first)
    return np.stack((rows[mutual], first[mutual].astype(np.int64)), axis=1)


def estimate_memory(n: int, d: int) -> int:
    """Estimate the peak memory in bytes for n rows with d dimensions.

    These are the rows as read, in the space of the model, and moved or in the index;
    three numbers per neighbour; and ten copies of the rows that the model is adapted
    to, in double precision. Measured: 1.3 GiB for 100,000 rows of 192 dimensions, 3.8
    GiB for a million.
    """
    rows = n * (8 * d + 2 * _BYTES * (d + 1) + 3 * 8 * 2 * NEIGHBOURS)
    return rows + min(n, _MODEL_ROWS) * 80 * d + (200 << 20)


@dataclass(frozen=True, eq=False)
class _Space:
    """Raw vectors `X` with a map to the space where a prior model is diagonal.

    There, the variances are 1 within speakers and `psi` between them. `trained` is
    False if the model is only a guess.
    """

    X: AnyArray
    vectors: Callable[[FloatArray], FloatArray]
    psi: FloatArray
    trained: bool

    @classmethod
    def of(cls, X: AnyArray, backend: BackEnd | None) -> _Space:
        """Return the space of a trained model, or of directions without one."""
        if backend is not None and backend.kind == "plda":
            space: ModelSpace = model_space(backend)
            return cls(X, space.vectors, space.psi, trained=True)

        def directions(rows: FloatArray) -> FloatArray:
            # With unit lengths and equal variances, scores order like cosines.
            return scale_rows(rows if backend is None else phi_of(backend, rows))

        q = X.shape[1] if backend is None else backend.score_dim
        return cls(X, directions, np.ones(q), trained=False)

    def rows(self, model: SessionModel | None = None) -> SingleArray:
        """Map all rows to the space where the prior or the model is diagonal."""
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
        """Return the trained model if it fits the rows, else one adapted to pairs."""
        if self.trained:
            prior = SessionPrior(self.psi).start
            if _CREDIBLE[0] <= self._variance(prior) <= _CREDIBLE[1]:
                return self, prior
        space, model = self._from_pairs(pairs, rng)
        scale = space._variance(model)
        # Pairs vary too little; the excess is taken from the variance between speakers.
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

    def _from_pairs(
        self, pairs: IntArray, rng: np.random.Generator
    ) -> tuple[_Space, SessionModel]:
        """Adapt or estimate a space and a model from pairs of the same speaker."""
        if 2 * len(pairs) > _MODEL_ROWS:
            drawn = rng.choice(len(pairs), _MODEL_ROWS // 2, replace=False)
            pairs = pairs[np.sort(drawn)]
        vectors = self._take(pairs.ravel()).reshape(len(pairs), 2, len(self.psi))
        differ = (vectors[:, 0] != vectors[:, 1]).any(axis=1)
        vectors = vectors[differ]
        space = self if self.trained else self._whitened(vectors[:, 0] - vectors[:, 1])
        prior = SessionPrior(space.psi)
        if not len(vectors) or not self.trained:
            return space, prior.start
        labels = np.repeat(np.arange(len(vectors)), 2)
        rows = vectors.reshape(-1, len(self.psi))
        return space, adapt_session(
            prior, prior.start, rows, labels, weight=1.0, n_iter=_ITERATIONS
        )

    def adapted(self, labels: IntArray, rng: np.random.Generator) -> SessionModel:
        """Adapt the model to whole clusters, drawn until there are enough rows."""
        sizes = np.bincount(labels)
        order = rng.permutation(len(sizes))
        enough = int(np.searchsorted(np.cumsum(sizes[order]), _MODEL_ROWS)) + 1
        drawn = np.zeros(len(sizes), dtype=np.bool_)
        drawn[order[:enough]] = True
        chosen = np.flatnonzero(drawn[labels])[: 2 * _MODEL_ROWS]
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

    def _whitened(self, differences: FloatArray) -> _Space:
        """Return the space in which differences of pairs are white."""
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


def variance_within(rows: Rows) -> float:
    """Estimate the variance within speakers per dimension; 1 if the model is right.

    Nearest neighbours are close partly by chance, so their differences are too small.
    But where the model is diagonal, noise in one half of the dimensions is independent
    of the other half: neighbours are searched in one half, their differences measured
    in the other, and vice versa. The median over rows tolerates neighbours of other
    speakers. Needs at least two dimensions.
    """
    n, d = rows.vectors.shape
    sample = np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64))
    variances = []
    for first in (0, 1):
        here, there = slice(first, d, 2), slice(1 - first, d, 2)
        half = Rows(np.ascontiguousarray(rows.vectors[:, here]), rows.psi[here])
        near = exact_neighbours(half, sample, 1)[:, 0]
        gaps = rows.vectors[sample, there].astype(np.float64)
        gaps -= rows.vectors[near, there]
        variances.append(float(np.median(np.mean(gaps**2, axis=1))) / 2.0)
    return sum(variances) / 2.0


def find_fragments(
    rows: Rows,
    near: NearArray,
    *,
    rng: np.random.Generator,
    tell: Callable[[float], None] = lambda _: None,
) -> tuple[IntArray, int]:
    """Cluster rows that come to rest together.

    Returns fragments 0, 1, ..., in the order of first members, and the number of moves.
    """
    n = len(rows)
    weights = pair_coefficients(rows.psi)
    expected = 1.0 / (1.0 + rows.psi)
    states = _normalised(rows, expected)
    biases = np.concatenate(
        [
            states[first : first + _BLOCK].astype(np.float64) ** 2 @ weights.test
            for first in range(0, n, _BLOCK)
        ]
    )
    n_steps = 0
    for sweep in range(SWEEPS):
        order = rng.permutation(n)
        moved = 0
        for first in range(0, n, _BLOCK):
            moved += shift_rows(
                states,
                biases,
                near,
                order[first : first + _BLOCK],
                weights.cross,
                weights.test,
                expected,
                weights.constant,
                math.log(n),
                TOL,
            )
            tell((sweep + first / n) / SWEEPS)
        n_steps += n
        if moved <= _SETTLED * n:
            break
    parent = np.arange(n)
    for first in range(0, n, _BLOCK):
        unite_resting(states, near, _TOGETHER**2, first, min(first + _BLOCK, n), parent)
    labels: IntArray = np.unique(_roots(parent), return_inverse=True)[1].astype(
        np.int64
    )
    return labels, n_steps


def _normalised(rows: Rows, expected: FloatArray) -> SingleArray:
    states = rows.vectors.copy()
    d = states.shape[1]
    for first in range(0, len(states), _BLOCK):
        part = states[first : first + _BLOCK]
        energy = part.astype(np.float64) ** 2 @ expected
        energy[energy == 0.0] = d
        part *= np.sqrt(d / energy)[:, None]
    return states


def _roots(parent: IntArray) -> IntArray:
    """Return the roots of all trees by doubling pointers until they do not change."""
    while True:
        above = parent[parent]
        if np.array_equal(above, parent):
            return above
        parent = above
