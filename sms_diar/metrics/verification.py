"""Verification metrics: separation of same-speaker and different-speaker pairs.

A pair is accepted when its score reaches a threshold. Raising the threshold
trades false alarms (different speakers accepted) for misses (same speaker
rejected). At the equal error rate both are equally frequent. A detection cost weights
them by the costs of the errors and the prior probability of the same speaker.

If scores are natural logarithms of likelihood ratios, the best threshold follows from
the cost. The actual cost at this threshold and `log_likelihood_ratio_cost` (Cllr)
therefore depend on the calibration of the scores; their minima depend only on the
order of the scores.

References
----------
N. Brümmer and J. du Preez: Application-independent evaluation of speaker detection.
Computer Speech and Language 20 (2006).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_positive, is_real
from sms_diar.errors import InvalidParameterError
from sms_diar.types import BoolArray, FloatArray


@dataclass(frozen=True)
class DetectionCost:
    """Detection cost, normalised so that constant decisions cost 1.

    The cost of an operating point is ``c_miss * p * miss + c_fa * (1 - p) *
    false_alarm``, divided by the cost of the better of the two decisions that ignore
    the scores. With several priors p it is the mean of their costs.

    Parameters
    ----------
    p_target : tuple of float
        Prior probabilities of the same speaker.
    c_miss, c_fa : float, default=1
        Costs of a miss and of a false alarm.
    """

    p_target: tuple[float, ...]
    c_miss: float = 1.0
    c_fa: float = 1.0

    def __post_init__(self) -> None:
        owner = "DetectionCost"
        if not self.p_target or not all(
            is_real(p) and 0.0 < p < 1.0 for p in self.p_target
        ):
            problem = f"must be probabilities in (0, 1), got {self.p_target!r}"
            raise InvalidParameterError(problem, owner=owner, parameter="p_target")
        check_positive(owner, "c_miss", self.c_miss)
        check_positive(owner, "c_fa", self.c_fa)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Threshold of log-likelihood ratios that minimises the cost, per prior."""
        return tuple(math.log(fa / miss) for miss, fa in self._weights())

    def min_of(self, curve: DetCurve) -> float:
        """Minimum cost over all thresholds, chosen separately for each prior."""
        return float(np.mean([costs.min() for costs in self._costs(curve)]))

    def actual_of(self, curve: DetCurve) -> float:
        """Cost at `thresholds`; the scores must be log-likelihood ratios."""
        points = np.searchsorted(curve.thresholds, self.thresholds)
        costs = zip(self._costs(curve), points, strict=True)
        return float(np.mean([cost[point] for cost, point in costs]))

    def _weights(self) -> list[tuple[float, float]]:
        """Weights of misses and false alarms, per prior."""
        return [(self.c_miss * p, self.c_fa * (1.0 - p)) for p in self.p_target]

    def _costs(self, curve: DetCurve) -> Iterator[FloatArray]:
        """Yield the costs of all points of a curve, per prior."""
        for miss, fa in self._weights():
            yield (miss * curve.miss + fa * curve.false_alarm) / min(miss, fa)


_UNTIL_2008 = DetectionCost((0.01,), c_miss=10.0)
_TELEPHONE = DetectionCost((0.01, 0.005))

NIST_COSTS: dict[str, DetectionCost] = {
    **dict.fromkeys(("sre04", "sre05", "sre06", "sre08"), _UNTIL_2008),
    "sre10": DetectionCost((0.001,)),
    "sre12": DetectionCost((0.01, 0.001)),
    **dict.fromkeys(("sre16", "sre18", "sre19-cts"), _TELEPHONE),
    "sre18-vast": DetectionCost((0.05,)),
}
"""Costs of the evaluations of NIST.

The costs of 2012 and since 2016 are means over groups of pairs, see `det_curve`: known
and unknown non-targets in 2012, and partitions such as gender, number of enrolment
segments and telephone number since 2016. ``sre10`` is the core condition.
"""


