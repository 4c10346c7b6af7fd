"""Back ends as spaces of a PLDA model: where vectors of a speaker are white noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_plda import phi_of, plda_of
from sms_diar.types import FloatArray


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


def model_space(backend: BackEnd) -> ModelSpace:
    """Space of the PLDA model of a back end of kind "plda"."""
    return ModelSpace(backend, plda_of(backend).psi)
