"""Drawing with matplotlib, which is optional: turns, DET curves, colours of figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sms_diar._files import replacing
from sms_diar.errors import MissingExtraError
from sms_diar.metrics.verification import DetCurve
from sms_diar.types import Turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOUBTFUL = 0.7
"""Confidence below which a turn is drawn as uncertain."""

MIN_LONGEST = 1.0
"""Duration in seconds of the longest turn of a speaker without a mark. Of 115
recordings, 2 of 10 with an extra speaker have such a mark, and 2 of 75 right ones."""

NEEDS_MATPLOTLIB = (
    "drawing needs matplotlib: pip install 'sms-diar[plot]', or do without figures "
    "(figures=false in the settings)"
)

_RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)  # ticks of DET curves
_FINEST = 500  # points per unit of a probit axis, finer than a line is wide

# Colours of Okabe and Ito, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def check_drawing() -> None:
    """Check that matplotlib is installed, without importing it."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError(NEEDS_MATPLOTLIB)


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


def write_det(path: Path, curves: Mapping[str, DetCurve]) -> None:
    """Draw DET curves to a file, see `draw_det`."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra

    figure = Figure(figsize=(6.0, 6.0), layout="constrained")
    draw_det(figure.subplots(), curves)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=130)


def draw_det(axes: Axes, curves: Mapping[str, DetCurve]) -> None:
    """Draw DET curves by name on probit axes, with markers at equal error rates.

    The axes begin at 0.1 %, or at the smallest equal error rate if it is below 0.4 %.
    """
    from scipy.special import ndtri  # noqa: PLC0415 - only needed here

    smallest = min((curve.eer for curve in curves.values()), default=0.1)
    low = ndtri(min(0.001, max(smallest / 4.0, 1e-6)))
    for number, (name, curve) in enumerate(curves.items()):
        # Rates of 0 and 1 are at infinity.
        points = ndtri(np.clip([curve.false_alarm, curve.miss], 1e-9, 1.0 - 1e-9))
        steps = np.round(points * _FINEST)
        changes = np.any(np.diff(steps, axis=1, prepend=np.nan), axis=0)
        colour = COLOURS[number % len(COLOURS)]
        label = f"{name.replace('$', chr(92) + '$')} (EER {100.0 * curve.eer:.2f} %)"
        axes.plot(*points[:, changes], color=colour, lw=1.5, label=label)
        if 0.0 < curve.eer < 1.0:
            middle = ndtri(curve.eer)
            marker = MARKERS[number % len(MARKERS)]
            axes.plot([middle], [middle], marker, color=colour, ms=5)
    ticks = [rate for rate in (1e-5, 1e-4, *_RATES) if ndtri(rate) >= low]
    labels = [f"{100.0 * rate:g}" for rate in ticks]
    axes.plot([low, 0.0], [low, 0.0], color="#aaaaaa", lw=0.8, ls=":", zorder=0)
    axes.set_xticks(ndtri(ticks), labels)
    axes.set_yticks(ndtri(ticks), labels)
    axes.set(xlim=(low, 0.0), ylim=(low, 0.0), aspect="equal")
    axes.set(xlabel="false alarms (%)", ylabel="misses (%)")
    axes.grid(visible=True, alpha=0.25)
    axes.legend(fontsize=8, frameon=False, loc="upper right")
