"""Units of scoring, and their regions that are scored, from a UEM or from extents.

Units are recordings, or channels of recordings: a convention that matches channels by
name scores each channel separately. Other conventions ignore channels.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sms_diar.errors import DataFormatError
from sms_diar.metrics.diarization.conventions import Convention
from sms_diar.metrics.diarization.sweep import EMPTY, Regions, Turns
from sms_diar.timeline.annotation import Annotation
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.ticks import distinct
from sms_diar.types import BoolArray, IntArray, Problem

Key: TypeAlias = tuple[str, str]
"""Recording and channel of a unit; the channel is "" if channels are ignored."""


@dataclass(frozen=True, eq=False)
class UnitTurns:
    """Turns of one side with their units, in ticks of the recordings.

    `speaker` indexes `names`; all arrays have shape (n_turns,).
    """

    unit: IntArray
    speaker: IntArray
    start: IntArray
    end: IntArray
    names: tuple[str, ...]

    def select(self, keep: BoolArray) -> UnitTurns:
        """Select turns by a mask."""
        return UnitTurns(
            self.unit[keep],
            self.speaker[keep],
            self.start[keep],
            self.end[keep],
            self.names,
        )


@dataclass(frozen=True)
class Units:
    """Units to score, and the units that occur on each side.

    `keys` are sorted. `in_reference` and `in_hypothesis` are the units of each side by
    their codes in its annotation, including units that are not scored. `by_channel` is
    True if each channel is a unit.
    """

    keys: tuple[Key, ...]
    in_reference: Mapping[int, Key]
    in_hypothesis: Mapping[int, Key]
    by_channel: bool

    @classmethod
    def of(
        cls,
        reference: Annotation,
        hypothesis: Annotation,
        given: Collection[Key] | None,
        convention: Convention,
    ) -> Units:
        """Find the units of two annotations; `given` are the units of a UEM."""
        by_channel = convention.by_channel
        in_ref = _keys_of(reference, by_channel=by_channel)
        in_hyp = _keys_of(hypothesis, by_channel=by_channel)
        if convention.without_region == "left out" and given is not None:
            chosen = set(given)
        elif convention.hypothesis_only == "left out":
            chosen = set(in_ref.values())
        else:
            chosen = {*in_ref.values(), *in_hyp.values()}
        return cls(tuple(sorted(chosen)), in_ref, in_hyp, by_channel)

    @property
    def names(self) -> tuple[str, ...]:
        """Recording of each unit."""
        return tuple(recording for recording, _ in self.keys)

    def reference_turns(self, reference: Annotation) -> UnitTurns:
        """Turns of the reference that belong to a unit."""
        return self._turns(reference, self.in_reference)

    def hypothesis_turns(self, hypothesis: Annotation) -> UnitTurns:
        """Turns of the hypothesis that belong to a unit."""
        return self._turns(hypothesis, self.in_hypothesis)

    def _turns(self, annotation: Annotation, key_of: Mapping[int, Key]) -> UnitTurns:
        index = {key: unit for unit, key in enumerate(self.keys)}
        codes, n_codes = _codes_of(annotation, by_channel=self.by_channel)
        table = np.full(n_codes, -1, dtype=np.int64)
        for code, key in key_of.items():
            table[code] = index.get(key, -1)
        unit = table[codes] if n_codes else EMPTY
        turns = UnitTurns(
            unit,
            annotation.speaker,
            annotation.start,
            annotation.end,
            annotation.speakers,
        )
        return turns.select(unit >= 0)


def _codes_of(annotation: Annotation, *, by_channel: bool) -> tuple[IntArray, int]:
    """Code of each turn's recording (and channel), and the number of codes."""
    if not by_channel:
        return annotation.recording, len(annotation.recordings)
    n = max(len(annotation.channels), 1)
    codes = annotation.recording * n + annotation.channel
    return codes, len(annotation.recordings) * n