@dataclass(frozen=True, eq=False)
class DetCurve:
    """All operating points of a set of scored pairs.

    Parameters
    ----------
    thresholds : ndarray of shape (m + 1,)
        The m distinct scores in ascending order, followed by infinity. Pairs that
        score at least the threshold are accepted.
    miss : ndarray of shape (m + 1,)
        Share of same-speaker pairs rejected; rises from 0 to 1.
    false_alarm : ndarray of shape (m + 1,)
        Share of different-speaker pairs accepted; falls from 1 to 0.
    """

    thresholds: FloatArray
    miss: FloatArray
    false_alarm: FloatArray

    @property
    def eer(self) -> float:
        """Equal error rate, in [0, 1].

        If no point has equal rates, interpolate linearly between the two neighbouring
        points: choosing at random between their thresholds achieves this rate. Equal
        scores form one point, so the order of pairs does not matter.
        """
        gap = self.miss - self.false_alarm  # rises from -1 to 1
        after = int(np.searchsorted(gap, 0.0))
        before = after - 1
        weight = gap[before] / (gap[before] - gap[after])
        low, high = self.miss[before], self.miss[after]
        return float(low + weight * (high - low))

    @property
    def hull(self) -> DetCurve:
        """Points of the curve on its lower convex hull (ROCCH).

        Its `eer` is the equal error rate of Bosaris, at most the one of the curve.
        """
        from scipy.optimize import isotonic_regression  # noqa: PLC0415 - takes 300 ms

        miss, false_alarm = np.diff(self.miss), -np.diff(self.false_alarm)
        # Each score has the share of the same speaker; pooling adjacent violators
        # makes these shares rise, and the pools are the edges of the hull.
        mass = miss + false_alarm
        corners = isotonic_regression(miss / mass, weights=mass).blocks
        return DetCurve(
            self.thresholds[corners], self.miss[corners], self.false_alarm[corners]
        )

    @property
    def min_cllr(self) -> float:
        """Minimum of `log_likelihood_ratio_cost` over increasing maps of the scores.

        The best map assigns to each edge of the hull the ratio of its two rates.
        """
        from scipy.special import rel_entr  # noqa: PLC0415 - takes 50 ms

        hull = self.hull
        rates = np.diff(hull.miss), -np.diff(hull.false_alarm)
        nats = [rel_entr(rate, sum(rates)).sum() for rate in rates]
        return float(-sum(nats) / math.log(4.0))


def det_curve(
    scores: npt.ArrayLike, same: npt.ArrayLike, groups: npt.ArrayLike | None = None
) -> DetCurve:
    """Compute misses and false alarms at every threshold.

    Parameters
    ----------
    scores : array-like of shape (n_pairs,)
        Scores, higher for pairs of the same speaker.
    same : array-like of shape (n_pairs,)
        True for pairs of the same speaker.
    groups : array-like of shape (n_pairs,), optional
        Name or number of the group of each pair. Misses are then the mean of the rates
        of all groups with pairs of the same speaker, and false alarms the mean over
        groups with pairs of different speakers, so that large groups do not dominate.

    Returns
    -------
    curve : DetCurve
        Rates at every distinct score and at infinity.

    Examples
    --------
    >>> curve = det_curve([1.0, 2.0, 3.0], [False, True, True])
    >>> curve.miss.tolist(), curve.false_alarm.tolist()
    ([0.0, 0.0, 0.5, 1.0], [1.0, 0.0, 0.0, 0.0])
    """
    values, target = _checked_pairs(scores, same)
    thresholds, position = np.unique(values, return_inverse=True)
    # shape: (n_thresholds,)
    n_same, n_other = (
        np.bincount(
            position[kind],
            None if groups is None else _group_weights(groups, kind),
            minlength=len(thresholds),
        )
        for kind in (target, ~target)
    )
    # Below the first threshold nothing is rejected, at infinity everything is.
    # shape: (n_thresholds + 1,)
    rejected_same = np.concatenate([[0], np.cumsum(n_same)])
    rejected_other = np.concatenate([[0], np.cumsum(n_other)])
    n_others = rejected_other[-1]
    return DetCurve(
        np.append(thresholds, np.inf),
        rejected_same / rejected_same[-1],
        (n_others - rejected_other) / n_others,
    )


def equal_error_rate(scores: npt.ArrayLike, same: npt.ArrayLike) -> float:
    """Compute the error rate where misses and false alarms are equally frequent.

    Parameters
    ----------
    scores : array-like of shape (n_pairs,)
        Scores, higher for pairs of the same speaker.
    same : array-like of shape (n_pairs,)
        True for pairs of the same speaker.

    Returns
    -------
    eer : float
        Rate in [0, 1]: 0 if some threshold makes no error, 0.5 for uninformative
        scores.

    Examples
    --------
    >>> equal_error_rate([0.1, 0.4, 0.35, 0.8], [False, False, True, True])
    0.5
    """
    return det_curve(scores, same).eer


