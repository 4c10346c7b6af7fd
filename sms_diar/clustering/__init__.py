"""Clustering of points and embeddings: mean-shift estimators for scikit-learn.

``methods.py`` is the registry of methods, with the names used by the command, the
recipes and the tables. ``points/`` contains mean shift of points in space,
``speakers/`` mean shift of embeddings that are scored in pairs, and ``baselines/``
established methods for speakers. ``_modes.py`` converts resting points to labels.

Estimators are imported on first use, so that listing the methods does not load
compiled code.
"""

from sms_diar._lazy import lazy_names as _lazy_names

__all__ = [
    "KERNELS",
    "BinnedStochasticMeanShift",
    "BlurringMeanShift",
    "DoublyStochasticMeanShift",
    "History",
    "MeanShift",
    "SpeakerBlurringMeanShift",
    "SpeakerEvidenceMeanShift",
    "SpeakerFragmentMeanShift",
    "SpeakerMeanShift",
    "SpeakerStochasticMeanShift",
    "StochasticMeanShift",
    "estimate_bandwidth",
]

TYPE_CHECKING = False  # as type checkers know it; importing typing takes long
if TYPE_CHECKING:
    from sms_diar.clustering.points._base import History
    from sms_diar.clustering.points.bandwidth import estimate_bandwidth
    from sms_diar.clustering.points.mean_shift import BlurringMeanShift, MeanShift
    from sms_diar.clustering.points.profiles import KERNELS
    from sms_diar.clustering.points.stochastic import (
        BinnedStochasticMeanShift,
        DoublyStochasticMeanShift,
        StochasticMeanShift,
    )
    from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
    from sms_diar.clustering.speakers.fragments import SpeakerFragmentMeanShift
    from sms_diar.clustering.speakers.mean_shift import (
        SpeakerBlurringMeanShift,
        SpeakerMeanShift,
        SpeakerStochasticMeanShift,
    )
else:
    __getattr__, __dir__ = _lazy_names(
        __name__,
        {
            "BinnedStochasticMeanShift": "sms_diar.clustering.points.stochastic",
            "BlurringMeanShift": "sms_diar.clustering.points.mean_shift",
            "DoublyStochasticMeanShift": "sms_diar.clustering.points.stochastic",
            "History": "sms_diar.clustering.points._base",
            "KERNELS": "sms_diar.clustering.points.profiles",
            "MeanShift": "sms_diar.clustering.points.mean_shift",
            "SpeakerBlurringMeanShift": "sms_diar.clustering.speakers.mean_shift",
            "SpeakerEvidenceMeanShift": "sms_diar.clustering.speakers.evidence",
            "SpeakerFragmentMeanShift": "sms_diar.clustering.speakers.fragments",
            "SpeakerMeanShift": "sms_diar.clustering.speakers.mean_shift",
            "SpeakerStochasticMeanShift": "sms_diar.clustering.speakers.mean_shift",
            "StochasticMeanShift": "sms_diar.clustering.points.stochastic",
            "estimate_bandwidth": "sms_diar.clustering.points.bandwidth",
        },
    )
