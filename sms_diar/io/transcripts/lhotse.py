"""Manifests of lhotse: supervisions, or cuts that contain them, as JSON lines.

A supervision has "recording_id", "start", "duration", and perhaps "text", "speaker" and
"alignment", whose list "word" has a symbol, start, duration and score for each word. In
cuts, supervisions are relative to the start of the cut, but words to the recording. A
mixed cut is a recording of its own, in which its tracks have offsets. Lists of JSON are
read too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sms_diar._json import json_line
from sms_diar.io.transcripts._source import Element, Source, text_phrase
from sms_diar.io.transcripts._words import Token, token_phrases
from sms_diar.timeline.transcript import Phrase

_RECORDING = {"id", "sources", "sampling_rate"}
_KEYS = (
    {"recording_id", "start", "duration"},
    {"id", "start", "duration", "supervisions"},
    {"id", "tracks"},
    _RECORDING,
)
_ITEM = ("symbol", "start", "duration", "score")


def fits(source: Source) -> bool:
    """Recognise a manifest by the keys of its first entry."""
    return any(keys <= source.first_row.keys() for keys in _KEYS)


def read(source: Source) -> Iterator[Phrase]:
    """Yield supervisions as phrases."""
    for row in source.rows():
        if row.values.keys() >= _RECORDING:
            raise row.fault(
                "this is a RecordingSet of lhotse, which contains neither words nor "
                "turns; specify the manifest of supervisions or of cuts"
            )
        if "tracks" in row.values:
            mixed = row.recording("id")
            for track in row.elements("tracks"):
                offset, cut = track.number("offset", default=0.0), track.element("cut")
                of_words = offset - cut.number("start", default=0.0)
                for supervision in cut.elements("supervisions"):
                    yield from _phrases(supervision, offset, of_words, mixed)
        elif "supervisions" in row.values:
            for supervision in row.elements("supervisions"):
                yield from _phrases(supervision, row.number("start"))
        else:
            yield from _phrases(row)


def _phrases(
    row: Element, offset: float = 0.0, of_words: float = 0.0, mixed: str | None = None
) -> list[Phrase]:
    """Return a supervision, after adding an offset to its times and its words."""
    recording = mixed or row.recording("recording_id")
    span, speaker = row.span("start", offset), row.name("speaker")
    tokens = [
        Token(word, *item.span("start", of_words), item.confidence("score"))
        for item in row.element("alignment").elements("word", names=_ITEM)
        if (word := item.string("symbol")).strip()  # others are silences
    ]
    text = row.string("text")
    if not tokens:
        return [text_phrase(recording, text, *span, speaker)]
    return token_phrases(recording, tokens, *span, speaker=speaker, text=text)


def text(phrases: Sequence[Phrase]) -> str:
    """Format phrases as supervisions, with the words that have times of their own."""
    return "".join(f"{json_line(_written(p, i))}\n" for i, p in enumerate(phrases))


def _written(phrase: Phrase, index: int) -> dict[str, Any]:
    written: dict[str, Any] = {
        "id": f"{phrase.recording}-{index:06d}",
        "recording_id": phrase.recording,
        "start": round(phrase.start, 9),
        "duration": round(phrase.end - phrase.start, 9),
        "channel": 0,
    }
    if phrase.words:
        written["text"] = phrase.text
    if phrase.speaker is not None:
        written["speaker"] = phrase.speaker
    if phrase.words and not any(word.is_estimated for word in phrase.words):
        items = [
            [word.text, word.start, round(word.end - word.start, 9), word.confidence]
            for word in phrase.words
        ]
        written["alignment"] = {"word": items}
    return written
