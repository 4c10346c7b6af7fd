"""Brute-force reference: PLDA as one big Gaussian, and Kaldi's procedures step by step.

Slow, short and independent of the other modules of this folder. It defines the correct
result. It is imported by tests only, never by the package itself.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import multivariate_normal

from sms_diar.types import AnyArray, FloatArray, PldaModel


def speaker_log_density(
    vectors: FloatArray, mean: FloatArray, within: FloatArray, between: FloatArray
) -> float:
    """Return the log density of all vectors of one speaker, stacked into one vector."""
    n = len(vectors)
    covariance = np.kron(np.eye(n), within) + np.kron(np.ones((n, n)), between)
    return float(
        multivariate_normal.logpdf(vectors.ravel(), np.tile(mean, n), covariance)
    )


def log_likelihood(
    X: FloatArray,
    labels: AnyArray,
    mean: FloatArray,
    within: FloatArray,
    between: FloatArray,
) -> float:
    """Return the log density of all vectors of all speakers."""
    return sum(
        speaker_log_density(X[labels == name], mean, within, between)
        for name in np.unique(labels)
    )


def log_likelihood_ratio(
    enrol: FloatArray,
    test: FloatArray,
    mean: FloatArray,
    within: FloatArray,
    between: FloatArray,
) -> float:
    """Return ``log(p(enrol, test) / (p(enrol) p(test)))`` for several `enrol` rows."""
    model = (mean, within, between)
    return (
        speaker_log_density(np.vstack([enrol, test]), *model)
        - speaker_log_density(np.atleast_2d(enrol), *model)
        - speaker_log_density(np.atleast_2d(test), *model)
    )


def kaldi_iterations(
    X: FloatArray, labels: AnyArray, n_iter: int
) -> list[tuple[FloatArray, FloatArray]]:
    """Return the covariances after each Kaldi iteration, computed by speaker."""
    d = X.shape[1]
    groups = [X[labels == name] for name in np.unique(labels)]
    centre = np.mean([group.mean(axis=0) for group in groups], axis=0)
    within, between = np.eye(d), np.eye(d)
    history = []
    for _ in range(n_iter):
        within_sum, within_count = np.zeros((d, d)), 0.0
        between_sum, between_count = np.zeros((d, d)), 0.0
        for group in groups:
            n, m = len(group), group.mean(axis=0) - centre
            within_sum += (group - group.mean(axis=0)).T @ (group - group.mean(axis=0))
            within_count += n - 1
            mixed = np.linalg.inv(np.linalg.inv(between) + n * np.linalg.inv(within))
            w = mixed @ (n * np.linalg.inv(within) @ m)
            between_sum += mixed + np.outer(w, w)
            between_count += 1
            within_sum += n * (mixed + np.outer(m - w, m - w))
            within_count += 1
        within, between = within_sum / within_count, between_sum / between_count
        history.append((within, between))
    return history


def kaldi_adaptation(
    model: PldaModel,
    X: FloatArray,
    within_scale: float,
    between_scale: float,
    mean_diff_scale: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the adapted covariances, computed by two rotations as in Kaldi."""
    mean = X.mean(axis=0)
    variance = X.T @ X / len(X) - np.outer(mean, mean)
    variance += mean_diff_scale * np.outer(mean - model.mean, mean - model.mean)
    to_total = model.transform / np.sqrt(1.0 + model.psi)[:, None]
    s, P = np.linalg.eigh(to_total @ variance @ to_total.T)
    W = P.T @ np.diag(1.0 / (1.0 + model.psi)) @ P
    B = P.T @ np.diag(model.psi / (1.0 + model.psi)) @ P
    for i in range(len(s)):
        if s[i] > 1.0:
            W[i, i] += within_scale * (s[i] - 1.0)
            B[i, i] += between_scale * (s[i] - 1.0)
    back = np.linalg.inv(P.T @ to_total)
    return back @ W @ back.T, back @ B @ back.T
