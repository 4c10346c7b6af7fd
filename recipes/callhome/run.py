"""Who spoke when in each recording of a data directory, scored against RTTM.

Windows of 1.5 s every 0.75 s, an i-vector for each, every recording clustered on its
own. Made for telephone conversations such as CALLHOME, but any data directory with
a reference will do::

    sms-diar run callhome --set data=data/callhome --set reference=ref.rttm
    sms-diar run callhome --set data=data/callhome --set reference=ref.rttm \
        --set model=ivectors.npz --set speech=energy --set overlap=scored

The answer is in exp/callhome/report, the turns in exp/callhome/cluster.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sms_diar.errors import ConfigError
from sms_diar.experiment.stages import Stage, StageRun
from sms_diar.features.vad import VadConfig
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.studies._shared.extraction import (
    BACKEND,
    IVECTORS,
    ModelChoice,
    Training,
    write_ivectors,
)
from sms_diar.studies._shared.speaker_sources import file_digest
from sms_diar.studies.callhome import report as diarization_report
from sms_diar.studies.callhome import steps as diarization
from sms_diar.studies.callhome.steps import COUNTS, SPEECH, Clusterer
from sms_diar.timeline.windows import WindowLayout
from sms_diar.types import Turn

OVERLAPS = ("ignored", "scored")


@dataclass(frozen=True)
class Vad:
    """Speech detection; see `sms_diar.features.vad.VadConfig`."""

    adaptive: bool
    min_speech: float
    min_pause: float
    padding: float


@dataclass(frozen=True)
class Config:
    """Everything a run depends on; defaults are in conf.toml, not here."""

    seed: int
    data: str
    channel: int
    allow_commands: bool
    reference: str
    uem: str
    collar: float
    overlap: str
    speech: str
    vad_labels: str
    model: str
    train: tuple[str, ...]
    cmvn: str
    backend: str
    plda: str
    transform: str
    method: str
    k: int
    tol: float
    merge_threshold: float
    speakers: str
    max_gap: float
    windows: WindowLayout
    vad: Vad
    training: Training

    def __post_init__(self) -> None:
        for name in ("data", "reference"):
            if not getattr(self, name):
                raise ConfigError(f"'{name}' must be given, got an empty text")
        for name, choices in (
            ("speech", SPEECH),
            ("speakers", COUNTS),
            ("overlap", OVERLAPS),
        ):
            if getattr(self, name) not in choices:
                raise ConfigError(
                    f"'{name}' must be one of {', '.join(choices)}, got "
                    f"{getattr(self, name)!r}"
                )
        if (self.speech == "labels") != bool(self.vad_labels):
            raise ConfigError(
                f"'vad_labels' must be a folder if, and only if, 'speech' is labels, "
                f"got {self.vad_labels!r} with {self.speech!r}"
            )
        if self.backend and (self.plda or self.transform):
            raise ConfigError(
                f"'backend' must be given without 'plda' and 'transform', got "
                f"{self.backend!r} and {self.plda or self.transform!r}"
            )
        if self.transform and not self.plda:
            raise ConfigError("'transform' must be given with 'plda', got it alone")

    @property
    def choice(self) -> ModelChoice:
        """The i-vector model."""
        return ModelChoice(self.model, self.train, self.training, self.cmvn, self.seed)

    @property
    def clusterer(self) -> Clusterer:
        """The clustering."""
        return Clusterer(self.method, self.k, self.tol, self.merge_threshold, self.seed)

    @property
    def source(self) -> dict[str, Any]:
        """How recordings are opened."""
        return {
            "channel": self.channel or None,
            "allow_commands": self.allow_commands,
        }

    def turns(self) -> list[Turn]:
        """The reference of the recordings in `data`."""
        return diarization.read_turns(self.reference, DataDir(Path(self.data)).audio)


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""
    data = DataDir(Path(config.data))

    def speech(run: StageRun) -> None:
        method = config.speech if config.speech in ("energy", "neural") else "none"
        diarization.write_windows(
            run.folder,
            data,
            config.windows,
            speech=config.speech,
            turns=config.turns(),
            labels=config.vad_labels,
            vad=VadConfig(method=method, **asdict(config.vad)),
            progress=run.progress,
            **config.source,
        )

    def ivectors(run: StageRun) -> None:
        write_ivectors(
            run.folder,
            data,
            config.choice,
            segments=read_segments(run.before["speech"] / diarization.WINDOWS),
            workers=run.workers,
            progress=run.progress,
            **config.source,
        )

    def cluster(run: StageRun) -> None:
        counts = None
        if config.speakers == "reference":
            counts = diarization.count_speakers(config.turns())
        own = run.before["ivectors"] / BACKEND
        backend = Path(config.backend) if config.backend else own
        diarization.write_clusters(
            run.folder,
            run.before["ivectors"] / IVECTORS,
            run.before["speech"] / diarization.WINDOWS,
            config.clusterer,
            backend=backend if config.backend or own.exists() else None,
            plda=config.plda,
            transform=config.transform,
            counts=counts,
            max_gap=config.max_gap,
            progress=run.progress,
        )

    def score(run: StageRun) -> None:
        evaluation = diarization.score_turns(
            config.turns(),
            run.before["cluster"] / diarization.RTTM,
            uem=config.uem,
            collar=config.collar,
            overlap=config.overlap,
        )
        diarization_report.write_scores(run.folder, evaluation)

    def report(run: StageRun) -> None:
        diarization_report.write_report(run, asdict(config))

    recordings = {
        "wav.scp": file_digest(data.path / "wav.scp"),
        "reference": _digests(config.reference),
        **config.source,
    }
    found = {
        "speech": config.speech,
        "labels": _digests(config.vad_labels),
        "vad": asdict(config.vad),
        "windows": asdict(config.windows),
    }
    clustered = {
        **asdict(config.clusterer),
        "speakers": config.speakers,
        "max_gap": config.max_gap,
        "backend": _digests(config.backend),
        "plda": _digests(config.plda),
        "transform": _digests(config.transform),
    }
    scored = {
        "uem": _digests(config.uem),
        "collar": config.collar,
        "overlap": config.overlap,
    }
    return [
        Stage("speech", speech, {**recordings, **found}),
        Stage("ivectors", ivectors, config.choice.inputs(), after=("speech",)),
        Stage("cluster", cluster, clustered, after=("speech", "ivectors")),
        Stage("score", score, scored, after=("cluster",)),
        Stage(
            "report",
            report,
            {"config": asdict(config)},
            after=("speech", "ivectors", "cluster", "score"),
        ),
    ]


def _digests(path: str) -> dict[str, str]:
    """Contents of a file, or of the files in a folder; nothing for no path."""
    if not path:
        return {}
    place = Path(path)
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    return {str(file): file_digest(file) for file in files}
