"""Lines of text that each hold a turn, whatever the order of their fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sms_diar.io._lines import BLANK, Line, scan_lines, split_fields
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.ticks import parse_one
from sms_diar.types import Problem

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
"""Takes the fields of a line; gives nothing, or a problem, for a line that is to be
skipped. Raises a plain ValueError for a wrong one."""


def scan_turn_lines(path: Path, parse: TurnParser, builder: AnnotationBuilder) -> int:
    """Read what can be read of a file, and count its lines with turns.

    Blank lines and comments (``;`` or ``#``) are skipped. Problems join those of
    the builder; errors among them are lines that could not be read.
    """
    for line in scan_lines(path):
        for problem in _scan_line(line, parse, builder):
            builder.problems.append(replace(problem, path=str(path), line=line.number))
    return builder.close_file(str(path))


def _scan_line(
    line: Line, parse: TurnParser, builder: AnnotationBuilder
) -> list[Problem]:
    """Add the turn of a line, if it has one; return its problems."""
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
    """Problems of the bytes: only those that are not text keep it from being read."""
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
