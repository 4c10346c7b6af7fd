"""Subtitles (SubRip and WebVTT) whose cues name the speaker.

SRT cues contain the speaker's name, ``[ann]``; WebVTT cues have a voice tag,
``<v ann>ann``, and a cue with several voices is one turn per voice. In files of other
programs, ``[ann]: words`` and ``ann: words`` are also understood. SRT has no escape for
a name that contains an arrow (``-->``), so such names are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape, unescape
from pathlib import Path
from typing import NamedTuple

from sms_diar.errors import InvalidParameterError
from sms_diar.io.turns._text import (
    FaultError,
    Spoken,
    check_name,
    clock_ticks,
    decoded,
    milliseconds,
    one_recording,
    scan_whole,
)
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.types import Turn

_SRT = "SRT"
_WEBVTT = "WebVTT"
_HEAD = "WEBVTT"
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]([^>]*)>")
_TIME = r"(?:([0-9]{1,6}):)?([0-9]{1,2}):([0-9]{2})[.,]([0-9]{3})"
_TIMING = re.compile(rf"\s*{_TIME}\s+-->\s+{_TIME}(?:\s.*)?")
_BRACKETED = re.compile(r"\[([^\[\]]+)\](?::(?:\s|$)|\s)")
_BEFORE_COLON = re.compile(r"([^:<>\[\]]{1,80}?)\s*:(?:\s|$)")


class Cue(NamedTuple):
    """A cue: line number of its time line, start and end in ticks, text lines."""

    line: int
    start: int
    end: int
    text: list[str]


def srt_text(turns: Sequence[Turn]) -> str:
    """Format turns of one recording as SubRip subtitles."""
    return cue_text(_cues_of(_SRT, turns, srt_name), mark=",", numbered=True)


def webvtt_text(turns: Sequence[Turn]) -> str:
    """Format turns of one recording as WebVTT subtitles with voice tags."""
    return webvtt_file(_cues_of(_WEBVTT, turns, _webvtt_payload))


def scan_srt(path: Path, builder: AnnotationBuilder) -> int:
    """Add the cues of an SRT file to an annotation; return their number."""
    return scan_whole(path, builder, _parse_srt)


def scan_webvtt(path: Path, builder: AnnotationBuilder) -> int:
    """Add the cues of a WebVTT file to an annotation; return their number."""
    return scan_whole(path, builder, _parse_webvtt)


def srt_name(speaker: str) -> str:
    """Return a name in brackets; raises if subtitles cannot contain it."""
    payload = f"[{check_name(_SRT, 'speaker', speaker)}]"
    if "-->" in speaker or _speaker_of(payload) != speaker:
        problem = (
            f"must be a name that subtitles can contain, got {speaker!r}; rename it, "
            f"or write WebVTT"
        )
        raise InvalidParameterError(problem, owner=_SRT, parameter="speaker")
    return payload


def _webvtt_payload(speaker: str) -> str:
    return f"{webvtt_voice(speaker)}{escape(speaker, quote=False)}"


def webvtt_voice(speaker: str) -> str:
    """Return the voice tag of a name."""
    name = escape(check_name(_WEBVTT, "speaker", speaker), quote=False)
    return f"<v {name}>"


def webvtt_file(cues: Iterable[tuple[int, int, str]]) -> str:
    """Format cues as a file; see `cue_text`."""
    body = cue_text(cues, mark=".", numbered=False)
    return f"{_HEAD}\n\n{body}" if body else f"{_HEAD}\n"


def _cues_of(
    format: str, turns: Sequence[Turn], payload: Callable[[str], str]
) -> Iterator[tuple[int, int, str]]:
    """Return turns of one recording, which may overlap, as cues.

    `payload` returns the text of a cue for a speaker, and raises if the format
    cannot represent the name.
    """
    for turn in one_recording(format, turns):
        yield (*milliseconds(format, turn), payload(turn.speaker))


def cue_text(cues: Iterable[tuple[int, int, str]], *, mark: str, numbered: bool) -> str:
    """Format cues: start and end in milliseconds, and text.

    `mark` separates seconds and milliseconds.
    """
    blocks = []
    for number, (start, end, text) in enumerate(cues, start=1):
        head = f"{number}\n" if numbered else ""
        times = f"{clock(start, mark)} --> {clock(end, mark)}"
        blocks.append(f"{head}{times}\n{text}\n")
    return "\n".join(blocks)


def clock(time: int, mark: str = ".") -> str:
    """Format milliseconds as hours, minutes and seconds."""
    seconds, part = divmod(time, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}{mark}{part:03d}"


def _parse_srt(data: bytes) -> Iterator[Spoken]:
    for cue in cues_of(decoded(data).split("\n")):
        speaker = _speaker_of(cue.text[0]) if cue.text else None
        if speaker is None:
            raise _missing_speaker(cue)
        yield Spoken(cue.line, speaker, cue.start, cue.end)


def _parse_webvtt(data: bytes) -> Iterator[Spoken]:
    for cue in webvtt_cues(decoded(data).split("\n")):
        for speaker in _voices(cue):
            yield Spoken(cue.line, speaker, cue.start, cue.end)


def webvtt_cues(lines: Sequence[str]) -> Iterator[Cue]:
    """Read the cues of a WebVTT file, after checking its first line."""
    if lines[0] != _HEAD and not lines[0].startswith((f"{_HEAD} ", f"{_HEAD}\t")):
        raise FaultError(f"the first line must be {_HEAD}, got {lines[0][:40]!r}", 1)
    # Lines directly below the first one belong to the header.
    first = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
    return cues_of(lines, first)


def _voices(cue: Cue) -> list[str]:
    names = (unescape(name).strip() for name in _VOICE.findall("\n".join(cue.text)))
    voices = list(dict.fromkeys(name for name in names if name))
    if not voices and cue.text and (speaker := _speaker_of(unescape(cue.text[0]))):
        voices = [speaker]
    if not voices:
        raise _missing_speaker(cue)
    return voices


def cues_of(lines: Sequence[str], first: int = 0) -> Iterator[Cue]:
    """Read cues separated by blank lines, starting at the 0-based line `first`.

    A line before the time line, such as a number, is the cue's identifier. Blocks that
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


def _speaker_of(text: str) -> str | None:
    """Speaker named at the start of a line: ``[ann]``, ``[ann]: hi`` or ``ann: hi``."""
    text = text.strip()
    if (match := _BRACKETED.match(text)) and match[1].strip():
        return match[1].strip()
    if text.startswith("[") and text.endswith("]") and text[1:-1].strip():
        return text[1:-1].strip()
    if (match := _BEFORE_COLON.match(text)) and match[1].strip(" -"):
        return match[1].strip(" -")
    return None


def _missing_speaker(cue: Cue) -> FaultError:
    first_line = cue.text[0].strip() if cue.text else ""
    return FaultError(
        f"the cue does not name a speaker; this may be a transcript (words) rather "
        f"than turns; expected '[name]' or 'name: words', got {first_line[:40]!r}",
        cue.line,
    )
