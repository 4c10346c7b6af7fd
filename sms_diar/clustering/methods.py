"""Methods of clustering by name, each with the options that mean something to it.

An option that a method does not have is refused rather than ignored: whoever gives
one expects it to matter.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from sms_diar._validation import check_choice, check_count
from sms_diar.clustering.baselines import (
    AgglomerativeSpeakers,
    HdbscanSpeakers,
    KMeansSpeakers,
    NmeSpectralSpeakers,
    SpectralSpeakers,
    VbxSpeakers,
)
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.clustering.speakers.mean_shift import (
    SpeakerBlurringMeanShift,
    SpeakerMeanShift,
    SpeakerStochasticMeanShift,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.backend import BackEnd

_SPREAD = 0.4  # share of k by which DSMS draws above and below it


@dataclass(frozen=True)
class MethodOptions:
    """What can be told to some methods; None leaves it to them.

    Parameters
    ----------
    k : int, optional
        Neighbours of a segment, itself among them; 17 if not told.
    tol : float, optional
        A move below this is rest; 1e-3 if not told.
    threshold : float, optional
        Score at which agglomerative clustering stops.
    """

    k: int | None = None
    tol: float | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class Method:
    """An estimator, and the options that it takes."""

    estimator: type[SpeakerEstimator]
    options: tuple[str, ...] = ()


_MOVES = ("k", "tol")

METHODS = {
    "sms": Method(SpeakerEvidenceMeanShift),
    "sms-paper": Method(SpeakerStochasticMeanShift, _MOVES),
    "ms": Method(SpeakerMeanShift, _MOVES),
    "bms": Method(SpeakerBlurringMeanShift, _MOVES),
    "dsms": Method(SpeakerStochasticMeanShift, _MOVES),
    "ahc": Method(AgglomerativeSpeakers, ("threshold",)),
    "nme-sc": Method(NmeSpectralSpeakers),
    "spectral": Method(SpectralSpeakers),
    "kmeans": Method(KMeansSpeakers),
    "hdbscan": Method(HdbscanSpeakers),
    "vbx": Method(VbxSpeakers),
}
"""Names that commands use; the first is the default."""

_SWITCHES = {"k": "-k (k)", "tol": "--tol (tol)", "threshold": "--threshold"}


def build_method(
    name: str,
    backend: BackEnd | None = None,
    *,
    options: MethodOptions | None = None,
    seed: int | None = None,
    num_speakers: int | None = None,
    min_speakers: int | None = None,
    max_speakers: int | None = None,
) -> SpeakerEstimator:
    """Make the estimator of a method.

    Parameters
    ----------
    name : str
        One of `METHODS`.
    backend : BackEnd, optional
        Where scores come from.
    options : MethodOptions, optional
        Those the method does not have must be None.
    seed : int, optional
        Of methods that draw; others give the same result every time.
    num_speakers, min_speakers, max_speakers : int, optional
        Bounds on the number of speakers, which all methods keep.
    """
    check_choice("build_method", "name", name, tuple(METHODS))
    chosen = MethodOptions() if options is None else options
    _check_options(name, chosen)
    method = METHODS[name]
    parameters: dict[str, object] = {
        "backend": backend,
        "num_speakers": num_speakers,
        "min_speakers": min_speakers,
        "max_speakers": max_speakers,
    }
    for option in method.options:
        value = getattr(chosen, option)
        if value is not None:
            parameters[option] = value
    model = method.estimator(**parameters)
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    if name == "dsms":
        k = check_count("build_method", "k", model.k)
        around = (round((1.0 + sign * _SPREAD) * k) for sign in (-1, 1))
        model.set_params(k=tuple(max(1, bound) for bound in around))
    return model


def _check_options(name: str, options: MethodOptions) -> None:
    for option in (field.name for field in fields(options)):
        value = getattr(options, option)
        if value is None or option in METHODS[name].options:
            continue
        owners = [other for other, one in METHODS.items() if option in one.options]
        raise InvalidParameterError(
            f"method {name}: {_SWITCHES[option]} must be left out, got {value!r}; it "
            f"is for {', '.join(owners)}"
        )
