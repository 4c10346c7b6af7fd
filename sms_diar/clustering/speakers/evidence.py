"""Stochastic mean shift that needs no settings: many runs propose, evidence decides.

``EVIDENCE.md`` beside this file explains the method and its constants.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from sms_diar._random import as_generator
from sms_diar._validation import check_positive, check_share
from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.bounds import reach_bounds
from sms_diar.clustering.speakers.evidence_search import EvidenceSearch, Found, Start
from sms_diar.clustering.speakers.mean_shift import SpeakerStochasticMeanShift
from sms_diar.clustering.speakers.neighbour_space import NeighbourSpace
from sms_diar.clustering.speakers.row_weight import estimate_row_weight, row_weight_of
from sms_diar.clustering.speakers.sureness import tempered_count, tempered_labels
from sms_diar.clustering.speakers.times import RowTimes
from sms_diar.clustering.speakers.untrained import cluster_untrained, within_bounds
from sms_diar.clustering.speakers.vb import soften, vb_mixture
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import FoldedChain, scale_rows
from sms_diar.scoring.backend import BackEnd, build_backend
from sms_diar.scoring.backend_plda import model_space, phi_of
from sms_diar.scoring.evidence import group_sums
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.scoring.session_model import SessionPrior, model_of_groups
from sms_diar.types import FloatArray, IntArray, PldaModel, RandomState, Segment

NEIGHBOURS = (3, 5, 7, 14, 28)
"""k of the runs that propose partitions; divided by the weight of a row."""

GATE = 0.6
"""Share of its own score that a neighbour must reach in those runs."""

COARSENING = 11.0
"""Segments of a speaker at which the model's faults weigh as much as the noise."""

_FIRST_SIZES = (22.5, 8.0)  # segments per speaker that first searches expect
_BEYOND = 6.0  # standard deviations beyond which a mean is no voice
_CENTRED_MARGIN = 1.25  # more is asked of several speakers once it is taken away
_CENTRING = 100.0  # segments at which the runs trust the session's mean half
_SEARCHES = 3  # each with the weight that follows from the one before
_SWEEPS = 5  # of refinement, for rows that are whole observations
_KEPT = 3  # starts that later searches repeat


