"""Tables of the results, as Markdown, as plain text and as CSV, and the pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.compare import pictures
from benchmarks.compare.peers import ORACLES, OURS, head
from benchmarks.compare.words import PART_WORDS
from sms_diar._files import write_text
from sms_diar._json import json_text, write_json
from sms_diar.report.provenance import describe
from sms_diar.report.tables import Table

MISSING = "-"
PARTS = {
    "test": ("Test with a PLDA model", "k"),
    "test_untrained": ("Test without a PLDA model", "k"),
    "development": ("Development with a PLDA model", "k"),
    "untrained": ("Development without a PLDA model", "k"),
    "doubled": ("Doubled sessions", "k"),
    "windows": ("Windows in time", "right"),
    "lengths": ("Lengths and repetitions", "right"),
}
"""Parts of the results that have conditions: title, and the measure of their tables."""

MEASURES = {"k": "K", "right": "share of windows right"}


def tidy(results: Mapping[str, Any]) -> Table:
    """One line for each part, condition, method and measure."""
    rows = [
        (part, name, row["group"], method, measure, f"{value:.6g}", str(row["runs"]))
        for part, summary, _, _ in _parts(results)
        for name, row in summary["conditions"].items()
        for method, figures in row["methods"].items()
        for measure, value in figures.items()
    ]
    heads = ("part", "condition", "group", "method", "measure", "mean", "sessions")
    return Table(heads, tuple(rows), n_left=5)


def condition_table(summary: Mapping[str, Any], measure: str) -> Table:
    """A measure, speakers found and share with the right number, by condition."""
    methods = methods_of(summary)
    rows = []
    for name, row in summary["conditions"].items():
        leading = best(row["methods"], measure)
        cells = []
        for method in methods:
            cell = _cell(row["methods"].get(method), measure)
            cells.append(f"**{cell}**" if method in leading else cell)
        session = row["session"]
        sizes = (f"{session['n_speakers']:.1f}", f"{session['n_segments']:.0f}")
        rows.append((name, *sizes, *cells))
    return Table(("condition", "spk", "rows", *map(head, methods)), tuple(rows))


def average_table(summary: Mapping[str, Any], measure: str) -> Table:
    """The same as means over the conditions of each group."""
    methods = methods_of(summary)
    rows = tuple(
        (name, *(_average_cell(row["methods"].get(m), measure) for m in methods))
        for name, row in summary["averages"].items()
    )
    return Table(("mean of", *map(head, methods)), rows)


def difference_table(summary: Mapping[str, Any], measure: str) -> Table:
    """Our default minus each peer, with an interval, by group of conditions."""
    peers = [method for method in methods_of(summary) if method != OURS]
    rows = []
    for name, row in summary["averages"].items():
        paired = [row["paired"].get(peer) for peer in peers]
        cells = (MISSING if one is None else interval(one[measure]) for one in paired)
        rows.append((name, *cells))
    return Table(("mean of", *map(head, peers)), tuple(rows))


def drift_table(drift: Mapping[str, Any]) -> Table:
    """Speakers found before and after doubling, and how often the number stays."""
    methods = list(dict.fromkeys(m for row in drift.values() for m in row["methods"]))

    def cell(figures: Mapping[str, float] | None) -> str:
        if figures is None:
            return MISSING
        moved = f"{figures['before']:.1f} > {figures['after']:.1f}"
        return f"{moved} / {100 * figures['same']:.0f}"

    rows = tuple(
        (name, str(row["pairs"]), *(cell(row["methods"].get(m)) for m in methods))
        for name, row in drift.items()
    )
    return Table(("condition", "pairs", *map(head, methods)), rows)


def reliability_table(told: Mapping[str, Any]) -> Table:
    """Confidence, the share that is right, and the expected calibration error."""
    rows = []
    for part, methods in told.items():
        for method, one in methods.items():
            cells = []
            for what in ("labels", "number"):
                figures = one.get(what)
                cells += [
                    MISSING if figures is None else share(figures[name])
                    for name in ("said", "right", "error")
                ]
            rows.append((PART_WORDS.get(part, part), head(method), *cells))
    heads = ("part", "method", "label: said", "right", "ECE", "number: said", "right")
    return Table((*heads, "ECE"), tuple(rows), n_left=2)


def meeting_table(rows: Mapping[str, Any]) -> Table:
    """DER and speakers found of the meeting; a row for each method."""
    methods = dict.fromkeys(m for row in rows.values() for m in row["methods"])

    def cell(figures: Mapping[str, float] | None) -> str:
        if figures is None:
            return MISSING
        return f"{100 * figures['der']:.2f} / {figures['found']:.1f}"

    cells = tuple(
        (method, *(cell(row["methods"].get(method)) for row in rows.values()))
        for method in methods
    )
    return Table(("DER % / speakers", *rows), cells)


def source_table(catalogue: Mapping[str, Any]) -> Table:
    """Error rates of all pairs of the sources."""
    rows = tuple(
        (
            f"{name} ({source['label']})" if "label" in source else name,
            source["words"],
            str(source["speakers"] or MISSING),
            str(source["segments"] or MISSING),
            f"{100 * source['eer']:.1f}",
        )
        for name, source in catalogue.items()
    )
    return Table(("source", "back end", "speakers", "segments", "EER %"), rows, 2)


def tables(
    results: Mapping[str, Any], *, conditions: bool
) -> Iterator[tuple[str, Table]]:
    """Titles and tables in the order of the report.

    Parameters
    ----------
    results : mapping
        Contents of ``results.json``.
    conditions : bool
        Whether conditions have separate tables in addition to their means.
    """
    for _, summary, title, measure in _parts(results):
        words = f"{title}, {MEASURES[measure]}"
        if conditions:
            each = f"{words} / speakers found / sessions with the right number in %"
            yield each, condition_table(summary, measure)
        yield f"{words} / right number, means", average_table(summary, measure)
        minus = f"{words} of {OURS} minus each peer, 95 % interval"
        yield minus, difference_table(summary, measure)
    if results["meeting"]:
        yield "Meeting", meeting_table(results["meeting"])
    if results["drift"]:
        title = "Doubled or repeated: speakers before > after / number stays in %"
        yield title, drift_table(results["drift"])
    for title, name in (
        ("Reliability", "reliability"),
        ("Reliability, test", "test_reliability"),
    ):
        if results.get(name):
            yield title, reliability_table(results[name])
    yield "Sources: equal error rate of all pairs", source_table(results["sources"])


def markdown(results: Mapping[str, Any]) -> str:
    """Text of report.md."""
    parts = ["# Methods compared\n", f"{describe(results['stamp'])}.\n"]
    parts += [f"- {note}\n" for note in results["left_out"]]
    for title, table in tables(results, conditions=True):
        parts += [f"## {title}\n", table.markdown()]
    parameters = [f"- {name}: `{given}`" for name, given in results["methods"].items()]
    parts += ["## Parameters of the methods\n", "\n".join(parameters) + "\n"]
    settings = json_text(results["stamp"]["settings"])
    parts += ["## Settings\n", f"```json\n{settings}\n```\n"]
    return "\n".join(parts)


def plain(results: Mapping[str, Any], folder: Path) -> str:
    """Text of summary.txt: means of the groups, without Markdown."""
    lines = [f"- {note}" for note in results["left_out"]]
    for title, table in tables(results, conditions=False):
        lines += ["", f"{title}:", "", table.plain().rstrip()]
    lines += ["", f"Tables and pictures: {folder}"]
    return "\n".join(lines) + "\n"


def write_report(folder: Path, results: Mapping[str, Any], *, draw: bool) -> None:
    """Write results.json, table.csv, report.md, summary.txt and the pictures."""
    write_json(folder / "results.json", dict(results))
    write_text(folder / "table.csv", tidy(results).csv())
    write_text(folder / "report.md", markdown(results))
    write_text(folder / "summary.txt", plain(results, folder))
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
    for name in ("reliability", "test_reliability"):
        if results.get(name):
            pictures.draw_reliability(folder, name.replace("_", "-"), results[name])


def share(value: float) -> str:
    """Three digits without the zero before the point; one is 1.00."""
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text[:4]


def signed(value: float) -> str:
    """The same with a sign."""
    return ("-" if round(value, 3) < 0 else "+") + share(abs(value))


def interval(figures: Mapping[str, float]) -> str:
    """An estimate and its interval, with signs."""
    low, high = signed(figures["low"]), signed(figures["high"])
    return f"{signed(figures['estimate'])} [{low}, {high}]"


def methods_of(summary: Mapping[str, Any]) -> list[str]:
    """All methods of a part, in the order in which they were run."""
    rows = summary["conditions"].values()
    each = sorted((list(row["methods"]) for row in rows), key=len, reverse=True)
    return list(dict.fromkeys(method for methods in each for method in methods))


def best(methods: Mapping[str, Mapping[str, float]], measure: str) -> Sequence[str]:
    """Methods with the highest figure as it is printed, oracles aside."""
    rated = {m: round(f[measure], 3) for m, f in methods.items() if m not in ORACLES}
    return [m for m, value in rated.items() if value == max(rated.values())]


def _parts(
    results: Mapping[str, Any],
) -> Iterator[tuple[str, Mapping[str, Any], str, str]]:
    """Name, summary, title and measure of each part that has conditions."""
    for part, (title, measure) in PARTS.items():
        summary = results.get(part)
        if summary and summary["conditions"]:
            yield part, summary, title, measure


def _cell(figures: Mapping[str, float] | None, measure: str) -> str:
    if figures is None:
        return MISSING
    right = f"{100 * figures['exact']:.0f}"
    return f"{share(figures[measure])} / {figures['found']:.1f} / {right}"


def _average_cell(figures: Mapping[str, float] | None, measure: str) -> str:
    if figures is None:
        return MISSING
    return f"{share(figures[measure])} / {100 * figures['exact']:.0f} %"
