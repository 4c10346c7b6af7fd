"""Back ends as spaces of a PLDA model, for those that have no model too.

A back end that scores by cosine knows nothing of how far speakers are apart. What
can be assumed without training: embeddings of all speakers lie around the origin,
where their extractor put it, all directions separate speakers alike, and half of
what varies in a session is noise. How wrong that is the session itself has to say
(``session_model.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sms_diar.preprocessing import FoldedChain, scale_rows
from sms_diar.scoring.backend import BackEnd, build_backend
from sms_diar.scoring.backend_plda import phi_of, plda_of, with_plda
from sms_diar.types import FloatArray, PldaModel

_NOISE = 0.5  # share of the variance of a session that is not between speakers


@dataclass(frozen=True, eq=False)
class ModelSpace:
    """A back end of kind "plda", and the space where its model is diagonal.

    Parameters
    ----------
    backend : BackEnd
        Scores by PLDA.
    psi : ndarray of shape (r,)
        Variances between speakers; those within are 1.
    """

    backend: BackEnd
    psi: FloatArray

    def vectors(self, X: FloatArray) -> FloatArray:
        """Map raw embeddings to that space; lengths are scaled as scores want it."""
        backend = self.backend
        u: FloatArray = phi_of(backend, X) @ backend.projection.T + backend.shift
        if backend.norm_weights.any():
            energy = u**2 @ backend.norm_weights
            energy[energy == 0.0] = 1.0
            u *= np.sqrt(backend.score_dim / energy)[:, None]
        return u


def model_space(backend: BackEnd, X: FloatArray) -> ModelSpace:
    """Space of the back end's PLDA model, or of the one assumed for a session.

    Parameters
    ----------
    backend : BackEnd
        Of any kind.
    X : ndarray of shape (n, d)
        The session's raw embeddings; of use where the back end has no model.
    """
    if backend.kind == "plda":
        return ModelSpace(backend, plda_of(backend).psi)
    phi = phi_of(backend, X)
    q = phi.shape[1]
    varies = float(np.sum(phi.var(axis=0)))
    shared = float(np.sum(phi.mean(axis=0) ** 2))
    noise = max(_NOISE * varies, 1e-6 * (varies + shared), 1e-12) / q
    between = ((1.0 - _NOISE) * varies + shared) / q
    psi = np.full(q, max(between / noise, 1e-6))
    model = PldaModel(np.zeros(q), np.eye(q) / np.sqrt(noise), psi)
    return ModelSpace(with_plda(backend, model), psi)


def untrained_backend(
    X: FloatArray, *, energy: float = 0.9, prior_segments: float = 200.0
) -> BackEnd:
    """Cosine back end that keeps the origin: PCA and careful whitening, no centring.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Raw embeddings of the session.
    energy : float, default=0.9
        Share of the variance that the PCA keeps.
    prior_segments : float, default=200.0
        Segments at which whitening is half done, as in
        :func:`~sms_diar.scoring.session_backend`.

    Returns
    -------
    backend : BackEnd
        Of kind "cosine", without length normalisation of the result. Sessions of
        equal directions are left as they are.
    """
    directions = scale_rows(X)
    n, d = directions.shape
    _, singular, rows = np.linalg.svd(
        directions - directions.mean(axis=0), full_matrices=False
    )
    variances = singular**2 / n
    total = float(variances.sum())
    if total < 1e-12:
        chain = FoldedChain(np.eye(d), np.zeros(d), in_length=1.0)
        return replace(build_backend(chain), out_length=0.0)
    q = int(np.searchsorted(np.cumsum(variances), energy * total)) + 1
    q = min(max(q, 2), len(variances))
    kept = variances[:q]
    prior = prior_segments / (n + prior_segments)
    scales = 1.0 / np.sqrt((1.0 - prior) * kept / kept.mean() + prior)
    chain = FoldedChain(rows[:q] * scales[:, None], np.zeros(q), in_length=1.0)
    return replace(build_backend(chain), out_length=0.0)
