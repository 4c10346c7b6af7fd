"""Back ends estimated from data: labelled ones, or the session itself."""

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
    """Estimate the paper's chain and a PLDA model from labelled embeddings.

    Length normalisation, PCA, whitening, length normalisation, then two-covariance
    PLDA by EM.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Raw embeddings.
    speakers : array-like of shape (n,)
        Who speaks in each.
    n_components : int, float or None, default=None
        Dimensions q after the PCA, or share of energy; None keeps all.
    shrinkage : float or "auto", default=0.0
        Regularisation of the whitening.
    n_iter : int, default=20
        Iterations of EM.
    extractor : str or None, default=None
        Fingerprint of the extractor of the embeddings, kept in the back end.
    """
    rows: FloatArray = np.asarray(X, dtype=np.float64)
    # Many small products: threads would cost more than they gain.
    with threadpool_limits(limits=1):
        return _train(rows, speakers, n_components, shrinkage, n_iter, extractor)


def _train(
    rows: FloatArray,
    speakers: npt.ArrayLike,
    n_components: int | float | None,
    shrinkage: Shrinkage,
    n_iter: int,
    extractor: str | None,
) -> BackEnd:
    chain = paper_chain(n_components, shrinkage=shrinkage).fit(rows)
    fitted = fit_plda(chain.transform(rows), speakers, n_iter=n_iter)
    return build_backend(fold(chain), fitted.model, extractor=extractor)


def session_backend(
    X: npt.ArrayLike, *, energy: float = 0.9, prior_segments: float = 200.0
) -> BackEnd:
    """Cosine scoring with whitening fitted on the session: needs no training set.

    Whitening evens out the directions of a session. In a session of many
    speakers that removes what all segments share; in one of few speakers it
    removes the speakers, who are the leading directions. The covariance is
    therefore shrunk to a multiple of the identity with the weight
    ``prior_segments / (n + prior_segments)``, so that short sessions are hardly
    whitened and long ones almost fully.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Raw embeddings of the session.
    energy : float, default=0.9
        Share of the variance that the PCA keeps.
    prior_segments : float, default=200.0
        Segments at which whitening is half done. On `arabic8k` and
        `libri-testother10-8k` (3 to 30 speakers) K and G are flat from 150 to
        1000.

    Returns
    -------
    backend : BackEnd
        Of kind "cosine". Sessions of one segment, or of equal ones, are left as
        they are.
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
    """Take a back end apart for a model file."""
    words = {
        "kind": backend.kind,
        "extractor": backend.extractor,
        "notes": dict(backend.notes),
    }
    return ModelFile(KIND, backend.arrays(), words)


def backend_from_model(model: ModelFile, *, path: str | Path = "model") -> BackEnd:
    """Rebuild a back end that was read from a model file.

    Parameters
    ----------
    model : ModelFile
        What ``read_model(path, KIND)`` gave.
    path : str or Path, default="model"
        What messages call the file.
    """
    with foreign_errors(path, "a back end that makes no sense"):
        return BackEnd.from_arrays(model.arrays, model.words)
