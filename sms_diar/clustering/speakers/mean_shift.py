"""kNN mean shift of speaker embeddings.

The neighbours of a segment are the k segments whose PLDA (or cosine) scores with
it are highest, so no radius has to be known and dense and sparse speakers are
treated alike. The state is the length-normalised embedding; scores are
recomputed from it as it moves. See ``_reference.py`` for the definition.

A session of at most k segments would always end as one cluster, because every
neighbourhood is the whole session. In such sessions k is lowered to half of the
segments, rounded up, so that two clusters can form. Speakers with fewer than k
segments are absorbed by their neighbours; choose a smaller k if speakers have few
segments.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sms_diar._random import as_generator
from sms_diar._validation import check_count, check_positive, check_real, check_share
from sms_diar.clustering._modes import merge_resting_points
from sms_diar.clustering.agglomerate import mean_features
from sms_diar.clustering.speakers._cell_kernels import CellSearch
from sms_diar.clustering.speakers._kernels import Map, shift_rows, stochastic_batch
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.bounds import reach_bounds
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray, RandomState

_SCORES = 16_000_000  # scores held at a time: 128 MB


class KnnMeanShift(SpeakerEstimator):
    """Base class of kNN mean shift; subclasses move the states."""

    k: Any
    tol: float
    merge_threshold: float | None

    @abstractmethod
    def _move(
        self, states: FloatArray, terms: PairwiseTerms, backend: BackEnd, k: int
    ) -> tuple[FloatArray, int, float]:
        """Move until rest: resting states, point moves, longest last move."""

    @abstractmethod
    def _remedy(self) -> str:
        """Name the parameter that ended a run too early."""

    def _fit_rows(self, X: FloatArray) -> None:
        backend = self.backend_
        states = backend.prepare(X)
        terms = backend.features(states)
        n = len(states)
        wanted, most = self._bounds(n)
        k = min(self._largest_k(), n)
        if n <= self._largest_k():
            k = max(1, math.ceil(n / 2))
        self.n_steps_ = 0
        while True:
            resting, n_steps, longest = self._move(states.copy(), terms, backend, k)
            self.n_steps_ += n_steps
            labels = self._merge(resting, backend)
            if int(labels.max()) + 1 >= wanted or k == 1:
                break
            k = max(1, k // 2)  # smaller neighbourhoods keep more clusters apart
        labels = reach_bounds(terms, labels, wanted, most)
        self.k_ = k
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        self.resting_points_ = resting
        self.converged_ = longest < self.tol
        self._speakers = mean_features(terms, labels)
        if not self.converged_:
            warnings.warn(
                f"{self._name}: the longest last move is still {longest:.2g} after "
                f"{n_steps} point moves (tol={self.tol:g}); {self._remedy()}",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _merge(self, resting: FloatArray, backend: BackEnd) -> IntArray:
        """Labels of resting states."""
        # The back end only uses directions.
        points = scale_rows(resting) if backend.normalize_state else resting
        # Equal points at the origin have no length.
        length = float(np.median(np.linalg.norm(points, axis=1))) or 1.0
        return merge_resting_points(points, self.merge_threshold or 0.2 * length)

    def _largest_k(self) -> int:
        return int(np.max(self.k))

    def _check_limits(self) -> None:
        check_positive(self._name, "tol", self.tol)
        if self.merge_threshold is not None:
            check_positive(self._name, "merge_threshold", self.merge_threshold)


class SpeakerMeanShift(KnnMeanShift):
    """Mean shift: each segment climbs on its own; the others stay in place.

    Parameters
    ----------
    backend : BackEnd or None, default=None
        Back end that scores pairs; None is cosine scoring with centring, PCA and
        whitening fitted on the session itself
        (:func:`~sms_diar.scoring.session_backend`).
    k : int, default=17
        Number of neighbours, including the segment itself.
    tol : float, default=1e-3
        A segment rests if its move is shorter than this, for unit-length embeddings.
    max_iter : int, default=200
        Maximum number of moves per segment.
    merge_threshold : float or None, default=None
        Clusters are connected components of resting points that are closer than this.
        None means 0.2 of the median length of a point.
    num_speakers, min_speakers, max_speakers : int or None, default=None
        Bounds on the number of clusters. If there are too many, clusters of highest
        mean score are merged. If there are too few, k is halved.

    Attributes
    ----------
    labels_ : ndarray of shape (n_segments,)
        Speaker of each segment, numbered from 0 by first appearance.
    n_clusters_ : int
        Number of speakers found.
    resting_points_ : ndarray of shape (n_segments, n_features)
        States at rest.
    k_ : int
        Neighbours used; less than `k` in short sessions.
    n_iter_ : int
        Moves of the point that took longest.
    n_steps_ : int
        Moves of single points.
    converged_ : bool
        True if all points came to rest.
    backend_ : BackEnd
        Back end that was used.
    n_features_in_ : int
        Number of columns of the data.
    """

    def __init__(
        self,
        *,
        backend: BackEnd | None = None,
        k: int = 17,
        tol: float = 1e-3,
        max_iter: int = 200,
        merge_threshold: float | None = None,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
    ) -> None:
        self.backend = backend
        self.k = k
        self.tol = tol
        self.max_iter = max_iter
        self.merge_threshold = merge_threshold
        self.num_speakers = num_speakers
        self.min_speakers = min_speakers
        self.max_speakers = max_speakers

    def _check_limits(self) -> None:
        super()._check_limits()
        check_count(self._name, "k", self.k)
        check_count(self._name, "max_iter", self.max_iter)

    def _remedy(self) -> str:
        return f"raise max_iter (now {self.max_iter}) or tol"

    def _move(
        self, states: FloatArray, terms: PairwiseTerms, backend: BackEnd, k: int
    ) -> tuple[FloatArray, int, float]:
        n = len(states)
        fixed = states.copy()
        lengths = np.full(n, np.inf)
        moving = np.arange(n)
        n_steps = 0
        for iteration in range(1, self.max_iter + 1):
            self.n_iter_ = iteration
            for rows in _blocks(moving, n):
                here = backend.features(states[rows])
                moved = np.empty((len(rows), states.shape[1]))
                scores = here.U @ terms.U.T + terms.bias
                shift_rows(scores, np.full(len(rows), -1), fixed, k, moved)
                lengths[rows] = np.linalg.norm(moved - states[rows], axis=1)
                states[rows] = moved
            n_steps += len(moving)
            moving = moving[lengths[moving] >= self.tol]
            self._tell(1.0 - len(moving) / n)
            if not len(moving):
                break
        return states, n_steps, float(lengths.max())


class SpeakerBlurringMeanShift(SpeakerMeanShift):
    """Blurring mean shift: all segments move together, and their states with them.

    For parameters and attributes, see `SpeakerMeanShift`.
    """

    def _move(
        self, states: FloatArray, terms: PairwiseTerms, backend: BackEnd, k: int
    ) -> tuple[FloatArray, int, float]:
        n = len(states)
        longest = np.inf
        for iteration in range(1, self.max_iter + 1):
            self.n_iter_ = iteration
            moved = np.empty_like(states)
            for rows in _blocks(np.arange(n), n):
                scores = terms.U[rows] @ terms.U.T + terms.bias
                shift_rows(scores, rows, states, k, moved[rows[0] : rows[-1] + 1])
            longest = float(np.max(np.linalg.norm(moved - states, axis=1)))
            states = moved
            self._tell(self.tol / max(longest, self.tol))
            if longest < self.tol:
                break
            terms = backend.features(states)
        return states, self.n_iter_ * n, longest


class SpeakerStochasticMeanShift(KnnMeanShift):
    """Stochastic mean shift: one randomly drawn segment moves at a time.

    Parameters
    ----------
    k : int or pair of ints, default=17
        Number of neighbours, including the segment itself. If a pair is given, the
        number is drawn uniformly from this closed range at each step (doubly
        stochastic mean shift).
    gate : float or None, default=None
        Ignore neighbours whose score is below this share of the score of the segment
        with itself at its current position. None ignores none, as in the paper.
    gate_least : int, default=5
        Number of best neighbours that always pass the gate, including the segment.
    tol : float, default=1e-3
        A segment rests if its last move is shorter than this, for unit lengths.
    rest_share : float, default=1.0
        The run ends when this share of the segments rests.
    max_steps : int or None, default=None
        Maximum number of moves in total; None means 200 per segment.
    backend, merge_threshold
        As for `SpeakerMeanShift`.
    num_speakers, min_speakers, max_speakers
        As for `SpeakerMeanShift`.
    random_state : int, Generator, RandomState or None, default=None
        Source of the draws. An int makes the labels reproducible.

    Attributes
    ----------
    labels_, n_clusters_, resting_points_, k_, n_steps_, converged_, backend_
        As for `SpeakerMeanShift`; `k_` is the largest number of neighbours.
    n_features_in_ : int
        Number of columns of the data.

    Notes
    -----
    A step costs O(n r + k (d + q + r)) at first, for n segments, d dimensions, q
    after the PCA and r of scores. When segments have gathered around their
    speakers, bounds spare most scores, and n becomes the number of speakers and
    of the segments of one. Some ten to thirty steps for each segment are usual.
    Memory is O(n (d + q + r)): no matrix of all pairs is ever made.

    Examples
    --------
    >>> import numpy as np
    >>> from sms_diar.clustering import SpeakerStochasticMeanShift
    >>> rng = np.random.default_rng(0)
    >>> speakers = np.repeat([[3.0, 0, 0], [0, 3.0, 0], [0, 0, 3.0]], 20, axis=0)
    >>> X = speakers + 0.3 * rng.standard_normal((60, 3))
    >>> SpeakerStochasticMeanShift(random_state=0).fit(X).n_clusters_
    3
    """

    def __init__(
        self,
        *,
        backend: BackEnd | None = None,
        k: int | tuple[int, int] = 17,
        gate: float | None = None,
        gate_least: int = 5,
        tol: float = 1e-3,
        rest_share: float = 1.0,
        max_steps: int | None = None,
        merge_threshold: float | None = None,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.backend = backend
        self.k = k
        self.gate = gate
        self.gate_least = gate_least
        self.tol = tol
        self.rest_share = rest_share
        self.max_steps = max_steps
        self.merge_threshold = merge_threshold
        self.num_speakers = num_speakers
        self.min_speakers = min_speakers
        self.max_speakers = max_speakers
        self.random_state = random_state

    def _check_limits(self) -> None:
        super()._check_limits()
        ends = self.k if isinstance(self.k, (tuple, list)) else (self.k, self.k)
        if len(ends) != 2:
            problem = f"must be a whole number or a pair, got {self.k!r}"
            raise InvalidParameterError(problem, owner=self._name, parameter="k")
        for end in ends:
            check_count(self._name, "k", end)
        if ends[0] > ends[1]:
            problem = f"must be a pair with low <= high, got {self.k!r}"
            raise InvalidParameterError(problem, owner=self._name, parameter="k")
        if self.gate is not None:
            check_real(self._name, "gate", self.gate)
        check_count(self._name, "gate_least", self.gate_least)
        check_share(self._name, "rest_share", self.rest_share)
        if self.max_steps is not None:
            check_count(self._name, "max_steps", self.max_steps)

    def _remedy(self) -> str:
        return "raise max_steps or tol, or lower rest_share"

    def _move(
        self, states: FloatArray, terms: PairwiseTerms, backend: BackEnd, k: int
    ) -> tuple[FloatArray, int, float]:
        rng = as_generator(self.random_state)
        k_rng = rng.spawn(1)[0]  # so that segments are drawn as in plain SMS
        n, d = states.shape
        low_k = int(np.min(self.k) * k / self._largest_k()) or 1
        U, bias = terms.U.copy(), terms.bias.copy()
        search = CellSearch(U, bias)
        chain = _map_of(backend)
        images = states @ backend.matrix.T
        trails = np.hstack([states, images, images @ backend.projection.T])
        gate, least = (0.0, n) if self.gate is None else (self.gate, self.gate_least)
        last_move = np.full(n, np.inf)
        n_at_rest = math.ceil(self.rest_share * n)
        limit = self.max_steps or 200 * n
        step = 0
        resting = 0
        while step < limit and resting < n_at_rest:
            # Larger batches are cheap if only a few centres are scored.
            size = batch_size(n) * (4 if search.grouped else 1)
            size = min(size, limit - step)
            draws = rng.integers(n, size=size)
            ks = k_rng.integers(low_k, k + 1, size=size)
            snapshot = search.snapshot(draws)
            done, scored = stochastic_batch(
                trails,
                U,
                bias,
                search.cells,
                search.radius,
                search.friends,
                snapshot,
                search.precision,
                backend.constant,
                draws,
                ks,
                float(gate),
                least,
                chain,
                self.tol,
                last_move,
                n_at_rest,
            )
            step += done
            search.learn(done, scored)
            resting = int(np.count_nonzero(last_move < self.tol))
            self._tell(resting / n_at_rest)
        longest = float(np.sort(last_move)[n_at_rest - 1])
        return trails[:, :d].copy(), step, longest


def batch_size(n: int) -> int:
    """Number of draws whose scores are computed at once.

    It is small, so that drawn points have rarely moved since the snapshot and the
    snapshot needs little memory.
    """
    return int(np.clip(min(n // 16, _SCORES // n), 8, 256))


def estimate_memory(n: int, dim: int, score_dim: int) -> int:
    """Bytes that clustering n embeddings needs at its peak, about.

    Raw vectors, states with their images, resting points and their copies,
    scoring vectors with the temporaries of computing them, one batch of scores.
    """
    scores = max(batch_size(n) * n, min(_SCORES, n * n))
    return 8 * (7 * n * dim + 7 * n * score_dim + 2 * scores)


def _blocks(rows: IntArray, n: int) -> list[IntArray]:
    size = max(1, _SCORES // n)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _map_of(backend: BackEnd) -> Map:
    return Map(
        backend.offset,
        backend.projection @ backend.offset,
        float(backend.out_length),
        backend.shift,
        backend.norm_weights,
        bool(backend.norm_weights.any()),
        backend.gain,
        backend.square,
        backend.normalize_state,
    )