class SpeakerEvidenceMeanShift(SpeakerEstimator):
    """Stochastic mean shift that chooses k and the number of speakers itself.

    With a PLDA back end, gated runs with several k propose partitions. From each, the
    evidence is climbed: groups merge, segments move, and the PLDA model adapts to the
    session. The result of highest joint probability is taken.

    Without one, the session teaches a space in which speakers stand out; runs in it
    propose pure fragments, which are joined as long as two are probably one speaker.

    Parameters
    ----------
    backend : BackEnd or None, default=None
        A PLDA or cosine back end. None, and cosine, learn from the session alone.
    row_weight : float or "auto", default="auto"
        Share of an observation that a row is: below one for windows that overlap
        (:func:`~sms_diar.clustering.speakers.row_weight.row_weight_of` computes it from
        times). "auto" takes it from the times given to ``fit``, or else finds it from
        rows in order of time.
    coarsening : float, default=11.0
        Segments of a speaker at which the model's faults weigh as much as the
        noise, with a PLDA back end. More finds more speakers.
    num_speakers, min_speakers, max_speakers : int or None, default=None
        Bounds on the number of clusters.
    random_state : int, Generator, RandomState or None, default=None
        Source of the draws. An int makes the labels reproducible.

    Attributes
    ----------
    labels_ : ndarray of shape (n_segments,)
        Speaker of each segment, numbered from 0 by first appearance.
    n_clusters_ : int
        Speakers found.
    backend_ : BackEnd
        The back end used, as it was trained.
    confidence_ : ndarray of shape (n_segments,)
        Probability that the label of each segment is right.
    count_posterior_ : dict from int to float
        Probability of each number of speakers; numbers far off may be missing.
    model_ : PldaModel
        The session's own model, in the space where the trained one is diagonal, or
        that the session taught.
    row_weight_ : float
        Share of an observation that a row is.
    weight_ : float
        What each row counts as in the evidence: less than `row_weight_`, because
        the model is not true. Without a PLDA back end, `row_weight_`.
    log_joint_ : float
        Log probability of the result, up to a constant of the session; without a PLDA
        back end, that of the number of speakers.
    k_ : int
        Neighbours of the run that the result grew from; 0 for none.
    n_steps_ : int
        Moves of single segments in all runs.
    converged_ : bool
        Whether the weight came to rest.
    n_features_in_ : int
        Columns of the data.

    Notes
    -----
    Besides the runs of stochastic mean shift, a sweep over n segments and g groups
    costs O(n g d). Memory is O(n d): no matrix of all pairs is ever made.

    Examples
    --------
    >>> import numpy as np
    >>> from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
    >>> rng = np.random.default_rng(0)
    >>> speakers = np.repeat(rng.standard_normal((4, 20)), [30, 20, 10, 5], axis=0)
    >>> X = speakers + 0.3 * rng.standard_normal((65, 20))
    >>> SpeakerEvidenceMeanShift(random_state=0).fit(X).n_clusters_
    4
    """

    takes_times: ClassVar[bool] = True
    without_backend: ClassVar[str] = "no model: space and noise learnt from the session"

    def __init__(
        self,
        *,
        backend: BackEnd | None = None,
        row_weight: float | Literal["auto"] = "auto",
        coarsening: float = COARSENING,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.backend = backend
        self.row_weight = row_weight
        self.coarsening = coarsening
        self.num_speakers = num_speakers
        self.min_speakers = min_speakers
        self.max_speakers = max_speakers
        self.random_state = random_state

    def fit(
        self,
        X: npt.ArrayLike,
        y: Any = None,
        segments: Sequence[Segment] | None = None,
    ) -> Self:
        """Cluster the rows of `X`.

        Parameters
        ----------
        X : array-like of shape (n_segments, n_features)
            Raw embeddings, one per segment; in order of time if they overlap.
        y : Ignored
            Present so that the estimator fits scikit-learn pipelines.
        segments : sequence of Segment, optional
            When each row was spoken. Windows that overlap are then known, and
            windows that follow each other teach how a speaker varies.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._segments = segments
        try:
            return super().fit(X, y)
        finally:
            del self._segments

    def estimates(self) -> dict[str, float]:
        """Return the weights of a row, and the log probability of the result."""
        return {
            "row_weight": self.row_weight_,
            "weight": self.weight_,
            "log_joint": self.log_joint_,
        }

    def _default_backend(self, X: FloatArray) -> BackEnd:
        """Directions as they are; what the session teaches comes behind them."""
        d = X.shape[1]
        return build_backend(FoldedChain(np.eye(d), np.zeros(d), in_length=1.0))

    def _assign(self, X: FloatArray) -> IntArray:
        """Speaker who most probably said it."""
        U = (self._vectors(X) - self.model_.mean) @ self.model_.transform.T
        # Row by row, so that the answer does not depend on the other rows.
        best = [int(np.argmax(_log_densities(u, *self._next))) for u in U]
        return np.array(best, dtype=np.int64)

    def _vectors(self, X: FloatArray) -> FloatArray:
        """Rows in the space that `model_` is about."""
        if self._space is not None:
            return self._space.vectors(X)
        directions = scale_rows(phi_of(self.backend_, X))
        return directions if self._learnt is None else self._learnt.project(directions)

    def _fit_rows(self, X: FloatArray) -> None:
        n = len(X)
        segments = self._segments
        if segments is not None and len(segments) != n:
            raise InvalidParameterError(
                f"must be one for each of the {n} rows, got {len(segments)}",
                owner=self._name,
                parameter="segments",
            )
        trained = self.backend_.kind == "plda"
        self._space = model_space(self.backend_) if trained else None
        self._learnt: NeighbourSpace | None = None
        self.row_weight_ = self._row_weight(X)
        if trained:
            self._fit_trained(X)
        else:
            self._fit_untrained(X)
        self._tell(1.0)

    def _row_weight(self, X: FloatArray) -> float:
        if not isinstance(self.row_weight, str):
            return float(self.row_weight)
        if self._segments is not None:
            return row_weight_of(self._segments)
        vectors = self._vectors(X)
        if self._space is not None:
            vectors = vectors / np.sqrt(1.0 + self._space.psi)
        return estimate_row_weight(vectors)

    def _fit_trained(self, X: FloatArray) -> None:
        given = self._vectors(X)
        n = len(X)
        low, high = self._bounds(n)
        prior = SessionPrior(model_space(self.backend_).psi)
        mean = given.mean(axis=0)
        channel = _channel(mean, prior.psi, self.row_weight_ * n)
        vectors = given - channel
        search = EvidenceSearch(vectors, prior, low, high)
        trust = self.row_weight_ * n / (self.row_weight_ * n + _CENTRING)
        centre = channel + trust * (mean - channel)
        starts = list(self._starts(X, centre, low))
        margin = _CENTRED_MARGIN if channel.any() else 1.0
        best = self._best(search, starts, low, high, margin)
        refined, claimed = self._refine(vectors, best, low)
        self.confidence_ = tempered_labels(claimed)
        labels = by_first_appearance(refined)
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        told = search.count_posterior(best, self.n_clusters_)
        if told:
            told = tempered_count(told, self.n_clusters_, low, high)
        self.count_posterior_ = told
        model = best.model
        self.model_ = PldaModel(channel + model.mean, model.transform, model.psi)
        self.weight_ = best.weight
        self.log_joint_ = best.value
        self.k_ = best.k
        sizes, sums = group_sums(model.project(vectors), labels)
        self._next = _predictive(sizes, sums, model.psi, best.weight)

    def _fit_untrained(self, X: FloatArray) -> None:
        n = len(X)
        low, high = self._bounds(n)
        times = None
        if self._segments is not None:
            times = RowTimes.of_segments(self._segments)
        elif self.row_weight_ < 1.0:
            times = RowTimes.of_steps(n, self.row_weight_)
        found = cluster_untrained(
            phi_of(self.backend_, X),
            times,
            self.row_weight_,
            low=low,
            high=high,
            rng=as_generator(self.random_state),
            tell=self._tell,
        )
        terms = self.backend_.features(self.backend_.prepare(X))
        labels = by_first_appearance(reach_bounds(terms, found.labels, low, high))
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        self.confidence_ = found.confidence
        self.count_posterior_ = within_bounds(
            found.count_posterior, low, high, self.n_clusters_
        )
        self._learnt = found.space
        self.weight_ = self.row_weight_
        self.log_joint_ = math.log(self.count_posterior_[self.n_clusters_])
        self.k_, self.n_steps_, self.converged_ = found.k, found.n_steps, True
        vectors = self._vectors(X)
        self.model_ = model_of_groups(vectors, labels)
        U = (vectors - self.model_.mean) @ self.model_.transform.T
        sizes, sums = group_sums(U, labels)
        self._next = _predictive(sizes, sums, self.model_.psi, self.weight_)

    def _weight(self, n: int, n_groups: int) -> float:
        """What a row counts as, if n rows come from this many speakers."""
        size = self.row_weight_ * n / n_groups
        return self.row_weight_ * self.coarsening / (self.coarsening + size)

    def _best(
        self,
        search: EvidenceSearch,
        starts: list[Start],
        low: int,
        high: int,
        margin: float,
    ) -> Found:
        n = len(search.rows)
        found = []
        for size in _FIRST_SIZES:
            expected = int(np.clip(round(self.row_weight_ * n / size), low, high))
            found.append(self._settle(search, starts, self._weight(n, expected)))
            self._tell(0.7 + 0.1 * len(found))
        careful, bold = found
        best = bold if search.prefers(bold, careful) else careful
        if low == 1 and not search.beats_one_speaker(best, margin):
            return search.fixed(np.zeros(n, np.int64), self._weight(n, 1))
        return best

    def _settle(
        self, search: EvidenceSearch, starts: list[Start], weight: float
    ) -> Found:
        """Search until the weight is that of the number of speakers found."""
        found = [search.climb(start, weight, None) for start in starts]
        order = np.argsort([-one.value for one in found], kind="stable")
        best: Found = found[order[0]]
        self.converged_ = False
        for _ in range(_SEARCHES - 1):
            weight = self._weight(len(search.rows), best.n_groups)
            again = [starts[i] for i in order[:_KEPT]]
            again.append(Start(best.labels, best.k))
            found = [search.climb(start, weight, best) for start in again]
            best = max(found, key=lambda one: one.value)
            settled = self._weight(len(search.rows), best.n_groups)
            if abs(settled - weight) < 0.03 * weight:
                self.converged_ = True
                break
        return best

    def _refine(
        self, vectors: FloatArray, best: Found, low: int
    ) -> tuple[IntArray, FloatArray]:
        """Let segments belong to several speakers in part, and decide at the end.

        A segment tells as much about who speaks as its share of an observation.
        """
        smoothing = 5.0 + math.log(best.n_groups)  # whatever the number of others
        result = vb_mixture(
            best.model.project(vectors),
            best.model.psi,
            soften(best.labels, smoothing),
            Fa=self.row_weight_,
            Fb=self.row_weight_ / best.weight,
            max_iter=round(_SWEEPS / self.row_weight_),
            tol=1e-5 * self.row_weight_ * len(vectors),
        )
        labels = np.unique(np.argmax(result.gamma, axis=1), return_inverse=True)[1]
        if int(labels.max()) + 1 < low:
            labels = best.labels
        return labels, result.gamma.max(axis=1)

    def _starts(self, X: FloatArray, centre: FloatArray, low: int) -> Iterator[Start]:
        """Partitions that gated runs around this centre propose."""
        n = len(X)
        rng = as_generator(self.random_state)
        backend = self.backend_
        centred = replace(backend, shift=backend.shift - centre)
        terms = centred.features(centred.prepare(X))
        self.n_steps_ = 0
        tried = set()
        for number, (k, stream) in enumerate(
            zip(NEIGHBOURS, rng.spawn(len(NEIGHBOURS)), strict=True)
        ):
            wide = min(round(k / self.row_weight_), max(1, (n + 1) // 2))
            if wide in tried:
                continue
            tried.add(wide)
            run = SpeakerStochasticMeanShift(
                backend=centred,
                k=wide,
                gate=GATE,
                tol=1e-2,
                max_steps=15 * n,
                random_state=stream,
            )
            with warnings.catch_warnings():
                # A run that has not quite come to rest proposes just as well.
                warnings.simplefilter("ignore", ConvergenceWarning)
                labels = run.fit(X).labels_
            self.n_steps_ += run.n_steps_
            self._tell(0.7 * (number + 1) / len(NEIGHBOURS))
            yield Start(_at_least(terms, labels, low), wide)

    def _check_limits(self) -> None:
        if self.row_weight != "auto":
            check_share(self._name, "row_weight", self.row_weight)
        check_positive(self._name, "coarsening", self.coarsening)


def _at_least(terms: PairwiseTerms, labels: IntArray, low: int) -> IntArray:
    return reach_bounds(terms, labels, low, len(labels))


def _channel(mean: FloatArray, psi: FloatArray, n: float) -> FloatArray:
    """The mean of a session, if it is too far off to be a voice; otherwise nothing.

    The mean of one speaker has variance psi, and that of several less. What lies beyond
    is how they were recorded, and no evidence that they are one.
    """
    d = len(psi)
    excess = float(np.sum(mean**2 / (psi + 1.0 / n))) - d
    return mean if excess > _BEYOND * math.sqrt(2.0 * d) else np.zeros(d)


def _predictive(
    sizes: FloatArray, sums: FloatArray, psi: FloatArray, weight: float
) -> tuple[FloatArray, FloatArray]:
    """Means and variances of the next vector of each speaker."""
    spread = psi / (1.0 + weight * sizes[:, None] * psi)
    return weight * spread * sums, 1.0 + spread


def _log_densities(u: FloatArray, means: FloatArray, variances: FloatArray) -> Any:
    return -0.5 * np.sum((u - means) ** 2 / variances + np.log(variances), axis=1)
