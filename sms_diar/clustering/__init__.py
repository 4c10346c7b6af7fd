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
