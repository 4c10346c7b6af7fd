"""PLDA for vectors of many dimensions and few training speakers.

EM finds the covariances that fit the training speakers best. With hundreds of
dimensions and no more speakers than that, the best fit says that voices never differ in
most directions, which is about those speakers and not about speakers. Networks that
were trained to tell thousands of voices apart make vectors in which all directions
matter about alike, and that is what both covariances are drawn towards here: each is a
mixture of what was measured and of a multiple of the identity with the same trace.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_share
from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import FoldedChain, scale_rows
from sms_diar.scoring.backend import BackEnd, build_backend
from sms_diar.scoring.plda import Covariances, plda_from_covariances
from sms_diar.types import FloatArray

WITHIN, BETWEEN = 0.5, 0.3
"""Shares of the identity, chosen on CAM++ vectors by training on some corpora and
testing on another. With .3 between, .4 to .8 within are similar; .1 is worse."""


def train_shrunk_backend(
    X: npt.ArrayLike,
    speakers: npt.ArrayLike,
    *,
    within: float = WITHIN,
    between: float = BETWEEN,
    extractor: str | None = None,
) -> BackEnd:
    """Length normalisation, then two-covariance PLDA with shrunk covariances.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Raw embeddings.
    speakers : array-like of shape (n,)
        Speaker of each row; at least two speakers, one of them with two rows.
    within, between : float, default=0.5 and 0.3
        Share of the identity in the covariances within and between speakers.
    extractor : str or None, default=None
        Fingerprint of the extractor of the embeddings, kept in the back end.
    """
    check_share("train_shrunk_backend", "within", within)
    check_share("train_shrunk_backend", "between", between)
    rows = scale_rows(np.asarray(X, dtype=np.float64))
    mean, found = measured_covariances(rows, np.asarray(speakers))
    plda = plda_from_covariances(
        mean, shrunk(found.within, within), shrunk(found.between, between)
    )
    d = rows.shape[1]
    chain = FoldedChain(np.eye(d), np.zeros(d), in_length=1.0)
    return build_backend(chain, plda, extractor=extractor)


def measured_covariances(
    rows: FloatArray, speakers: npt.NDArray[np.generic]
) -> tuple[FloatArray, Covariances]:
    """Estimate the mean, and covariances within and between speakers, by moments.

    The covariance of the speakers' means holds, beside that between speakers, what
    is left of that within them; it is taken off, and no variance goes below zero.
    """
    _, labels, sizes = np.unique(speakers, return_inverse=True, return_counts=True)
    n, k = len(rows), len(sizes)
    if k < 2 or n == k:
        raise InvalidParameterError(
            f"must be at least two, one of them more than once, got {n} vectors of "
            f"{k} speakers",
            owner="train_shrunk_backend",
            parameter="speakers",
        )
    means = np.zeros((k, rows.shape[1]))
    np.add.at(means, labels, rows)
    means /= sizes[:, None]
    residuals = rows - means[labels]
    within = residuals.T @ residuals / (n - k)
    mean = means.mean(axis=0)
    spread = (means - mean).T @ (means - mean) / (k - 1)
    variances, axes = np.linalg.eigh(spread - within * np.mean(1.0 / sizes))
    between = (axes * np.maximum(variances, 0.0)) @ axes.T
    return mean, Covariances(within, between)


def shrunk(covariance: FloatArray, share: float) -> FloatArray:
    """Mix a covariance with a multiple of the identity that has the same trace."""
    d = len(covariance)
    mixed: FloatArray = (1.0 - share) * covariance
    mixed += share * np.trace(covariance) / d * np.eye(d)
    return mixed
