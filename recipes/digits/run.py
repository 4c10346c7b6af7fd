"""Spoken digits from audio: train i-vectors, verify, cluster 3 to 60 speakers.

Needs four corpora of real speech (see README.md) and about twenty minutes on two
cores::

    sms-diar run digits
    sms-diar run digits --set data=/corpora --set runs=5

The answer is in exp/digits/report; RESULTS.md holds a copy of a full run. The model
that comes with the package is exp/digits/prepare/model.npz of such a run.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sms_diar.experiment.stages import Stage, StageRun
from sms_diar.studies._shared import speaker_report
from sms_diar.studies._shared.speaker_sessions import Method, session_repetition
from sms_diar.studies._shared.speaker_sources import BACKEND, CORPUS, Training
from sms_diar.studies.digits import steps as digits

PRINTED = Path(__file__).parent.parent / "speakers" / "paper.csv"


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
    data: str
    components: tuple[int, ...]
    ranks: tuple[int, ...]
    bands: tuple[str, ...]
    training: Training

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


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""
    folders = digits.corpus_folders(config.data)
    training = {name: folders[name] for name in digits.TRAINING}

    def extractors(run: StageRun) -> None:
        tasks = {
            f"{n_components}/{rank}/{band}": {
                "n_components": n_components,
                "rank": rank,
                "band": band,
                "folders": {name: str(path) for name, path in training.items()},
                "folder": str(run.folder),
                **rating,
            }
            for n_components, rank, band in zip(
                config.components, config.ranks, config.bands, strict=True
            )
        }
        results = run.map(digits.train_candidate, tasks)
        (run.folder / "candidates.json").write_text(json.dumps(results, indent=1))

    def prepare(run: StageRun) -> None:
        text = (run.before["extractors"] / "candidates.json").read_text()
        digits.prepare_test(run, json.loads(text), folders)

    def verification(run: StageRun) -> None:
        digits.verify(run, draw=config.figures)

    def sessions(run: StageRun) -> None:
        folder = run.before["prepare"]
        shared = {
            "source": {"corpus": str(folder / CORPUS), "law": []},
            "backend": str(folder / BACKEND),
            **clustered,
        }
        tasks = {
            f"{n}/{number}": {"n_speakers": n, "run": number, **shared}
            for n in config.speakers
            for number in range(config.runs)
        }
        speaker_report.write_sessions(run, run.map(session_repetition, tasks))

    def view(run: StageRun) -> None:
        if config.figures:
            folder = run.before["prepare"]
            speaker_report.draw_view(
                run,
                config.view_speakers,
                {"corpus": str(folder / CORPUS), "law": []},
                str(folder / BACKEND),
                config.method,
                config.seed,
            )

    def report(run: StageRun) -> None:
        speaker_report.write_report(run, PRINTED, asdict(config))
        digits.add_verification(run)

    rating = {
        "candidates": config.training.candidates,
        "folds": config.training.folds,
        "rounds": config.training.rounds,
        "seed": config.seed,
    }
    clustered = {
        "methods": config.methods,
        "method": config.method,
        "merge_thresholds": config.merge_thresholds,
        "seed": config.seed,
    }
    sizes = {
        "components": config.components,
        "ranks": config.ranks,
        "bands": config.bands,
    }
    heard = {name: digits.listing_digest(path) for name, path in training.items()}
    tested = {"test": digits.listing_digest(folders[digits.TEST])}
    counts = {"speakers": config.speakers, "runs": config.runs}
    drawn = {"figures": config.figures, "n_speakers": config.view_speakers}
    return [
        Stage("extractors", extractors, {**rating, **sizes, "corpora": heard}),
        Stage("prepare", prepare, tested, after=("extractors",)),
        Stage(
            "verification",
            verification,
            {"figures": config.figures},
            after=("prepare",),
        ),
        Stage("sessions", sessions, {**counts, **clustered}, after=("prepare",)),
        Stage("view", view, {**drawn, **clustered}, after=("prepare",)),
        Stage(
            "report",
            report,
            {"config": asdict(config), "printed": PRINTED.read_text(encoding="utf-8")},
            after=("prepare", "verification", "sessions", "view"),
        ),
    ]
