"""Which stretches of the units are scored: the regions of a UEM, or extents."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np

from sms_diar.errors import DataFormatError
from sms_diar.metrics.diarization.conventions import Convention
from sms_diar.metrics.diarization.sweep import Regions
from sms_diar.metrics.diarization.units import Key, Units, UnitTurns
from sms_diar.timeline.regions import Uem
from sms_diar.types import IntArray, Problem

Given: TypeAlias = dict[Key, list[tuple[int, int]]]
"""Regions of a UEM by unit: start and end in ticks, sorted and apart."""

_FAR = 2**62
"""Later than any time."""


def given_regions(uem: Uem, convention: Convention) -> tuple[Given, list[Problem]]:
    """Regions of a UEM by unit, and what is remarkable about them."""
    found: dict[Key, list[tuple[int, int, int]]] = {}
    remarks: list[Problem] = []
    rows = zip(
        uem.recordings,
        uem.channels,
        uem.start.tolist(),
        uem.end.tolist(),
        uem.line.tolist(),
        strict=True,
    )
    for recording, channel, start, end, line in rows:
        name = _recording_of(recording, convention)
        key = (name, channel.lower() if convention.by_channel else "")
        found.setdefault(key, []).append((start, end, line))
        if name != recording:
            text = (
                f"the UEM id {recording!r} is taken for {name!r}, by convention "
                f"{convention.name}; rename it or use another convention"
            )
            remarks.append(
                Problem(text, uem.path, line, severity="warning", kind="dotted id")
            )
    given: Given = {}
    for key, regions in found.items():
        for line in _overlapping_lines(regions):
            text = f"regions of {key[0]!r} overlap"
            if convention.refuses_overlapping_uem:
                raise DataFormatError(
                    f"{text}, which md-eval refuses; join them",
                    path=uem.path,
                    line=line,
                )
            remarks.append(
                Problem(
                    text, uem.path, line, severity="warning", kind="overlapping regions"
                )
            )
        given[key] = _joined(regions)
    return given, remarks


def _overlapping_lines(regions: Iterable[tuple[int, int, int]]) -> list[int]:
    """Lines of regions that begin before an earlier one ends."""
    lines = []
    latest = -1
    for start, end, line in sorted(regions):
        if start < latest:
            lines.append(line)
        latest = max(latest, end)
    return lines


def _joined(regions: Iterable[tuple[int, int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end, _ in sorted(regions):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _recording_of(uem_id: str, convention: Convention) -> str:
    if convention.uem_id == "first part removed":
        return first_part_removed(uem_id)
    if convention.uem_id == "extension removed":
        return os.path.splitext(uem_id)[0]  # noqa: PTH122 - ids are not paths
    return uem_id


def first_part_removed(name: str) -> str:
    """Id that md-eval makes of an id in a UEM.

    Examples
    --------
    >>> first_part_removed("data/rec.a.wav")
    'rec.wav'
    """
    return re.sub(r"\.[^.]*", "", name.rpartition("/")[2], count=1)


def scored_regions(
    units: Units,
    given: Mapping[Key, list[tuple[int, int]]] | None,
    reference: UnitTurns,
    hypothesis: UnitTurns,
    convention: Convention,
) -> Regions:
    """What is scored, unit by unit, in the times of the recordings.

    Parameters
    ----------
    units : Units
        What is scored apart.
    given : mapping or None
        Regions of the UEM, where there is one. A unit that it lacks, or every unit
        without a UEM, is scored over its extent.
    reference, hypothesis : UnitTurns
        Turns that the convention knows.
    convention : Convention
        Says whose extent it is.
    """
    sides = [reference, hypothesis] if convention.extent == "joint" else [reference]
    if given is not None and convention.without_region == "reference":
        sides = [reference]
    low, high = extents(
        ((side.unit, side.start, side.end) for side in sides), len(units.keys)
    )
    rows: list[tuple[int, int, int]] = []
    for place, key in enumerate(units.keys):
        if given is not None and key in given:
            rows += [(place, start, end) for start, end in given[key]]
        elif high[place] > low[place]:
            rows.append((place, int(low[place]), int(high[place])))
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Regions(table[:, 0], table[:, 1], table[:, 2])


def extents(
    turns: Iterable[tuple[IntArray, IntArray, IntArray]], n_units: int
) -> tuple[IntArray, IntArray]:
    """First start and last end in each unit; the end comes first where there is none.

    Parameters
    ----------
    turns : iterable of (unit, start, end)
        Columns of turns.
    n_units : int
        Number of units.
    """
    low = np.full(n_units, _FAR, dtype=np.int64)
    high = np.full(n_units, -1, dtype=np.int64)
    for unit, start, end in turns:
        np.minimum.at(low, unit, start)
        np.maximum.at(high, unit, end)
    return low, high
