"""Figures drawn with matplotlib, which is optional and is imported only here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sms_diar._files import replacing
from sms_diar.errors import MissingExtraError
from sms_diar.report.page_data import DOUBTFUL
from sms_diar.report.styles import (
    BANDS,
    COLOURS,
    MARKERS,
    TRUE_NUMBER,
    Style,
    style_of,
    width_of,
)
from sms_diar.types import FloatArray, IntArray, Turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "MARKERS",
    "check_drawing",
    "draw_bands",
    "draw_det",
    "draw_guide",
    "draw_line",
    "draw_modes",
    "draw_paths",
    "draw_points",
    "draw_truth",
    "draw_turns",
    "explain",
    "new_figure",
    "save_figure",
]

_MISSING = (
    "drawing needs matplotlib: pip install 'sms-diar[plot]', or do without figures "
    "(figures=false in the settings)"
)


def check_drawing() -> None:
    """Check that matplotlib is installed, without importing it."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError(_MISSING)


def new_figure(n_rows: int, n_columns: int, *, width: float, height: float) -> Any:
    """Make a figure and its axes without a window, independent of the environment."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(_MISSING) from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(n_rows, n_columns, squeeze=False)
    return figure, axes


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and PDF; files are complete or not written at all."""
    paths = [folder / f"{name}.png", folder / f"{name}.pdf"]
    for path in paths:
        with replacing(path) as temporary:
            # Omit the date, so that the same data give the same bytes.
            metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
            figure.savefig(temporary, dpi=150, metadata=metadata)
    return paths


def explain(figure: Figure, words: str) -> None:
    """Explain bands, sizes or lines in a caption below the figure."""
    figure.supxlabel(words, fontsize=8, color="#444444")


def draw_line(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    *,
    place: int,
    of: int,
    label: str,
    style: Style | None = None,
) -> None:
    """Draw line number `place` of `of` lines, so that coinciding lines stay visible.

    By default the style is chosen by the number of the line.
    """
    style = style or style_of(place)
    width = width_of(place, of)
    axes.plot(
        x,
        y,
        color=style.colour,
        marker=style.marker,
        ls=style.dashes,
        lw=width,
        ms=3.0 + 1.6 * width,
        mec="white",
        mew=0.5,
        label=label,
        zorder=2 + place / max(of, 1),
    )


def draw_truth(
    axes: Axes, x: Sequence[float], y: Sequence[float], label: str = "true number"
) -> None:
    """Draw the true number of speakers for comparison."""
    axes.plot(x, y, label=label, **TRUE_NUMBER)


def draw_points(axes: Axes, X: FloatArray, labels: IntArray | None, title: str) -> None:
    """Scatter points, in grey or in the styles of their labels.

    With labels of `styles.match_labels`, a cluster has the style of its true speaker.
    """
    axes.set_title(title, fontsize=10)
    axes.set_aspect("equal")
    if labels is None:
        axes.scatter(X[:, 0], X[:, 1], s=5, c="#555555", linewidths=0)
        return
    for label in np.unique(labels):
        style = style_of(int(label))
        members = X[labels == label]
        axes.scatter(
            members[:, 0],
            members[:, 1],
            s=9
            if len(members) > 0.02 * len(X)
            else 40,  # small clusters must be visible
            c=style.colour,
            marker=style.marker,
            linewidths=0,
            alpha=0.8,
        )


def draw_paths(axes: Axes, states: FloatArray, title: str) -> None:
    """Draw the path of each point, from grey dots to black crosses."""
    axes.set_title(title, fontsize=10)
    axes.set_aspect("equal")
    for point in range(states.shape[1]):
        axes.plot(*states[:, point].T, color="#0072B2", lw=0.4, alpha=0.5)
    axes.scatter(
        states[0][:, 0], states[0][:, 1], s=4, c="#999999", linewidths=0, zorder=3
    )
    axes.scatter(
        states[-1][:, 0],
        states[-1][:, 1],
        s=40,
        c="black",
        marker="x",
        lw=1.2,
        zorder=4,
    )


