"""Points or embeddings to clusters: the mean-shift family for scikit-learn.

``methods.py`` is the registry: every method under the one name that the command, the
recipes and the tables use. ``points/`` holds mean shift of points in space,
``speakers/`` mean shift of embeddings that are scored in pairs, ``baselines/`` what
others use for speakers; ``_modes.py`` turns resting points of either into labels.

Estimators are loaded when they are first asked for, so that whoever wants the names
of the methods does not wait for compiled code.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
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

_HOMES = {
    "KERNELS": "points.profiles",
    "BinnedStochasticMeanShift": "points.binned",
    "BlurringMeanShift": "points.blurring",
    "DoublyStochasticMeanShift": "points.stochastic",
    "History": "points.history",
    "MeanShift": "points.mean_shift",
    "SpeakerBlurringMeanShift": "speakers.mean_shift",
    "SpeakerEvidenceMeanShift": "speakers.evidence",
    "SpeakerMeanShift": "speakers.mean_shift",
    "SpeakerStochasticMeanShift": "speakers.mean_shift",
    "StochasticMeanShift": "points.stochastic",
    "estimate_bandwidth": "points.bandwidth",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
