"""What people use today to cluster speakers, as peers of mean shift.

All take raw embeddings and a back end, keep bounds on the number of speakers, and
label every segment. ``agglomerative.py`` is the customary choice, ``vbx.py`` the
strongest where a PLDA model exists; ``nme_spectral.py`` and ``spectral.py`` count
speakers by eigengaps; ``kmeans.py`` and ``hdbscan.py`` are what scikit-learn
offers. Scores of all pairs are held in memory, which limits the session to 13,000
to 23,000 segments.
"""

from sms_diar.clustering.baselines.agglomerative import AgglomerativeSpeakers
from sms_diar.clustering.baselines.hdbscan import HdbscanSpeakers
from sms_diar.clustering.baselines.kmeans import KMeansSpeakers
from sms_diar.clustering.baselines.nme_spectral import NmeSpectralSpeakers
from sms_diar.clustering.baselines.spectral import SpectralSpeakers
from sms_diar.clustering.baselines.vbx import VbxSpeakers

BASELINES = {
    "agglomerative": AgglomerativeSpeakers,
    "hdbscan": HdbscanSpeakers,
    "kmeans": KMeansSpeakers,
    "nme-spectral": NmeSpectralSpeakers,
    "spectral": SpectralSpeakers,
    "vbx": VbxSpeakers,
}
"""Estimators by the names that settings and commands use."""

__all__ = [
    "BASELINES",
    "AgglomerativeSpeakers",
    "HdbscanSpeakers",
    "KMeansSpeakers",
    "NmeSpectralSpeakers",
    "SpectralSpeakers",
    "VbxSpeakers",
]
