"""Tables of measured figures beside printed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sms_diar.report.tables import Table

HEADS = {
    "acp": "ACP",
    "alp": "ALP",
    "k": "K",
    "pur_cd": "Pur(C,D)",
    "pur_dc": "Pur(D,C)",
    "g": "G",
    "n_clusters": "clusters",
    "n_major": "≥5 %",
}
"""Column heads of the measures; the last counts clusters of at least 5 %."""

Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Measures by set and method, each with mean, std and perhaps printed."""


def compared(rows: Rows) -> Table:
    """One row per method; a cell reads "measured (printed, difference)"."""
    body = []
    for set_name, methods in rows.items():
        for method, figures in methods.items():
            cells = [
                " ".join(filter(None, _comparison(name, figures[name])))
                for name in HEADS
            ]
            body.append((set_name, method, *cells))
    return Table(("set", "method", *HEADS.values()), tuple(body), n_left=2)


def stacked(methods: Mapping[str, Mapping[str, Any]]) -> Table:
    """Three lines per method of one set, narrow enough for a terminal."""
    body = [
        (method, line, *cells)
        for method, figures in methods.items()
        for line, cells in _lines(figures)
    ]
    short = {"Pur(C,D)": "PurCD", "Pur(D,C)": "PurDC", "clusters": "count"}
    heads = [short.get(head, head) for head in HEADS.values()]
    return Table(("method", "", *heads), tuple(body), n_left=2)


def spread(rows: Rows) -> Table:
    """Standard deviation of every figure over the runs."""
    body = [
        (
            set_name,
            method,
            *(f"{figures[name]['std']:.3f}".removeprefix("0") for name in HEADS),
        )
        for set_name, methods in rows.items()
        for method, figures in methods.items()
    ]
    return Table(("set", "method", *HEADS.values()), tuple(body), n_left=2)


def tidy(readings: Mapping[str, Rows], runs: Mapping[str, Mapping[str, int]]) -> Table:
    """One line per figure, for further processing."""
    heads = (
        "reading",
        "set",
        "method",
        "measure",
        "mean",
        "std",
        "runs",
        "printed",
        "difference",
    )
    body = [
        (
            reading,
            set_name,
            method,
            measure,
            repr(figure["mean"]),
            repr(figure["std"]),
            str(runs[reading][set_name]),
            str(figure.get("printed", "")),
            repr(figure["difference"]) if "difference" in figure else "",
        )
        for reading, rows in readings.items()
        for set_name, methods in rows.items()
        for method, figures in methods.items()
        for measure, figure in figures.items()
    ]
    return Table(heads, tuple(body), n_left=4)


def share(value: float) -> str:
    """Write a purity as the field does: ``.923``, ``1.00``."""
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else "1.00"


def _comparison(name: str, figure: Mapping[str, Any]) -> Iterator[str]:
    counted = name in ("n_clusters", "n_major")
    yield f"{figure['mean']:.1f}" if counted else share(figure["mean"])
    if "printed" in figure:
        printed = f"{figure['printed']:g}".removeprefix("0")
        difference = _signed(figure["difference"], counted=counted)
        yield f"({printed}, {difference})"


def _signed(value: float, *, counted: bool) -> str:
    text = f"{value:+.1f}" if counted else f"{value:+.3f}"
    return text.replace("+0.", "+.").replace("-0.", "-.") if not counted else text


def _lines(
    figures: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[str, list[str]]]:
    counted = {name: name in ("n_clusters", "n_major") for name in HEADS}
    yield (
        "measured",
        [
            f"{figures[n]['mean']:.1f}" if counted[n] else share(figures[n]["mean"])
            for n in HEADS
        ],
    )
    if not any("printed" in figures[name] for name in HEADS):
        return
    printed = [figures[name].get("printed") for name in HEADS]
    yield (
        "printed",
        ["" if p is None else f"{p:g}".removeprefix("0") for p in printed],
    )
    yield (
        "difference",
        [
            _signed(figures[n]["difference"], counted=counted[n])
            if "difference" in figures[n]
            else ""
            for n in HEADS
        ],
    )
