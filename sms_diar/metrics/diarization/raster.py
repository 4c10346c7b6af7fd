"""Turns as frames of 10 ms, the way dscore sees them for all but DER.

Frame k stands for the instant ``0.01 * k``, computed in floats, and belongs to a
turn when ``onset <= 0.01 * k < onset + duration``, in floats as well: with
boundaries on the grid, a rounding in the last bit decides about a frame. Hence
the same floats here.
"""

from __future__ import annotations

import numpy as np

from sms_diar.metrics.diarization.axis import Axis
from sms_diar.metrics.diarization.sweep import Regions, Turns
from sms_diar.timeline.ticks import seconds_array
from sms_diar.types import FloatArray, IntArray

STEP = 0.010


def framed(axis: Axis, *, has_uem: bool) -> tuple[IntArray, Turns, Turns, Regions]:
    """Bases, turns and regions in frames, units one after the other."""
    regions = axis.raw_regions
    zero = axis.zeros[regions.unit]
    region_start = seconds_array(regions.start - zero)
    region_end = seconds_array(regions.end - zero)
    sides = (
        (axis.raw_reference, axis.reference_speakers.unit),
        (axis.raw_hypothesis, axis.hypothesis_speakers.unit),
    )
    if not has_uem:  # the extent ends where a turn does, to the last bit
        latest = np.zeros(len(axis.bases))
        for turns, unit_of in sides:
            unit = unit_of[turns.speaker]
            np.maximum.at(latest, unit, _float_times(turns, axis.zeros[unit])[1])
        region_end = latest[regions.unit]
    n_frames = np.zeros(len(axis.bases), dtype=np.int64)
    np.maximum.at(n_frames, regions.unit, (region_end / STEP).astype(np.int64))
    bases = np.cumsum(n_frames + 1) - (n_frames + 1)
    times = STEP * np.arange(int(n_frames.max(initial=0)) + 1)

    def placed(unit: IntArray, seconds: FloatArray) -> IntArray:
        # Behind the last frame of a unit there is nothing to point at.
        frame = np.searchsorted(times, seconds, side="left")
        place: IntArray = np.minimum(frame, n_frames[unit]) + bases[unit]
        return place

    def turns_of(turns: Turns, unit_of: IntArray) -> Turns:
        unit = unit_of[turns.speaker]
        start, end = _float_times(turns, axis.zeros[unit])
        first, stop = placed(unit, start), placed(unit, end)
        keep = stop > first
        return Turns(turns.speaker[keep], first[keep], stop[keep])

    return (
        bases,
        turns_of(*sides[0]),
        turns_of(*sides[1]),
        Regions(
            regions.unit,
            placed(regions.unit, region_start),
            placed(regions.unit, region_end),
        ),
    )


def _float_times(turns: Turns, zero: IntArray) -> tuple[FloatArray, FloatArray]:
    """Onset, and onset plus duration, both added in floats."""
    start = seconds_array(turns.start - zero)
    return start, start + seconds_array(turns.end - turns.start)
