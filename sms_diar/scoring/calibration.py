"""Calibration and fusion of scores by logistic regression.

The scores of one or several systems are mapped linearly to log-likelihood ratios. The
weights minimise the cross-entropy of the decisions at a prior probability of the same
speaker, which does not depend on the share of such pairs in the training data, as in
the toolkits FoCal and Bosaris. With one system this calibrates its scores.

References
----------
N. Brümmer et al.: Fusion of heterogeneous speaker recognition systems in the STBU
submission for the NIST SRE 2006. IEEE Transactions on Audio, Speech, and Language
Processing 15 (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from sms_diar._json import parse_json, write_json
from sms_diar._validation import check_finite, is_real
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import open_regular
from sms_diar.types import BoolArray, FloatArray

FUSION_FORMAT = 1
_ITERATIONS = 100  # Newton's method needs about ten
_CONVERGED = 1e-12  # of the gradient, per standard deviation of the scores
_HALVINGS = 60  # of a step, until it is below the precision of doubles


@dataclass(frozen=True, eq=False)
class ScoreFusion:
    """Linear map from the scores of systems to a log-likelihood ratio.

    Parameters
    ----------
    weights : ndarray of shape (n_systems,)
        Weight of each system.
    offset : float
        Constant that is added.
    """

    weights: FloatArray
    offset: float

    def transform(self, scores: npt.ArrayLike) -> FloatArray:
        """Map scores of shape (n_pairs, n_systems) to ratios of shape (n_pairs,)."""
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.weights):
            problem = (
                f"must have shape (n_pairs, {len(self.weights)}), one column for each "
                f"system, got {values.shape}"
            )
            raise InvalidParameterError(
                problem, owner="ScoreFusion.transform", parameter="scores"
            )
        return np.asarray(values @ self.weights + self.offset, dtype=np.float64)


def fit_fusion(
    scores: npt.ArrayLike, same: npt.ArrayLike, *, prior: float = 0.5
) -> ScoreFusion:
    """Train calibration (one system) or fusion (several systems).

    Parameters
    ----------
    scores : array-like of shape (n_pairs, n_systems)
        Scores, one column per system.
    same : array-like of shape (n_pairs,)
        True for pairs of the same speaker.
    prior : float, default=0.5
        Prior probability of the same speaker at which the ratios should be best. With
        costs it is ``c_miss * p / (c_miss * p + c_fa * (1 - p))``.

    Returns
    -------
    fusion : ScoreFusion
        Weights and offset.
    """
    X, target = np.asarray(scores, dtype=np.float64), np.asarray(same)
    problem, parameter = "", "scores"
    if X.ndim != 2 or not X.size or target.shape != X.shape[:1]:
        problem = f"must have shape ({target.size}, n_systems), got {X.shape}"
    elif set(target.tolist()) != {False, True}:
        problem, parameter = "must be true and false for some pairs each", "same"
    elif not is_real(prior) or not 0.0 < prior < 1.0:
        problem, parameter = f"must be in (0, 1), got {prior!r}", "prior"
    if problem:
        raise InvalidParameterError(problem, owner="fit_fusion", parameter=parameter)
    check_finite("fit_fusion", "scores", X)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale <= np.finfo(np.float64).eps * np.abs(mean)] = 1.0  # constant scores
    design = np.column_stack([(X - mean) / scale, np.ones(len(X))])
    solution = _minimum(design, target.astype(np.bool_), prior)
    weights = solution[:-1] / scale
    offset = float(solution[-1] - weights @ mean)
    return ScoreFusion(weights, offset)


def _minimum(design: FloatArray, target: BoolArray, prior: float) -> FloatArray:
    """Minimise the cross-entropy by Newton's method with halved steps.

    `design` has shape (n_pairs, n_systems + 1); its last column is 1.
    """
    sign = np.where(target, 1.0, -1.0)
    n_same = np.count_nonzero(target)
    share = np.where(target, prior / n_same, (1.0 - prior) / (len(target) - n_same))
    log_odds = float(logit(prior))

    def cost(weights: FloatArray) -> float:
        margin = sign * (design @ weights + log_odds)
        return float(share @ np.logaddexp(0.0, -margin))

    weights = np.zeros(design.shape[1])
    for _ in range(_ITERATIONS):
        ratios = design @ weights
        if np.ptp(ratios) > 0.0 and ratios[target].min() >= ratios[~target].max():
            break
        wrong = expit(-sign * (ratios + log_odds))
        gradient = -design.T @ (share * sign * wrong)
        if np.abs(gradient).max() < _CONVERGED * min(prior, 1.0 - prior):
            return weights
        curvature = (design * (share * wrong * (1.0 - wrong))[:, np.newaxis]).T @ design
        # The pseudo-inverse gives systems with equal scores equal weights.
        step = np.linalg.pinv(curvature, rcond=1e-12, hermitian=True) @ gradient
        limit = cost(weights) * (1.0 + 1e-12)
        sizes = (0.5**halvings for halvings in range(_HALVINGS))
        size = next((z for z in sizes if cost(weights - z * step) <= limit), 0.0)
        weights = weights - size * step
    raise InvalidParameterError(
        "must overlap, but pairs of the same speaker can be separated from the others, "
        "so that the best weights are infinite; use more pairs",
        owner="fit_fusion",
        parameter="scores",
    )


def write_fusion(path: str | Path, fusion: ScoreFusion) -> None:
    """Write a calibration or fusion as JSON; numbers are restored exactly."""
    numbers = {**vars(fusion), "weights": fusion.weights.tolist()}
    write_json(path, {"sms_diar_fusion": FUSION_FORMAT, **numbers})


def read_fusion(path: str | Path) -> ScoreFusion:
    """Read a calibration or fusion that `write_fusion` wrote."""
    with open_regular(Path(path)) as stream:
        data = stream.read()
    try:
        record = parse_json(data.decode("utf-8"))
        weights, offset = record["weights"], record["offset"]
        if record["sms_diar_fusion"] != FUSION_FORMAT:
            raise ValueError(f"its format must be {FUSION_FORMAT}; update sms_diar")
        if not weights or not all(map(is_real, (*weights, offset))):
            raise ValueError("weights and offset must be finite numbers")
    except (ValueError, TypeError, KeyError) as error:
        problem = f"not a calibration of 'plda calibrate' ({error!r})"
        raise DataFormatError(problem, path=path) from None
    return ScoreFusion(np.array(weights, np.float64), float(offset))