def _keys_of(annotation: Annotation, *, by_channel: bool) -> dict[int, Key]:
    """Unit of each code that occurs."""
    codes = distinct(_codes_of(annotation, by_channel=by_channel)[0])[0].tolist()
    if not by_channel:
        return {code: (annotation.recordings[code], "") for code in codes}
    n = max(len(annotation.channels), 1)
    return {
        code: (annotation.recordings[code // n], annotation.channels[code % n].lower())
        for code in codes
    }


Given: TypeAlias = dict[Key, list[tuple[int, int]]]
"""Regions of a UEM by unit: start and end in ticks, sorted, without overlap."""

_FAR = 2**62
"""Time in ticks after all other times."""


def given_regions(uem: Uem, convention: Convention) -> tuple[Given, list[Problem]]:
    """Group the regions of a UEM by unit, and list warnings about them."""
    by_unit: dict[Key, list[tuple[int, int, int]]] = {}
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
        by_unit.setdefault(key, []).append((start, end, line))
        if name != recording:
            text = (
                f"the UEM id {recording!r} is read as {name!r} under convention "
                f"{convention.name}; rename it or use another convention"
            )
            remarks.append(
                Problem(text, uem.path, line, severity="warning", kind="dotted id")
            )
    given: Given = {}
    for key, regions in by_unit.items():
        for line in _overlapping_lines(regions):
            text = f"regions of {key[0]!r} overlap"
            if convention.refuses_overlapping_uem:
                problem = f"{text}, which md-eval refuses; join them"
                raise DataFormatError(problem, path=uem.path, line=line)
            remarks.append(
                Problem(
                    text, uem.path, line, severity="warning", kind="overlapping regions"
                )
            )
        # md-eval does not join touching regions, which affects its scan of overlap.
        if convention.refuses_overlapping_uem:
            given[key] = sorted((start, end) for start, end, _ in regions)
        else:
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
    """Convert an id of a UEM as md-eval does.

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
    """Find the regions to score, with times relative to the recordings.

    `given` are the regions of the UEM, None without a UEM; units without a region are
    scored over their extent. Turns are valid under the convention.
    """
    sides = [reference, hypothesis] if convention.extent == "joint" else [reference]
    if given is not None and convention.without_region == "reference":
        sides = [reference]
    low, high = extents(
        ((side.unit, side.start, side.end) for side in sides), len(units.keys)
    )
    rows: list[tuple[int, int, int]] = []
    for unit, key in enumerate(units.keys):
        if given is not None and key in given:
            rows += [(unit, start, end) for start, end in given[key]]
        elif high[unit] > low[unit]:
            rows.append((unit, int(low[unit]), int(high[unit])))
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Regions(table[:, 0], table[:, 1], table[:, 2])


def extents(
    turns: Iterable[tuple[IntArray, IntArray, IntArray]], n_units: int
) -> tuple[IntArray, IntArray]:
    """Find the first start and last end in each unit; end < start without turns.

    `turns` are columns (unit, start, end) of one or more sets of turns.
    """
    low = np.full(n_units, _FAR, dtype=np.int64)
    high = np.full(n_units, -1, dtype=np.int64)
    for unit, start, end in turns:
        np.minimum.at(low, unit, start)
        np.maximum.at(high, unit, end)
    return low, high


def scanned_regions(regions: Regions, turns: Turns, bases: IntArray) -> Regions:
    """Remove overlapped speech from regions like md-eval, including its errors.

    md-eval scans the edges of regions and of overlap in order of time. An edge at the
    time at which scoring began does not end it. Therefore md-eval scores overlap that
    begins with a region or directly after other overlap, if the region ends before that
    overlap, and time after a region that ends together with overlap.

    Turns have positive length, and each of them counts; unit u begins at ``bases[u]``.
    """
    # shape: (2 * n_turns,)
    time = np.concatenate([turns.end, turns.start])
    is_start = np.arange(len(time)) >= len(turns.end)
    order = np.lexsort((is_start, time))
    time, is_start = time[order], is_start[order]
    count = np.cumsum(np.where(is_start, 1, -1))
    # Edges at the same time are in this order.
    edges = (
        time[~is_start & (count == 1)],
        regions.end,
        time[is_start & (count == 2)],
        regions.start,
    )
    at = np.concatenate(edges)  # shape: (n_edges,), like kind and units
    kind = np.repeat(np.arange(len(edges)), [len(edge) for edge in edges])
    order = np.lexsort((kind, at))
    at, kind = at[order], kind[order]
    units = np.searchsorted(bases, at, side="right") - 1
    rows: list[tuple[int, int, int]] = []
    latest, begin, depth, overlaps = -1, -1, 0, 0
    for unit, now, edge in zip(units.tolist(), at.tolist(), kind.tolist(), strict=True):
        if unit != latest:
            latest, begin = unit, -1
        depth += (edge == 3) - (edge == 1)
        overlaps += (edge == 2) - (edge == 0)
        if depth > 0 and overlaps == 0:
            begin = now
        elif 0 <= begin < now:
            rows.append((unit, begin, now))
            begin = -1
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Regions(table[:, 0], table[:, 1], table[:, 2])
