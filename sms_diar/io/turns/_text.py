"""Text helpers shared by the turn formats.

The first part is for formats whose files contain a single recording, named after the
file; the second for formats with one turn per line. The last part recognises
transcripts, so that readers of turns can report them as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sms_diar._text import id_of_file, is_name
from sms_diar.errors import InvalidParameterError
from sms_diar.io._lines import BLANK, Line, scan_lines, split_fields
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.ticks import MAX_SECONDS, TICKS_PER_SECOND, parse_one, ticks_of
from sms_diar.timeline.transcript import Phrase
from sms_diar.types import Problem, Turn

TICKS_PER_MILLISECOND = TICKS_PER_SECOND // 1000

_DECIMALS = 9


class FaultError(ValueError):
    """A fault in a text and its line number (0 for the whole text)."""

    def __init__(self, text: str, line: int = 0) -> None:
        super().__init__(text)
        self.line = line


class Spoken(NamedTuple):
    """A turn as read from a file, with times in ticks.

    The line is 0 if it is not known. The speaker, or tier, is None if the turn has
    none. `recording` is empty for the one that is named after the file.
    """

    line: int
    speaker: str | None
    start: int
    end: int
    text: str = ""
    recording: str = ""
    channel: str = "1"

    @classmethod
    def of_phrase(cls, phrase: Phrase) -> Spoken:
        """Return a phrase of a transcript as a turn."""
        times = ticks_of(phrase.start), ticks_of(phrase.end)
        return cls(0, phrase.speaker, *times, recording=phrase.recording)


def recording_named(path: Path) -> str:
    """Name the recording of a file, as for an audio file of the same name."""
    return id_of_file(path.stem)


def decoded(data: bytes) -> str:
    """Decode UTF-8, or UTF-16 with a byte order mark, and convert line ends to LF."""
    is_wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    encoding = "UTF-16" if is_wide else "UTF-8"
    try:
        text = data.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = 0 if is_wide else data[: error.start].count(b"\n") + 1
        raise FaultError(
            f"byte 0x{data[error.start]:02x} is not {encoding}; convert the file to "
            f"UTF-8 with iconv",
            line,
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check_name(format: str, what: str, value: str) -> str:
    """Return a name without control characters and surrounding white space."""
    if not isinstance(value, str):
        problem = f"must be text, got {value!r}"
        raise InvalidParameterError(problem, owner=format, parameter=what)
    if not value or value != value.strip():
        problem = (
            f"must be a name that neither begins nor ends with white space, got "
            f"{value!r}; rename it"
        )
        raise InvalidParameterError(problem, owner=format, parameter=what)
    if not is_name(value):
        problem = (
            f"must be a name without line breaks and other control characters, got "
            f"{value!r}; rename it"
        )
        raise InvalidParameterError(problem, owner=format, parameter=what)
    return value


def one_recording(format: str, turns: Sequence[Turn]) -> list[Turn]:
    """Sort turns by time, after checking that they are from a single recording."""
    check_one_recording(format, "turns", {turn.segment.recording for turn in turns})
    return sorted(turns)


def check_one_recording(format: str, parameter: str, recordings: set[str]) -> None:
    """Refuse several recordings in a format without names of recordings."""
    if len(recordings) > 1:
        names = sorted(recordings)
        problem = (
            f"must be from a single recording, got {names[0]!r} and {names[1]!r}; "
            f"write one file per recording, to an existing folder"
        )
        raise InvalidParameterError(problem, owner=format, parameter=parameter)


def not_negative(what: str, text: str) -> int:
    """Parse a time in seconds to ticks; raises a plain ValueError."""
    ticks, _ = parse_one(what, text)
    if ticks < 0:
        raise ValueError(f"{what} must not be negative, got {text}")
    return ticks


def plain_seconds(time: float) -> str:
    """Format a time with at most nine decimals; further digits are float noise."""
    whole, _, part = f"{time:.{_DECIMALS}f}".partition(".")
    return f"{whole}.{part.rstrip('0') or '0'}"


def milliseconds(format: str, turn: Turn) -> tuple[int, int]:
    """Round start and end to milliseconds, which must differ."""
    start, end = (
        (ticks_of(time) + TICKS_PER_MILLISECOND // 2) // TICKS_PER_MILLISECOND
        for time in (turn.segment.start, turn.segment.end)
    )
    if start == end:
        problem = (
            f"must be longer than a millisecond, the unit of its times, got "
            f"{turn.segment!r}"
        )
        raise InvalidParameterError(problem, owner=format, parameter="turns")
    return start, end


def clock_ticks(hours: str | None, minutes: str, seconds: str, part: str) -> int:
    """Convert a clock time with milliseconds to ticks; raises a plain ValueError."""
    if int(minutes) > 59 or int(seconds) > 59:
        raise ValueError("minutes and seconds must be below 60")
    whole = (int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)
    if whole >= MAX_SECONDS:
        raise ValueError(f"times must be below {MAX_SECONDS} seconds")
    return whole * TICKS_PER_SECOND + int(part) * TICKS_PER_MILLISECOND


_ROUNDED = Problem(
    "the times have more than 12 decimals and were rounded",
    severity="warning",
    kind="rounded",
)


class TurnFields(NamedTuple):
    """Fields of a turn, as text."""

    recording: str
    channel: str
    onset: str
    duration: str
    speaker: str


TurnParser = Callable[[list[str]], TurnFields | Problem | None]
"""Parses the fields of a line. Returns None or a problem for lines to skip, and raises
a plain ValueError for invalid lines."""


def scan_turn_lines(path: Path, parse: TurnParser, builder: AnnotationBuilder) -> int:
    """Add all readable turns of a file to `builder`; return their number.

    Blank lines and comments (``;`` or ``#``) are skipped. Problems are added to the
    builder; lines that could not be read are errors.
    """
    for line in scan_lines(path):
        for problem in _scan_line(line, parse, builder):
            builder.problems.append(replace(problem, path=str(path), line=line.number))
    return builder.close_file(str(path))


def _scan_line(
    line: Line, parse: TurnParser, builder: AnnotationBuilder
) -> list[Problem]:
    """Add the turn of a line, if any; return the problems of the line."""
    problems = _text_problems(line) if line.problems else []
    fields = split_fields(line.text)
    if not fields or fields[0][0] in ";#" or not line.is_readable:
        return problems
    try:
        turn = parse(fields)
        if turn is None:
            return problems
        if isinstance(turn, Problem):
            return [*problems, turn]
        start, end, is_rounded = _times(turn)
    except ValueError as error:
        return [*problems, Problem(str(error), kind="format", content=line.text)]
    builder.add(turn.recording, turn.channel, turn.speaker, start, end, line.number)
    return [*problems, _ROUNDED] if is_rounded else problems


def _text_problems(line: Line) -> list[Problem]:
    """List encoding problems; only bytes that are not UTF-8 are an error."""
    problems = [
        Problem(text, severity="note", kind="text")
        for text in line.problems
        if text != BLANK
    ]
    if problems and not line.is_readable and BLANK not in line.problems:
        problems[-1] = replace(problems[-1], severity="error")
    return problems


def _times(turn: TurnFields) -> tuple[int, int, bool]:
    start, rounded_start = parse_one("onset", turn.onset)
    if start < 0:
        raise ValueError(f"onset must not be negative, got {turn.onset}")
    length, rounded_length = parse_one("duration", turn.duration)
    return start, start + length, rounded_start or rounded_length


NO_SPEAKERS = (
    "this is a transcript (words) without speakers and not turns; use 'sms-diar "
    "transcript' or sms_diar.transcript to find the speakers of its words"
)

_SECONDS = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")


def is_stm(fields: Sequence[str]) -> bool:
    """Recognise a line of STM: ``recording channel speaker start end words``.

    The third field of a CTM, at the same position, is a time.
    """
    if len(fields) < 5 or _SECONDS.fullmatch(fields[2]):
        return False
    return all(_SECONDS.fullmatch(field) for field in fields[3:5])
