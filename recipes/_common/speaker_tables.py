"""Tables of the speaker experiment, as mean(std)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sms_diar.report.tables import Table

from .paper import paper_name

HEADS = {
    "acp": "ACP",
    "alp": "ASP",
    "k": "K",
    "g": "G",
    "n_clusters": "ANDS",
    "n_solid": "≥5 seg.",
}
"""Measures and their column heads; the last counts clusters of 5 segments and more."""

RIVALS = ("sms-paper", "ms")
"""The paper's own method and the one it is measured against."""

COUNTS = ("n_clusters", "n_solid")
_OUTCOMES = (f"{RIVALS[0]} wins", "ties", f"{RIVALS[1]} wins")

Groups = Mapping[str, Mapping[str, Any]]
"""From the number of speakers to runs, session, methods, printed, wins."""


def spread(measure: str, figure: Mapping[str, float]) -> str:
    """Write mean(std) as the paper does: ``.86(.08)``, ``6.9(3.1)``."""
    mean, std = figure["mean"], figure["std"]
    if measure in COUNTS:
        return f"{mean:.1f}({std:.1f})"
    return f"{_share(mean)}({_share(std)})"


def measured(groups: Groups) -> Table:
    """One row per number of speakers and method."""
    body = [
        (
            speakers,
            method,
            *(spread(name, figures[name]) for name in HEADS),
            f"{figures['seconds']['mean']:.2f}",
        )
        for speakers, group in groups.items()
        for method, figures in group["methods"].items()
    ]
    heads = ("speakers", "method", *HEADS.values(), "CPU s")
    return Table(heads, tuple(body), n_left=2)


def printed(groups: Groups) -> Table:
    """The paper's rows in the same layout, under the paper's names."""
    names = [name for name in HEADS if name not in ("g", "n_solid")]
    body = [
        (speakers, paper_name(method), *(spread(n, figures[n]) for n in names))
        for speakers, group in groups.items()
        for method, figures in group["printed"].items()
    ]
    heads = ("speakers", "method", *(HEADS[name] for name in names))
    return Table(heads, tuple(body), n_left=2)


def contests(groups: Groups, total: Mapping[str, Any]) -> Table:
    """Sessions won, tied and lost, with the sign test."""
    body = [
        (speakers, *_contest(group["wins"]))
        for speakers, group in groups.items()
        if group["wins"]
    ]
    body.append(("all", *_contest(total)))
    heads = ("speakers", *_OUTCOMES, "p", "paper: wins of 20")
    return Table(heads, tuple(body), n_left=1)


def sessions(groups: Groups) -> Table:
    """Size and difficulty of the sessions."""
    body = [
        (
            speakers,
            str(group["runs"]),
            f"{group['session']['n_segments']['mean']:.0f}",
            f"{100 * group['session']['eer']['mean']:.1f}"
            f"({100 * group['session']['eer']['std']:.1f})",
        )
        for speakers, group in groups.items()
    ]
    heads = ("speakers", "runs", "segments", "EER %")
    return Table(heads, tuple(body), n_left=0)


def thresholds(groups: Groups, values: Sequence[float]) -> Table:
    """K/G at other merging thresholds."""
    body = [
        (
            speakers,
            method,
            *(
                "/".join(_share(figures[f"{m}@{value:g}"]["mean"]) for m in "kg")
                for value in values
            ),
        )
        for speakers, group in groups.items()
        for method, figures in group["methods"].items()
        if all(f"k@{value:g}" in figures for value in values)  # has resting points
    ]
    heads = ("speakers", "method", *(f"{value:g}" for value in values))
    return Table(heads, tuple(body), n_left=2)


def contests_at(
    totals: Mapping[str, Mapping[str, Any]], values: Sequence[float]
) -> Table:
    """Sessions won, tied and lost at each merging threshold, in K and in G."""
    body = [
        (head, f"{value:g}", *_contest(totals[f"{measure}@{value:g}"])[:-1])
        for measure, head in (("k", "K"), ("g", "G"))
        for value in values
    ]
    heads = ("measure", "threshold", *_OUTCOMES, "p")
    return Table(heads, tuple(body), n_left=2)


def components(choice: Mapping[str, Any]) -> Table:
    """Error rates by cross-validation, the chosen dimension marked."""
    body = [
        (
            f"{q}{' *' if q == choice['best'] else ''}",
            f"{100 * mean:.2f}({100 * s:.2f})",
        )
        for q, mean, s in zip(
            choice["candidates"], choice["mean"], choice["std"], strict=True
        )
    ]
    return Table(("dimensions", "EER %"), tuple(body))


def tidy(groups: Groups) -> Table:
    """One line per figure, for further processing."""
    parts = ("mean", "std", "low", "median", "high")
    body = []
    for speakers, group in groups.items():
        for method, figures in group["methods"].items():
            for measure, figure in figures.items():
                paper = group["printed"].get(method, {}).get(measure, {})
                body.append(
                    (
                        speakers,
                        method,
                        measure,
                        *(repr(figure[part]) for part in parts),
                        str(group["runs"]),
                        str(paper.get("mean", "")),
                        str(paper.get("std", "")),
                    )
                )
    heads = ("speakers", "method", "measure", *parts, "runs", "printed", "printed_std")
    return Table(heads, tuple(body), n_left=3)


def _contest(wins: Mapping[str, Any]) -> tuple[str, ...]:
    p, paper = wins["p"], wins["printed"]
    return (
        *(str(wins[name]) for name in ("wins", "ties", "losses")),
        "-" if p is None else _probability(p),
        "" if paper is None else str(paper),
    )


def _probability(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.0e}"


def _share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")
