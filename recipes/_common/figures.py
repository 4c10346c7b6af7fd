"""Figures of experiments, drawn with matplotlib, which is imported only when drawing.

Colour-blind readers can distinguish seven colours, so the eighth line has the first
colour again with another marker and other dashes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.optimize import linear_sum_assignment

from sms_diar._files import replacing
from sms_diar.errors import MissingExtraError
from sms_diar.report.figures import COLOURS, MARKERS, NEEDS_MATPLOTLIB
from sms_diar.types import AnyArray, FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))

AXES = {
    "acp": "ACP, average cluster purity",
    "alp": "ALP, average label purity",
    "asp": "ASP, average speaker purity",
    "k": "K, geometric mean of\ncluster and speaker purity",
    "g": "G, geometric mean of the shares\nof segments in majorities",
    "n_clusters": "ANDS, average number\nof detected speakers",
    "found": "number of speakers found",
    "right": "share of segments\nwith the right speaker",
    "seconds": "CPU seconds",
}
"""Axis label of each metric."""

BANDS = "line: median of the repetitions; band: from 5 % to 95 % of them"
"""Caption of `draw_bands`."""

TRUE_NUMBER: dict[str, Any] = {
    "color": "#111111",
    "ls": (0, (4, 3)),
    "lw": 1.2,
    "zorder": 5,
}
"""Line style of the true number of speakers in all figures."""


@dataclass(frozen=True)
class Style:
    """Style of a line or a cluster: a colour, and a marker and dashes of matplotlib."""

    colour: str
    marker: str
    dashes: Any


N_STYLES = len(COLOURS) * len(_DASHES)
"""Number of different styles."""


def style_of(place: int) -> Style:
    """Style of the line with the given index; `N_STYLES` of them differ.

    >>> style_of(0).colour == style_of(7).colour
    True
    >>> style_of(0).marker, style_of(7).marker
    ('o', 's')
    """
    around = place // len(COLOURS)
    return Style(
        COLOURS[place % len(COLOURS)],
        MARKERS[(place + around) % len(MARKERS)],
        _DASHES[around % len(_DASHES)],
    )


def width_of(place: int, n_lines: int) -> float:
    """Width of a line; first lines are wide and at the back, so all stay visible.

    >>> [width_of(place, 3) for place in range(3)]
    [3.0, 2.0, 1.0]
    """
    return round(3.0 - 2.0 * place / max(n_lines - 1, 1), 3)


def match_labels(labels: AnyArray, truth: AnyArray) -> IntArray:
    """Number clusters like the true speakers that they match best.

    Pairs maximize the number of points with the number of their speaker. Clusters
    without a partner get numbers that no speaker has.

    >>> match_labels([5, 5, 2, 2, 9], [0, 0, 1, 1, 1])
    array([0, 0, 1, 1, 2])
    """
    clusters, inverse = np.unique(labels, return_inverse=True)
    speakers, true_inverse = np.unique(truth, return_inverse=True)
    # shape: (n_clusters, n_speakers)
    counts = np.zeros((len(clusters), len(speakers)), dtype=np.int64)
    np.add.at(counts, (inverse, true_inverse), 1)
    numbers = np.full(len(clusters), -1, dtype=np.int64)
    for cluster, speaker in zip(*linear_sum_assignment(-counts), strict=True):
        if counts[cluster, speaker]:
            numbers[cluster] = speaker
    alone = numbers < 0
    numbers[alone] = len(speakers) + np.arange(np.count_nonzero(alone))
    matched: IntArray = numbers[inverse]
    return matched


def new_figure(n_rows: int, n_columns: int, *, width: float, height: float) -> Any:
    """Make a figure and its axes without a window, independent of the environment."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(NEEDS_MATPLOTLIB) from error
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
