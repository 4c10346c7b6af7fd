"""From files to turns and regions on one axis, by the rules of a convention."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sms_diar.errors import DataFormatError
from sms_diar.metrics.diarization.conventions import Convention, Settings
from sms_diar.metrics.diarization.sweep import (
    EMPTY,
    Regions,
    Turns,
    merge_turns,
    trim_turns,
)
from sms_diar.timeline.annotation import Annotation, turn_problems
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.ticks import (
    DECIMALS,
    TICKS_PER_SECOND,
    distinct,
    seconds_array,
    seconds_of,
)
from sms_diar.types import BoolArray, FloatArray, IntArray, Problem

_ROOM = 2**61
"""Ticks on one axis; corpora that need more are scored in several."""

_FAR = 2**62


@dataclass(frozen=True, eq=False)
class Speakers:
    """Speakers of one side, numbered unit by unit.

    Parameters
    ----------
    unit : ndarray of shape (n,)
        Unit of each speaker, rising.
    local : ndarray of shape (n,)
        Number within the unit.
    names : tuple of str
        Names.
    count : ndarray of shape (n_units,)
        Speakers of each unit.
    """

    unit: IntArray
    local: IntArray
    names: tuple[str, ...]
    count: IntArray


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything a sweep needs, for units that share an axis.

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
    is_scored : ndarray of shape (n_units,)
        Whether DER is computed (else `rate` stands for it).
    rate : ndarray of shape (n_units,)
        DER by decree, NaN where there is none.
    raw_reference, raw_hypothesis, raw_regions
        The same before trimming, merging and rounding, for frames.
    """

    units: tuple[str, ...]
    bases: IntArray
    zeros: IntArray
    reference: Turns
    hypothesis: Turns
    reference_speakers: Speakers
    hypothesis_speakers: Speakers
    regions: Regions
    is_scored: BoolArray
    rate: FloatArray
    raw_reference: Turns
    raw_hypothesis: Turns
    raw_regions: Regions


@dataclass(frozen=True, eq=False)
class _Side:
    """Turns with units, times still those of the recordings."""

    unit: IntArray
    speaker: IntArray
    start: IntArray
    end: IntArray
    names: tuple[str, ...]

    def select(self, keep: BoolArray) -> _Side:
        return _Side(
            self.unit[keep],
            self.speaker[keep],
            self.start[keep],
            self.end[keep],
            self.names,
        )


def prepare(
    reference: Annotation,
    hypothesis: Annotation,
    uem: Uem | None,
    settings: Settings,
) -> tuple[list[Prepared], list[Problem]]:
    """Lay out what is to be scored.

    Returns
    -------
    prepared : list of Prepared
        One for each axis, usually one in all.
    remarks : list of Problem
        Everything that a careful reader of the figures should know.
    """
    convention = settings.convention
    remarks = [*reference.problems, *hypothesis.problems]
    remarks += turn_problems(reference) + turn_problems(hypothesis)
    units = _Units(reference, hypothesis, uem, convention, remarks)
    ref = _kept(units.side(reference), convention, is_reference=True)
    hyp = _kept(units.side(hypothesis), convention, is_reference=False)
    regions = units.regions(ref, hyp)
    prepared = [
        _on_axis(units, some, ref, hyp, regions, settings)
        for some in _batches(units, ref, hyp, regions, settings)
    ]
    if convention.merging == "overlapping" and settings.collar:
        remarks += _touching_remarks(prepared, reference)
    return prepared, remarks


def _touching_remarks(
    prepared: Sequence[Prepared], reference: Annotation
) -> list[Problem]:
    """Where dscore, which adds times in floats, may or may not see one turn."""
    count = 0
    for part in prepared:
        joined = merge_turns(part.reference, touching=True)
        count += len(part.reference.start) - len(joined.start)
    if not count:
        return []
    text = (
        f"turns of one speaker touch in {count} places and keep their collars; dscore "
        f"joins some of them, depending on rounding"
    )
    return [
        Problem(text, reference.files[0], severity="warning", kind="touching turns")
    ]


def _kept(side: _Side, convention: Convention, *, is_reference: bool) -> _Side:
    """Drop turns that the convention does not know."""
    if convention.zero_turns and is_reference:
        return side.select(side.end >= side.start)
    return side.select(side.end - side.start > convention.shortest)


