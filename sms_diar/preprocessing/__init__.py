"""Transforms of vectors: centring, projection, whitening, length normalisation.

All steps are scikit-learn transformers, fitted on one set and applied to another.
``chain.py`` combines them as in the paper, and folds the result into one matrix.
"""

from sms_diar.preprocessing.chain import FoldedChain, fold, paper_chain
from sms_diar.preprocessing.supervised import Lda, SpeakerStats, Wccn, speaker_stats
from sms_diar.preprocessing.unsupervised import (
    Center,
    LengthNorm,
    Pca,
    RecordingPca,
    Whiten,
    scale_rows,
)

__all__ = [
    "Center",
    "FoldedChain",
    "Lda",
    "LengthNorm",
    "Pca",
    "RecordingPca",
    "SpeakerStats",
    "Wccn",
    "Whiten",
    "fold",
    "paper_chain",
    "scale_rows",
    "speaker_stats",
]
