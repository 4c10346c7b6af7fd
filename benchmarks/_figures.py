"""Log-log plots of time against points, growth exponents in the legend."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks._records import Measurement
from benchmarks._targets import FIT_FROM, Figures
from recipes._common.figures import explain, new_figure, style_of, width_of
from sms_diar._files import replacing

PANELS = {
    "gaussians-ours": (
        "Ours: as users get it, and the plain loop",
        ("SMS auto", "SMS plain", "MS auto", "MS plain", "BMS auto", "BMS plain"),
    ),
    "gaussians-peers": (
        "Beside others",
        (
            "SMS auto",
            "binned SMS",
            "sklearn",
            "sklearn, bins",
            "mlpack",
            "hdbscan",
            "fast_hdbscan",
            "MeanShift++",
            "GridShift",
        ),
    ),
}
"""Files, their titles, and who is drawn in them."""


def draw_growth(found: Sequence[Measurement], folder: Path) -> list[Path]:
    """Draw all panels that have something to show.

    Parameters
    ----------
    found : sequence of Measurement
        Results of the suite of Gaussian clusters.
    folder : Path
        Output folder; created if necessary.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = Figures(found)
    paths = []
    for name, (title, rivals) in PANELS.items():
        shown = [rival for rival in rivals if any(m.cpu for m in figures.of(rival))]
        if not shown:
            continue
        paths.append(folder / f"{name}.png")
        _draw(figures, shown, title, paths[-1])
    return paths


def _draw(figures: Figures, rivals: Sequence[str], title: str, path: Path) -> None:
    figure, grid = new_figure(1, 1, width=7.4, height=5.2)
    axes = grid[0, 0]
    for place, rival in enumerate(rivals):
        known = [m for m in figures.of(rival) if m.median is not None]
        run = [m for m in known if m.status == "measured"]
        guessed = [m for m in known if m.status == "extrapolated"]
        style = style_of(place)
        colour = style.colour
        axes.plot(
            [m.n for m in known],
            [m.median for m in known],
            color=colour,
            lw=width_of(place, len(rivals)),
            ls="--" if rival.endswith("plain") else style.dashes,
            marker=style.marker,
            ms=4.5,
            label=_label(figures, rival),
            zorder=3 if rival == "SMS auto" else 2,
        )
        axes.fill_between(
            [m.n for m in run],
            [min(m.cpu) for m in run],
            [max(m.cpu) for m in run],
            color=colour,
            alpha=0.15,
            lw=0,
        )
        axes.plot(
            [m.n for m in guessed],
            [m.median for m in guessed],
            ls="",
            marker="o",
            ms=10,
            mfc="none",
            mec=colour,
        )
    if any(m.status == "extrapolated" for name in rivals for m in figures.of(name)):
        axes.plot(
            [],
            [],
            ls="",
            marker="o",
            ms=10,
            mfc="none",
            mec="#555555",
            label="circled: extrapolated",
        )
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("points")
    axes.set_ylabel("processor seconds, one thread")
    axes.set_title(f"{title}: three Gaussian clusters, h = 1", fontsize=10)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(
        fontsize=8, title=f"n^exponent, fitted from n = {FIT_FROM:,}", title_fontsize=8
    )
    explain(figure, "line: median of the runs; band: from the fastest to the slowest")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130)


def _label(figures: Figures, rival: str) -> str:
    exponent = figures.exponent(rival)
    return rival if exponent is None else f"{rival}: n^{exponent:.2f}"