def draw_modes(
    axes: Axes, X: FloatArray, centers: FloatArray, sizes: IntArray, title: str
) -> None:
    """Draw the modes over the data, each with its number of points."""
    draw_points(axes, X, None, title)
    axes.scatter(
        centers[:, 0],
        centers[:, 1],
        s=90,
        c="#D55E00",
        marker="*",
        edgecolors="black",
        lw=0.6,
        zorder=4,
    )
    for (x, y), size in zip(centers, sizes, strict=True):
        axes.annotate(
            str(size),
            (x, y),
            xytext=(5, 5),
            textcoords="offset points",
            fontsize=8,
            zorder=5,
            bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"},
        )


def draw_bands(
    axes: Axes,
    x: Sequence[float],
    curves: Mapping[str, Sequence[Mapping[str, float]]],
) -> None:
    """Draw medians as lines and 5 % to 95 % quantiles as bands, with a caption."""
    for place, (name, points) in enumerate(curves.items()):
        low = [point["low"] for point in points]
        high = [point["high"] for point in points]
        axes.fill_between(
            x, low, high, color=style_of(place).colour, alpha=0.13, lw=0, zorder=1
        )
        median = [point["median"] for point in points]
        draw_line(axes, x, median, place=place, of=len(curves), label=name)
    explain(cast("Figure", axes.figure), BANDS)


def draw_turns(
    axes: Axes,
    title: str,
    turns: Sequence[Turn],
    confidence: Sequence[float | None] | None = None,
) -> None:
    """Draw turns, with a lane for each speaker; uncertain turns are hatched."""
    names = list(dict.fromkeys(turn.speaker for turn in turns))
    sure = confidence or (None,) * len(turns)
    doubts = [value is not None and value < DOUBTFUL for value in sure]
    for lane, name in enumerate(names):
        for in_doubt in (False, True):
            bars = [
                (turn.segment.start, turn.segment.duration)
                for turn, doubtful in zip(turns, doubts, strict=True)
                if turn.speaker == name and doubtful == in_doubt
            ]
            axes.broken_barh(
                bars,
                (lane - 0.38, 0.76),
                facecolors=COLOURS[lane % len(COLOURS)],
                alpha=0.4 if in_doubt else 1.0,
                hatch="///" if in_doubt else None,
            )
    axes.set_title(title.replace("$", r"\$"), fontsize=10, loc="left")
    axes.set_yticks(range(len(names)), [name.replace("$", r"\$") for name in names])
    axes.set(ylim=(len(names) - 0.5, -0.5), xlabel="seconds")
    axes.set_xlim(left=0.0)
    axes.grid(visible=True, axis="x", alpha=0.25)


def draw_det(axes: Axes, curves: Mapping[str, Any]) -> None:
    """Draw misses against false alarms on normal-deviate scales.

    `curves` maps names to objects with the arrays ``miss`` and ``false_alarm``.
    """
    from scipy.special import ndtri  # noqa: PLC0415

    ticks = [0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4]
    for style, (name, curve) in enumerate(curves.items()):
        inside = (curve.miss > 0) & (curve.miss < 1)
        inside &= (curve.false_alarm > 0) & (curve.false_alarm < 1)
        x, y = ndtri(curve.false_alarm[inside]), ndtri(curve.miss[inside])
        step = max(1, len(x) // 2000)  # more points are not visible
        axes.plot(
            x[::step],
            y[::step],
            color=style_of(style).colour,
            ls=style_of(style).dashes,
            lw=width_of(style, len(curves)) / 1.5,
            label=name,
        )
    marks = [float(ndtri(tick)) for tick in ticks]
    words = [f"{100 * tick:g}" for tick in ticks]
    axes.set_xticks(marks, words)
    axes.set_yticks(marks, words)
    axes.set(xlim=(marks[0], marks[-1]), ylim=(marks[0], marks[-1]))
    axes.plot(marks, marks, color="#999999", lw=0.8, ls=":", label="equal error rates")
    axes.set(
        xlabel="false alarms, % of pairs of different speakers",
        ylabel="misses, % of pairs of one speaker",
    )
    axes.grid(visible=True, alpha=0.25)
    axes.legend(fontsize=8)


def draw_guide(axes: Axes, x: Sequence[float], anchor: float, power: float) -> None:
    """Draw a power law in `x` through the last point."""
    last = x[-1]
    y = [anchor * (value / last) ** power for value in x]
    name = {1.0: "linear", 2.0: "quadratic"}.get(power, f"power {power:g}")
    axes.plot(
        x, y, color="#777777", ls="--" if power == 1.0 else ":", lw=1.0, label=name
    )
