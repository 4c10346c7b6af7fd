"""SegLST: a JSON list of segments, as CHiME and meeteval use.

Each segment has "session_id", "start_time", "end_time", and perhaps "speaker" and
"words". Times are numbers or texts of numbers; other keys are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sms_diar._json import json_text
from sms_diar.io.transcripts._source import Element, Source, text_phrase
from sms_diar.timeline.transcript import Phrase


def fits(source: Source) -> bool:
    """Recognise a list of segments by the keys of the first one."""
    keys = {"session_id", "start_time", "end_time"}
    return source.content == [] or keys <= source.first_row.keys()


def read(source: Source) -> Iterator[Phrase]:
    """Yield the segments as phrases."""
    return map(_phrase, source.elements(source.content))


def text(phrases: Sequence[Phrase]) -> str:
    """Format phrases of any number of recordings."""
    segments = [
        {
            "session_id": phrase.recording,
            "start_time": phrase.start,
            "end_time": phrase.end,
            "speaker": phrase.speaker or "unknown",
            "words": phrase.text,
        }
        for phrase in phrases
    ]
    return json_text(segments) + "\n"


def _phrase(segment: Element) -> Phrase:
    recording, speaker = segment.recording("session_id"), segment.name("speaker")
    span = segment.times("start_time", "end_time")
    return text_phrase(recording, segment.string("words"), *span, speaker)
