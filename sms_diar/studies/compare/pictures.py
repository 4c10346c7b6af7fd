"""Pictures of the report of ``recipes/compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar.report import figures
from sms_diar.studies.compare.peers import OURS, head
from sms_diar.studies.compare.vectors import LAW_WORDS
from sms_diar.studies.compare.words import PART_WORDS


def draw_scores(folder: Path, part: str, rows: Mapping[str, Any]) -> None:
    """G of every method, one line per condition."""
    methods = list(dict.fromkeys(m for row in rows.values() for m in row["methods"]))
    figure, axes = figures.new_figure(1, 1, width=9, height=1.6 + 0.22 * len(rows))
    panel = axes[0, 0]
    heights = np.arange(len(rows))[::-1]
    for style, method in enumerate(methods):
        points = [
            (row["methods"][method]["g"], height)
            for row, height in zip(rows.values(), heights, strict=True)
            if method in row["methods"]
        ]
        colour = figures.COLOURS[style % len(figures.COLOURS)]
        panel.scatter(
            *np.transpose(points),
            color=colour,
            marker=figures.MARKERS[(style + style // 7) % len(figures.MARKERS)],
            s=55 if method == OURS else 18,
            zorder=4 if method == OURS else 3,
            label=head(method),
        )
    _label_rows(panel, rows, heights)
    panel.set(xlabel="G")
    panel.legend(fontsize=7, ncols=6, loc="lower center", bbox_to_anchor=(0.4, 1.0))
    figures.save_figure(figure, folder, f"{part}-g")


def draw_differences(folder: Path, part: str, rows: Mapping[str, Any]) -> None:
    """G of ours minus that of some peers, with intervals."""
    known = dict.fromkeys(p for row in rows.values() for p in row["paired"])
    peers = [p for p in ("nme-sc", "vbx", "ahc-oracle", "sms-paper") if p in known]
    if not peers:
        return
    height = 1.4 + 0.22 * len(rows)
    figure, axes = figures.new_figure(1, len(peers), width=10, height=height)
    heights = np.arange(len(rows))[::-1]
    for panel, peer in zip(axes.flat, peers, strict=True):
        for row, at in zip(rows.values(), heights, strict=True):
            if peer not in row["paired"]:
                continue
            found = row["paired"][peer]["g"]
            panel.plot([found["low"], found["high"]], [at, at], color="#0072B2", lw=1.2)
            panel.plot([found["estimate"]], [at], "o", color="#0072B2", ms=3.5)
        panel.axvline(0.0, color="#777777", lw=0.8)
        panel.set_title(f"{OURS} - {peer}", fontsize=9)
        panel.set(xlabel="G")
        _label_rows(panel, rows if panel is axes.flat[0] else {}, heights)
    figures.save_figure(figure, folder, f"{part}-differences")


def draw_speakers(folder: Path, name: str, rows: Mapping[str, Any]) -> None:
    """K against the number of speakers: a panel for each source and law of talk."""
    sources = list(dict.fromkeys(row["source"] for row in rows.values()))
    laws = list(dict.fromkeys(row["law"] for row in rows.values()))
    figure, axes = figures.new_figure(
        len(sources), len(laws), width=3.6 * len(laws), height=0.6 + 2.4 * len(sources)
    )
    for source, line in zip(sources, axes, strict=True):
        for law, panel in zip(laws, line, strict=True):
            own = [
                (row["speakers"], row["methods"])
                for row in rows.values()
                if (row["source"], row["law"]) == (source, law)
            ]
            _draw_lines(panel, own, "k")
            panel.set_title(f"{source}, {LAW_WORDS.get(law, law)}", fontsize=8)
            panel.set_ylim(0.0, 1.02)
    _finish(axes, "speakers", "K")
    figures.save_figure(figure, folder, name)


def draw_lengths(folder: Path, rows: Mapping[str, Any]) -> None:
    """Share right of cuts, and speakers found in spliced recordings, by length."""
    cuts = [
        (row["seconds"], row["methods"]) for row in rows.values() if row["law"] == "cut"
    ]
    spliced: dict[int, list[tuple[float, Mapping[str, Any]]]] = {}
    for row in rows.values():
        if row["law"] == "splice":
            point = (row["seconds"] / 60.0, row["methods"])
            spliced.setdefault(row["speakers"], []).append(point)
    n_panels = bool(cuts) + len(spliced)
    if not n_panels:
        return
    figure, axes = figures.new_figure(1, n_panels, width=2.8 * n_panels, height=3.2)
    panels = list(axes.flat)
    if cuts:
        panel = panels.pop(0)
        _draw_lines(panel, cuts, "right")
        panel.set_title("cuts of conversations", fontsize=8)
        panel.set(xlabel="seconds", ylabel="share of windows right")
    for (speakers, own), panel in zip(spliced.items(), panels, strict=True):
        _draw_lines(panel, own, "found")
        panel.axhline(speakers, color="#777777", lw=0.8, ls=":")
        panel.set_yscale("log", base=2)
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_title(f"spliced, speakers: {speakers}", fontsize=8)
        panel.set(xlabel="minutes of speech", ylabel="speakers found")
    axes.flat[0].legend(fontsize=7)
    figures.save_figure(figure, folder, "lengths")


def draw_reliability(folder: Path, told: Mapping[str, Any]) -> None:
    """What is right against what was said: labels, and the number of speakers."""
    figure, axes = figures.new_figure(1, 2, width=8, height=4)
    titles = {"labels": "labels", "number": "number of speakers"}
    for (what, title), panel in zip(titles.items(), axes.flat, strict=True):
        panel.plot([0, 1], [0, 1], color="#777777", lw=0.8, ls=":")
        curves = [
            (f"{head(method)}, {PART_WORDS.get(part, part)}", one[what])
            for part, methods in told.items()
            for method, one in methods.items()
            if what in one
        ]
        for style, (name, found) in enumerate(curves):
            curve = found["curve"]
            colour = figures.COLOURS[style % len(figures.COLOURS)]
            panel.plot(curve["said"], curve["right"], color=colour, lw=1.2)
            panel.scatter(
                curve["said"],
                curve["right"],
                s=[8 + 120 * share for share in curve["share"]],
                color=colour,
                marker=figures.MARKERS[style % len(figures.MARKERS)],
                label=f"{name}: ECE {found['error']:.3f}",
            )
        panel.set_title(title, fontsize=9)
        panel.set(xlabel="said", ylabel="right", xlim=(0, 1.02), ylim=(0, 1.02))
        panel.grid(visible=True, alpha=0.25)
        if curves:
            panel.legend(fontsize=7, loc="upper left")
    figures.save_figure(figure, folder, "reliability")


def _draw_lines(
    panel: Any, points: Sequence[tuple[float, Mapping[str, Any]]], measure: str
) -> None:
    """A line for each method over a logarithmic axis."""
    methods = list(dict.fromkeys(m for _, found in points for m in found))
    for style, method in enumerate(methods):
        own = sorted((x, f[method][measure]) for x, f in points if method in f)
        panel.plot(
            *np.transpose(own),
            color=figures.COLOURS[style % len(figures.COLOURS)],
            marker=figures.MARKERS[style % len(figures.MARKERS)],
            lw=2.0 if method == OURS else 1.0,
            ms=4,
            label=head(method),
        )
    if points:
        ticks = sorted({x for x, _ in points})
        panel.set_xscale("log")
        panel.set_xticks(ticks, [f"{x:g}" for x in ticks])
        panel.set_xticks([], minor=True)
    panel.tick_params(labelsize=7)
    panel.grid(visible=True, alpha=0.25)


def _finish(axes: Any, x: str, y: str) -> None:
    """Words on the outer axes only, and one legend."""
    for panel in axes[-1]:
        panel.set(xlabel=x)
    for panel in axes[:, 0]:
        panel.set(ylabel=y)
    axes[0, 0].legend(fontsize=7)


def _label_rows(panel: Any, rows: Mapping[str, Any], heights: Any) -> None:
    panel.set_yticks(heights, list(rows) if rows else [""] * len(heights))
    panel.tick_params(labelsize=7)
    panel.set_ylim(-0.6, len(heights) - 0.4)
    panel.grid(visible=True, alpha=0.25)
