"""A PLDA model that learns from the session it is applied to.

A session differs from the training data: its segments are longer or shorter, its
channel is another one, its speakers are closer together. Provisional groups tell
how. The trained covariances are the centres of inverse Wishart priors that are
worth a number of segments (within speakers) and of speakers (between), and a few
iterations of expectation maximisation find the most probable model. Short sessions
hardly move it, long ones overrule it.

Both priors are known only up to their scale, which is estimated as well. That needs
little data, because all dimensions speak for it, and it is what differs most: on
`arabic8k`, the variance within speakers is half of what other corpora predict.

Everything happens in the space where the trained model is diagonal: its mean is
zero, its covariances are the identity and ``diag(psi)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sms_diar.scoring.evidence import group_evidence, group_sums
from sms_diar.scoring.plda import diagonalise
from sms_diar.types import FloatArray, IntArray, PldaModel


@dataclass(frozen=True, eq=False)
class SessionPrior:
    """The trained model, and how much it weighs against a session.

    Parameters
    ----------
    psi : ndarray of shape (d,)
        Variances between speakers of the trained model.
    segments : float, default=200.0
        Segments that the covariance within speakers is worth.
    speakers : float, default=40.0
        Speakers that the covariance between them is worth.
    mean_speakers : float, default=10.0
        Speakers that the mean is worth: that of a session of few speakers says
        more about them than about the channel.
    scale_segments, scale_speakers : float, default=10.0 and 3.0
        What the scales of the two covariances are worth.
    """

    psi: FloatArray
    segments: float = 200.0
    speakers: float = 40.0
    mean_speakers: float = 10.0
    scale_segments: float = 10.0
    scale_speakers: float = 3.0

    @cached_property
    def between(self) -> FloatArray:
        """Diagonal of the covariance between speakers, kept off zero."""
        floor = 1e-4 * max(float(self.psi.mean()), 1e-12)
        raised: FloatArray = self.psi + floor
        return raised

    @property
    def start(self) -> SessionModel:
        """The trained model itself."""
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
        """Rows that diagonalise both covariances."""
        return self._axes[0]

    @property
    def psi(self) -> FloatArray:
        """Variances between speakers along those rows; those within are 1."""
        return self._axes[1]

    def project(self, rows: FloatArray) -> FloatArray:
        """Vectors in the space where the model is diagonal."""
        projected: FloatArray = (rows - self.mean) @ self.transform.T
        return projected

    def log_prior(self, prior: SessionPrior) -> float:
        """Log density of the model, 0 where it equals its prior up to scale."""
        between = prior.between
        gap = _divergence(self.within, np.full_like(between, self.scale_within))
        other = _divergence(self.between, self.scale_between * between)
        shift = np.sum(self.mean**2 / (1.0 + between))
        return -0.5 * float(
            prior.segments * gap + prior.speakers * other + prior.mean_speakers * shift
        )


def _divergence(covariance: FloatArray, diagonal: FloatArray) -> float:
    """Stein's loss of ``diag(diagonal)`` against a covariance: 0 if they are equal."""
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
    """Move a model towards what provisional groups of the session say.

    Parameters
    ----------
    prior : SessionPrior
        What the model is held to.
    model : SessionModel
        Where the iterations start.
    rows : ndarray of shape (n, d)
        Vectors in the space where the trained model is diagonal.
    labels : ndarray of shape (n,)
        Groups 0, 1, ...
    weight : float
        Share of an observation that each vector counts as.
    n_iter : int, default=1
        Iterations of expectation maximisation.
    """
    sizes, sums = group_sums(rows, labels)
    n, d = rows.shape
    counts = sizes[:, None]
    means = sums / counts
    residuals = rows - means[labels]
    scatter = residuals.T @ residuals
    total = 1.0 + prior.between
    for _ in range(n_iter):
        T, psi = model.transform, model.psi
        back = model.within @ T.T  # inverse of T
        offsets = (means - model.mean) @ T.T
        variances = psi / (1.0 + weight * counts * psi)
        speakers = weight * counts * variances * offsets
        rest = (offsets - speakers) * np.sqrt(counts)
        between = speakers.T @ speakers + np.diag(variances.sum(axis=0))
        around = rest.T @ rest + np.diag((counts * variances).sum(axis=0))
        between = back @ between @ back.T
        within = weight * (scatter + back @ around @ back.T)
        scale_within = (prior.scale_segments + np.trace(within) / d) / (
            prior.scale_segments + weight * n
        )
        # Compared where speakers can be told apart: small variances between them
        # are known badly, and would dominate a plain trace.
        seen = np.sum(np.diag(between) / total) / np.sum(prior.between / total)
        scale_between = (prior.scale_speakers + seen) / (
            prior.scale_speakers + len(sizes)
        )
        within += prior.segments * scale_within * np.eye(d)
        within /= prior.segments + weight * n
        between += prior.speakers * scale_between * np.diag(prior.between)
        between /= prior.speakers + len(sizes)
        precision = weight * counts / (1.0 + weight * counts * psi)
        held = prior.mean_speakers / total
        system = (T.T * precision.sum(axis=0)) @ T + np.diag(held)
        pull = T.T @ np.sum(precision * offsets, axis=0) - held * model.mean
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
    """Log probability, up to a constant, of vectors, groups and model together.

    The same constant for all groups and models of the same vectors and weight, so
    that results of searches from different starts can be compared.
    """
    U = model.project(rows)
    sizes, sums = group_sums(U, labels)
    log_det = float(np.linalg.slogdet(model.transform)[1])
    alone = weight * (len(rows) * log_det - 0.5 * float(np.sum(U**2)))
    evidence = float(np.sum(group_evidence(sizes, sums, model.psi, weight=weight)))
    return alone + evidence + model.log_prior(prior)


def model_of_groups(rows: FloatArray, labels: IntArray) -> PldaModel:
    """Model with one variance within groups and one between them, in all directions.

    Parameters
    ----------
    rows : ndarray of shape (n, q)
        Vectors.
    labels : ndarray of shape (n,)
        Groups 0, 1, ...

    Returns
    -------
    model : PldaModel
        Of these vectors. A single group, or groups of equal rows, leave a variance
        open; it is then taken to be that of the rest.
    """
    n, q = rows.shape
    sizes, sums = group_sums(rows, labels)
    means = sums / sizes[:, None]
    mean = rows.mean(axis=0)
    within = float(np.sum((rows - means[labels]) ** 2)) / (max(n - len(sizes), 1) * q)
    around = float(np.sum(sizes[:, None] * (means - mean) ** 2)) / (n * q)
    within = max(within, 1e-6 * around, 1e-12)
    psi = max(around / within, 1.0) if len(sizes) > 1 else 1.0
    return PldaModel(mean, np.eye(q) / np.sqrt(within), np.full(q, psi))
