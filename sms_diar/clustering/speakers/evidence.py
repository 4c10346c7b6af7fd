"""Default clustering with a trained PLDA model: runs propose, evidence decides.

``EVIDENCE.md`` beside this file explains the method and its constants.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit, softmax
from sklearn.exceptions import ConvergenceWarning

from sms_diar._random import as_generator
from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.speakers._evidence_kernels import merge_groups, move_segments
from sms_diar.clustering.speakers.base import TimedEstimator
from sms_diar.clustering.speakers.bounds import reach_bounds
from sms_diar.clustering.speakers.mean_shift import SpeakerStochasticMeanShift
from sms_diar.clustering.speakers.rows import RowTimes, estimate_row_weight
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.backend_plda import model_space
from sms_diar.scoring.evidence import group_sums
from sms_diar.scoring.session_model import (
    SessionModel,
    SessionPrior,
    adapt_session,
    log_joint,
)
from sms_diar.types import AnyArray, FloatArray, IntArray, PldaModel

NEIGHBOURS = (3, 5, 7, 14, 28)
"""Numbers of neighbours in the runs; they are divided by `row_weight_`."""

GATE = 0.6
"""Minimum score of a neighbour, as a share of the score of the segment with itself."""

COARSENING = 11.0
"""Segments of a speaker at which errors of the model equal the noise."""

LABEL_CALIBRATION = (-0.590, 0.329)
"""Constant and slope that correct the log odds of a label."""

NUMBER_CALIBRATION = (-1.265, 0.273)
"""Constant and slope that correct the log odds of the number of speakers."""

_FIRST_SIZES = (22.5, 8.0)  # Expected segments per speaker of the first two searches.
_CHANNEL = 6.0  # Standard deviations beyond which the session mean is a channel offset.
_CENTRING = 100.0  # Segments at which half of the session mean is subtracted.
_ROUNDS = 4  # of adaptation and search from one start
_SEARCHES = 3  # Each has the weight that follows from the one before.
_SWEEPS = 5  # Iterations of the refinement if rows do not overlap.
_MIN_CLAIM, _MAX_CLAIM = 1e-3, 0.9999  # Range in which probabilities were calibrated.


class SpeakerEvidenceMeanShift(TimedEstimator):
    """Stochastic mean shift that chooses k and the number of speakers by evidence.

    Runs with several k propose partitions. Segments and clusters are then moved and
    merged while the probability of the partition increases, under a PLDA model that is
    adapted to the session. The most probable result is selected.

    Parameters
    ----------
    backend : BackEnd
        A back end with a PLDA model.
    row_weight : float or "auto", default="auto"
        Number of independent observations per row, below 1 for windows that overlap.
        "auto" computes it from the times given to ``fit``, or estimates it from rows in
        order of time.
    num_speakers, min_speakers, max_speakers : int or None, default=None
        Bounds on the number of clusters.
    random_state : int, Generator, RandomState or None, default=None
        Random seed. An int makes the labels reproducible.

    Attributes
    ----------
    labels_ : ndarray of shape (n_segments,)
        Speaker of each segment, numbered from 0 by first appearance.
    n_clusters_ : int
        Number of speakers found.
    backend_ : BackEnd
        Back end that was used.
    confidence_ : ndarray of shape (n_segments,)
        Probability that the label of each segment is right.
    count_posterior_ : dict from int to float
        Probability of each number of speakers; numbers far off may be missing.
    model_ : PldaModel
        Model of the session, in the space in which the trained model is diagonal.
    row_weight_ : float
        Number of independent observations per row.
    weight_ : float
        Observations that a row counts as in the evidence; less than `row_weight_`,
        because the model is only approximately true.
    log_joint_ : float
        Log probability of the result, up to a constant of the session.
    n_steps_ : int
        Number of moves of single segments in all runs.
    converged_ : bool
        True if the weight converged.
    n_features_in_ : int
        Number of columns of the data.

    See Also
    --------
    SpeakerFragmentMeanShift : The default without a PLDA model.

    Notes
    -----
    Besides the runs of stochastic mean shift, a sweep over n segments and g clusters
    costs O(n g d). Memory is O(n d).
    """

    def estimates(self) -> dict[str, float]:
        """Return the weights of a row, and the log probability of the result."""
        return {
            "row_weight": self.row_weight_,
            "weight": self.weight_,
            "log_joint": self.log_joint_,
        }

    def _assign(self, X: FloatArray) -> IntArray:
        """Assign each row to the most probable speaker."""
        vectors = model_space(self.backend_).vectors(X)
        U = (vectors - self.model_.mean) @ self.model_.transform.T
        means, variances = self._next
        # Row by row, so that the result does not depend on other rows.
        terms = ((u - means) ** 2 / variances + np.log(variances) for u in U)
        best = [int(np.argmin(np.sum(one, axis=1))) for one in terms]
        return np.array(best, dtype=np.int64)

    def _estimated_row_weight(self, X: FloatArray) -> float:
        space = model_space(self.backend_)
        return estimate_row_weight(space.vectors(X) / np.sqrt(1.0 + space.psi))

    def _fit_in_time(self, X: FloatArray, times: RowTimes | None) -> None:
        space = model_space(self.backend_)
        given = space.vectors(X)  # shape: (n, d)
        n = len(X)
        low, high = self._bounds(n)
        prior = SessionPrior(space.psi)
        mean = given.mean(axis=0)
        channel = _channel(mean, prior.psi, self.row_weight_ * n)
        vectors = given - channel
        search = EvidenceSearch(vectors, prior, low, high)
        trust = self.row_weight_ * n / (self.row_weight_ * n + _CENTRING)
        centre = channel + trust * (mean - channel)
        starts = list(self._starts(X, centre, low))
        best = self._best(search, starts)
        refined, probabilities = self._refine(vectors, best, low)
        self.confidence_ = calibrated_labels(probabilities)
        self.labels_ = by_first_appearance(refined)
        self.n_clusters_ = int(self.labels_.max()) + 1
        claimed = search.count_posterior(best, self.n_clusters_)
        self.count_posterior_ = calibrated_count(claimed, self.n_clusters_, low, high)
        model = best.model
        self.model_ = PldaModel(channel + model.mean, model.transform, model.psi)
        self.weight_ = best.weight
        self.log_joint_ = best.value
        sizes, sums = group_sums(model.project(vectors), self.labels_)
        self._next = predictive(sizes, sums, model.psi, best.weight)

    def _weight(self, n: int, n_groups: int) -> float:
        """Observations that a row counts as, if n rows are from this many speakers."""
        size = self.row_weight_ * n / n_groups
        return self.row_weight_ * COARSENING / (COARSENING + size)

    def _best(self, search: EvidenceSearch, starts: list[IntArray]) -> Found:
        """Search from few and from many speakers, and compare with one speaker."""
        n, low, high = len(search.rows), search.low, search.high
        found = []
        for size in _FIRST_SIZES:
            expected = int(np.clip(round(self.row_weight_ * n / size), low, high))
            found.append(self._settle(search, starts, self._weight(n, expected)))
            self._tell(0.7 + 0.1 * len(found))
        careful, bold = found
        best = bold if search.prefers(bold, careful) else careful
        if low == 1 and not search.beats_one_speaker(best):
            return search.fixed(np.zeros(n, np.int64), self._weight(n, 1))
        return best

    def _settle(
        self, search: EvidenceSearch, starts: list[IntArray], weight: float
    ) -> Found:
        """Search until the weight is that of the number of speakers found."""

        def highest(again: list[IntArray], known: Found | None) -> Found:
            found = [search.climb(start, weight, known) for start in again]
            return max(found, key=lambda one: one.value)

        best = highest(starts, None)
        self.converged_ = False
        for _ in range(_SEARCHES - 1):
            expected = best.n_groups
            weight = self._weight(len(search.rows), expected)
            best = highest([*starts, best.labels], best)
            if best.n_groups == expected:
                self.converged_ = True
                break
        return best

    def _refine(
        self, vectors: FloatArray, best: Found, low: int
    ) -> tuple[IntArray, FloatArray]:
        """Refine the labels by expectation maximisation; return their probabilities."""
        U, psi = best.model.project(vectors), best.model.psi
        shares = np.eye(best.n_groups)[best.labels]  # shape: (n, g)
        for _ in range(round(_SWEEPS / self.row_weight_)):
            sizes = shares.sum(axis=0)
            means, variances = predictive(sizes, shares.T @ U, psi, best.weight)
            # Variance above 1, the variance within speakers, is the doubt about means.
            spread = means**2 + variances - 1.0  # shape: (g, d)
            fit = U @ means.T - 0.5 * np.sum(spread, axis=1)
            prior = np.log(np.maximum(sizes, 1e-300))
            shares = softmax(self.row_weight_ * fit + prior, axis=1)
        labels = np.unique(np.argmax(shares, axis=1), return_inverse=True)[1]
        if int(labels.max()) + 1 < low:
            labels = best.labels
        return labels, shares.max(axis=1)

    def _starts(
        self, X: FloatArray, centre: FloatArray, low: int
    ) -> Iterator[IntArray]:
        """Propose partitions by gated runs around a centre."""
        n = len(X)
        rng = as_generator(self.random_state)
        backend = self.backend_
        centred = replace(backend, shift=backend.shift - centre)
        terms = centred.features(centred.prepare(X))
        self.n_steps_ = 0
        # Numbers that a short session has no room for become one.
        most = max(1, (n + 1) // 2)
        sizes = dict.fromkeys(
            min(round(k / self.row_weight_), most) for k in NEIGHBOURS
        )
        streams = rng.spawn(len(sizes))
        for number, (k, stream) in enumerate(zip(sizes, streams, strict=True)):
            run = SpeakerStochasticMeanShift(
                backend=centred,
                k=k,
                gate=GATE,
                tol=1e-2,
                max_steps=15 * n,
                random_state=stream,
            )
            with warnings.catch_warnings():
                # Proposals need not be quite at rest.
                warnings.simplefilter("ignore", ConvergenceWarning)
                labels = run.fit(X).labels_
            self.n_steps_ += run.n_steps_
            self._tell(0.7 * (number + 1) / len(sizes))
            yield reach_bounds(terms, labels, low, n)

    def _check_limits(self) -> None:
        super()._check_limits()
        if self.backend is None or self.backend.kind != "plda":
            problem = "must have a PLDA model; SpeakerFragmentMeanShift needs none"
            raise InvalidParameterError(problem, owner=self._name, parameter="backend")


@dataclass(frozen=True, eq=False)
class Found:
    """Partition, and the model of the session given this partition."""

    labels: IntArray
    model: SessionModel
    weight: float
    value: float

    @property
    def n_groups(self) -> int:
        """Number of clusters."""
        return int(self.labels.max()) + 1


class EvidenceSearch:
    """Search for the partition and model of highest probability within bounds."""

    def __init__(
        self, rows: FloatArray, prior: SessionPrior, low: int, high: int
    ) -> None:
        self.rows = rows
        self.prior = prior
        self.low = low
        self.high = high

    def climb(self, labels: IntArray, weight: float, known: Found | None) -> Found:
        """Adapt, merge and move in turn, until the gain is small."""
        model = self.prior.start if known is None else known.model
        value = -np.inf
        for number in range(_ROUNDS):
            model = adapt_session(
                self.prior,
                model,
                self.rows,
                labels,
                weight=weight,
                n_iter=3 if number == 0 else 1,
            )
            labels = self._improve(labels, model, weight)
            before, value = value, self._value(model, labels, weight)
            if value - before < 1e-3 * len(labels):
                break
        return Found(labels, model, weight, value)

    def fixed(self, labels: IntArray, weight: float) -> Found:
        """Adapt the model to a fixed partition."""
        model = adapt_session(
            self.prior, self.prior.start, self.rows, labels, weight=weight, n_iter=6
        )
        return Found(labels, model, weight, self._value(model, labels, weight))

    def prefers(self, one: Found, other: Found) -> bool:
        """Return whether `one` explains the session better than `other`.

        Both are compared at the weights of both, with log probabilities per whole
        observation.
        """
        if np.array_equal(one.labels, other.labels):
            return False
        margin = 0.0
        for weight in (one.weight, other.weight):
            values = [self.fixed(found.labels, weight).value for found in (one, other)]
            margin += (values[0] - values[1]) / weight
        return margin > 0.0

    def beats_one_speaker(self, found: Found) -> bool:
        """Return whether several speakers gain more than the cost of the labels.

        The cost is the entropy of the labels, at most 1 nat per segment: in hard
        sessions much of the labelling remains uncertain.
        """
        n = len(self.rows)
        shares = np.bincount(found.labels) / n
        cost = min(1.0, -float(np.sum(shares * np.log(shares))))
        single = self.fixed(np.zeros(n, np.int64), found.weight).value
        gain = self.fixed(found.labels, found.weight).value - single
        return gain > cost * found.weight * n

    def count_posterior(self, found: Found, n_speakers: int) -> dict[int, float]:
        """Return the probabilities of the number found and of lower numbers.

        The best pair of clusters is merged three times, and each result is compared at
        the same weight. Higher numbers were rejected by the search.
        """
        labels, values = found.labels, [self.fixed(found.labels, found.weight).value]
        U = found.model.project(self.rows)
        # Refinement may have left fewer speakers than clusters.
        fewer = min(found.n_groups, n_speakers) - self.low
        for n_groups in range(
            found.n_groups - 1, found.n_groups - 1 - min(3, fewer), -1
        ):
            labels = _merged(
                U, labels, found.model.psi, found.weight, n_groups, n_groups
            )
            values.append(self.fixed(labels, found.weight).value)
        odds = np.exp(np.clip(np.array(values) - values[0], -700.0, 0.0))
        return {
            n_speakers - step: float(share)
            for step, share in enumerate(odds / odds.sum())
        }

    def _value(self, model: SessionModel, labels: IntArray, weight: float) -> float:
        return log_joint(self.prior, model, self.rows, labels, weight=weight)

    def _improve(
        self, labels: IntArray, model: SessionModel, weight: float
    ) -> IntArray:
        U, psi = np.ascontiguousarray(model.project(self.rows)), model.psi
        labels = _merged(U, labels, psi, weight, self.low, self.high)
        groups, sums = group_sums(U, labels)
        sizes = groups.astype(np.int64)
        log_dets = _log_dets(len(U), psi, weight)
        move_segments(U, labels, sizes, sums, psi, log_dets, weight, self.low, 4)
        return _renumbered(labels)


def _merged(
    U: FloatArray, labels: IntArray, psi: FloatArray, weight: float, low: int, high: int
) -> IntArray:
    """Merge the pairs of clusters with the highest gains, within bounds."""
    sizes, sums = group_sums(U, labels)
    log_dets = _log_dets(len(U), psi, weight)
    parent = merge_groups(
        sizes.astype(np.int64), sums, psi, log_dets, weight, low, high
    )
    return _renumbered(parent[labels])


def _log_dets(n: int, psi: FloatArray, weight: float) -> FloatArray:
    """Return the part of the evidence of clusters of 0 to n rows without their sums."""
    counts = np.arange(n + 1)[:, None]
    log_dets: FloatArray = 0.5 * np.sum(np.log1p(weight * counts * psi), axis=1)
    return log_dets


def _renumbered(labels: IntArray) -> IntArray:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _channel(mean: FloatArray, psi: FloatArray, n: float) -> FloatArray:
    """Return the mean of a session if it is too large for a voice, otherwise zeros.

    The mean of one speaker has variance psi, the mean of several less. A larger mean is
    an effect of the channel.
    """
    d = len(psi)
    excess = float(np.sum(mean**2 / (psi + 1.0 / n))) - d
    return mean if excess > _CHANNEL * math.sqrt(2.0 * d) else np.zeros(d)


def predictive(
    sizes: FloatArray, sums: FloatArray, psi: FloatArray, weight: AnyArray | float
) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of the next vector of each speaker, shape (g, d).

    A vector counts as `weight` observations; shape (g, 1) if speakers differ.
    """
    spread = psi / (1.0 + weight * sizes[:, None] * psi)
    return weight * spread * sums, 1.0 + spread


