"""Verification metrics: separation of same-speaker and different-speaker pairs.

A pair is accepted when its score reaches a threshold. Raising the threshold
trades false alarms (different speakers accepted) for misses (same speaker
rejected). At the equal error rate both are equally frequent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar.errors import InvalidParameterError
from sms_diar.types import BoolArray, FloatArray


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


def det_curve(scores: npt.ArrayLike, same: npt.ArrayLike) -> DetCurve:
    """Compute misses and false alarms at every threshold.

    Parameters
    ----------
    scores : array-like of shape (n_pairs,)
        Scores, higher for pairs of the same speaker.
    same : array-like of shape (n_pairs,)
        True for pairs of the same speaker.

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
    n_same = np.bincount(position[target], minlength=len(thresholds))
    n_other = np.bincount(position[~target], minlength=len(thresholds))
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
