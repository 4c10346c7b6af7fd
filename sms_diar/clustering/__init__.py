"""Points or embeddings to clusters: the mean-shift family for scikit-learn.

Read ``_reference.py`` first: it is the paper in NumPy and defines every state.
``_kernels.py`` repeats it as compiled loops; ``_strips.py`` and ``_boxes.py`` (and the
walks through them) find the same sums faster, ``_lanes.py`` holds their vector
instructions, and ``_index.py`` chooses among them; ``_base.py`` holds what the
estimators share, ``_modes.py`` turns resting points into labels. For speaker
embeddings the same story is told by ``_speaker_reference.py``,
``_speaker_kernels.py`` and ``speaker.py``; ``speaker_evidence.py`` is the method
that needs neither k nor a threshold (``EVIDENCE.md``), ``baselines`` what others use.
"""

from typing import TYPE_CHECKING

from sms_diar._lazy import lazy_names

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
    __getattr__, __dir__ = lazy_names(
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
