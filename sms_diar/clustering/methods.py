"""The one registry of clustering methods: name, estimator, options, a line of help.

The command, the recipes, the comparison and the table in docs/use take their names
from here, so that a word means one algorithm wherever it is read. Estimators are named
rather than imported: listing the methods loads neither NumPy nor numba.

`METHODS` cluster speakers: embeddings, scored by a back end. `POINT_METHODS` are the
same family for points in space, with a bandwidth in place of neighbours; their names
begin with ``points-``, because the default for speakers, ``sms``, is more than
stochastic mean shift and must not share its name. What the paper prints as MS and SMS
is ``ms`` and ``sms-paper`` for speakers, ``points-ms`` and ``points-sms`` for points.

An option that a method does not have is an error, because it would have no effect.
"""

from __future__ import annotations

import importlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sms_diar.errors import InvalidParameterError

if TYPE_CHECKING:
    from sms_diar.clustering.speakers.base import SpeakerEstimator
    from sms_diar.scoring.backend import BackEnd
    from sms_diar.types import RandomState


@dataclass(frozen=True)
class Method:
    """Clustering algorithm with its name and options.

    `estimator` is ``module:Class`` below `sms_diar.clustering`; `with_plda` is another
    class for back ends with a PLDA model. `help` is a line of description, and
    `options` are the fields of `MethodOptions` that the method accepts. At each step
    the number of neighbours is drawn up to the share `spread` above or below k.
    """

    name: str
    estimator: str
    help: str
    options: tuple[str, ...] = ()
    spread: float = 0.0
    needs_plda: bool = False
    with_plda: str = ""

    @property
    def line(self) -> str:
        """Description in one line, with requirements."""
        return f"{self.help}; needs a PLDA model" if self.needs_plda else self.help

    def around(self, k: int) -> tuple[int, int]:
        """Minimum and maximum number of neighbours to draw."""
        low, high = (round((1.0 + sign * self.spread) * k) for sign in (-1, 1))
        return max(1, low), max(1, high)

    def load(self, backend: BackEnd | None = None) -> type[Any]:
        """Import the estimator for a back end."""
        has_plda = backend is not None and backend.kind == "plda"
        path = self.with_plda if has_plda and self.with_plda else self.estimator
        module, _, name = path.partition(":")
        loaded = importlib.import_module(f"sms_diar.clustering.{module}")
        estimator: type[Any] = getattr(loaded, name)
        return estimator


@dataclass(frozen=True)
class MethodOptions:
    """Options of methods; None selects the default of the method.

    `k` is the number of neighbours of a segment, including itself, and `tol` the length
    of a move below which it rests. Agglomerative clustering stops at the score
    `threshold`. Resting points closer than `merge_threshold` are one cluster, and
    `max_steps` limits the total number of moves.
    """

    k: int | None = None
    tol: float | None = None
    threshold: float | None = None
    merge_threshold: float | None = None
    max_steps: int | None = None

    def given(self) -> dict[str, int | float]:
        """Options that are not None."""
        return {
            name: value for name, value in asdict(self).items() if value is not None
        }

    def taken_by(self, name: str) -> MethodOptions:
        """Select the options that a method has, for settings of several methods."""
        taken = METHODS[name].options
        return MethodOptions(
            **{key: value for key, value in asdict(self).items() if key in taken}
        )


_SHIFT = ("k", "tol", "merge_threshold")
_DRAWN = (*_SHIFT, "max_steps")