class _Units:
    """What is scored apart, and the regions of each."""

    def __init__(
        self,
        reference: Annotation,
        hypothesis: Annotation,
        uem: Uem | None,
        convention: Convention,
        remarks: list[Problem],
    ) -> None:
        self.convention = convention
        self.uem = uem
        self.remarks = remarks
        self._source = reference.files[0] if reference.files else "reference"
        ref_keys, hyp_keys = self._keys(reference), self._keys(hypothesis)
        self.given = self._given_regions()
        in_ref, in_hyp = set(ref_keys.values()), set(hyp_keys.values())
        if convention.without_region == "left out" and uem is not None:
            keys = sorted(self.given)
        elif convention.hypothesis_only == "left out":
            keys = sorted(in_ref)
        else:
            keys = sorted(in_ref | in_hyp)
        self.keys = keys
        self.index = {key: place for place, key in enumerate(keys)}
        self.names = tuple(key[0] for key in keys)
        self.has_reference = np.array([key in in_ref for key in keys], dtype=np.bool_)
        self._key_maps = {id(reference): ref_keys, id(hypothesis): hyp_keys}
        self._remark_one_sided(in_ref, in_hyp, hypothesis)

    def _keys(self, annotation: Annotation) -> dict[tuple[int, int], tuple[str, str]]:
        """Unit of each recording and channel that occur together."""
        if not self.convention.by_channel:
            places = distinct(annotation.recording)[0].tolist()
            return {(p, -1): (annotation.recordings[p], "") for p in places}
        n = max(len(annotation.channels), 1)
        codes = distinct(annotation.recording * n + annotation.channel)[0].tolist()
        return {
            (code // n, code % n): (
                annotation.recordings[code // n],
                annotation.channels[code % n].lower(),
            )
            for code in codes
        }

    def side(self, annotation: Annotation) -> _Side:
        """Turns of the units, with units and speakers as numbers."""
        n = max(len(annotation.channels), 1) if self.convention.by_channel else 1
        table = np.full(len(annotation.recordings) * n, -1, dtype=np.int64)
        for (recording, channel), key in self._key_maps[id(annotation)].items():
            place = recording * n + max(channel, 0)
            table[place] = self.index.get(key, -1)
        code = annotation.recording * n
        if self.convention.by_channel:
            code = code + annotation.channel
        unit = table[code] if len(table) else EMPTY
        side = _Side(
            unit,
            annotation.speaker,
            annotation.start,
            annotation.end,
            annotation.speakers,
        )
        return side.select(unit >= 0)

    def _given_regions(self) -> dict[tuple[str, str], list[tuple[int, int]]]:
        """Regions of the UEM by unit, sorted and joined."""
        if self.uem is None:
            return {}
        found: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
        rows = zip(
            self.uem.recordings,
            self.uem.channels,
            self.uem.start.tolist(),
            self.uem.end.tolist(),
            self.uem.line.tolist(),
            strict=True,
        )
        for recording, channel, start, end, line in rows:
            name = _uem_name(recording, self.convention)
            key = (name, channel.lower() if self.convention.by_channel else "")
            found.setdefault(key, []).append((start, end, line))
            if name != recording:
                text = (
                    f"the UEM id {recording!r} is taken for {name!r}, by convention "
                    f"{self.convention.name}; rename it or use another convention"
                )
                self.remarks.append(
                    Problem(
                        text, self.uem.path, line, severity="warning", kind="dotted id"
                    )
                )
        return {key: self._joined(key, rows_) for key, rows_ in found.items()}

    def _joined(
        self, key: tuple[str, str], rows: list[tuple[int, int, int]]
    ) -> list[tuple[int, int]]:
        regions: list[tuple[int, int]] = []
        for start, end, line in sorted(rows):
            if regions and start < regions[-1][1]:
                text = f"regions of {key[0]!r} overlap"
                path = self.uem.path if self.uem else "uem"
                if self.convention.refuses_overlapping_uem:
                    raise DataFormatError(
                        f"{text}, which md-eval refuses; join them",
                        path=path,
                        line=line,
                    )
                self.remarks.append(
                    Problem(
                        text,
                        path,
                        line,
                        severity="warning",
                        kind="overlapping regions",
                    )
                )
            if regions and start <= regions[-1][1]:
                regions[-1] = (regions[-1][0], max(end, regions[-1][1]))
            else:
                regions.append((start, end))
        return regions

    def _remark_one_sided(
        self,
        in_ref: set[tuple[str, str]],
        in_hyp: set[tuple[str, str]],
        hypothesis: Annotation,
    ) -> None:
        convention = self.convention
        what = {
            "left out": "is left out",
            "rate only": "gets a DER of 1 that is not pooled",
            "false alarm": "counts as false alarm",
        }[convention.hypothesis_only]
        for key in sorted(in_hyp - in_ref):
            place = hypothesis.recordings.index(key[0])
            first = int(np.flatnonzero(hypothesis.recording == place)[0])
            self.remarks.append(
                Problem(
                    f"recording {_shown(key)} is not in the reference and {what}",
                    hypothesis.files[hypothesis.file[first]],
                    int(hypothesis.line[first]) or None,
                    severity="warning",
                    kind="hypothesis only",
                )
            )
        for key in sorted(in_ref - in_hyp):
            text = f"recording {_shown(key)} is not in the hypothesis: all is missed"
            self._remark("reference only", text)
        if self.uem is None:
            return
        for key in sorted((in_ref | in_hyp) - set(self.given)):
            if key in self.index or convention.without_region == "left out":
                how = {
                    "reference": "scored over the extent of its reference",
                    "joint": "scored over the extent of reference and hypothesis",
                    "left out": "left out",
                }[convention.without_region]
                text = f"recording {_shown(key)} is not in the UEM and is {how}"
                self._remark("not in the UEM", text)

    def _remark(self, kind: str, text: str) -> None:
        self.remarks.append(Problem(text, self._source, severity="warning", kind=kind))

    def regions(self, ref: _Side, hyp: _Side) -> Regions:
        """What is scored, unit by unit, in the times of the recordings."""
        sides = [ref, hyp] if self.convention.extent == "joint" else [ref]
        if self.uem is not None and self.convention.without_region == "reference":
            sides = [ref]
        rows: list[tuple[int, int, int]] = []
        low, high = _extents(sides, len(self.keys))
        for place, key in enumerate(self.keys):
            if key in self.given:
                rows += [(place, start, end) for start, end in self.given[key]]
            elif high[place] > low[place]:
                rows.append((place, int(low[place]), int(high[place])))
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return Regions(table[:, 0], table[:, 1], table[:, 2])


def _shown(key: tuple[str, str]) -> str:
    return repr(key[0]) + (f" (channel {key[1]})" if key[1] else "")


def _extents(sides: Sequence[_Side], n: int) -> tuple[IntArray, IntArray]:
    low = np.full(n, _FAR, dtype=np.int64)
    high = np.full(n, -1, dtype=np.int64)
    for side in sides:
        np.minimum.at(low, side.unit, side.start)
        np.maximum.at(high, side.unit, side.end)
    return low, high


def _uem_name(name: str, convention: Convention) -> str:
    if convention.uem_id == "first part removed":
        return first_part_removed(name)
    if convention.uem_id == "extension removed":
        return os.path.splitext(name)[0]  # noqa: PTH122 - ids are not paths
    return name


def first_part_removed(name: str) -> str:
    """Id that md-eval makes of an id in a UEM.

    Examples
    --------
    >>> first_part_removed("data/rec.a.wav")
    'rec.wav'
    """
    return re.sub(r"\.[^.]*", "", name.rpartition("/")[2], count=1)


def _batches(
    units: _Units, ref: _Side, hyp: _Side, regions: Regions, settings: Settings
) -> Iterator[tuple[int, int]]:
    """Ranges of units whose spans fit on one axis."""
    spans = _spans(units, ref, hyp, regions, settings)
    first, filled = 0, 0
    for place, span in enumerate(spans.tolist()):
        if filled and filled + span > _ROOM:
            yield first, place
            first, filled = place, 0
        filled += span
    if len(spans):
        yield first, len(spans)


def _spans(
    units: _Units, ref: _Side, hyp: _Side, regions: Regions, settings: Settings
) -> IntArray:
    high = np.zeros(len(units.keys), dtype=np.int64)
    for unit, end in (
        (ref.unit, ref.end),
        (hyp.unit, hyp.end),
        (regions.unit, regions.end),
    ):
        np.maximum.at(high, unit, end)
    # A second of air takes up what rounding may add.
    spans: IntArray = high + 2 * settings.collar + 2 * TICKS_PER_SECOND
    return spans


def _on_axis(
    units: _Units,
    some: tuple[int, int],
    ref: _Side,
    hyp: _Side,
    regions: Regions,
    settings: Settings,
) -> Prepared:
    """Lay units `some[0]` to `some[1]` out one after the other."""
    first, stop = some
    convention = settings.convention
    spans = _spans(units, ref, hyp, regions, settings)[first:stop]
    bases = np.cumsum(spans) - spans
    zeros = bases + settings.collar + TICKS_PER_SECOND
    inside = (regions.unit >= first) & (regions.unit < stop)
    unit = regions.unit[inside] - first
    raw_regions = Regions(
        unit, regions.start[inside] + zeros[unit], regions.end[inside] + zeros[unit]
    )
    raw_ref, ref_speakers = _placed(ref, some, zeros)
    raw_hyp, hyp_speakers = _placed(hyp, some, zeros)
    ref_turns, hyp_turns, placed = raw_ref, raw_hyp, raw_regions
    if convention.trims:
        ref_turns = trim_turns(ref_turns, placed)
        hyp_turns = trim_turns(hyp_turns, placed)
    if convention.merging != "none":
        touching = convention.merging == "touching"
        ref_turns = merge_turns(ref_turns, touching=touching)
        hyp_turns = merge_turns(hyp_turns, touching=touching)
    is_scored = np.ones(len(spans), dtype=np.bool_)
    rate = np.full(len(spans), np.nan)
    if convention.hypothesis_only == "rate only":
        is_scored = _occupied(ref_turns, ref_speakers, len(spans))
        has_hyp = _occupied(hyp_turns, hyp_speakers, len(spans))
        rate[~is_scored] = has_hyp[~is_scored]
    if convention.decimals is not None:
        decimals = convention.decimals
        ref_turns = _rounded(ref_turns, raw_ref, ref_speakers.unit, zeros, decimals)
        hyp_turns = _rounded(hyp_turns, raw_hyp, hyp_speakers.unit, zeros, decimals)
        placed = _rewritten(placed, units.names[first:stop], zeros, convention.decimals)
        placed = _completed(placed, ref_turns, ref_speakers.unit, len(spans))
        keep = is_scored[placed.unit]
        placed = Regions(*(column[keep] for column in placed))
    return Prepared(
        units.names[first:stop],
        bases,
        zeros,
        ref_turns,
        hyp_turns,
        ref_speakers,
        hyp_speakers,
        placed,
        is_scored,
        rate,
        raw_ref,
        raw_hyp,
        raw_regions,
    )


def _placed(
    side: _Side, some: tuple[int, int], zeros: IntArray
) -> tuple[Turns, Speakers]:
    """Turns on the axis, and their speakers numbered unit by unit."""
    first, stop = some
    side = side.select((side.unit >= first) & (side.unit < stop))
    unit = side.unit - first
    n_names = max(len(side.names), 1)
    codes, speaker = distinct(unit * n_names + side.speaker)
    of_unit = codes // n_names
    count = np.bincount(of_unit, minlength=stop - first)
    start_of = np.cumsum(count) - count
    speakers = Speakers(
        of_unit,
        np.arange(len(codes)) - start_of[of_unit],
        tuple(side.names[place] for place in (codes % n_names).tolist()),
        count,
    )
    start, end = side.start + zeros[unit], side.end + zeros[unit]
    return Turns(speaker, start, end), speakers


def _occupied(turns: Turns, speakers: Speakers, n_units: int) -> BoolArray:
    found = np.zeros(n_units, dtype=np.bool_)
    found[speakers.unit[turns.speaker]] = True
    return found


def _rounded(
    turns: Turns, raw: Turns, unit_of: IntArray, zeros: IntArray, decimals: int
) -> Turns:
    """Round onsets and durations, as a tool does that writes them out again."""
    zero = zeros[unit_of[turns.speaker]]
    onset = _round_ticks(turns.start - zero, decimals)
    duration = turns.end - turns.start
    step = 10 ** (DECIMALS - decimals)
    odd = np.flatnonzero(duration % step).tolist()
    # That tool adds onset and duration in floats, and subtracts them again when
    # it writes: which way a half is rounded depends on it.
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


def _round_ticks(ticks: IntArray, decimals: int) -> IntArray:
    """Round as floats are: 0.0005 is a little more or less than it says."""
    step = 10 ** (DECIMALS - decimals)
    rounded = ticks.copy()
    for place in np.flatnonzero(ticks % step):
        seconds = round(seconds_of(int(ticks[place])), decimals)
        rounded[place] = round(seconds * 10**decimals) * step
    return rounded


def _rewritten(
    regions: Regions, names: Sequence[str], zeros: IntArray, decimals: int
) -> Regions:
    """Regions as md-eval finds them in a UEM that another tool wrote for it.

    It removes the first ``.part`` of ids there, too, and so may give regions to
    another recording, or to none.
    """
    index = {name: place for place, name in enumerate(names)}
    owner = np.array(
        [index.get(first_part_removed(name), -1) for name in names], dtype=np.int64
    )
    zero = zeros[regions.unit]
    start = _round_ticks(regions.start - zero, decimals)
    end = _round_ticks(regions.end - zero, decimals)
    unit = owner[regions.unit]
    keep = (unit >= 0) & (end > start)
    unit, start, end = unit[keep], start[keep], end[keep]
    # Joined where two recordings now share them: turns of a speaker called unit.
    joined = merge_turns(
        Turns(unit, start + zeros[unit], end + zeros[unit]), touching=True
    )
    return Regions(*joined)


def _completed(
    regions: Regions, turns: Turns, unit_of: IntArray, n_units: int
) -> Regions:
    """Add the extent of the reference where a unit has no region."""
    unit = unit_of[turns.speaker]
    low = np.full(n_units, _FAR, dtype=np.int64)
    high = np.full(n_units, -1, dtype=np.int64)
    np.minimum.at(low, unit, turns.start)
    np.maximum.at(high, unit, turns.end)
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
