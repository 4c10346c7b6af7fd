"""How much new speech a row holds, where windows overlap.

Windows of 1.44 s every 0.24 s hold all speech six times: as evidence, each is a
sixth of an observation. With times that is plain arithmetic. Without, the rows
themselves show it, if they are in order: the squared difference of rows l steps
apart grows in proportion to l until windows no longer overlap, and then stays. Rows
that do not overlap differ as much one step apart as two. The lower quartile of the
differences is taken, which is about rows of one speaker: where the speaker changes,
rows jump, and more often the further apart they are, which is no overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sms_diar.types import FloatArray, Segment

_MOST_STEPS = 50  # that windows may overlap for


def row_weight_of(segments: Sequence[Segment]) -> float:
    """Time covered, as a share of the summed lengths of segments.

    Examples
    --------
    >>> windows = [Segment("a", 0.5 * i, 0.5 * i + 1.0) for i in range(99)]
    >>> round(row_weight_of(windows), 3)  # 50 seconds, heard in 99
    0.505
    """
    covered, summed = 0.0, 0.0
    recording, end = None, 0.0
    for segment in sorted(segments):
        if segment.recording != recording:
            recording, end = segment.recording, 0.0
        covered += max(0.0, segment.end - max(segment.start, end))
        end = max(end, segment.end)
        summed += segment.duration
    return covered / summed if summed > 0.0 else 1.0


def estimate_row_weight(rows: FloatArray) -> float:
    """Share of an observation that each of ordered rows is.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Vectors in order of time, in a space where all directions matter alike.

    Returns
    -------
    weight : float
        1 / l if windows overlap for l steps, 1 if they do not or if there are too
        few rows to tell.
    """
    longest = min(_MOST_STEPS, len(rows) // 4)
    if longest < 3:
        return 1.0
    gaps = np.array(
        [
            np.quantile(np.sum((rows[lag:] - rows[:-lag]) ** 2, axis=1), 0.25)
            for lag in range(1, longest + 1)
        ]
    )
    # Drawn back to no step at all, overlapping rows do not differ; others do.
    if gaps[0] <= 0.0 or 2.0 * gaps[0] - gaps[1] > 0.5 * gaps[0]:
        return 1.0
    grows = np.diff(gaps) >= 0.5 * gaps[0]
    steps = longest if grows.all() else int(np.argmin(grows)) + 1
    return 1.0 / steps
