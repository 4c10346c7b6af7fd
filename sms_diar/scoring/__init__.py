"""Scores of pairs of vectors: PLDA and cosine.

``scorer.py`` contains the scorers and their interface, ``plda.py`` the algebra of the
PLDA model, and ``plda_training.py`` trains and adapts one. Read ``_reference.py``
first: it implements PLDA as one big Gaussian. ``calibration.py`` maps scores to
log-likelihood ratios.
"""

from sms_diar.scoring.backend import BackEnd, backend_from_transform, build_backend
from sms_diar.scoring.backend_training import (
    backend_from_model,
    backend_to_model,
    session_backend,
    train_backend,
)
from sms_diar.scoring.calibration import (
    ScoreFusion,
    fit_fusion,
    read_fusion,
    write_fusion,
)
from sms_diar.scoring.plda import (
    Covariances,
    PairCoefficients,
    covariances,
    pair_coefficients,
    plda_from_covariances,
    project,
    transform_plda,
)
from sms_diar.scoring.plda_training import (
    Plda,
    PldaFit,
    adapt_plda,
    fit_plda,
    plda_log_likelihood,
)
from sms_diar.scoring.scorer import (
    BilinearScorer,
    CosineScorer,
    PairwiseTerms,
    PldaScorer,
    recording_scorer,
)

__all__ = [
    "BackEnd",
    "BilinearScorer",
    "CosineScorer",
    "Covariances",
    "PairCoefficients",
    "PairwiseTerms",
    "Plda",
    "PldaFit",
    "PldaScorer",
    "ScoreFusion",
    "adapt_plda",
    "backend_from_model",
    "backend_from_transform",
    "backend_to_model",
    "build_backend",
    "covariances",
    "fit_fusion",
    "fit_plda",
    "pair_coefficients",
    "plda_from_covariances",
    "plda_log_likelihood",
    "project",
    "read_fusion",
    "recording_scorer",
    "session_backend",
    "train_backend",
    "transform_plda",
    "write_fusion",
]