def calibrated_labels(probabilities: FloatArray) -> FloatArray:
    """Return the probability that labels are right, shape (n,).

    Probabilities trust the model, which is only approximately true: in 80
    development sessions their mean was .98, and .86 of the labels were right.
    """
    constant, slope = LABEL_CALIBRATION
    odds = logit(np.clip(probabilities, _MIN_CLAIM, _MAX_CLAIM))
    calibrated: FloatArray = expit(constant + slope * odds)
    return calibrated


def calibrated_count(
    claimed: Mapping[int, float], n_found: int, low: int, high: int
) -> dict[int, float]:
    """Return the probability of numbers of speakers.

    Parameters
    ----------
    claimed : mapping from int to float
        Probabilities of the number found and of lower numbers under the model.
    n_found : int
        Number of speakers found.
    low, high : int
        Bounds on the number.

    Returns
    -------
    posterior : dict from int to float
        Half of the doubt is assigned to one more speaker, which the model does not
        evaluate, and half to lower numbers. If the bounds exclude one side, the other
        has all of it.
    """
    constant, slope = NUMBER_CALIBRATION
    odds = logit(np.clip(claimed[n_found], _MIN_CLAIM, _MAX_CLAIM))
    certainty = float(expit(constant + slope * odds))
    fewer = {n: p**slope for n, p in claimed.items() if low <= n < n_found and p > 0.0}
    more = n_found + 1 if n_found < high else None
    if more is None and not fewer:
        return {n_found: 1.0}
    below = 0.0 if not fewer else (1.0 - certainty) * (1.0 if more is None else 0.5)
    total = sum(fewer.values())
    posterior = {n_found: certainty}
    posterior |= {n: below * weight / total for n, weight in fewer.items()}
    if more is not None:
        posterior[more] = 1.0 - certainty - below
    return posterior
