"""Pictures of the report of ``benchmarks/compare``.

A method has the same style in every panel and every picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.peers import OURS, PEERS
from benchmarks.compare.words import (
    PART_WORDS,
    TALK_WORDS,
    condition_words,
    method_words,
    source_words,
)
from recipes._common import figures
from recipes._common.figures import AXES, TRUE_NUMBER, style_of
from sms_diar.report.figures import COLOURS

# Those that are always compared come first and have the plainest styles.
_FIRST = (OURS, "sms-paper", "ahc", "nme-sc", "hdbscan", "vbx")
_PLACES = {name: at for at, name in enumerate(dict.fromkeys((*_FIRST, *PEERS)))}
_MEANS = "each mark is the mean of the sessions of a condition"
_AXIS_SIZE = 9


def draw_scores(folder: Path, part: str, rows: Mapping[str, Any]) -> None:
    """G of every method, one line per condition."""
    methods = _methods(row["methods"] for row in rows.values())
    figure, axes = figures.new_figure(1, 1, width=10, height=1.9 + 0.32 * len(rows))
    panel = axes[0, 0]
    heights = np.arange(len(rows))[::-1]
    # Side by side within a row, so that equal figures do not hide each other.
    shifts = np.linspace(0.36, -0.36, len(methods)) if len(methods) > 1 else [0.0]
    for method, shift in zip(methods, shifts, strict=True):
        points = [
            (row["methods"][method]["g"], height + shift)
            for row, height in zip(rows.values(), heights, strict=True)
            if method in row["methods"]
        ]
        style = style_of(_PLACES.get(method, len(_PLACES)))
        panel.scatter(
            *np.transpose(points),
            color=style.colour,
            marker=style.marker,
            s=50 if method == OURS else 22,
            linewidths=0,
            zorder=4 if method == OURS else 3,
            label=method_words(method),
        )
    _label_rows(panel, [condition_words(name) for name in rows], heights)
    for height in heights[1::2]:
        panel.axhspan(height - 0.5, height + 0.5, color="#777777", alpha=0.07, lw=0)
    panel.set_xlabel(AXES["g"].replace("\n", " ") + "; 1 is perfect")
    figures.explain(figure, f"{_MEANS}; methods lie one below the other within a row")
    figure.legend(fontsize=8, ncols=3, loc="outside upper center")
    figures.save_figure(figure, folder, f"{part}-g")


def draw_differences(folder: Path, part: str, rows: Mapping[str, Any]) -> None:
    """Difference of G between our method and others, with intervals."""
    known = dict.fromkeys(p for row in rows.values() for p in row["paired"])
    peers = [p for p in ("nme-sc", "vbx", "ahc-oracle", "sms-paper") if p in known]
    if not peers:
        return
    height = 1.6 + 0.24 * len(rows)
    figure, axes = figures.new_figure(1, len(peers), width=11, height=height)
    heights = np.arange(len(rows))[::-1]
    for panel, peer in zip(axes.flat, peers, strict=True):
        for row, at in zip(rows.values(), heights, strict=True):
            if peer not in row["paired"]:
                continue
            found = row["paired"][peer]["g"]
            colour = _verdict(found["low"], found["high"])
            panel.plot([found["low"], found["high"]], [at, at], color=colour, lw=1.4)
            panel.plot([found["estimate"]], [at], "o", color=colour, ms=4)
        panel.axvline(0.0, color="#777777", lw=0.8)
        panel.set_title(f"{OURS} minus {method_words(peer)}", fontsize=9)
        panel.set_xlabel("difference of G", fontsize=_AXIS_SIZE)
        names = [condition_words(name) for name in rows]
        first = panel is axes.flat[0]
        _label_rows(panel, names if first else [""] * len(names), heights)
    figures.explain(
        figure,
        f"G: {AXES['g'].partition(', ')[2]}".replace("\n", " ")
        + "; right of zero ours is better\ndot: mean of the sessions; line: interval "
        "of 95 %; blue: ours better, orange: worse, grey: not told apart",
    )
    figures.save_figure(figure, folder, f"{part}-differences")


def draw_speakers(folder: Path, name: str, rows: Mapping[str, Any]) -> None:
    """K against the number of speakers: a panel for each source and law of talk."""
    _draw_grid(folder, name, rows, "k")


def draw_found(folder: Path, name: str, rows: Mapping[str, Any]) -> None:
    """The number of speakers found against the true one, which is a line."""
    _draw_grid(folder, f"{name}-number", rows, "found")


def _draw_grid(folder: Path, name: str, every: Mapping[str, Any], measure: str) -> None:
    rows = {key: row for key, row in every.items() if row["law"] in TALK_WORDS}
    rows = {key: row for key, row in rows.items() if "isotropic" not in row["source"]}
    sources = list(dict.fromkeys(row["source"] for row in rows.values()))
    laws = list(dict.fromkeys(row["law"] for row in rows.values()))
    if not rows:
        return
    figure, axes = figures.new_figure(
        len(sources), len(laws), width=4.2 * len(laws), height=1.4 + 2.5 * len(sources)
    )
    for source, line in zip(sources, axes, strict=True):
        for law, panel in zip(laws, line, strict=True):
            own = [
                (row["speakers"], row["methods"])
                for row in rows.values()
                if (row["source"], row["law"]) == (source, law)
            ]
            truth = sorted({x for x, _ in own})
            if measure == "found" and own:
                figures.draw_truth(panel, truth, truth, "true number of speakers")
            _draw_lines(panel, own, measure)
            if measure == "found" and own:
                panel.set_yscale("log")
                panel.set_yticks(truth, [f"{x:g}" for x in truth])
                panel.set_yticks([], minor=True)
            else:
                panel.set_ylim(0.0, 1.03)
            words = f"{source_words(source)};\n{TALK_WORDS[law]}"
            panel.set_title(words, fontsize=9)
    for panel in axes[-1]:
        panel.set_xlabel("true number of speakers", fontsize=_AXIS_SIZE)
    for panel in axes[:, 0]:
        panel.set_ylabel(AXES[measure], fontsize=_AXIS_SIZE)
    _legend(figure, axes)
    figures.explain(figure, _MEANS)
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
    width = max(3.0 * n_panels, 6.0)
    figure, axes = figures.new_figure(1, n_panels, width=width, height=4.0)
    panels = list(axes.flat)
    if cuts:
        panel = panels.pop(0)
        _draw_lines(panel, cuts, "right")
        panel.set_title("cuts of conversations", fontsize=9)
        panel.set_xlabel("seconds of the cut", fontsize=_AXIS_SIZE)
        words = AXES["right"].replace("segments", "windows")
        panel.set_ylabel(words, fontsize=_AXIS_SIZE)
    for (speakers, own), panel in zip(spliced.items(), panels, strict=True):
        panel.axhline(speakers, label="true number of speakers", **TRUE_NUMBER)
        _draw_lines(panel, own, "found")
        panel.set_yscale("log", base=2)
        panel.yaxis.set_major_formatter("{x:g}")
        noun = "speaker" if speakers == 1 else "speakers"
        panel.set_title(f"spliced speech of {speakers} {noun}", fontsize=9)
        panel.set_xlabel("minutes of speech", fontsize=_AXIS_SIZE)
        panel.set_ylabel(AXES["found"], fontsize=_AXIS_SIZE)
    _legend(figure, axes)
    figures.explain(figure, _MEANS)
    figures.save_figure(figure, folder, "lengths")


def draw_reliability(folder: Path, name: str, told: Mapping[str, Any]) -> None:
    """Reliability diagram of labels and of the number of speakers."""
    figure, axes = figures.new_figure(1, 2, width=10, height=6.2)
    titles = {
        "labels": ("labels of segments", "share of labels that are right"),
        "number": (
            "number of speakers",
            "share of sessions whose number is right",
        ),
    }
    for (what, (title, right)), panel in zip(titles.items(), axes.flat, strict=True):
        panel.plot([0, 1], [0, 1], label="said is what is right", **TRUE_NUMBER)
        curves = [
            (f"{method_words(method)}; {PART_WORDS.get(part, part)}", one[what])
            for part, methods in told.items()
            for method, one in methods.items()
            if what in one
        ]
        for place, (line, found) in enumerate(curves):
            curve = found["curve"]
            style = style_of(place)
            panel.plot(
                curve["said"],
                curve["right"],
                color=style.colour,
                ls=style.dashes,
                lw=1.2,
            )
            panel.scatter(
                curve["said"],
                curve["right"],
                s=[10 + 120 * share for share in curve["share"]],
                color=style.colour,
                marker=style.marker,
                linewidths=0,
                alpha=0.85,
                label=f"{line}: error {found['error']:.3f}",
            )
        panel.set_title(title, fontsize=10)
        panel.set(xlabel="confidence that was said", ylabel=right)
        panel.set(xlim=(0, 1.02), ylim=(0, 1.02))
        panel.grid(visible=True, alpha=0.25)
        panel.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    figures.explain(
        figure,
        "the larger a mark, the more was said with this confidence; error: expected "
        "calibration error (ECE), the mean distance to the dashed line",
    )
    figures.save_figure(figure, folder, name)


def _methods(found: Iterable[Mapping[str, Any]]) -> list[str]:
    """All methods there are, in an order that is always the same."""
    known = dict.fromkeys(method for methods in found for method in methods)
    return sorted(known, key=lambda method: _PLACES.get(method, len(_PLACES)))


def _draw_lines(
    panel: Any, points: Sequence[tuple[float, Mapping[str, Any]]], measure: str
) -> None:
    """A line for each method over a logarithmic axis."""
    methods = _methods(found for _, found in points)
    for place, method in enumerate(methods):
        own = sorted((x, f[method][measure]) for x, f in points if method in f)
        figures.draw_line(
            panel,
            [x for x, _ in own],
            [y for _, y in own],
            place=place,
            of=len(methods),
            label=method_words(method),
            style=style_of(_PLACES.get(method, len(_PLACES))),
        )
    if points:
        ticks = sorted({x for x, _ in points})
        panel.set_xscale("log")
        panel.set_xticks(ticks, [f"{x:g}" for x in ticks])
        panel.set_xticks([], minor=True)
    panel.tick_params(labelsize=8)
    panel.grid(visible=True, alpha=0.25)


def _legend(figure: Any, axes: Any) -> None:
    """Draw one legend for all panels."""
    known: dict[str, Any] = {}
    for panel in axes.flat:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    if known:
        figure.legend(
            list(known.values()),
            list(known),
            fontsize=8,
            ncols=3,
            loc="outside upper center",
        )


def _verdict(low: float, high: float) -> str:
    """Colour of an interval: above zero, below it, or around it."""
    if low > 0.0:
        return COLOURS[0]
    return COLOURS[1] if high < 0.0 else "#888888"


def _label_rows(panel: Any, names: Sequence[str], heights: Any) -> None:
    panel.set_yticks(heights, names)
    panel.tick_params(labelsize=8)
    panel.set_ylim(-0.6, len(heights) - 0.4)
    panel.grid(visible=True, axis="x", alpha=0.25)
