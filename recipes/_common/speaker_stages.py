"""Stages of the paper's table of speakers, which come after "prepare"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sms_diar.experiment.stages import Stage, StageRun

from . import speaker_report
from .prepared import (
    CORPUS,
    backend_path,
    check_speakers,
    read_record,
)
from .sessions import session_repetition
from .settings import SpeakerTable

Law = tuple[float, float] | None
"""Mean and spread of the number of segments of a speaker; None for all there are."""


def table_stages(
    config: SpeakerTable,
    printed: Path,
    report: Callable[[StageRun], None],
    *,
    law: Law = None,
    world: Mapping[str, Any] | None = None,
    reads: tuple[str, ...] = (),
) -> list[Stage]:
    """Declare the stages "sessions", "view" and "report".

    Parameters
    ----------
    config : SpeakerTable
        Settings of the recipe, all of them.
    printed : Path
        The paper's rows.
    report : callable
        Writes the report.
    law : (float, float), optional
        Draws the number of segments of a speaker of a corpus.
    world : mapping, optional
        Arguments of the simulated world that sessions are drawn from, in place of
        the corpus that is prepared.
    reads : tuple of str
        Stages that the report reads besides these and "prepare".
    """

    def sessions(run: StageRun) -> None:
        folder = run.before["prepare"]
        check_speakers(config.speakers, read_record(folder))
        shared = {
            "source": source(folder),
            "backend": backend_path(folder),
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
            available = read_record(folder).get("corpus_speakers", config.view_speakers)
            speaker_report.draw_view(
                run,
                min(config.view_speakers, available),
                source(folder),
                backend_path(folder),
                config.shift,
                config.seed,
            )

    def source(folder: Path) -> dict[str, Any]:
        if world is not None:
            return {"world": dict(world)}
        return {"corpus": str(folder / CORPUS), "law": list(law or ())}

    clustered = {
        "methods": config.methods,
        "shift": config.shift,
        "merge_thresholds": config.merge_thresholds,
        "seed": config.seed,
    }
    counts = {"speakers": config.speakers, "runs": config.runs, "law": law}
    drawn = {"law": law, "figures": config.figures, "n_speakers": config.view_speakers}
    return [
        Stage("sessions", sessions, {**counts, **clustered}, after=("prepare",)),
        Stage("view", view, {**drawn, **clustered}, after=("prepare",)),
        Stage(
            "report",
            report,
            {"config": asdict(config), "printed": printed.read_text(encoding="utf-8")},
            after=(*reads, "prepare", "sessions", "view"),
        ),
    ]
