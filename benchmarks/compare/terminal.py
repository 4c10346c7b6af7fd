"""The report of ``recipes/compare`` for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare import goal_text, sections
from benchmarks.compare import text as compare_text
from benchmarks.compare.peers import OURS, head
from benchmarks.compare.words import (
    MISSING,
    interval,
    methods_of,
    share,
    signed,
)
from sms_diar.report.tables import Table


def terminal(results: Mapping[str, Any], folder: Path) -> str:
    """Text of summary.txt, narrow enough for a terminal."""
    settings = results["stamp"]["settings"]
    lines = [
        *textwrap.wrap(compare_text.introduction(settings).replace("`", ""), 88),
        "",
    ]
    lines += _wrapped(results["left_out"])
    for part, title in reversed(compare_text.TITLES.items()):
        summary = results[part]
        if not summary or not summary["conditions"]:
            continue
        lines += ["", title.format(corpus=settings["test_corpus"])]
        if part == "test":
            lines += textwrap.wrap(compare_text.proof(results), 88)
        lines += _wrapped(compare_text.headlines(summary))
        for measure, words in (
            ("k", "K"),
            ("g", "G"),
            ("found", "speakers found; means: how far off, in %"),
        ):
            lines += ["", f"{words}:", ""]
            lines.append(measure_table(summary, measure).plain().rstrip())
        lines += ["", f"G of {OURS} minus that of a peer, and a 95 % interval:", ""]
        lines.append(_peers(summary).plain().rstrip())
        if part == "development" and results["meeting"]:
            lines += ["", "Meeting:", ""]
            lines.append(compare_text.meeting(results["meeting"]).plain().rstrip())
    for words, goals, drift in (
        ("Goals on the test", results.get("test_goals"), results.get("test_drift")),
        ("Goals", results["goals"], results["drift"]),
    ):
        if goals:
            lines += ["", f"{words}:", ""]
            lines += _wrapped(goal_text.goal_lines(goals, drift or {}))
    for words, name, measure in (
        ("Test without a PLDA model, K", "test_untrained", "k"),
        ("Without a PLDA model, K", "untrained", "k"),
        ("Windows in time, share right", "windows", "right"),
        ("Lengths, share right", "lengths", "right"),
    ):
        summary = results.get(name)
        if summary and summary["conditions"]:
            lines += ["", f"{words} / number right in %:", ""]
            table = sections.average_table(summary, measure)
            lines.append(table.plain().rstrip())
    lines += ["", f"Tables and pictures: {folder}"]
    return "\n".join(lines) + "\n"


def measure_table(summary: Mapping[str, Any], measure: str) -> Table:
    """One measure of all methods; rows are conditions and averages."""
    methods = methods_of(summary)
    part = summary["conditions"]
    averages = {f"mean, {name}": row for name, row in summary["averages"].items()}
    rows = []
    for name, row in {**part, **averages}.items():
        cells = [MISSING] * len(methods)
        for column, method in enumerate(methods):
            if method in row["methods"]:
                found = row["methods"][method]
                off = f"{100 * found['relative_error']:.0f}%"
                number = f"{found['found']:.1f}" if name in part else off
                cells[column] = number if measure == "found" else share(found[measure])
        rows.append((name, *cells))
    return Table(("", *map(head, methods)), tuple(rows))


def _wrapped(sentences: Sequence[str]) -> list[str]:
    """Sentences as items of a list, for a terminal."""
    return [
        line
        for sentence in sentences
        for line in textwrap.wrap(
            sentence, 88, initial_indent="- ", subsequent_indent="  "
        )
    ]


def _peers(summary: Mapping[str, Any]) -> Table:
    """Averages of the paired differences, with an interval for the last of them."""
    names = list(summary["averages"])
    rows = []
    for peer in (method for method in methods_of(summary) if method != OURS):
        cells = []
        for name in names:
            found = summary["averages"][name]["paired"].get(peer)
            if found is None:
                cells.append(MISSING)
            elif name == names[-1]:
                cells.append(interval(found["g"]))
            else:
                cells.append(signed(found["g"]["estimate"]))
        rows.append((peer, *cells))
    return Table(("peer", *names), tuple(rows))
