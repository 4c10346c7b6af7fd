"""Points or embeddings to clusters: the mean-shift family for scikit-learn.

``methods.py`` is the registry: every method under the one name that the command, the
recipes and the tables use. ``points/`` holds mean shift of points in space,
``speakers/`` mean shift of embeddings that are scored in pairs, ``baselines/`` what
others use for speakers; ``_modes.py`` turns resting points of either into labels.

Estimators are loaded when they are first asked for, so that whoever wants the names
of the methods does not wait for compiled code.
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
    "SpeakerMeanShift",
    "SpeakerStochasticMeanShift",
    "StochasticMeanShift",
    "estimate_bandwidth",
]

TYPE_CHECKING = False  # as type checkers know it; importing typing takes long
if TYPE_CHECKING:
    from sms_diar.clustering.points.bandwidth import estimate_bandwidth
    from sms_diar.clustering.points.binned import BinnedStochasticMeanShift
    from sms_diar.clustering.points.blurring import BlurringMeanShift
    from sms_diar.clustering.points.history import History
    from sms_diar.clustering.points.mean_shift import MeanShift
    from sms_diar.clustering.points.profiles import KERNELS
    from sms_diar.clustering.points.stochastic import (
        DoublyStochasticMeanShift,
        StochasticMeanShift,
    )
    from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
    from sms_diar.clustering.speakers.mean_shift import (
        SpeakerBlurringMeanShift,
        SpeakerMeanShift,
        SpeakerStochasticMeanShift,
    )
else:
    __getattr__, __dir__ = _lazy_names(
        __name__,
        {
            "BinnedStochasticMeanShift": "sms_diar.clustering.points.binned",
            "BlurringMeanShift": "sms_diar.clustering.points.blurring",
            "DoublyStochasticMeanShift": "sms_diar.clustering.points.stochastic",
            "History": "sms_diar.clustering.points.history",
            "KERNELS": "sms_diar.clustering.points.profiles",
            "MeanShift": "sms_diar.clustering.points.mean_shift",
            "SpeakerBlurringMeanShift": "sms_diar.clustering.speakers.mean_shift",
            "SpeakerEvidenceMeanShift": "sms_diar.clustering.speakers.evidence",
            "SpeakerMeanShift": "sms_diar.clustering.speakers.mean_shift",
            "SpeakerStochasticMeanShift": "sms_diar.clustering.speakers.mean_shift",
            "StochasticMeanShift": "sms_diar.clustering.points.stochastic",
            "estimate_bandwidth": "sms_diar.clustering.points.bandwidth",
        },
    )
