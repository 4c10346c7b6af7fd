"""Report of the diarization: one row per recording, and pooled results."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sms_diar._files import write_text
from sms_diar._json import read_json, write_json
from sms_diar.experiment.stages import StageRun
from sms_diar.metrics.diarization.evaluation import SECONDS, Evaluation
from sms_diar.report.provenance import describe, stamp
from sms_diar.report.tables import Table

from .._common.extraction import read_ivectors_record
from .steps import CLUSTERS, RTTM, SPEECH_RECORD

SCORES = "scores.json"

_HEADS = {
    "scored": "speech s",
    "missed": "missed",
    "false_alarm": "false alarm",
    "confusion": "confusion",
    "der": "DER",
    "jer": "JER",
}


def write_scores(folder: Path, evaluation: Evaluation) -> None:
    """Store the figures of all recordings and the scoring rules."""
    record = {
        "rules": evaluation.settings.sentences(),
        "overall": evaluation.overall,
        "macro": evaluation.macro,
        "recordings": {
            name: score.figures for name, score in evaluation.recordings.items()
        },
    }
    write_json(folder / SCORES, record)


def write_report(run: StageRun, settings: Mapping[str, Any]) -> None:
    """Write results.json, the table and the texts."""
    scores = read_json(run.before["score"] / SCORES)
    speech = read_json(run.before["speech"] / SPEECH_RECORD)
    clusters = read_json(run.before["cluster"] / CLUSTERS)
    vectors = read_ivectors_record(run.before["ivectors"])
    results = {
        "stamp": stamp(seed=settings["seed"], settings=settings),
        "speech": speech,
        "ivectors": vectors,
        "clusters": clusters,
        **scores,
        "left_out": [*speech["problems"], *vectors["problems"]],
        "rttm": str(run.before["cluster"] / RTTM),
    }
    table = score_table(results)
    write_json(run.folder / "results.json", results)
    write_text(run.folder / "table.csv", table.csv())
    write_text(run.folder / "report.md", _markdown(results, table))
    write_text(run.folder / "summary.txt", _terminal(results, table, run.folder))


def score_table(results: Mapping[str, Any]) -> Table:
    """Return a row for each recording and one for all."""
    rows = [
        _row(name, figures) for name, figures in sorted(results["recordings"].items())
    ]
    rows.append(_row("all", results["overall"]))
    columns = ("recording", "speakers", "found", *_HEADS.values())
    return Table(columns, tuple(rows))


def _row(name: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    seconds = [f"{figures[column]:.2f}" for column in SECONDS]
    rates = ["-" if figures[c] is None else f"{figures[c]:.2%}" for c in ("der", "jer")]
    return (name, str(figures["n_ref"]), str(figures["n_hyp"]), *seconds, *rates)


def _source_words(results: Mapping[str, Any]) -> str:
    settings, speech = results["stamp"]["settings"], results["speech"]
    where = {
        "reference": "speech as in the reference",
        "labels": f"speech by the labels in {settings['vad_labels']}",
        "energy": "speech found by energy",
        "neural": "speech found by the neural detector",
    }[settings["speech"]]
    window = settings["windows"]
    neighbours = f" with k = {settings['k']}" if settings["k"] else ""
    number = (
        "the number of speakers is that of the reference (an oracle)"
        if settings["speakers"] == "reference"
        else "the number of speakers is found"
    )
    return (
        f"{settings['data']}: {speech['recordings']} recordings, "
        f"{speech['hours_of_speech']:.2f} h of speech, {where}; {speech['windows']} "
        f"windows of {window['length']:g} s every {window['shift']:g} s; i-vectors of "
        f"{results['ivectors']['dim']} dimensions, {results['ivectors']['model']}; "
        f"{settings['method']}{neighbours}, {results['clusters']['backend']} scores; "
        f"{number}."
    )


def _rules(results: Mapping[str, Any]) -> str:
    return f"Scored: {'; '.join(results['rules'])}.{_halves(results)}"


def _halves(results: Mapping[str, Any]) -> str:
    halves = results["clusters"]["halves"]
    if not halves:
        return ""
    adapted = results["stamp"]["settings"]["adapt"]
    parts = ["a PLDA model adapted to it"] if adapted else []
    if halves[0]["threshold"] is not None:
        values = " and ".join(f"{half['threshold']:g}" for half in halves)
        parts.append(f"the best threshold on it ({values})")
    used = " and ".join(parts) or "nothing from it"
    sizes = " and ".join(str(half["recordings"]) for half in halves)
    return (
        f' Two halves of {sizes} recordings, each clustered with {used}, where "it" is '
        f"the other half."
    )


def _left_out(results: Mapping[str, Any]) -> list[str]:
    left = results["left_out"]
    if not left:
        return []
    return [f"Left out, so that their speech counts as missed: {len(left)}"]


def _markdown(results: Mapping[str, Any], table: Table) -> str:
    parts = [
        "# Diarization\n",
        f"{describe(results['stamp'])}.\n",
        f"{_source_words(results)}\n",
        f"{_rules(results)}\n",
        table.markdown(),
        *(f"{line}:\n" for line in _left_out(results)),
        *(f"- {line}" for line in results["left_out"]),
    ]
    return "\n".join(parts) + "\n"


def _terminal(results: Mapping[str, Any], table: Table, folder: Path) -> str:
    lines = [
        *textwrap.wrap(_source_words(results), 88),
        "",
        table.plain(),
        *textwrap.wrap(_rules(results), 88),
        *_left_out(results),
        f"Turns: {results['rttm']}",
        f"Tables: {folder}",
    ]
    return "\n".join(lines) + "\n"
