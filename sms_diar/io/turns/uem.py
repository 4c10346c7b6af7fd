"""NIST UEM: scored regions of recordings, one per line.

``recording channel start end``, in seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sms_diar._files import write_text
from sms_diar._validation import check_path, refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._lines import (
    check_field,
    check_fields,
    scan_lines,
    split_fields,
    strict_lines,
)
from sms_diar.io.kaldi.tables import exactly
from sms_diar.io.problems import refuse_errors
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.ticks import format_seconds, parse_one, parse_seconds
from sms_diar.types import Problem, Segment


def read_uem(path: str | Path) -> Uem:
    """Read the regions of a UEM file.

    Blank lines and comments (``;`` or ``#``) are skipped. A region must end after
    it starts.
    """
    check_path("read_uem", "path", path)
    uem = scan_uem(path)
    refuse_errors(uem.problems)
    return uem


def write_uem(path: str | Path, regions: Iterable[Segment]) -> None:
    """Write regions as a UEM file with exact times and channel 1."""
    lines = [
        f"{region.recording} 1 {_decimal(region.start)} {_decimal(region.end)}\n"
        for region in regions
    ]
    write_text(path, "".join(lines))


def scan_uem(path: str | Path) -> Uem:
    """Read all readable regions of a UEM file; errors are listed as its problems."""
    rows: list[tuple[str, str, int, int, int]] = []
    problems: list[Problem] = []
    for line in scan_lines(path):
        fields = split_fields(line.text)
        if not fields or fields[0][0] in ";#":
            continue
        try:
            if not line.is_readable:
                raise ValueError(line.problems[-1])
            rows.append((*_region(fields), line.number))
        except ValueError as error:
            problems.append(
                Problem(
                    str(error), str(path), line.number, kind="format", content=line.text
                )
            )
    return Uem(
        tuple(row[0] for row in rows),
        tuple(row[1] for row in rows),
        np.array([row[2] for row in rows], dtype=np.int64),
        np.array([row[3] for row in rows], dtype=np.int64),
        np.array([row[4] for row in rows], dtype=np.int64),
        str(path),
        tuple(problems),
    )


def _region(fields: list[str]) -> tuple[str, str, int, int]:
    if len(fields) < 4:
        raise ValueError(
            f"a region has 4 fields (recording, channel, start, end), this line has "
            f"{len(fields)}"
        )
    check_fields(fields)
    start, _ = parse_one("start", fields[2])
    end, _ = parse_one("end", fields[3])
    if not 0 <= start < end:
        raise ValueError(
            f"a region must satisfy 0 <= start < end, got {fields[2]} and {fields[3]}"
        )
    return fields[0], fields[1], start, end


def _decimal(seconds: float) -> str:
    """Format a time with all digits and without an exponent."""
    return np.format_float_positional(seconds, trim="0")


def read_vad_lab(
    path: str | Path, recording: str, *, label: str | None = "speech"
) -> list[Segment]:
    """Read the speech regions of one recording, whose name the file does not contain.

    Only regions with the given label are kept; None keeps all.
    """
    check_path("read_vad_lab", "path", path)
    regions = []
    others: dict[str, None] = {}
    for line in strict_lines(path):
        try:
            start, end, name = exactly(split_fields(line.text), 3, "vad.lab")
            region = Segment(
                recording,
                float(parse_seconds("start", start)),
                float(parse_seconds("end", end)),
            )
        except ValueError as error:  # also raised by Segment
            raise DataFormatError(
                str(error), path=path, line=line.number, text=line.text
            ) from error
        if label is None or name == label:
            regions.append(region)
        else:
            others[name] = None
    if others and not regions:
        listed = ", ".join(repr(other) for other in others)
        raise DataFormatError(
            f"no region is labelled {label!r}, the labels are {listed}; choose the one "
            f"for speech",
            path=path,
        )
    return regions


def write_vad_lab(
    path: str | Path, regions: Iterable[Segment], *, label: str = "speech"
) -> None:
    """Write the speech regions of one recording, sorted by time."""
    rule, remedy = "an iterable of Segment", "read it with read_vad_lab"
    refuse_path("write_vad_lab", "regions", regions, rule, remedy)
    regions = sorted(regions)
    names = sorted({region.recording for region in regions})
    if len(names) > 1:
        problem = f"must be of one recording, got {', '.join(names)}"
        raise InvalidParameterError(problem, owner="write_vad_lab", parameter="regions")
    check_field("write_vad_lab", "label", label, format="vad.lab")
    lines = (
        f"{format_seconds(region.start)} {format_seconds(region.end)} {label}\n"
        for region in regions
    )
    write_text(path, "".join(lines))
