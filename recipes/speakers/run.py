"""Speaker clustering with k neighbours: the paper's table of 3 to 60 speakers.

Needs no data: sessions are simulated unless told otherwise. A few minutes on two
cores::

    sms-diar run speakers --workers 2
    sms-diar run speakers --conf conf/speakers-small.toml     # seconds
    sms-diar run speakers --set source=digits --exp exp/speakers-digits
    sms-diar run speakers --set source=data --set embeddings=xvectors.ark \
        --set labels=utt2spk --set backend=backend.npz

The answer is in exp/speakers/report; RESULTS.md holds copies of full runs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sms_diar.errors import ConfigError
from sms_diar.experiment.stages import Stage, StageRun
from sms_diar.studies._shared import speaker_report
from sms_diar.studies._shared.speaker_sessions import (
    METHODS,
    Method,
    session_repetition,
)
from sms_diar.studies._shared.speaker_sources import (
    BACKEND,
    CORPUS,
    SOURCES,
    Files,
    Training,
    bundled_files,
    check_speakers,
    digits_files,
    file_digest,
    prepare_bundled,
    prepare_data,
    prepare_digits,
    prepare_simulated,
    read_record,
)

PRINTED = Path(__file__).parent / "paper.csv"


@dataclass(frozen=True)
class World:
    """The simulated world; see `sms_diar.synthetic.PldaWorld`."""

    dim: int
    eer: float
    decay: float
    duration_share: float


@dataclass(frozen=True)
class Config:
    """Everything a run depends on; defaults are in conf.toml, not here."""

    seed: int
    runs: int
    source: str
    speakers: tuple[int, ...]
    methods: tuple[str, ...]
    k: int
    dsms_low: int
    dsms_high: int
    tol: float
    merge_threshold: float
    merge_thresholds: tuple[float, ...]
    steps_per_segment: int
    view_speakers: int
    figures: bool
    data: str
    embeddings: str
    labels: str
    backend: str
    plda: str
    transform: str
    draw_segments: bool
    mean_segments: float
    std_segments: float
    world: World
    training: Training

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ConfigError(
                f"'source' must be one of {', '.join(SOURCES)}, got {self.source!r}"
            )
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
    def method(self) -> dict[str, Any]:
        """Settings of the family."""
        return asdict(
            Method(
                self.k,
                self.dsms_low,
                self.dsms_high,
                self.tol,
                self.merge_threshold,
                self.steps_per_segment,
            )
        )

    @property
    def simulation(self) -> dict[str, Any]:
        """Arguments of the simulated world."""
        return {
            **asdict(self.world),
            "mean_segments": self.mean_segments,
            "std_segments": self.std_segments,
        }

    @property
    def files(self) -> Files:
        """The user's files."""
        return Files(
            self.embeddings, self.labels, self.backend, self.plda, self.transform
        )


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""

    def prepare(run: StageRun) -> None:
        for name in (BACKEND, CORPUS):  # of an earlier run from another source
            (run.folder / name).unlink(missing_ok=True)
        if config.source == "simulated":
            prepare_simulated(
                run.folder, config.simulation, config.training, config.seed
            )
        elif config.source == "bundled":
            prepare_bundled(run.folder)
        elif config.source == "digits":
            files = digits_files(config.data)
            prepare_digits(run.folder, files, config.training, config.seed)
        else:
            prepare_data(run.folder, config.files)

    def sessions(run: StageRun) -> None:
        folder = run.before["prepare"]
        check_speakers(config.speakers, read_record(folder))
        shared = {
            "source": source(folder),
            "backend": backend(folder),
            **clustered,
        }
        tasks = {
            f"{n}/{number}": {"n_speakers": n, "run": number, **shared}
            for n in config.speakers
            for number in range(config.runs)
        }
        results = run.map(session_repetition, tasks)
        speaker_report.write_sessions(run, results)

    def view(run: StageRun) -> None:
        if config.figures:
            folder = run.before["prepare"]
            available = read_record(folder).get("corpus_speakers", config.view_speakers)
            speaker_report.draw_view(
                run,
                min(config.view_speakers, available),
                source(folder),
                backend(folder),
                config.method,
                config.seed,
            )

    def report(run: StageRun) -> None:
        speaker_report.write_report(run, PRINTED, asdict(config))

    def source(folder: Path) -> dict[str, Any]:
        if config.source == "simulated":
            return {"world": config.simulation}
        return {"corpus": str(folder / CORPUS), "law": law}

    def backend(folder: Path) -> str:
        path = folder / BACKEND
        return str(path) if path.exists() else ""

    law = [config.mean_segments, config.std_segments] if config.draw_segments else []
    clustered = {
        "methods": config.methods,
        "method": config.method,
        "merge_thresholds": config.merge_thresholds,
        "seed": config.seed,
    }
    drawn = {"law": law, "figures": config.figures, "n_speakers": config.view_speakers}
    counts = {"speakers": config.speakers, "runs": config.runs, "law": law}
    return [
        Stage("prepare", prepare, _inputs(config)),
        Stage("sessions", sessions, {**counts, **clustered}, after=("prepare",)),
        Stage("view", view, {**drawn, **clustered}, after=("prepare",)),
        Stage(
            "report",
            report,
            {"config": asdict(config), "printed": PRINTED.read_text(encoding="utf-8")},
            after=("prepare", "sessions", "view"),
        ),
    ]


def _inputs(config: Config) -> dict[str, Any]:
    """Everything that what is prepared depends on, contents of files included."""
    settings: dict[str, Any] = {"source": config.source, "seed": config.seed}
    if config.source == "data":
        return {**settings, "files": config.files.digests()}
    if config.source == "bundled":
        digests = {name: file_digest(path) for name, path in bundled_files().items()}
        return {**settings, "files": digests}
    settings["training"] = asdict(config.training)
    if config.source == "simulated":
        return {**settings, "world": config.simulation}
    files = digits_files(config.data)
    return {**settings, "files": {n: file_digest(p) for n, p in files.items()}}
