"""Stages of the paper's table of speakers that follow "prepare", and their files."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sms_diar._files import write_text
from sms_diar._json import read_json, write_json
from sms_diar._random import named_generator
from sms_diar.errors import DataFormatError
from sms_diar.experiment.stages import Stage, StageRun
from sms_diar.preprocessing import Pca, scale_rows
from sms_diar.report.provenance import stamp

from . import figures, speaker_text
from .figures import AXES, match_labels
from .paper import SPEAKER_METHODS, paper_name
from .sessions import (
    CORPUS,
    ShiftSettings,
    backend_path,
    check_speakers,
    draw_session,
    load_backend,
    read_record,
    session_repetition,
)
from .settings import SpeakerTable
from .speaker_text import RIVALS
from .statistics import count_wins, sign_test, summarise

SUMMARY = "summary.json"
PRINTED = ("acp", "alp", "k", "n_clusters")
COLUMNS = {"acp": "acp", "alp": "asp", "k": "k", "n_clusters": "ands"}
CURVES = ("k", "g", "n_clusters")


def read_printed(path: Path) -> dict[str, Any]:
    """Read the paper's rows: for each number of speakers, its methods and wins of SMS.

    Names of the paper are converted to names of the registry.
    """
    rows: dict[str, Any] = {}
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        for row in reader:
            try:
                entry = rows.setdefault(row["speakers"], {"methods": {}, "wins": None})
                entry["methods"][SPEAKER_METHODS[row["method"]]] = {
                    measure: {
                        "mean": float(row[column]),
                        "std": float(row[f"{column}_std"]),
                    }
                    for measure, column in COLUMNS.items()
                }
                if row["wins"]:
                    entry["wins"] = int(row["wins"])
            except (KeyError, TypeError, ValueError) as error:
                columns = ", ".join(f"{c}, {c}_std" for c in COLUMNS.values())
                raise DataFormatError(
                    f"expected the columns speakers, method, {columns} and wins with "
                    f"numbers ({error})",
                    path=path,
                    line=reader.line_num,
                ) from error
    return rows


def write_sessions(run: StageRun, results: Mapping[str, Any]) -> None:
    """Summarise repetitions; key ``15/3`` is repetition 3 with 15 speakers."""
    groups: dict[str, list[Any]] = {}
    for key, result in results.items():
        groups.setdefault(key.partition("/")[0], []).append(result)
    summary = {}
    for speakers, repetitions in groups.items():
        methods = [repetition["methods"] for repetition in repetitions]
        described = [{"session": repetition["session"]} for repetition in repetitions]
        both = set(RIVALS) <= set(methods[0])
        summary[speakers] = {
            "runs": len(repetitions),
            "session": summarise(described)["session"],
            "methods": summarise(methods),
            "wins": count_wins(methods, *RIVALS) if both else {},
            "wins_at": {
                name: count_wins(methods, *RIVALS, name)
                for name in (methods[0][RIVALS[0]] if both else ())
                if name.startswith(("k@", "g@"))
            },
        }
    write_json(run.folder / SUMMARY, summary)


def draw_view(
    run: StageRun,
    n_speakers: int,
    source: Mapping[str, Any],
    backend: str,
    shift: Mapping[str, Any],
    seed: int,
) -> None:
    """Draw a session before and after clustering, by true speaker and by cluster."""
    session = draw_session(n_speakers, 0, source, seed)
    truth = np.unique(session.speakers, return_inverse=True)[1]
    figure, axes = figures.new_figure(2, 3, width=12, height=8)
    scorer = load_backend(backend)
    for row, name in enumerate(reversed(RIVALS)):
        rng = named_generator(seed, "view", paper_name(name))
        model = ShiftSettings(**shift).build(name, scorer, len(session.X), rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(session.X)
        states, resting = model.backend_.prepare(session.X), model.resting_points_
        if model.backend_.normalize_state:
            resting = scale_rows(resting)
        plane = Pca(n_components=2).fit(states)
        start, rest = plane.transform(states), plane.transform(resting)
        figures.draw_points(axes[row, 0], start, truth, "before: true speakers")
        figures.draw_points(
            axes[row, 1], rest, truth, f"{name}, at rest: true speakers"
        )
        alike = match_labels(model.labels_, truth)
        count = f"{model.n_clusters_} clusters of {n_speakers} speakers"
        figures.draw_points(axes[row, 2], start, alike, f"{name}: {count}")
    for panel in axes.flat:
        panel.set(xlabel="first principal component", ylabel="second")
    figures.explain(
        figure,
        "a dot is a segment; a cluster has the colour and mark of its main speaker, or "
        "others if another cluster has these",
    )
    figures.save_figure(figure, run.folder, "view")


def write_report(
    run: StageRun,
    printed_path: Path,
    settings: dict[str, Any],
    words: Mapping[str, str] | None = None,
    *,
    trials: Mapping[str, Any] | None = None,
) -> None:
    """Write results.json, the tables, the curves and the text for the terminal.

    `words` may have a "title" and the name of the "extractor" and, for the paper's own
    corpus, a text on the "comparison" with the printed rows and a short form of it for
    the terminal ("kinship"). `trials` are figures of verification, if there are any.
    """
    record = {**read_record(run.before["prepare"]), **(words or {})}
    summary = read_json(run.before["sessions"] / SUMMARY)
    groups = _with_printed(summary, read_printed(printed_path), record)
    results: dict[str, Any] = {
        "stamp": stamp(seed=settings["seed"], settings=settings),
        "prepare": record,
        "sessions": groups,
        "total": _total(groups),
        "total_at": _total_at(groups),
        **({} if trials is None else {"trials": dict(trials)}),
    }
    write_json(run.folder / "results.json", results)
    write_text(run.folder / "table.csv", speaker_text.tidy_table(groups).csv())
    write_text(run.folder / "table.tex", speaker_text.measured_table(groups).latex())
    write_text(run.folder / "report.md", speaker_text.markdown(results))
    write_text(run.folder / "summary.txt", speaker_text.terminal(results, run.folder))
    if settings["figures"]:
        _draw_curves(run.folder, groups)


def _with_printed(
    summary: Mapping[str, Any], printed: Mapping[str, Any], record: Mapping[str, Any]
) -> dict[str, Any]:
    """Add the paper's rows and the p-values of the contests."""
    groups: dict[str, Any] = {}
    for speakers, entry in summary.items():
        paper = printed.get(speakers, {"methods": {}, "wins": None})
        wins = dict(entry["wins"])
        if wins:
            # If every session has all speakers of the corpus, the repetitions are one
            # session again and again, which a test must not count.
            repeated = record.get("corpus_speakers") == int(speakers)
            p = None if repeated else sign_test(wins["wins"], wins["losses"])
            wins |= {"p": p, "printed": paper["wins"]}
        groups[speakers] = {**entry, "printed": paper["methods"], "wins": wins}
    return groups


