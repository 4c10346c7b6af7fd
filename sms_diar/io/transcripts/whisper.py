"""JSON of Whisper: openai-whisper, faster-whisper, whisperX and OpenAI's own interface.

A file has "segments" with "start", "end", "text", and perhaps "words" and "speaker" (as
in ``diarized_json``). The words may also be beside the segments (``verbose_json``), or
alone ("words", "word_segments"). Dumps of faster-whisper are lists of segments, and its
older versions write segments and words as lists of values.

A word has "word", "start", "end", and "probability" or "score". Words that whisperX
could not align have no times; these are estimated from their neighbours. An end that
precedes its start by up to 50 ms, as rounding causes, is set to the start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sms_diar._json import json_text
from sms_diar.io.transcripts._source import Element, Source, text_phrase
from sms_diar.io.transcripts._words import Token, token_phrases
from sms_diar.timeline.transcript import Phrase, Word

_WORDS = ("words", "word_segments")
# Values of lists; the words of a segment are the last value in old versions.
_SEGMENT = ("id", "seek", "start", "end", "text", "tokens", "", "", "", "words", "last")
_WORD = ("start", "end", "word", "probability")


def fits(source: Source) -> bool:
    """Recognise segments with text or words, or a list of words."""
    content = source.content
    if isinstance(content, dict):
        is_words = any(_is_words(content.get(key)) for key in _WORDS)
        return is_words or _is_segments(content.get("segments"))
    return bool(content) and (_is_segments(content) or _is_words(content))


def _is_segments(values: Any) -> bool:
    if not isinstance(values, list) or not values:
        return values == []
    first = values[0]
    if isinstance(first, list):
        return len(first) > 5 and isinstance(first[4], str)
    return isinstance(first, dict) and ("text" in first or "words" in first)


def _is_words(values: Any) -> bool:
    first = values[0] if isinstance(values, list) and values else None
    return isinstance(first, dict) and "word" in first


def read(source: Source) -> Iterator[Phrase]:
    """Yield the segments as phrases, divided where the speaker changes."""
    content = source.content
    if isinstance(content, dict):
        values, key = content.get("segments"), ["segments"]
        others = next((key for key in _WORDS if _is_words(content.get(key))), "words")
        words = source.elements(content.get(others), others)
    else:
        values, key = [] if _is_words(content) else content, []
        words = source.elements(content if _is_words(content) else [])
    segments = list(source.elements(values, *key, names=_SEGMENT))
    has_words = any(_words_key(segment) for segment in segments)
    tokens = [] if has_words else [_token(word) for word in words]
    if not segments and tokens:
        yield from token_phrases(source.recording, tokens)
        return
    times = [segment.times() for segment in segments]
    parts = _shared(tokens, times) if tokens else map(_tokens, segments)
    for segment, span, part in zip(segments, times, parts, strict=True):
        text, speaker = segment.string("text"), segment.name("speaker")
        if part or tokens:
            yield from token_phrases(
                source.recording, part, *span, speaker=speaker, text=text
            )
        else:
            yield text_phrase(source.recording, text, *span, speaker)


def _words_key(segment: Element) -> str | None:
    keys = (k for k in ("words", "last") if isinstance(segment.values.get(k), list))
    return next((key for key in keys if segment.values[key]), None)


def _tokens(segment: Element) -> list[Token]:
    key = _words_key(segment)
    return [] if key is None else [*map(_token, segment.elements(key, names=_WORD))]


def _token(word: Element) -> Token:
    confidence = word.confidence("probability", "score")
    token = Token(word.string("word"), None, None, confidence, word.name("speaker"))
    if None in (word.values.get("start"), word.values.get("end")):
        return token
    start, end = word.times()
    return token._replace(start=start, end=end)


def _shared(
    tokens: Sequence[Token], times: Sequence[tuple[float, float]]
) -> list[list[Token]]:
    """Assign words to segments in order; most of a word precedes the next segment."""
    parts: list[list[Token]] = [[] for _ in times]
    index = 0
    for token in tokens:
        if token.start is not None and token.end is not None:
            middle = (token.start + token.end) / 2
            while index + 1 < len(times) and middle >= times[index + 1][0]:
                index += 1
        parts[index].append(token)
    return parts


def text(phrases: Sequence[Phrase]) -> str:
    """Format the phrases of one recording, as whisperX does."""
    segments = []
    for phrase in phrases:
        speaker = {} if phrase.speaker is None else {"speaker": phrase.speaker}
        words = [{**_written(word), **speaker} for word in phrase.words]
        segment = {"start": phrase.start, "end": phrase.end, "text": phrase.text}
        segments.append({**segment, "words": words, **speaker})
    return json_text({"segments": segments}) + "\n"


def openai_text(phrases: Sequence[Phrase]) -> str:
    """Format the phrases of one recording as ``diarized_json``."""
    segments = [
        {
            "type": "transcript.text.segment",
            "id": f"seg_{index}",
            "start": phrase.start,
            "end": phrase.end,
            "text": phrase.text,
            "speaker": phrase.speaker or "unknown",
        }
        for index, phrase in enumerate(phrases)
    ]
    content = {
        "task": "transcribe",
        "duration": max((phrase.end for phrase in phrases), default=0.0),
        "text": " ".join(phrase.text for phrase in phrases),
        "segments": segments,
    }
    return json_text(content) + "\n"


def _written(word: Word) -> dict[str, Any]:
    """Return a word without times that were only estimated."""
    written: dict[str, Any] = {"word": word.text}
    if not word.is_estimated:
        written |= {"start": word.start, "end": word.end}
    if word.confidence is not None:
        written["score"] = word.confidence
    return written
