"""Turns as JSON: the output of ``sms-diar diarize --json`` and similar files.

The top level is an object with a list "recordings", each with a name, "recording", and
"turns"; or a list of turns; or an object with the list "turns" or "segments". A turn
has "start", "end" or "duration", "speaker", and optionally "recording", which defaults
to the name of the file. Other keys are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any

from sms_diar._json import json_text
from sms_diar.io.transcripts._source import Element, Source, parsed
from sms_diar.io.turns._text import NO_SPEAKERS, FaultError, Spoken, check_name
from sms_diar.timeline.ticks import ticks_of
from sms_diar.types import Turn

_LISTS = ("turns", "segments")
_WORDS = {"chunks", "results", "text", "transcript", "transcription", "utterances"}
_WORDS |= {"word", "words"}  # keys under which speech recognisers store words


def turns_text(turns: Sequence[Turn], _: float) -> str:
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


def spoken(source: Source) -> Iterator[Spoken]:
    """Yield the turns of a file."""
    content = parsed(source.text) if source.content is None else source.content
    if not holds_turns(content):
        is_transcript = isinstance(content, dict) and not _WORDS.isdisjoint(content)
        raise FaultError(
            NO_SPEAKERS
            if is_transcript
            else 'expected an object with the list "recordings" or "turns", or a list '
            "of turns"
        )
    if isinstance(content, list):
        yield from map(_spoken, source.elements(content), repeat(""))
        return
    whole = Element(source, (), content)
    for part in whole.elements("recordings") if "recordings" in content else [whole]:
        key = next((key for key in _LISTS if key in part.values), None)
        if key is None:
            raise part.fault('must have the list "turns"')
        yield from map(_spoken, part.elements(key), repeat(part.string("recording")))


def _spoken(turn: Element, recording: str) -> Spoken:
    speaker = turn.string("speaker")
    if not speaker and _WORDS.isdisjoint(turn.values):
        raise turn.fault('"speaker" is missing')
    start = turn.number("start")
    if start < 0:
        raise turn.fault(f'"start" must not be negative, got {start}')
    begin = ticks_of(start)
    if "end" in turn.values:
        end = ticks_of(turn.number("end"))
    else:
        end = begin + ticks_of(turn.number("duration"))
    named = turn.string("recording") or recording
    return Spoken(0, speaker or None, begin, end, recording=named)


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
