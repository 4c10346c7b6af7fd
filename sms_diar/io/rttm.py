"""NIST RTTM: who speaks when, one turn per line.

``SPEAKER recording channel onset duration <NA> <NA> speaker <NA> <NA>``. Times
are added and subtracted in decimal, so that turns which touch in the file touch
exactly in memory, and the other way round.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TextIO

from sms_diar._files import write_text
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._lines import (
    check_field,
    check_fields,
    scan_lines,
    split_fields,
)
from sms_diar.timeline.seconds import parse_seconds
from sms_diar.types import Segment, Turn

log = logging.getLogger(__name__)

OTHER_TYPES = frozenset(
    {
        "A/P",
        "CB",
        "EDIT",
        "FILLER",
        "IP",
        "LEXEME",
        "NO_RT_METADATA",
        "NON-LEX",
        "NON-SPEECH",
        "NOSCORE",
        "SEGMENT",
        "SPKR-INFO",
        "SU",
    }
)
"""Types of line that NIST defines beside SPEAKER; they carry no turns."""

LEAST_DECIMALS, MOST_DECIMALS = 3, 9


def read_rttm(path: str | Path) -> Iterator[Turn]:
    """Yield the speaker turns of an RTTM file, in file order.

    Parameters
    ----------
    path : str or Path
        File with one turn per line; 9 or 10 fields are accepted, as are CR LF
        line ends and a byte order mark, common in files from annotators.

    Yields
    ------
    turn : Turn
        Lines that are blank, comments (``;;`` or ``#``) or of another of NIST's
        types are skipped. A type NIST does not know is an error: a file of another
        format would otherwise be taken for silence. Turns of zero length, which
        some systems write, are left out; their number is logged.
    """
    n_empty = 0
    for line in scan_lines(path):
        fields = split_fields(line.text)
        if not fields or fields[0][0] in ";#" or fields[0] in OTHER_TYPES:
            continue
        try:
            if not line.is_readable:
                raise ValueError(line.problems[-1])
            turn = _turn(fields)
        except ValueError as error:
            raise DataFormatError(
                str(error), path=path, line=line.number, text=line.text
            ) from error
        if turn is None:
            n_empty += 1
        else:
            yield turn
    if n_empty:
        log.warning("%s: left out %d turns of zero length", path, n_empty)


def _turn(fields: list[str]) -> Turn | None:
    """Make a turn of the fields of a line; None if it has no length."""
    if fields[0] != "SPEAKER":
        raise ValueError(
            f"RTTM has no lines of type {fields[0]!r}; a turn begins with SPEAKER"
        )
    if len(fields) not in (9, 10):
        raise ValueError(
            f"a SPEAKER line has 9 or 10 fields, this one has {len(fields)}"
            + ("; names must not contain spaces" if len(fields) > 10 else "")
        )
    check_fields(fields)
    onset = parse_seconds("onset", fields[3])
    duration = parse_seconds("duration", fields[4])
    if onset < 0 or duration < 0:
        raise ValueError(
            f"onset and duration must not be negative, got {fields[3]} and {fields[4]}"
        )
    start, end = float(onset), float(onset + duration)
    if start == end:
        return None
    return Turn(Segment(fields[1], start, end), speaker=fields[7])


def write_rttm(target: str | Path | TextIO, turns: Iterable[Turn]) -> None:
    """Write turns as RTTM, sorted by recording and start.

    Parameters
    ----------
    target : str, Path or text stream
        File to be replaced, or stream to be written to.
    turns : iterable of Turn
        Names with white space are refused: they would shift the fields.

    Notes
    -----
    All times of a file have the same number of decimals: 3, or as many more (up
    to 9) as keep times apart that differ within a recording. Onsets and ends
    are rounded, not durations, so rounding makes no gaps and no overlaps.
    """
    turns = sorted(turns)
    for turn in turns:
        check_field("write_rttm", "recording", turn.segment.recording, format="RTTM")
        check_field("write_rttm", "speaker", turn.speaker, format="RTTM")
    decimals = _decimals(turns)
    text = io.StringIO()
    for turn in turns:
        segment = turn.segment
        onset, end = (_rounded(t, decimals) for t in (segment.start, segment.end))
        if onset == end:
            raise InvalidParameterError(
                f"write_rttm: turns must be longer than {10.0**-MOST_DECIMALS:g} "
                f"seconds, got {segment!r}"
            )
        text.write(
            f"SPEAKER {segment.recording} 1 {onset:f} {end - onset:f} "
            f"<NA> <NA> {turn.speaker} <NA> <NA>\n"
        )
    if isinstance(target, str | Path):
        write_text(target, text.getvalue())
    else:
        target.write(text.getvalue())


def _decimals(turns: Sequence[Turn]) -> int:
    times = {
        (turn.segment.recording, time)
        for turn in turns
        for time in (turn.segment.start, turn.segment.end)
    }
    # Differences below the finest unit are rounding noise of binary arithmetic.
    finest = {(name, _rounded(time, MOST_DECIMALS)) for name, time in times}
    for decimals in range(LEAST_DECIMALS, MOST_DECIMALS):
        coarse = {(name, _rounded(time, decimals)) for name, time in times}
        if len(coarse) == len(finest):
            return decimals
    return MOST_DECIMALS


def _rounded(time: float, decimals: int) -> Decimal:
    return Decimal(f"{time:.{decimals}f}")