def _total(groups: Mapping[str, Any]) -> dict[str, Any]:
    """Sum the contests of all sizes that have a p-value."""
    counted = [g["wins"] for g in groups.values() if g["wins"]]
    counted = [wins for wins in counted if wins["p"] is not None]
    total: dict[str, Any] = {
        name: sum(wins[name] for wins in counted) for name in ("wins", "ties", "losses")
    }
    papers = [wins["printed"] for wins in counted]
    total["p"] = sign_test(total["wins"], total["losses"])
    total["printed"] = None if None in papers else sum(papers)
    return total


def _total_at(groups: Mapping[str, Any]) -> dict[str, Any]:
    """Sum the contests at each merging threshold, in K ("k@0.1") and G ("g@0.1")."""
    totals: dict[str, Any] = {}
    for group in groups.values():
        if group["wins"] and group["wins"]["p"] is not None:
            for name, wins in group["wins_at"].items():
                entry = totals.setdefault(name, dict.fromkeys(wins, 0))
                for outcome, count in wins.items():
                    entry[outcome] += count
    for entry in totals.values():
        entry |= {"p": sign_test(entry["wins"], entry["losses"]), "printed": None}
    return totals


def _draw_curves(folder: Path, groups: Mapping[str, Any]) -> None:
    x = [float(speakers) for speakers in groups]
    methods = list(next(iter(groups.values()))["methods"])
    figure, axes = figures.new_figure(1, 3, width=13, height=4.4)
    for panel, measure in zip(axes.flat, CURVES, strict=True):
        curves = {
            method: [group["methods"][method][measure] for group in groups.values()]
            for method in methods
        }
        figures.draw_bands(panel, x, curves)
        if measure == "n_clusters":
            figures.draw_truth(panel, x, x, "true number of speakers")
            panel.set_yscale("log")
            most = max(point["high"] for points in curves.values() for point in points)
            marks = [n for n in (*x, 100, 200, 500, 1000, 2000) if n <= 1.2 * most]
            panel.set_yticks(marks, [f"{mark:g}" for mark in marks])
        panel.set(xlabel="true number of speakers", ylabel=AXES[measure])
        panel.set_xscale("log")
        panel.set_xticks(x, [f"{value:g}" for value in x])
        panel.minorticks_off()
        panel.grid(visible=True, alpha=0.25)
        panel.legend(fontsize=8)
    figures.save_figure(figure, folder, "curves")


Law = tuple[float, float] | None
"""Mean and deviation of the number of segments of a speaker; None takes all."""


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

    `config` has all settings of the recipe, `printed` is the file of the paper's rows,
    and `report` writes the report, which may depend on more stages (`reads`). Sessions
    are drawn from the prepared corpus, with numbers of segments by `law`, or from a
    simulated world with the arguments `world`.
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
        write_sessions(run, run.map(session_repetition, tasks))

    def view(run: StageRun) -> None:
        if config.figures:
            folder = run.before["prepare"]
            available = read_record(folder).get("corpus_speakers", config.view_speakers)
            draw_view(
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
