"""Pictures of the report of ``recipes/compare``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar.report import figures
from sms_diar.studies.compare.peers import OURS, head


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


def _label_rows(panel: Any, rows: Mapping[str, Any], heights: Any) -> None:
    panel.set_yticks(heights, list(rows) if rows else [""] * len(heights))
    panel.tick_params(labelsize=7)
    panel.set_ylim(-0.6, len(heights) - 0.4)
    panel.grid(visible=True, alpha=0.25)
