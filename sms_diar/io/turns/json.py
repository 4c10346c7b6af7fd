"""Turns as JSON: the output of ``sms-diar diarize --json`` and similar files.

The top level is an object with a list "recordings", each with a name, "recording", and
"turns"; or a list of turns; or an object with the list "turns" or "segments". A turn
has "start", "end" or "duration", "speaker", and optionally "recording", which defaults
to the name of the file. Other keys are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from sms_diar._json import json_text
from sms_diar.io._lines import check_is_file
from sms_diar.io.transcripts._source import parsed
from sms_diar.io.turns._text import (
    NO_SPEAKERS,
    FaultError,
    check_name,
    decoded,
    names_words,
    recording_named,
)
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.ticks import parse_one
from sms_diar.types import Problem, Turn

_LISTS = ("turns", "segments")


def turn_json_text(turns: Sequence[Turn]) -> str:
    """Format turns of any number of recordings."""
    recordings: dict[str, list[dict[str, Any]]] = {}
    for turn in sorted(turns):
        recording = check_name("JSON", "recording", turn.segment.recording)
        recordings.setdefault(recording, []).append(
            {
                "start": turn.segment.start,
                "end": turn.segment.end,
                "speaker": check_name("JSON", "speaker", turn.speaker),
            }
        )
    rows = [{"recording": name, "turns": part} for name, part in recordings.items()]
    return json_text({"recordings": rows}) + "\n"


def scan_turn_json(path: Path, builder: AnnotationBuilder) -> int:
    """Add the turns of a file to an annotation; return their number."""
    check_is_file(path)
    try:
        content = loaded(path) if path.read_bytes().strip() else []
        for number, (recording, turn) in enumerate(_turns(content, path), start=1):
            try:
                builder.add(recording, "1", _speaker(turn), *_times(turn), 0)
            except ValueError as error:
                raise FaultError(f"turn {number} of the file: {error}") from None
    except FaultError as fault:
        builder.problems.append(
            Problem(str(fault), str(path), fault.line or None, kind="format")
        )
    return builder.close_file(str(path))


def loaded(path: Path) -> Any:
    """Load a JSON file with exact decimals; raises `FaultError`."""
    return parsed(decoded(path.read_bytes()), 0, parse_float=Decimal)


def holds_turns(content: Any) -> bool:
    """Return true if JSON content is a set of turns, not a table of labels."""
    if isinstance(content, list):
        return True
    return isinstance(content, dict) and any(
        isinstance(content.get(key), list) for key in ("recordings", *_LISTS)
    )


def names_speakers(content: Any) -> bool:
    """Return true if JSON content is a set of turns that all have a speaker."""
    if not holds_turns(content):
        return False
    if isinstance(content, dict):
        content = next((content[key] for key in _LISTS if key in content), [])
    return isinstance(content, list) and all(
        isinstance(turn, dict) and "start" in turn and turn.get("speaker") is not None
        for turn in content
    )


def _turns(content: Any, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not holds_turns(content):
        if isinstance(content, dict) and names_words(content):
            raise FaultError(NO_SPEAKERS)
        raise FaultError(
            'expected an object with the list "recordings" or "turns", or a list of '
            "turns"
        )
    name = recording_named(path)
    parts = content.get("recordings") if isinstance(content, dict) else None
    for part in [content] if parts is None else parts:
        recording, listed = name, part
        if isinstance(part, dict):
            recording = _text(part.get("recording", name), "recording")
            listed = next((part[key] for key in _LISTS if key in part), None)
        if not isinstance(listed, list):
            raise FaultError(f'recording {recording!r} must have a list "turns"')
        for turn in listed:
            if not isinstance(turn, dict):
                raise FaultError(f"a turn must be an object, got {turn!r:.40}")
            yield _text(turn.get("recording", recording), "recording"), turn


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise FaultError(f"{what} must be text, got {value!r:.40}")
    return value


def _speaker(turn: dict[str, Any]) -> str:
    speaker = turn.get("speaker")
    if speaker is None and names_words(turn):
        raise ValueError(NO_SPEAKERS)
    if not isinstance(speaker, str) or not speaker:
        raise ValueError(f'"speaker" must be text, got {speaker!r:.40}')
    return speaker


def _times(turn: dict[str, Any]) -> tuple[int, int]:
    start = _ticks(turn, "start")
    if start < 0:
        raise ValueError(f'"start" must not be negative, got {turn["start"]}')
    if "end" in turn:
        return start, _ticks(turn, "end")
    return start, start + _ticks(turn, "duration")


def _ticks(turn: dict[str, Any], key: str) -> int:
    value = turn.get(key)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError(f'"{key}" must be a number of seconds, got {value!r:.40}')
    return parse_one(key, str(value))[0]
