"""Settings that several recipes have, each declared once.

The `Config` of a recipe inherits those that are keys of their own in its conf.toml,
and has the others as tables.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sms_diar.clustering.methods import METHODS
from sms_diar.errors import ConfigError
from sms_diar.features.vad import VadConfig
from sms_diar.studies._shared.digests import file_digest
from sms_diar.studies._shared.sessions import ShiftSettings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Part = TypeVar("Part", bound="DataclassInstance")


@dataclass(frozen=True)
class CrossValidation:
    """How the dimensions of a back end are chosen.

    Parameters
    ----------
    candidates : tuple of int
        Dimensions after the PCA to choose from.
    folds, rounds : int
        Cross-validation over training speakers.
    """

    candidates: tuple[int, ...]
    folds: int
    rounds: int


@dataclass(frozen=True)
class BackendTraining(CrossValidation):
    """How a back end is trained, on simulated speakers if it has to be.

    Parameters
    ----------
    speakers, segments : int
        Simulated training speakers, and segments of each.
    """

    speakers: int
    segments: int


@dataclass(frozen=True)
class SpeechSettings:
    """Decisions of a speech detector; see `sms_diar.features.vad.VadConfig`."""

    adaptive: bool
    speech_band: bool
    min_speech: float
    min_pause: float
    padding: float

    def detector(self, method: str) -> VadConfig:
        """Settings of the detector called "energy", "neural" or "none"."""
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
    """Files of a back end; empty where there is none.

    Parameters
    ----------
    backend : str
        Model file of this package.
    plda, transform : str
        Files of another toolkit instead.
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
        """Contents of these files, so that a changed file is noticed."""
        return _digests(
            {"backend": self.backend, "plda": self.plda, "transform": self.transform}
        )


@dataclass(frozen=True)
class EmbeddingFiles(BackendFiles):
    """Embeddings of known speakers, and what scores them.

    Parameters
    ----------
    embeddings : str
        Any format of `sms_diar.io.embeddings.files`.
    labels : str
        A table utt2spk; empty for an npz that names the speakers itself.
    """

    embeddings: str
    labels: str

    def digests(self) -> dict[str, str]:
        """Contents of all files, so that a changed file is noticed."""
        if not self.embeddings:
            raise ConfigError(
                "'embeddings' must name a file for source = \"data\", got an empty text"
            )
        own = _digests({"embeddings": self.embeddings, "labels": self.labels})
        return {**own, **self.backend_digests()}


@dataclass(frozen=True)
class SpeakerTable(ShiftSettings):
    """The paper's table of speakers: what is clustered how often, and how.

    Parameters
    ----------
    seed : int
        Of everything that is drawn.
    runs : int
        Sessions at each number of speakers.
    speakers : tuple of int
        Numbers of speakers.
    methods : tuple of str
        Names of the registry, `sms_diar.clustering.methods`.
    merge_thresholds : tuple of float
        Further thresholds at which K and G are computed.
    view_speakers : int
        Speakers in the picture.
    figures : bool
        Whether curves and the picture are drawn.
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
        """Settings of the paper's family, as plain values."""
        return asdict(part_of(self, ShiftSettings))


def part_of(config: DataclassInstance, kind: type[Part]) -> Part:
    """Those settings of a recipe that `kind` declares, alone."""
    return kind(**{field.name: getattr(config, field.name) for field in fields(kind)})


def _digests(files: dict[str, str]) -> dict[str, str]:
    return {
        name: f"{path} {file_digest(Path(path))}"
        for name, path in files.items()
        if path
    }
