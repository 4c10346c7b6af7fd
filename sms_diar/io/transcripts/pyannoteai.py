"""Results of jobs of pyannoteAI.

"output", or the file itself, has lists of objects with "start", "end" and "speaker":
"diarization", for identification jobs "identification", and with transcription
"wordLevelTranscription" and "turnLevelTranscription", which have a "text" too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from sms_diar._json import json_text
from sms_diar.io.transcripts._source import Element, Source, text_phrase
from sms_diar.io.transcripts._words import Token, token_phrases
from sms_diar.io.turns._text import Spoken
from sms_diar.timeline.transcript import Phrase

_WORDS, _TURNS = "wordLevelTranscription", "turnLevelTranscription"
_LISTS = ("identification", "diarization", "exclusiveDiarization", _TURNS, _WORDS)

_start = attrgetter("start")


def fits(source: Source) -> bool:
    """Recognise the output of a job by its lists."""
    values = _output(source).values
    return any(isinstance(values.get(key), list) for key in _LISTS)


def _output(source: Source) -> Element:
    content = source.content if isinstance(source.content, dict) else {}
    job = Element(source, (), content)
    return job.element("output") if isinstance(content.get("output"), dict) else job


def read(source: Source) -> Iterator[Phrase]:
    """Yield the transcription as phrases."""
    turns = list(_phrases(source, _TURNS))
    words = [
        Token(w.string("text"), *w.times(), speaker=w.name("speaker"))
        for w in _output(source).elements(_WORDS)
    ]
    by_speaker: dict[str | None, list[Phrase]] = {}
    for turn in sorted(turns, key=_start):
        by_speaker.setdefault(turn.speaker, []).append(turn)

    def turn_of(word: Token) -> Phrase | None:
        """Return the last turn of the speaker of a word that starts before it."""
        candidates = by_speaker.get(word.speaker, [])
        index = bisect_right(candidates, word.start or 0.0, key=_start)
        return candidates[index - 1] if index else None

    for spoken, run in groupby(words, turn_of):
        text = "" if spoken is None else spoken.text
        yield from token_phrases(source.recording, list(run), text=text)
    if not words:
        yield from turns


def spoken(source: Source) -> Iterator[Spoken]:
    """Yield the turns of the speakers, which can overlap."""
    lists = (list(_phrases(source, key)) for key in _LISTS)
    return map(Spoken.of_phrase, next(filter(None, lists), []))


def _phrases(source: Source, key: str) -> Iterator[Phrase]:
    for entry in _output(source).elements(key):
        text, speaker = entry.string("text"), entry.name("speaker")
        yield text_phrase(source.recording, text, *entry.times(), speaker)


def text(phrases: Sequence[Phrase]) -> str:
    """Format the phrases of one recording as the output of a job."""
    turns: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    for phrase in phrases:
        speaker = {"speaker": phrase.speaker or "unknown"}
        turns.append({"start": phrase.start, "end": phrase.end, **speaker})
        words += [
            {"start": word.start, "end": word.end, "text": word.text, **speaker}
            for word in phrase.words
        ]
    output = {"diarization": turns}
    if words:
        texts = [
            {**turn, "text": phrase.text}
            for turn, phrase in zip(turns, phrases, strict=True)
        ]
        output |= {_WORDS: words, _TURNS: texts}
    return json_text({"output": output}) + "\n"