_ENTRIES = (
    Method(
        "sms",
        "speakers.fragments:SpeakerFragmentMeanShift",
        "the default, without settings: fragments by stochastic mean shift that are "
        "merged, or, with a PLDA model, the partition of highest evidence",
        with_plda="speakers.evidence:SpeakerEvidenceMeanShift",
    ),
    Method(
        "sms-paper",
        "speakers.mean_shift:SpeakerStochasticMeanShift",
        "stochastic mean shift as in the paper, one drawn segment moving at a time",
        _DRAWN,
    ),
    Method(
        "ms",
        "speakers.mean_shift:SpeakerMeanShift",
        "mean shift, each segment climbing while the others stay in place",
        _SHIFT,
    ),
    Method(
        "bms",
        "speakers.mean_shift:SpeakerBlurringMeanShift",
        "blurring mean shift, all segments moving together",
        _SHIFT,
    ),
    Method(
        "dsms",
        "speakers.mean_shift:SpeakerStochasticMeanShift",
        "sms-paper with k drawn at each step, up to 40 % above and below",
        _DRAWN,
        spread=0.4,
    ),
    Method(
        "ahc",
        "baselines.agglomerative:AgglomerativeSpeakers",
        "agglomerative clustering, average linkage",
        ("threshold",),
    ),
    Method(
        "nme-sc",
        "baselines.spectral:NmeSpectralSpeakers",
        "auto-tuned spectral clustering (normalised maximum eigengap)",
    ),
    Method(
        "spectral",
        "baselines.spectral:SpectralSpeakers",
        "classic spectral clustering, speakers counted by the eigengap",
    ),
    Method(
        "kmeans",
        "baselines.kmeans:KMeansSpeakers",
        "k-means, speakers counted by the silhouette",
    ),
    Method("hdbscan", "baselines.hdbscan:HdbscanSpeakers", "HDBSCAN"),
    Method(
        "vbx",
        "baselines.vbx:VbxSpeakers",
        "VBx, variational Bayes",
        needs_plda=True,
    ),
)

METHODS = {method.name: method for method in _ENTRIES}
"""Methods that cluster speakers, by name; the first is the default."""

DEFAULT_METHOD = next(iter(METHODS))

POINT_METHODS = {
    method.name: method
    for method in (
        Method("points-ms", "points.mean_shift:MeanShift", "mean shift"),
        Method(
            "points-bms", "points.mean_shift:BlurringMeanShift", "blurring mean shift"
        ),
        Method(
            "points-sms",
            "points.stochastic:StochasticMeanShift",
            "stochastic mean shift",
        ),
        Method(
            "points-dsms",
            "points.stochastic:DoublyStochasticMeanShift",
            "stochastic mean shift with the bandwidth drawn at each step",
        ),
        Method(
            "points-sms-binned",
            "points.stochastic:BinnedStochasticMeanShift",
            "stochastic mean shift of bins, approximate, for millions of points",
        ),
    )
}
"""Methods that cluster points, by name; recipes/synthetic runs the first four."""


def build_method(
    name: str,
    backend: BackEnd | None = None,
    *,
    options: MethodOptions | None = None,
    seed: RandomState = None,
    num_speakers: int | None = None,
    min_speakers: int | None = None,
    max_speakers: int | None = None,
) -> SpeakerEstimator:
    """Make the estimator of one of `METHODS`.

    Options that the method does not have must be None. `seed` is for stochastic
    methods; all methods observe the bounds on the number of speakers.
    """
    # Imported here, so that listing the methods does not load NumPy.
    from sms_diar._validation import check_choice, check_count  # noqa: PLC0415

    check_choice("build_method", "name", name, tuple(METHODS))
    chosen = MethodOptions() if options is None else options
    check_options(name, chosen)
    method = METHODS[name]
    model: SpeakerEstimator = method.load(backend)(
        backend=backend,
        num_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
        **chosen.given(),
    )
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    if method.spread:
        k = check_count("build_method", "k", model.k)
        model.set_params(k=method.around(k))
    return model


def check_options(name: str, options: MethodOptions) -> None:
    """Raise an error for options that a method does not have."""
    for option, value in options.given().items():
        if option in METHODS[name].options:
            continue
        owners = [other for other, one in METHODS.items() if option in one.options]
        problem = f"must be left out, got {value!r}; it is for {', '.join(owners)}"
        raise InvalidParameterError(problem, owner=f"method {name}", parameter=option)
