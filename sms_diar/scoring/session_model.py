"""Adaptation of a PLDA model to the session that it is applied to.

A session differs from the training data in segment lengths, channel and similarity of
speakers. Provisional clusters show these differences. The trained covariances are the
centres of inverse Wishart priors, with strengths given as numbers of segments (within
speakers) and of speakers (between), and a few iterations of expectation maximisation
find the most probable model. Short sessions hardly change the model; long sessions
dominate the prior.

The scales of both priors are also estimated. This needs little data, because all
dimensions contribute, and the scale differs most between corpora: on `arabic8k` the
within-speaker variance is half of what other corpora predict.

All computations are done in the space where the trained model is diagonal: its mean is
zero and its covariances are the identity and ``diag(psi)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sms_diar.scoring.evidence import group_evidence, group_sums
from sms_diar.scoring.plda import diagonalise
from sms_diar.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SessionPrior:
    """Trained model, given by its between-speaker variances, with the prior strengths.

    Strengths are numbers of segments for the within-speaker covariance and of speakers
    for the between-speaker covariance and the mean. The mean of a session with few
    speakers reflects the speakers more than the channel. `scale_segments` and
    `scale_speakers` are the strengths of the scales of the two covariances.
    """

    psi: FloatArray
    segments: float = 200.0
    speakers: float = 40.0
    mean_speakers: float = 10.0
    scale_segments: float = 10.0
    scale_speakers: float = 3.0

    @cached_property
    def between(self) -> FloatArray:
        """Diagonal of the between-speaker covariance, with a positive floor."""
        floor = 1e-4 * max(float(self.psi.mean()), 1e-12)
        raised: FloatArray = self.psi + floor
        return raised

    @property
    def start(self) -> SessionModel:
        """Session model that equals the trained model."""
        d = len(self.psi)
        return SessionModel(np.zeros(d), np.eye(d), np.diag(self.between))


@dataclass(frozen=True, eq=False)
class SessionModel:
    """Mean and covariances of a session, and the scales of their priors."""

    mean: FloatArray
    within: FloatArray
    between: FloatArray
    scale_within: float = 1.0
    scale_between: float = 1.0

    @cached_property
    def _axes(self) -> tuple[FloatArray, FloatArray]:
        return diagonalise("SessionModel", self.within, self.between)

    @property
    def transform(self) -> FloatArray:
        """Rows that diagonalise both covariances, shape (d, d)."""
        return self._axes[0]

    @property
    def psi(self) -> FloatArray:
        """Between-speaker variances along those rows; the within variances are 1."""
        return self._axes[1]

    def project(self, rows: FloatArray) -> FloatArray:
        """Map vectors to the space where the model is diagonal."""
        projected: FloatArray = (rows - self.mean) @ self.transform.T
        return projected

    def log_prior(self, prior: SessionPrior) -> float:
        """Return the log prior density, 0 if the model equals the prior up to scale."""
        between = prior.between
        gap = _divergence(self.within, np.full_like(between, self.scale_within))
        other = _divergence(self.between, self.scale_between * between)
        shift = np.sum(self.mean**2 / (1.0 + between))
        return -0.5 * float(
            prior.segments * gap + prior.speakers * other + prior.mean_speakers * shift
        )


def _divergence(covariance: FloatArray, diagonal: FloatArray) -> float:
    """Return Stein's loss between a diagonal and a covariance: 0 if they are equal."""
    inverse = np.linalg.inv(covariance)
    trace = float(np.sum(np.diag(inverse) * diagonal))
    log_ratio = float(np.sum(np.log(diagonal)) - np.linalg.slogdet(covariance)[1])
    return trace - len(diagonal) - log_ratio


def adapt_session(
    prior: SessionPrior,
    model: SessionModel,
    rows: FloatArray,
    labels: IntArray,
    *,
    weight: float,
    n_iter: int = 1,
) -> SessionModel:
    """Adapt a model to provisional clusters 0, 1, ..., k - 1 of the session by EM.

    `rows` of shape (n, d) are in the space where the trained model is diagonal, and
    each counts as `weight` observations.
    """
    sizes, sums = group_sums(rows, labels)
    n, d = rows.shape
    counts = sizes[:, None]  # shape: (k, 1)
    means = sums / counts
    residuals = rows - means[labels]  # shape: (n, d)
    scatter = residuals.T @ residuals
    total = 1.0 + prior.between
    for _ in range(n_iter):
        T, psi = model.transform, model.psi
        inverse = model.within @ T.T  # inverse of T, because T W T' = I
        offsets = (means - model.mean) @ T.T  # shape: (k, d)
        # Posterior variances and means of the speakers, shape: (k, d)
        variances = psi / (1.0 + weight * counts * psi)
        speakers = weight * counts * variances * offsets
        deviations = (offsets - speakers) * np.sqrt(counts)
        between = speakers.T @ speakers + np.diag(variances.sum(axis=0))
        around = deviations.T @ deviations + np.diag((counts * variances).sum(axis=0))
        between = inverse @ between @ inverse.T
        within = weight * (scatter + inverse @ around @ inverse.T)
        scale_within = (prior.scale_segments + np.trace(within) / d) / (
            prior.scale_segments + weight * n
        )
        # Directions are weighted by their discriminability: small between-speaker
        # variances are unreliable, and would dominate a plain trace.
        observed = np.sum(np.diag(between) / total) / np.sum(prior.between / total)
        scale_between = (prior.scale_speakers + observed) / (
            prior.scale_speakers + len(sizes)
        )
        within += prior.segments * scale_within * np.eye(d)
        within /= prior.segments + weight * n
        between += prior.speakers * scale_between * np.diag(prior.between)
        between /= prior.speakers + len(sizes)
        precision = weight * counts / (1.0 + weight * counts * psi)
        prior_precision = prior.mean_speakers / total
        system = (T.T * precision.sum(axis=0)) @ T + np.diag(prior_precision)
        pull = T.T @ np.sum(precision * offsets, axis=0) - prior_precision * model.mean
        model = SessionModel(
            model.mean + np.linalg.solve(system, pull),
            (within + within.T) / 2.0,
            (between + between.T) / 2.0,
            float(scale_within),
            float(scale_between),
        )
    return model


def log_joint(
    prior: SessionPrior,
    model: SessionModel,
    rows: FloatArray,
    labels: IntArray,
    *,
    weight: float,
) -> float:
    """Return the unnormalised log probability of vectors, clusters and model.

    The constant depends on vectors and weight only, so results of searches from
    different starts can be compared.
    """
    U = model.project(rows)
    sizes, sums = group_sums(U, labels)
    log_det = float(np.linalg.slogdet(model.transform)[1])
    alone = weight * (len(rows) * log_det - 0.5 * float(np.sum(U**2)))
    evidence = float(np.sum(group_evidence(sizes, sums, model.psi, weight=weight)))
    return alone + evidence + model.log_prior(prior)
