"""Diarization of each recording of a data directory, scored against RTTM.

Each recording is cut into windows of 1.5 s every 0.75 s, and the i-vectors of its
windows are clustered. Made for telephone conversations such as CALLHOME, but any data
directory with a reference will do::

    sms-diar run callhome --set data=data/callhome --set reference=ref.rttm
    sms-diar run callhome --set data=data/callhome --set reference=ref.rttm \
        --set model=ivectors.npz --set speech=energy --set overlap=scored

The answer is in exp/callhome/report, the turns in exp/callhome/cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sms_diar.clustering.methods import MethodOptions, check_options
from sms_diar.errors import ConfigError
from sms_diar.experiment.stages import Stage, StageRun
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.timeline.windows import WindowLayout
from sms_diar.types import Turn

from .._common.digests import file_digest
from .._common.extraction import (
    BACKEND,
    IVECTORS,
    ModelSettings,
    write_ivectors,
)
from .._common.settings import BackendFiles, SpeechSettings, part_of
from . import report as diarization_report
from . import steps as diarization
from .steps import COUNTS, SPEECH, ClusterSettings

OVERLAPS = ("ignored", "scored")


@dataclass(frozen=True)
class Config(ModelSettings, ClusterSettings, BackendFiles):
    """Settings of the recipe; the defaults are in conf.toml.

    Parameters
    ----------
    data : str
        Data directory; wav.scp is enough.
    channel : int
        Channel of recordings with several, counted from 1; 0 if there is only one.
    allow_commands : bool
        Run commands in wav.scp. sph2pipe and flac never need it.
    reference : str
        RTTM file, or a folder of RTTM files.
    uem : str
        UEM file with the regions to score; empty: all of each recording.
    collar : float
        Seconds on each side of a reference boundary that are not scored.
    overlap : str
        Overlapping speech is "ignored" or "scored".
    speech : str
        Source of the speech regions: "reference", "labels" (files RECORDING.lab in
        `vad_labels`), "energy" or "neural" (needs the extra "vad").
    vad_labels : str
        Folder of the files RECORDING.lab, whose lines have a start, an end and the
        word speech; only if `speech` is "labels".
    speakers : str
        Number of speakers: "found" by the method, or the true number of the
        "reference" (an oracle).
    max_gap : float
        Bridge pauses of one speaker up to this many seconds.
    halves : tuple of str
        Two data directories that share out the recordings of `data`, such as
        data/callhome1 and data/callhome2 of Kaldi; empty: no halves.
    adapt : bool
        Adapt the PLDA model of each half to the other half, without its labels.
    thresholds : tuple of float
        Thresholds of `method` (ahc): each half uses the one with the lowest DER on the
        other half; empty: the default of the method.
    windows : WindowLayout
        Windows.
    vad : SpeechSettings
        Speech detection.
    """

    data: str
    channel: int
    allow_commands: bool
    reference: str
    uem: str
    collar: float
    overlap: str
    speech: str
    vad_labels: str
    speakers: str
    max_gap: float
    halves: tuple[str, ...]
    adapt: bool
    thresholds: tuple[float, ...]
    windows: WindowLayout
    vad: SpeechSettings

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
        if len(self.halves) not in (0, 2):
            raise ConfigError(
                f"'halves' must be two data directories or none, got {len(self.halves)}"
            )
        for name in ("adapt", "thresholds"):
            if getattr(self, name) and not self.halves:
                raise ConfigError(
                    f"'{name}' must be given with 'halves', got it without"
                )
        if self.thresholds:
            check_options(self.method, MethodOptions(threshold=self.thresholds[0]))
        BackendFiles.__post_init__(self)
        ClusterSettings.__post_init__(self)

    @property
    def source(self) -> dict[str, Any]:
        """Return the arguments that open recordings."""
        return {
            "channel": self.channel or None,
            "allow_commands": self.allow_commands,
        }

    def turns(self) -> list[Turn]:
        """Return the reference turns of the recordings in `data`."""
        return diarization.read_turns(self.reference, DataDir(Path(self.data)).audio)

    @property
    def rules(self) -> dict[str, Any]:
        """Return the arguments that score turns."""
        return {"uem": self.uem, "collar": self.collar, "overlap": self.overlap}

    def folds(self) -> diarization.Folds | None:
        """Return the two halves, if there are any."""
        if not self.halves:
            return None
        reference = self.turns()

        def der(turns: Sequence[Turn], names: frozenset[str]) -> float:
            true = [turn for turn in reference if turn.segment.recording in names]
            evaluation = diarization.score_turns(true, turns, **self.rules)
            return float(evaluation.overall["der"] or 0.0)

        names = DataDir(Path(self.data)).audio
        halves = diarization.read_halves(self.halves, names)
        return diarization.Folds(halves, self.adapt, self.thresholds, der)


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""
    data = DataDir(Path(config.data))
    folds = config.folds()

    def speech(run: StageRun) -> None:
        method = config.speech if config.speech in ("energy", "neural") else "none"
        diarization.write_windows(
            run.folder,
            data,
            config.windows,
            speech=config.speech,
            turns=config.turns(),
            labels=config.vad_labels,
            vad=config.vad.detector(method),
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
            config,
            backend=backend if config.backend or own.exists() else None,
            plda=config.plda,
            transform=config.transform,
            counts=counts,
            max_gap=config.max_gap,
            folds=folds,
            progress=run.progress,
        )

    def score(run: StageRun) -> None:
        evaluation = diarization.score_turns(
            config.turns(),
            run.before["cluster"] / diarization.RTTM,
            **config.rules,
        )
        diarization_report.write_scores(run.folder, evaluation)

    def report(run: StageRun) -> None:
        diarization_report.write_report(run, asdict(config))

    inputs = _inputs(config)
    return [
        Stage("speech", speech, inputs["speech"]),
        Stage("ivectors", ivectors, config.choice.inputs(), after=("speech",)),
        Stage("cluster", cluster, inputs["cluster"], after=("speech", "ivectors")),
        Stage("score", score, inputs["score"], after=("cluster",)),
        Stage(
            "report",
            report,
            {"config": asdict(config)},
            after=("speech", "ivectors", "cluster", "score"),
        ),
    ]


def _inputs(config: Config) -> dict[str, dict[str, Any]]:
    """Return everything that stages depend on, including contents of files."""
    rules = {**config.rules, "uem": _digests(config.uem)}
    return {
        "speech": {
            "wav.scp": file_digest(Path(config.data) / "wav.scp"),
            "reference": _digests(config.reference),
            **config.source,
            "speech": config.speech,
            "labels": _digests(config.vad_labels),
            "vad": asdict(config.vad),
            "windows": asdict(config.windows),
        },
        "cluster": {
            **asdict(part_of(config, ClusterSettings)),
            "speakers": config.speakers,
            "max_gap": config.max_gap,
            "files": config.backend_digests(),
            "halves": [file_digest(Path(half) / "wav.scp") for half in config.halves],
            "adapt": config.adapt,
            "thresholds": list(config.thresholds),
            **(rules if config.thresholds else {}),
        },
        "score": rules,
    }


def _digests(path: str) -> dict[str, str]:
    """Return digests of a file or of the files in a folder; none for an empty path."""
    if not path:
        return {}
    place = Path(path)
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    return {str(file): file_digest(file) for file in files}
