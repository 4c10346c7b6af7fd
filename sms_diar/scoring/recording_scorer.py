"""PLDA scores of one recording, in the directions its speakers differ.

What Kaldi's ``ivector-plda-scoring-dense`` does for each recording: principal
directions from the recording's own vectors, vectors and model projected on
them, length normalisation, scores of all pairs.
"""

from __future__ import annotations

import numpy.typing as npt

from sms_diar.preprocessing import RecordingPca
from sms_diar.preprocessing.axes import Shrinkage
from sms_diar.scoring._arrays import as_rows
from sms_diar.scoring.plda_scorer import PldaScorer
from sms_diar.types import PldaModel


def recording_scorer(
    model: PldaModel,
    X: npt.ArrayLike,
    *,
    target_energy: float = 0.5,
    extra: int = 1,
    shrinkage: Shrinkage = 0.0,
    normalize_length: bool = True,
    simple_length_norm: bool = False,
) -> PldaScorer:
    """Scorer for the vectors of one recording.

    Parameters
    ----------
    model : PldaModel
        Model of vectors like those of the recording.
    X : array-like of shape (n, d)
        All vectors of the recording; one is enough.
    target_energy, extra, shrinkage
        Which directions are kept; see `RecordingPca`. The defaults are Kaldi's,
        whose diarization recipes set the target between 0.1 and 0.9.
    normalize_length, simple_length_norm : bool
        Length normalisation after the projection; see `PldaScorer`.

    Returns
    -------
    scorer : PldaScorer
        Takes vectors of d dimensions; ``scorer.score_matrix(X)`` are the scores
        Kaldi writes.
    """
    rows = as_rows("recording_scorer", "X", X, model.dim)
    pca = RecordingPca(target_energy=target_energy, extra=extra, shrinkage=shrinkage)
    components = pca.fit(rows).components_
    return PldaScorer(
        model,
        normalize_length=normalize_length,
        simple_length_norm=simple_length_norm,
        projection=None if len(components) == model.dim else components,
    )
