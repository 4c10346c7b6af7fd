"""A threshold for scores that are not calibrated, from the scores themselves.

Scores of pairs of one session come from two crowds, same speaker and different
speakers. Two Gaussians of one variance are fitted to all of them, and the
threshold is where a pair may belong to either. Recipes of Kaldi and of VBx find
the stopping point of agglomerative clustering so.
"""

from __future__ import annotations

import numpy as np

from sms_diar.types import FloatArray

_BINS = 4096


def two_gaussian_threshold(scores: FloatArray, *, n_iter: int = 20) -> float:
    """Score at which two Gaussians fitted to all scores are equally likely.

    Parameters
    ----------
    scores : ndarray
        Of pairs; at least one.
    n_iter : int, default=20
        Iterations of EM, which starts one standard deviation below and above the
        mean.

    Returns
    -------
    threshold : float
        Minus infinity where the scores do not differ, or one Gaussian takes all.

    Notes
    -----
    Scores are counted in 4096 bins first, each of which stands for the mean of
    its members: the cost does not grow with the square of the session.

    Examples
    --------
    >>> float(two_gaussian_threshold(np.array([-1.0, -1.0, 3.0, 3.0])))
    1.0
    """
    low, high = float(scores.min()), float(scores.max())
    # Rounding alone spreads equal scores by some 1e-16 of their size.
    if high - low <= 1e-12 * max(1.0, abs(low), abs(high)):
        return -np.inf
    values, shares = _binned(np.ravel(scores))
    mean = float(shares @ values)
    variance = float(shares @ (values - mean) ** 2)
    weights = np.array([0.5, 0.5])
    means = mean + np.sqrt(variance) * np.array([-1.0, 1.0])
    floor = 1e-6 * variance  # two values only would leave no variance at all
    for _ in range(n_iter):
        logs = np.log(weights) - 0.5 * (values[:, None] - means) ** 2 / variance
        gamma = np.exp(logs - logs.max(axis=1, keepdims=True))
        gamma *= (shares / gamma.sum(axis=1))[:, None]
        weights = gamma.sum(axis=0)
        if weights.min() < 1e-12:
            return -np.inf
        means = gamma.T @ values / weights
        spread = float(np.sum(gamma * (values[:, None] - means) ** 2))
        variance = max(spread, floor)
    odds = float(np.log(weights[0] / weights[1]))
    return float(means.mean() + variance * odds / (means[1] - means[0]))


def _binned(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    counts, edges = np.histogram(scores, bins=_BINS)
    sums = np.histogram(scores, bins=edges, weights=scores)[0]
    full = counts > 0
    return sums[full] / counts[full], counts[full] / len(scores)