def log_likelihood_ratio_cost(
    scores: npt.ArrayLike, same: npt.ArrayLike, groups: npt.ArrayLike | None = None
) -> float:
    """Compute Cllr, the cost of log-likelihood ratios in bits.

    Parameters
    ----------
    scores : array-like of shape (n_pairs,)
        Natural logarithms of likelihood ratios.
    same : array-like of shape (n_pairs,)
        True for pairs of the same speaker.
    groups : array-like of shape (n_pairs,), optional
        Group of each pair, see `det_curve`.

    Returns
    -------
    cllr : float
        0 for perfect ratios, 1 for uninformative ones (score 0), and more for ratios
        that mislead.

    Examples
    --------
    >>> log_likelihood_ratio_cost([0.0, 0.0], [True, False])
    1.0
    """
    values, target = _checked_pairs(scores, same)
    total = 0.0
    for kind, sign in ((target, -1.0), (~target, 1.0)):
        bits = np.logaddexp(0.0, sign * values[kind]) / math.log(2.0)
        weights = None if groups is None else _group_weights(groups, kind)
        total += float(np.average(bits, weights=weights))
    return total / 2.0


def all_pairs(
    scores: npt.ArrayLike, speakers: npt.ArrayLike
) -> tuple[FloatArray, BoolArray]:
    """List each pair of segments of a session once.

    Parameters
    ----------
    scores : array-like of shape (n, n)
        Symmetric scores of all segments against each other.
    speakers : array-like of shape (n,)
        Name or number of the speaker of each segment.

    Returns
    -------
    scores : ndarray of shape (n * (n - 1) / 2,)
        Score of each pair of segments.
    same : ndarray of shape (n * (n - 1) / 2,)
        True where both segments have the same speaker.
    """
    matrix = np.asarray(scores, dtype=np.float64)
    names = np.asarray(speakers)
    if names.ndim != 1 or matrix.shape != (len(names), len(names)):
        problem = (
            f"must have one row and one column for each of the {names.size} speakers, "
            f"got shape {matrix.shape}"
        )
        raise InvalidParameterError(problem, owner="all_pairs", parameter="scores")
    row, column = np.triu_indices(len(names), k=1)
    same = np.asarray(names[row] == names[column], dtype=np.bool_)
    return matrix[row, column], same


def _group_weights(groups: npt.ArrayLike, kind: BoolArray) -> FloatArray:
    """Weight the pairs of one kind so that all their groups weigh the same."""
    names = np.asarray(groups)
    if names.shape != kind.shape:
        problem = f"must have shape {kind.shape}, got {names.shape}"
        raise InvalidParameterError(problem, owner="det_curve", parameter="groups")
    _, group, counts = np.unique(names[kind], return_inverse=True, return_counts=True)
    return np.asarray(1.0 / counts[group], dtype=np.float64)


def _checked_pairs(
    scores: npt.ArrayLike, same: npt.ArrayLike
) -> tuple[FloatArray, BoolArray]:
    values, target = np.asarray(scores, dtype=np.float64), np.asarray(same)
    if values.ndim != 1 or target.shape != values.shape:
        raise InvalidParameterError(
            f"scores and same must be two lists of equal length, got shapes "
            f"{values.shape} and {target.shape}",
            owner="det_curve",
        )
    if target.dtype != np.bool_ and not np.isin(target, (0, 1)).all():
        problem = "must be true or false for each pair, got other values"
        raise InvalidParameterError(problem, owner="det_curve", parameter="same")
    target = target.astype(np.bool_)
    if not np.isfinite(values).all():
        first = int(np.argmin(np.isfinite(values)))
        problem = f"must be finite, got {values[first]} at position {first}"
        raise InvalidParameterError(problem, owner="det_curve", parameter="scores")
    n_same = int(np.count_nonzero(target))
    if n_same == 0 or n_same == len(target):
        problem = (
            f"must hold pairs of both kinds, got {n_same} of one speaker and "
            f"{len(target) - n_same} of different speakers"
        )
        raise InvalidParameterError(problem, owner="det_curve", parameter="same")
    return values, target
