"""The paper's own corpus, NIST SRE 2008: its table of 3 to 60 speakers.

Needs LDC2011S05, LDC2011S07 and LDC2011S08 with NIST's answer keys, or i-vectors
that somebody made of them. See README.md for what must be where::

    sms-diar run sre08 --set 'corpus=["/ldc/LDC2011S05", "/ldc/LDC2011S08"]' \
        --set model=ivectors.npz --workers 8
    sms-diar run sre08 --set embeddings=ivectors.scp --set labels=utt2spk \
        --set plda=plda

The answer is in exp/sre08/report.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sms_diar.embeddings.cuts import SegmentLaw
from sms_diar.errors import ConfigError
from sms_diar.experiment.stages import Stage, StageRun
from sms_diar.features.vad import VadConfig
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.studies._shared import speaker_report
from sms_diar.studies._shared.extraction import (
    BACKEND as MODEL_BACKEND,
)
from sms_diar.studies._shared.extraction import (
    IVECTORS,
    ModelChoice,
    Training,
    write_ivectors,
)
from sms_diar.studies._shared.speaker_sessions import (
    METHODS,
    Method,
    session_repetition,
)
from sms_diar.studies._shared.speaker_sources import (
    BACKEND,
    CORPUS,
    Files,
    check_speakers,
    file_digest,
    prepare_data,
    read_record,
)
from sms_diar.studies.sre08.steps import DATA, Tree, write_data, write_report

PRINTED = Path(__file__).parent.parent / "speakers" / "paper.csv"


@dataclass(frozen=True)
class Vad:
    """Speech detection; see `sms_diar.features.vad.VadConfig`."""

    method: str
    adaptive: bool
    min_speech: float
    min_pause: float
    padding: float


@dataclass(frozen=True)
class Law:
    """Lengths and numbers of segments; see `sms_diar.embeddings.cuts`."""

    shortest: float
    mean_excess: float
    mean_count: float
    std_count: float


@dataclass(frozen=True)
class Config:
    """Everything a run depends on; defaults are in conf.toml, not here."""

    seed: int
    runs: int
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
    corpus: tuple[str, ...]
    keys: str
    condition: int
    gender: str
    sides: str
    allow_missing: bool
    model: str
    train: tuple[str, ...]
    cmvn: str
    embeddings: str
    labels: str
    backend: str
    plda: str
    transform: str
    draw_segments: bool
    vad: Vad
    law: Law
    training: Training

    def __post_init__(self) -> None:
        if bool(self.corpus) == bool(self.embeddings):
            raise ConfigError(
                "'corpus' must name the folders of LDC's SRE 2008, or 'embeddings' "
                f"vectors made of it, got {'both' if self.corpus else 'neither'}"
            )
        if self.embeddings and not self.labels:
            raise ConfigError("'labels' must be a utt2spk for 'embeddings', got none")
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
    def tree(self) -> Tree:
        """What is taken from the corpus."""
        return Tree(
            self.corpus,
            self.keys,
            self.condition,
            self.gender,
            self.sides,
            self.allow_missing,
        )

    @property
    def choice(self) -> ModelChoice:
        """The i-vector model."""
        return ModelChoice(self.model, self.train, self.training, self.cmvn, self.seed)

    def files(self, before: dict[str, Path] | None = None) -> Files:
        """Vectors, labels and back end: the user's, or those of earlier stages."""
        given = (self.backend, self.plda, self.transform)
        if before is None:
            return Files(self.embeddings, self.labels, *given)
        own = before["ivectors"] / MODEL_BACKEND
        if not any(given) and own.exists():
            given = (str(own), "", "")
        labels = before["corpus"] / DATA / "utt2spk"
        return Files(str(before["ivectors"] / IVECTORS), str(labels), *given)


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""

    def corpus(run: StageRun) -> None:
        write_data(
            run.folder,
            config.tree,
            VadConfig(**asdict(config.vad)),
            SegmentLaw(**asdict(config.law)),
            seed=config.seed,
            progress=run.progress,
        )

    def ivectors(run: StageRun) -> None:
        write_ivectors(
            run.folder,
            DataDir(run.before["corpus"] / DATA),
            config.choice,
            workers=run.workers,
            progress=run.progress,
        )

    def prepare(run: StageRun) -> None:
        for name in (BACKEND, CORPUS):  # of an earlier run from another source
            (run.folder / name).unlink(missing_ok=True)
        before = dict(run.before) if from_audio else None
        prepare_data(run.folder, config.files(before))

    def sessions(run: StageRun) -> None:
        folder = run.before["prepare"]
        check_speakers(config.speakers, read_record(folder))
        shared = {**drawn_from(folder), **clustered}
        tasks = {
            f"{n}/{number}": {"n_speakers": n, "run": number, **shared}
            for n in config.speakers
            for number in range(config.runs)
        }
        speaker_report.write_sessions(run, run.map(session_repetition, tasks))

    def view(run: StageRun) -> None:
        if config.figures:
            folder = run.before["prepare"]
            known = read_record(folder)["corpus_speakers"]
            speaker_report.draw_view(
                run,
                min(config.view_speakers, known),
                **drawn_from(folder),
                method=config.method,
                seed=config.seed,
            )

    def report(run: StageRun) -> None:
        write_report(run, PRINTED, asdict(config), corpus=run.before.get("corpus"))

    def drawn_from(folder: Path) -> dict[str, Any]:
        backend = folder / BACKEND
        return {
            "source": {"corpus": str(folder / CORPUS), "law": law},
            "backend": str(backend) if backend.exists() else "",
        }

    from_audio = bool(config.corpus)
    law = [config.law.mean_count, config.law.std_count] if config.draw_segments else []
    clustered = {
        "methods": config.methods,
        "method": config.method,
        "merge_thresholds": config.merge_thresholds,
        "seed": config.seed,
    }
    drawn = {"law": law, "figures": config.figures, "n_speakers": config.view_speakers}
    counts = {"speakers": config.speakers, "runs": config.runs, "law": law}
    cut = {"vad": asdict(config.vad), "law": asdict(config.law), "seed": config.seed}
    made = []
    if from_audio:
        made = [
            Stage("corpus", corpus, {**asdict(config.tree), **cut}),
            Stage("ivectors", ivectors, config.choice.inputs(), after=("corpus",)),
        ]
    names = tuple(stage.name for stage in made)
    return [
        *made,
        Stage("prepare", prepare, {"files": _given(config)}, after=names),
        Stage("sessions", sessions, {**counts, **clustered}, after=("prepare",)),
        Stage("view", view, {**drawn, **clustered}, after=("prepare",)),
        Stage(
            "report",
            report,
            {"config": asdict(config), "printed": PRINTED.read_text(encoding="utf-8")},
            after=(*names, "prepare", "sessions", "view"),
        ),
    ]


def _given(config: Config) -> dict[str, str]:
    """Contents of the user's files, so that a changed file is noticed."""
    if config.embeddings:
        return config.files().digests()
    given = {
        "backend": config.backend,
        "plda": config.plda,
        "transform": config.transform,
    }
    return {
        name: f"{path} {file_digest(Path(path))}"
        for name, path in given.items()
        if path
    }
