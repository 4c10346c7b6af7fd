"""Units laid out one after the other on a common axis of time.

A whole corpus is then swept at once. An axis is as long as whole numbers allow;
corpora that need more get several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sms_diar.metrics.diarization.conventions import Convention, Settings
from sms_diar.metrics.diarization.handover import (
    completed_regions,
    handed_regions,
    handed_turns,
)
from sms_diar.metrics.diarization.sweep import (
    Regions,
    Turns,
    merge_turns,
    trim_turns,
)
from sms_diar.metrics.diarization.units import UnitTurns
from sms_diar.timeline.ticks import TICKS_PER_SECOND, distinct
from sms_diar.types import BoolArray, FloatArray, IntArray

_ROOM = 2**61
"""Ticks on one axis."""


@dataclass(frozen=True, eq=False)
class Speakers:
    """Speakers of one side, numbered unit by unit.

    Parameters
    ----------
    unit : ndarray of shape (n,)
        Unit of each speaker, rising.
    names : tuple of str
        Names.
    count : ndarray of shape (n_units,)
        Speakers of each unit.
    """

    unit: IntArray
    names: tuple[str, ...]
    count: IntArray


@dataclass(frozen=True, eq=False)
class Axis:
    """Everything a sweep needs, for the units that share an axis.

    Parameters
    ----------
    units : tuple of str
        Recording of each unit.
    bases : ndarray of shape (n_units,)
        Where each unit begins on the axis.
    zeros : ndarray of shape (n_units,)
        Where its time zero lies.
    reference, hypothesis : Turns
        By the rules of the convention, perhaps with turns without length.
    reference_speakers, hypothesis_speakers : Speakers
        Whose turns they are.
    regions : Regions
        What is scored.
    fixed_rate : ndarray of shape (n_units,)
        DER that the convention gives a unit without computing it, else NaN.
    raw_reference, raw_hypothesis, raw_regions
        The same before trimming, merging and rounding, for measures on frames.
    """

    units: tuple[str, ...]
    bases: IntArray
    zeros: IntArray
    reference: Turns
    hypothesis: Turns
    reference_speakers: Speakers
    hypothesis_speakers: Speakers
    regions: Regions
    fixed_rate: FloatArray
    raw_reference: Turns
    raw_hypothesis: Turns
    raw_regions: Regions


@dataclass(frozen=True, eq=False)
class _Batch:
    """Consecutive units, numbered from 0, in the times of their recordings."""

    names: tuple[str, ...]
    spans: IntArray
    reference: UnitTurns
    hypothesis: UnitTurns
    regions: Regions


def lay_out(
    names: tuple[str, ...],
    reference: UnitTurns,
    hypothesis: UnitTurns,
    regions: Regions,
    settings: Settings,
) -> list[Axis]:
    """Lay out units by the rules of a convention.

    Parameters
    ----------
    names : tuple of str
        Recording of each unit.
    reference, hypothesis : UnitTurns
        Turns that the convention knows.
    regions : Regions
        What is scored, in the times of the recordings.
    settings : Settings
        Convention and collar.

    Returns
    -------
    axes : list of Axis
        Usually one.
    """
    high = np.zeros(len(names), dtype=np.int64)
    for side in (reference, hypothesis, regions):
        np.maximum.at(high, side.unit, side.end)
    # A second of air takes up what rounding may add.
    spans: IntArray = high + 2 * settings.collar + 2 * TICKS_PER_SECOND
    axes = []
    for first, stop in _ranges(spans):
        batch = _Batch(
            names[first:stop],
            spans[first:stop],
            _turns_between(reference, first, stop),
            _turns_between(hypothesis, first, stop),
            _regions_between(regions, first, stop),
        )
        axes.append(_axis(batch, settings))
    return axes


def _ranges(spans: IntArray) -> Iterator[tuple[int, int]]:
    """Ranges of units whose spans fit on one axis."""
    first, filled = 0, 0
    for place, span in enumerate(spans.tolist()):
        if filled and filled + span > _ROOM:
            yield first, place
            first, filled = place, 0
        filled += span
    if len(spans):
        yield first, len(spans)


def _turns_between(turns: UnitTurns, first: int, stop: int) -> UnitTurns:
    some = turns.select((turns.unit >= first) & (turns.unit < stop))
    return UnitTurns(some.unit - first, some.speaker, some.start, some.end, some.names)


def _regions_between(regions: Regions, first: int, stop: int) -> Regions:
    keep = (regions.unit >= first) & (regions.unit < stop)
    return Regions(regions.unit[keep] - first, regions.start[keep], regions.end[keep])


def _axis(batch: _Batch, settings: Settings) -> Axis:
    """Lay the units of a batch out one after the other."""
    convention, n_units = settings.convention, len(batch.spans)
    bases = np.cumsum(batch.spans) - batch.spans
    zeros = bases + settings.collar + TICKS_PER_SECOND
    unit, start, end = batch.regions
    raw_regions = Regions(unit, start + zeros[unit], end + zeros[unit])
    raw_ref, ref_speakers = _placed(batch.reference, zeros)
    raw_hyp, hyp_speakers = _placed(batch.hypothesis, zeros)
    ref = _trimmed_and_merged(raw_ref, raw_regions, convention)
    hyp = _trimmed_and_merged(raw_hyp, raw_regions, convention)
    regions = raw_regions
    fixed_rate = np.full(n_units, np.nan)
    if convention.hypothesis_only == "rate only":
        has_ref = _occupied(ref, ref_speakers, n_units)
        has_hyp = _occupied(hyp, hyp_speakers, n_units)
        fixed_rate[~has_ref] = has_hyp[~has_ref]
    if convention.decimals is not None:
        decimals = convention.decimals
        ref = handed_turns(ref, raw_ref, ref_speakers.unit, zeros, decimals)
        hyp = handed_turns(hyp, raw_hyp, hyp_speakers.unit, zeros, decimals)
        regions = handed_regions(regions, batch.names, zeros, decimals)
        regions = completed_regions(regions, ref, ref_speakers.unit, n_units)
        keep = np.isnan(fixed_rate[regions.unit])
        regions = Regions(*(column[keep] for column in regions))
    return Axis(
        batch.names,
        bases,
        zeros,
        ref,
        hyp,
        ref_speakers,
        hyp_speakers,
        regions,
        fixed_rate,
        raw_ref,
        raw_hyp,
        raw_regions,
    )


def _placed(turns: UnitTurns, zeros: IntArray) -> tuple[Turns, Speakers]:
    """Turns on the axis, and their speakers numbered unit by unit."""
    n_names = max(len(turns.names), 1)
    codes, speaker = distinct(turns.unit * n_names + turns.speaker)
    of_unit = codes // n_names
    count = np.bincount(of_unit, minlength=len(zeros))
    speakers = Speakers(
        of_unit,
        tuple(turns.names[place] for place in (codes % n_names).tolist()),
        count,
    )
    zero = zeros[turns.unit]
    return Turns(speaker, turns.start + zero, turns.end + zero), speakers


def _trimmed_and_merged(
    turns: Turns, regions: Regions, convention: Convention
) -> Turns:
    if convention.trims:
        turns = trim_turns(turns, regions)
    if convention.merging != "none":
        turns = merge_turns(turns, touching=convention.merging == "touching")
    return turns


def _occupied(turns: Turns, speakers: Speakers, n_units: int) -> BoolArray:
    """Units that have a turn."""
    found = np.zeros(n_units, dtype=np.bool_)
    found[speakers.unit[turns.speaker]] = True
    return found
