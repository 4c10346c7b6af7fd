"""Turns and regions as md-eval gets them from a tool that calls it.

dscore writes its turns and regions to files of few decimals for md-eval, which
then reads them by its own rules: times are rounded, ids in the UEM lose a part,
and recordings whose region is lost that way get the extent of their reference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sms_diar.metrics.diarization.scored_regions import extents, first_part_removed
from sms_diar.metrics.diarization.sweep import Regions, Turns, merge_turns
from sms_diar.timeline.ticks import DECIMALS, seconds_array, seconds_of
from sms_diar.types import IntArray


def handed_turns(
    turns: Turns, raw: Turns, unit_of: IntArray, zeros: IntArray, decimals: int
) -> Turns:
    """Round onsets and durations.

    Parameters
    ----------
    turns : Turns
        On the axis, trimmed and merged.
    raw : Turns
        The same before.
    unit_of : ndarray
        Unit of each speaker.
    zeros : ndarray
        Where the time zero of each unit lies.
    decimals : int
        Decimals of a second that are kept.
    """
    zero = zeros[unit_of[turns.speaker]]
    onset = _rounded(turns.start - zero, decimals)
    duration = turns.end - turns.start
    step = 10 ** (DECIMALS - decimals)
    odd = np.flatnonzero(duration % step).tolist()
    # dscore adds onset and duration in floats, and subtracts them again when it
    # writes: which way a half is rounded depends on it.
    ends = _float_ends(raw, zeros[unit_of[raw.speaker]]) if odd else {}
    for place in odd:
        start = seconds_of(int(turns.start[place] - zero[place]))
        key = (int(turns.speaker[place]), int(turns.end[place]))
        cut = seconds_of(int(turns.end[place] - zero[place]))
        seconds = round(ends.get(key, cut) - start, decimals)
        duration[place] = round(seconds * 10**decimals) * step
    return Turns(turns.speaker, onset + zero, onset + zero + duration)


def _float_ends(turns: Turns, zero: IntArray) -> dict[tuple[int, int], float]:
    """Onset plus duration in floats, by speaker and exact end."""
    ends = seconds_array(turns.start - zero) + seconds_array(turns.end - turns.start)
    keys = zip(turns.speaker.tolist(), turns.end.tolist(), strict=True)
    return dict(zip(keys, ends.tolist(), strict=True))


def _rounded(ticks: IntArray, decimals: int) -> IntArray:
    """Round as floats are: 0.0005 is a little more or less than it says."""
    step = 10 ** (DECIMALS - decimals)
    rounded = ticks.copy()
    for place in np.flatnonzero(ticks % step):
        seconds = round(seconds_of(int(ticks[place])), decimals)
        rounded[place] = round(seconds * 10**decimals) * step
    return rounded


def handed_regions(
    regions: Regions, names: Sequence[str], zeros: IntArray, decimals: int
) -> Regions:
    """Round regions, and give them to the units that md-eval finds for them.

    It removes the first ``.part`` of their ids, and so may give them to another
    recording, or to none.
    """
    index = {name: place for place, name in enumerate(names)}
    owner = np.array(
        [index.get(first_part_removed(name), -1) for name in names], dtype=np.int64
    )
    zero = zeros[regions.unit]
    start = _rounded(regions.start - zero, decimals)
    end = _rounded(regions.end - zero, decimals)
    unit = owner[regions.unit]
    keep = (unit >= 0) & (end > start)
    unit, start, end = unit[keep], start[keep], end[keep]
    # Joined where two recordings now share them: turns of a speaker called unit.
    joined = merge_turns(
        Turns(unit, start + zeros[unit], end + zeros[unit]), touching=True
    )
    return Regions(*joined)


def completed_regions(
    regions: Regions, turns: Turns, unit_of: IntArray, n_units: int
) -> Regions:
    """Add the extent of the reference where a unit has no region."""
    low, high = extents([(unit_of[turns.speaker], turns.start, turns.end)], n_units)
    high[regions.unit] = -1
    lacking = np.flatnonzero(high > low)
    table = np.stack(
        [
            np.concatenate([regions.unit, lacking]),
            np.concatenate([regions.start, low[lacking]]),
            np.concatenate([regions.end, high[lacking]]),
        ]
    )
    table = table[:, np.argsort(table[1], kind="stable")]
    return Regions(table[0], table[1], table[2])
