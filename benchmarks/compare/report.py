"""The files of the report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.compare import pictures
from benchmarks.compare import text as compare_text
from benchmarks.compare.terminal import terminal
from sms_diar._files import write_text
from sms_diar._json import write_json
from sms_diar.report.tables import Table

REPORTED = (
    "development",
    "untrained",
    "doubled",
    "windows",
    "lengths",
    "test",
    "test_untrained",
)
"""Parts of the results that have conditions."""


def tidy(results: Mapping[str, Any]) -> Table:
    """One line for each part, condition, method and measure."""
    rows = [
        (part, name, row["group"], method, measure, f"{value:.6g}", str(row["runs"]))
        for part in REPORTED
        if results.get(part)
        for name, row in results[part]["conditions"].items()
        for method, figures in row["methods"].items()
        for measure, value in figures.items()
    ]
    heads = ("part", "condition", "group", "method", "measure", "mean", "sessions")
    return Table(heads, tuple(rows), n_left=5)


def write_report(folder: Path, results: Mapping[str, Any], *, draw: bool) -> None:
    """Write results.json, table.csv, report.md, summary.txt and the pictures."""
    write_json(folder / "results.json", dict(results))
    write_text(folder / "table.csv", tidy(results).csv())
    write_text(folder / "report.md", compare_text.markdown(results))
    write_text(folder / "summary.txt", terminal(results, folder))
    if not draw:
        return
    for part in ("development", "test"):
        if results[part] and results[part]["conditions"]:
            pictures.draw_scores(folder, part, results[part]["conditions"])
            pictures.draw_differences(folder, part, results[part]["conditions"])
    for part in ("untrained", "test_untrained"):
        if results.get(part) and results[part]["conditions"]:
            name = part.replace("_", "-")
            pictures.draw_speakers(folder, name, results[part]["conditions"])
            pictures.draw_found(folder, name, results[part]["conditions"])
    if results["lengths"]["conditions"]:
        pictures.draw_lengths(folder, results["lengths"]["conditions"])
    if results["reliability"]:
        pictures.draw_reliability(folder, results["reliability"])
