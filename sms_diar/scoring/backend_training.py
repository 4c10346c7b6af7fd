"""Back ends trained on labelled data or on the session itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from sms_diar.io._foreign import foreign_errors
from sms_diar.io.model import ModelFile
from sms_diar.preprocessing import FoldedChain, fold, paper_chain, scale_rows
from sms_diar.preprocessing.axes import Shrinkage
from sms_diar.scoring.backend import BackEnd, build_backend
from sms_diar.scoring.plda_training import fit_plda
from sms_diar.types import FloatArray

KIND = "backend"


def train_backend(
    X: npt.ArrayLike,
    speakers: npt.ArrayLike,
    *,
    n_components: int | float | None = None,
    shrinkage: Shrinkage = 0.0,
    n_iter: int = 20,
    extractor: str | None = None,
) -> BackEnd:
    """Train the chain of the paper and a PLDA model on labelled embeddings.

    The chain is length normalisation, PCA, whitening and length normalisation,
    followed by two-covariance PLDA, trained by EM.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Raw embeddings.
    speakers : array-like of shape (n,)
        Speaker of each embedding.
    n_components : int, float or None, default=None
        Number of dimensions q after the PCA, or share of energy; None keeps all.
    shrinkage : float or "auto", default=0.0
        Shrinkage of the covariance in the whitening.
    n_iter : int, default=20
        Number of EM iterations.
    extractor : str or None, default=None
        Fingerprint of the extractor of the embeddings, stored in the back end.
    """
    rows: FloatArray = np.asarray(X, dtype=np.float64)
    # Threads are not worthwhile for small matrix products.
    with threadpool_limits(limits=1):
        chain = paper_chain(n_components, shrinkage=shrinkage).fit(rows)
        fitted = fit_plda(chain.transform(rows), speakers, n_iter=n_iter)
        return build_backend(fold(chain), fitted.model, extractor=extractor)


def session_backend(
    X: npt.ArrayLike, *, energy: float = 0.9, prior_segments: float = 200.0
) -> BackEnd:
    """Fit a cosine back end with whitening on the session, without training data.

    Whitening equalises the variance of all directions. With many speakers this removes
    what all segments share; with few speakers it removes the speakers, which are the
    leading directions. The covariance is therefore shrunk to a multiple of the identity
    with the weight ``prior_segments / (n + prior_segments)``, so that short sessions
    are hardly whitened and long sessions almost fully.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Raw embeddings of the session.
    energy : float, default=0.9
        Share of the variance that is kept by the PCA.
    prior_segments : float, default=200.0
        Number of segments at which the shrinkage weight is 0.5. On `arabic8k` and
        `libri-testother10-8k` (3 to 30 speakers) K and G are flat from 150 to 1000.

    Returns
    -------
    backend : BackEnd
        Back end of kind "cosine". Sessions with a single distinct segment are not
        transformed.
    """
    rows: FloatArray = np.asarray(X, dtype=np.float64)
    directions = scale_rows(rows)
    if np.ptp(directions, axis=0).max() < 1e-12:
        d = rows.shape[1]
        return build_backend(FoldedChain(np.eye(d), np.zeros(d), in_length=1.0))
    shrinkage = prior_segments / (len(rows) + prior_segments)
    chain = paper_chain(energy, shrinkage=shrinkage).fit(rows)
    return build_backend(fold(chain))


def backend_to_model(backend: BackEnd) -> ModelFile:
    """Convert a back end to a model file."""
    metadata = {
        "kind": backend.kind,
        "extractor": backend.extractor,
        "notes": dict(backend.notes),
    }
    return ModelFile(KIND, backend.arrays(), metadata)


def backend_from_model(model: ModelFile, *, path: str | Path = "model") -> BackEnd:
    """Convert ``read_model(path, KIND)`` to a back end."""
    with foreign_errors(path, "a back end that makes no sense"):
        return BackEnd.from_arrays(model.arrays, model.words)
