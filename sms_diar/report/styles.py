"""Colours, markers, line styles and axis labels of figures.

Colour-blind readers can distinguish seven colours, so the eighth line has the first
colour again with another marker and other dashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from sms_diar.types import AnyArray, IntArray

# Colours of Okabe and Ito, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
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
    """Style of a line or a cluster.

    Parameters
    ----------
    colour : str
        Hexadecimal colour.
    marker : str
        Marker of matplotlib.
    dashes : object
        Line style of matplotlib.
    """

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
