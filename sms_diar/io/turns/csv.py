"""Turns as CSV with a header: recording, start, end or duration, speaker.

Other columns are allowed; ``channel`` is optional. A name that a spreadsheet would
interpret as a formula (it begins with ``=``, ``+``, ``-`` or ``@``) is written with an
apostrophe before it, which is removed on reading.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from sms_diar._text import as_cell, from_cell
from sms_diar.errors import DataFormatError
from sms_diar.io._lines import read_text
from sms_diar.io.turns._text import TABLE, check_name, names_words, plain_seconds
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.ticks import parse_one
from sms_diar.types import Problem, Turn


def turn_csv_text(turns: Sequence[Turn]) -> str:
    """Format turns of any number of recordings as a table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("recording", "start", "end", "speaker"))
    for turn in sorted(turns):
        segment = turn.segment
        names = (segment.recording, turn.speaker)
        recording, speaker = (
            as_cell(check_name("CSV", what, name))
            for what, name in zip(("recording", "speaker"), names, strict=True)
        )
        times = (plain_seconds(time) for time in (segment.start, segment.end))
        writer.writerow((recording, *times, speaker))
    return text.getvalue()


def scan_turn_csv(path: Path, builder: AnnotationBuilder) -> int:
    """Add the rows of a table to an annotation; return their number.

    Reading stops at the first invalid row, which may contain an unclosed quote.
    """
    try:
        text = read_text(path)
    except DataFormatError as error:
        problem = Problem(error.problem, str(path), error.line, kind="text")
        builder.problems.append(problem)
        return builder.close_file(str(path))
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    try:
        for row in reader:
            if not header:
                if not "".join(row).strip():
                    continue
                header = row
                _check_header(header)
                continue
            if len(row) != len(header):
                raise ValueError(
                    f"expected {len(header)} fields as in the header, this row has "
                    f"{len(row)}"
                )
            cells = dict(zip(header, map(from_cell, row), strict=True))
            builder.add(
                cells["recording"],
                cells.get("channel", "1"),
                cells["speaker"],
                *_times(cells),
                reader.line_num,
            )
    except (ValueError, csv.Error) as error:
        builder.problems.append(
            Problem(str(error), str(path), reader.line_num, kind="format")
        )
    return builder.close_file(str(path))


def _times(cells: dict[str, str]) -> tuple[int, int]:
    start, _ = parse_one("start", cells["start"])
    if start < 0:
        raise ValueError(f"start must not be negative, got {cells['start']}")
    if "end" in cells:
        return start, parse_one("end", cells["end"])[0]
    return start, start + parse_one("duration", cells["duration"])[0]


def _check_header(header: list[str]) -> None:
    names = set(header)
    if "speaker" not in names and names_words(names):
        raise ValueError(TABLE)
    if not {"recording", "start", "speaker"} <= names or not names & {
        "end",
        "duration",
    }:
        raise ValueError(
            f"the header must have the columns recording, start, speaker, and end or "
            f"duration, got {','.join(header)!r}"
        )
