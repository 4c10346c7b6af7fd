"""Established methods of speaker clustering, as baselines for mean shift.

All take raw embeddings and a back end, keep bounds on the number of speakers, and
label every segment. ``agglomerative.py`` is the customary choice, ``vbx.py`` the
strongest one with a PLDA model; ``spectral.py`` counts speakers by eigengaps;
``kmeans.py`` and ``hdbscan.py`` use scikit-learn. Scores of all pairs are held in
memory, which limits the session to 13,000 to 23,000 segments.

>>> import numpy as np
>>> from sms_diar.clustering import baselines
>>> rng = np.random.default_rng(0)
>>> speakers = np.repeat([[3.0, 0, 0], [0, 3.0, 0], [0, 0, 3.0]], 20, axis=0)
>>> X = speakers + 0.2 * rng.standard_normal((60, 3))
>>> for name in ("Agglomerative", "Hdbscan", "KMeans", "NmeSpectral", "Spectral"):
...     print(name, getattr(baselines, f"{name}Speakers")().fit(X).n_clusters_)
Agglomerative 3
Hdbscan 3
KMeans 3
NmeSpectral 3
Spectral 3
"""

from sms_diar._lazy import lazy_names as _lazy_names

__all__ = [
    "AgglomerativeSpeakers",
    "HdbscanSpeakers",
    "KMeansSpeakers",
    "NmeSpectralSpeakers",
    "SpeakerBaseline",
    "SpectralSpeakers",
    "VbxSpeakers",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sms_diar.clustering.baselines._base import SpeakerBaseline
    from sms_diar.clustering.baselines.agglomerative import AgglomerativeSpeakers
    from sms_diar.clustering.baselines.hdbscan import HdbscanSpeakers
    from sms_diar.clustering.baselines.kmeans import KMeansSpeakers
    from sms_diar.clustering.baselines.spectral import (
        NmeSpectralSpeakers,
        SpectralSpeakers,
    )
    from sms_diar.clustering.baselines.vbx import VbxSpeakers
else:
    __getattr__, __dir__ = _lazy_names(
        __name__,
        {
            "AgglomerativeSpeakers": "sms_diar.clustering.baselines.agglomerative",
            "HdbscanSpeakers": "sms_diar.clustering.baselines.hdbscan",
            "KMeansSpeakers": "sms_diar.clustering.baselines.kmeans",
            "NmeSpectralSpeakers": "sms_diar.clustering.baselines.spectral",
            "SpeakerBaseline": "sms_diar.clustering.baselines._base",
            "SpectralSpeakers": "sms_diar.clustering.baselines.spectral",
            "VbxSpeakers": "sms_diar.clustering.baselines.vbx",
        },
    )
