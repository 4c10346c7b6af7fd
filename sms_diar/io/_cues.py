"""Subtitles: cues with a time line, whose first words say who speaks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sms_diar.io._turn_text import FaultError, clock_ticks, milliseconds, one_recording
from sms_diar.types import Turn

_TIME = r"(?:([0-9]{1,6}):)?([0-9]{1,2}):([0-9]{2})[.,]([0-9]{3})"
_TIMING = re.compile(rf"\s*{_TIME}\s+-->\s+{_TIME}(?:\s.*)?")
_BRACKETED = re.compile(r"\[([^\[\]]+)\](?::(?:\s|$)|\s)")
_BEFORE_COLON = re.compile(r"([^:<>\[\]]{1,80}?)\s*:(?:\s|$)")


class Cue(NamedTuple):
    """A cue: the number of its time line, times in ticks, and its lines."""

    line: int
    start: int
    end: int
    text: list[str]


def cues(lines: Sequence[str], first: int = 0) -> Iterator[Cue]:
    """Read cues, with a blank line between two, from line `first` (from 0) on.

    A line before the time line, such as a number, is a name of the cue. Blocks that
    begin with NOTE, STYLE or REGION are skipped.
    """
    at = first
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        end = at
        while end < len(lines) and lines[end].strip():
            end += 1
        block = lines[at:end]
        if block[0].split()[0] not in ("NOTE", "STYLE", "REGION"):
            yield _cue(block, at + 1)
        at = end


def _cue(block: Sequence[str], number: int) -> Cue:
    for offset, line in enumerate(block[:2]):
        if "-->" not in line:
            continue
        match = _TIMING.fullmatch(line)
        if match is None:
            raise FaultError(
                f"a time line is 'hours:minutes:seconds,milliseconds --> ...', got "
                f"{line.strip()!r}",
                number + offset,
            )
        try:
            start, end = (
                clock_ticks(*match.group(n, n + 1, n + 2, n + 3)) for n in (1, 5)
            )
        except ValueError as error:
            raise FaultError(str(error), number + offset) from None
        return Cue(number + offset, start, end, list(block[offset + 1 :]))
    raise FaultError(
        f"a cue begins with its times ('... --> ...'), got {block[0].strip()!r}; text "
        f"must not contain blank lines",
        number,
    )


def speaker_of(text: str) -> str | None:
    """Speaker named at the start of a line: ``[ann]``, ``[ann]: hi`` or ``ann: hi``."""
    text = text.strip()
    if (match := _BRACKETED.match(text)) and match[1].strip():
        return match[1].strip()
    if text.startswith("[") and text.endswith("]") and text[1:-1].strip():
        return text[1:-1].strip()
    if (match := _BEFORE_COLON.match(text)) and match[1].strip(" -"):
        return match[1].strip(" -")
    return None


def nobody(cue: Cue) -> FaultError:
    """The fault of a cue that names no speaker."""
    said = cue.text[0].strip() if cue.text else ""
    return FaultError(
        f"the cue names no speaker, so this may be a transcript (words) rather than "
        f"turns; expected '[name]' or 'name: words', got {said[:40]!r}",
        cue.line,
    )


def cue_text(
    format: str,
    turns: Sequence[Turn],
    payload: Callable[[str], str],
    *,
    mark: str,
    numbered: bool,
) -> str:
    """Turns of one recording as cues.

    Parameters
    ----------
    format : str
        Title, for messages.
    turns : sequence of Turn
        They may overlap.
    payload : callable
        Makes the text of a cue of a name, and refuses what it cannot hold.
    mark : str
        What stands before milliseconds.
    numbered : bool
        Whether cues have numbers.
    """
    blocks = []
    for number, turn in enumerate(one_recording(format, turns), start=1):
        times = (_clock(time, mark) for time in milliseconds(format, turn))
        head = f"{number}\n" if numbered else ""
        blocks.append(f"{head}{' --> '.join(times)}\n{payload(turn.speaker)}\n")
    return "\n".join(blocks)


def _clock(time: int, mark: str) -> str:
    seconds, part = divmod(time, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}{mark}{part:03d}"
