"""Sections of the report about sessions without a PLDA model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.compare.peers import OURS, head
from benchmarks.compare.words import (
    MISSING,
    PART_WORDS,
    best,
    interval,
    methods_of,
    percent,
    share,
)
from sms_diar.report.tables import Table


def number_table(summary: Mapping[str, Any], measure: str) -> Table:
    """A measure, speakers found and share with the right number, by condition."""
    methods = methods_of(summary)
    rows = []
    for name, row in summary["conditions"].items():
        leading = best(row["methods"], measure)
        cells = []
        for method in methods:
            cell = _number_cell(row["methods"].get(method), measure)
            cells.append(f"**{cell}**" if method in leading else cell)
        session = row["session"]
        rows.append(
            (
                name,
                f"{session['n_speakers']:.1f}",
                f"{session['n_segments']:.0f}",
                *cells,
            )
        )
    for name, row in summary["averages"].items():
        cells = [_average_cell(row["methods"].get(m), measure) for m in methods]
        rows.append((f"*mean, {name}*", "", "", *cells))
    return Table(("condition", "spk", "rows", *map(head, methods)), tuple(rows))


def average_table(summary: Mapping[str, Any], measure: str) -> Table:
    """One measure and the share with the right number, by group of conditions."""
    methods = methods_of(summary)

    def cell(found: Mapping[str, float] | None) -> str:
        if found is None:
            return MISSING
        return f"{share(found[measure])} / {100 * found['exact']:.0f}"

    rows = tuple(
        (name, *(cell(row["methods"].get(method)) for method in methods))
        for name, row in summary["averages"].items()
    )
    return Table(("mean of", *map(head, methods)), rows)


def difference_table(summary: Mapping[str, Any], measure: str) -> Table:
    """Ours minus each peer with its interval, by group of conditions."""
    peers = [method for method in methods_of(summary) if method != OURS]
    rows = []
    for name, row in summary["averages"].items():
        found = [row["paired"].get(peer) for peer in peers]
        rows.append(
            (name, *(MISSING if f is None else interval(f[measure]) for f in found))
        )
    return Table(("mean of", *map(head, peers)), tuple(rows))


def drift_table(drift: Mapping[str, Any]) -> Table:
    """Speakers found before and after, and how often the number stays."""
    methods = list(dict.fromkeys(m for row in drift.values() for m in row["methods"]))
    rows = [
        (
            f"*{name}*" if name == "all" else name,
            str(row["pairs"]),
            *(_drift_cell(row["methods"].get(method)) for method in methods),
        )
        for name, row in drift.items()
    ]
    return Table(("condition", "pairs", *map(head, methods)), tuple(rows))


def reliability_table(told: Mapping[str, Any]) -> Table:
    """What methods say, what is so, and the expected calibration error."""
    rows = []
    for part, methods in told.items():
        for method, one in methods.items():
            cells = []
            for what in ("labels", "number"):
                found = one.get(what)
                figures = ("said", "right", "error")
                cells += [
                    MISSING if found is None else share(found[name]) for name in figures
                ]
            true = one.get("number", {}).get("true")
            rows.append(
                (
                    PART_WORDS.get(part, part),
                    head(method),
                    *cells,
                    MISSING if true is None else share(true),
                )
            )
    heads = ("part", "method", "label: said", "right", "ECE", "number: said", "right")
    return Table((*heads, "ECE", "said of the true one"), tuple(rows), n_left=2)


def untrained_section(summary: Mapping[str, Any] | None, title: str) -> Iterator[str]:
    """Section of sessions of segments without a PLDA model."""
    if not summary or not summary["conditions"]:
        return
    yield f"## {title}\n"
    yield (
        "Vectors alone: methods fit what they need to the session. K / speakers found "
        "/ sessions with the right number in %; means give how far the number is off "
        "instead of the speakers found. Bold: the highest K.\n"
    )
    yield number_table(summary, "k").markdown()
    yield from _differences(summary, "k", "K")


def windows_section(summary: Mapping[str, Any]) -> Iterator[str]:
    """Section of whole conversations."""
    if not summary["conditions"]:
        return
    yield "## Windows in time\n"
    yield (
        "Windows of 1.5 s every 0.75 s in the reference's speech, each of the speaker "
        "who speaks longest in it; no PLDA model. Methods whose `fit` takes times have "
        "them. Share of windows right under the best one-to-one mapping / speakers "
        "found / recordings with the right number of speakers in %.\n"
    )
    yield number_table(summary, "right").markdown()
    yield from _differences(summary, "right", "The share of windows right")


def lengths_section(
    summary: Mapping[str, Any], drift: Mapping[str, Any], repeats: int
) -> Iterator[str]:
    """Section of short, long, repeated and doubled sessions."""
    if not summary["conditions"] and not drift:
        return
    yield "## Lengths and repetitions\n"
    if summary["conditions"]:
        yield (
            f"Whole turns of the simulated conversations, up to a length; such a cut "
            f"played {repeats} times; and recordings spliced from passages of their "
            f"speakers, half of which recur exactly. Share of windows right / speakers "
            f"found / sessions with the right number in %. Methods that score all "
            f"pairs are left out of the longest (-).\n"
        )
        yield number_table(summary, "right").markdown()
        yield from _differences(summary, "right", "The share of windows right")
    if drift:
        yield "### Doubled sessions\n"
        yield (
            "Half of the segments of every speaker, then all of them; or a "
            "conversation once, then several times. Speakers found before > after / "
            "pairs in which the number stays in %.\n"
        )
        yield drift_table(drift).markdown()


def reliability_section(told: Mapping[str, Any]) -> Iterator[str]:
    """Section of what methods say about themselves."""
    yield "## Reliability\n"
    if not told:
        yield "No method that was run says how sure it is.\n"
        return
    yield (
        "Mean probability that a method gives to its labels, and to its number of "
        "speakers; the share that is right; and the expected calibration error (ECE), "
        "ten bins, every session weighing alike. Curves: `reliability.png`.\n"
    )
    yield reliability_table(told).markdown()


def _differences(summary: Mapping[str, Any], measure: str, words: str) -> Iterator[str]:
    yield (
        f"{words} of {OURS} minus that of each peer, and a 95 % interval (bootstrap of "
        f"the sessions of each condition):\n"
    )
    yield difference_table(summary, measure).markdown()


def _number_cell(found: Mapping[str, float] | None, measure: str) -> str:
    if found is None:
        return MISSING
    return (
        f"{share(found[measure])} / {found['found']:.1f} / {100 * found['exact']:.0f}"
    )


def _average_cell(found: Mapping[str, float] | None, measure: str) -> str:
    if found is None:
        return MISSING
    off = percent(found["relative_error"])
    return f"{share(found[measure])} / {off} / {100 * found['exact']:.0f}"


def _drift_cell(found: Mapping[str, float] | None) -> str:
    if found is None:
        return MISSING
    moved = f"{found['before']:.1f} > {found['after']:.1f}"
    return f"{moved} / {100 * found['same']:.0f}"
