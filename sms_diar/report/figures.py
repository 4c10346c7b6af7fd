"""Drawing of turns with matplotlib, which is optional, and colours of all figures."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sms_diar.errors import MissingExtraError
from sms_diar.types import Turn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOUBTFUL = 0.7
"""Confidence below which a turn is drawn as uncertain."""

NEEDS_MATPLOTLIB = (
    "drawing needs matplotlib: pip install 'sms-diar[plot]', or do without figures "
    "(figures=false in the settings)"
)

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
