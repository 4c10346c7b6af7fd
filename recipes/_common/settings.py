"""Settings that several recipes have.

The `Config` of a recipe inherits those that are plain keys in its conf.toml, and has
the others as tables.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sms_diar.clustering.methods import METHODS
from sms_diar.errors import ConfigError
from sms_diar.features.vad import VadConfig

from .digests import file_digest
from .sessions import ShiftSettings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Part = TypeVar("Part", bound="DataclassInstance")


@dataclass(frozen=True)
class CrossValidation:
    """Choice of the dimensions of a back end.

    Parameters
    ----------
    candidates : tuple of int
        Dimensions after the PCA to choose from.
    folds : int
        Folds of the cross-validation over training speakers.
    rounds : int
        Random splits into folds.
    """

    candidates: tuple[int, ...]
    folds: int
    rounds: int


@dataclass(frozen=True)
class BackendTraining(CrossValidation):
    """Training of a back end, on simulated speakers if necessary.

    Parameters
    ----------
    speakers : int
        Simulated training speakers.
    segments : int
        Segments of each simulated training speaker.
    """

    speakers: int
    segments: int


@dataclass(frozen=True)
class SpeechSettings:
    """Speech detection; see `sms_diar.features.vad.VadConfig`.

    Parameters
    ----------
    adaptive : bool
        Place the energy threshold between the quietest and the loudest frames.
    speech_band : bool
        Measure energy between 300 and 3400 Hz only.
    min_speech : float
        Seconds; shorter stretches of speech are dropped.
    min_pause : float
        Seconds; shorter pauses are bridged.
    padding : float
        Seconds added on each side of speech.
    """

    adaptive: bool
    speech_band: bool
    min_speech: float
    min_pause: float
    padding: float

    def detector(self, method: str) -> VadConfig:
        """Return the settings of the detector "energy", "neural" or "none"."""
        return VadConfig(
            method=method,
            adaptive=self.adaptive,
            speech_band=self.speech_band,
            min_speech=self.min_speech,
            min_pause=self.min_pause,
            padding=self.padding,
        )


@dataclass(frozen=True)
class BackendFiles:
    """Files of a back end; empty if there is none.

    Parameters
    ----------
    backend : str
        Back end: a model file of this package. Without `backend` and `plda`, the back
        end of the i-vector model scores, or else cosine scoring fitted to each session.
    plda : str
        PLDA model of Kaldi, instead of `backend`.
    transform : str
        Transform that belongs to `plda`, if it needs one.
    """

    backend: str
    plda: str
    transform: str

    def __post_init__(self) -> None:
        if self.backend and (self.plda or self.transform):
            raise ConfigError(
                f"'backend' must be given without 'plda' and 'transform', got "
                f"{self.backend!r} and {self.plda or self.transform!r}"
            )
        if self.transform and not self.plda:
            raise ConfigError("'transform' must be given with 'plda', got it alone")

    def backend_digests(self) -> dict[str, str]:
        """Return digests of these files, so that changes are noticed."""
        return _digests(
            {"backend": self.backend, "plda": self.plda, "transform": self.transform}
        )


@dataclass(frozen=True)
class EmbeddingFiles(BackendFiles):
    """Embeddings of known speakers, and their back end.

    Parameters
    ----------
    embeddings : str
        File of embeddings, in any format of `sms-diar cluster`.
    labels : str
        Table utt2spk; empty for an npz file that has the speakers in it.
    """

    embeddings: str
    labels: str

    def digests(self) -> dict[str, str]:
        """Return digests of all files, so that changes are noticed."""
        if not self.embeddings:
            raise ConfigError(
                "'embeddings' must name a file for source = \"data\", got an empty text"
            )
        own = _digests({"embeddings": self.embeddings, "labels": self.labels})
        return {**own, **self.backend_digests()}


@dataclass(frozen=True)
class SpeakerTable(ShiftSettings):
    """The paper's table of speakers.

    Parameters
    ----------
    seed : int
        Random seed.
    runs : int
        Sessions at each number of speakers.
    speakers : tuple of int
        Numbers of speakers.
    methods : tuple of str
        Clustering methods, as in `sms-diar cluster --method`.
    merge_thresholds : tuple of float
        Further merging thresholds at which K and G are computed.
    view_speakers : int
        Number of speakers in the picture.
    figures : bool
        Draw figures; needs the extra "plot".
    """

    seed: int
    runs: int
    speakers: tuple[int, ...]
    methods: tuple[str, ...]
    merge_thresholds: tuple[float, ...]
    view_speakers: int
    figures: bool

    def __post_init__(self) -> None:
        unknown = [name for name in self.methods if name not in METHODS]
        if unknown or not self.methods:
            raise ConfigError(
                f"'methods' must be some of {', '.join(METHODS)}, got "
                f"{', '.join(self.methods) or 'none'}"
            )
        if not self.speakers or min(self.speakers) < 2 or self.runs < 1:
            raise ConfigError(
                f"'speakers' must be numbers >= 2 and 'runs' one >= 1, got "
                f"{list(self.speakers)} and {self.runs}"
            )

    @property
    def shift(self) -> dict[str, Any]:
        """Fields of `ShiftSettings`, as a dict."""
        return asdict(part_of(self, ShiftSettings))


def part_of(config: DataclassInstance, kind: type[Part]) -> Part:
    """Return the settings of a recipe that `kind` declares."""
    return kind(**{field.name: getattr(config, field.name) for field in fields(kind)})


def _digests(files: dict[str, str]) -> dict[str, str]:
    return {
        name: f"{path} {file_digest(Path(path))}"
        for name, path in files.items()
        if path
    }
