"""Transforms of vectors: centring, projection, whitening, length normalisation.

All steps are scikit-learn transformers, fitted on one set and applied to another.
``chain.py`` combines them as in the paper, and folds the result into one matrix.
"""

from sms_diar.preprocessing.center import Center
from sms_diar.preprocessing.chain import FoldedChain, fold, paper_chain
from sms_diar.preprocessing.lda import Lda
from sms_diar.preprocessing.length_norm import LengthNorm, scale_rows
from sms_diar.preprocessing.pca import Pca
from sms_diar.preprocessing.recording_pca import RecordingPca
from sms_diar.preprocessing.speakers import SpeakerStats, speaker_stats
from sms_diar.preprocessing.wccn import Wccn
from sms_diar.preprocessing.whiten import Whiten

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
