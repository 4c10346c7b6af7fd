"""JSON of whisper.cpp, with tokens (``-ojf``) or without (``-oj``).

"transcription" is a list of segments with "offsets" in milliseconds, "text" and perhaps
"tokens". A token that begins with a space begins a word. Times of tokens are sometimes
wrong by minutes: words whose end precedes their start by more than 50 ms get estimated
times. Segments whose tokens are parts of letters are divided by their text instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from sms_diar.io.transcripts._source import ROUNDING, Element, Source, text_phrase
from sms_diar.io.transcripts._words import Token, token_phrases
from sms_diar.timeline.transcript import Phrase


def fits(source: Source) -> bool:
    """Recognise a list "transcription" with offsets."""
    content = source.content
    segments = content.get("transcription") if isinstance(content, dict) else None
    if not isinstance(segments, list) or not segments:
        return segments == []
    return isinstance(segments[0], dict) and "offsets" in segments[0]


def read(source: Source) -> Iterator[Phrase]:
    """Yield the segments as phrases."""
    for segment in source.elements(source.content["transcription"], "transcription"):
        span = segment.element("offsets").times("from", "to", unit=1000)
        has_name = segment.values.get("speaker") != "?"
        name = segment.name("speaker") if has_name else None
        words = list(_words(map(_token, segment.elements("tokens"))))
        if not words or any("\ufffd" in word.text for word in words):
            yield text_phrase(source.recording, segment.string("text"), *span, name)
        else:
            yield from token_phrases(source.recording, words, *span, speaker=name)


def _token(token: Element) -> Token:
    times: tuple[float | None, float | None] = (None, None)
    if "offsets" in token.values:
        offsets = token.element("offsets")
        times = offsets.number("from", unit=1000), offsets.number("to", unit=1000)
    return Token(token.string("text"), *times, token.confidence("p"))


def _words(tokens: Iterator[Token]) -> Iterator[Token]:
    """Join tokens to words, without special tokens such as ``[_BEG_]``."""
    words: list[list[Token]] = []
    for token in tokens:
        if token.text.startswith(("[_", "<|")) and token.text.endswith(("]", "|>")):
            continue
        if not words or token.text[:1].isspace():
            words.append([])
        words[-1].append(token)
    for parts in words:
        start, end = parts[0].start, parts[-1].end
        if start is None or end is None or not 0 <= start <= end + ROUNDING:
            start = end = None
        else:
            end = max(start, end)
        scores = [part.confidence for part in parts if part.confidence is not None]
        text = "".join(part.text for part in parts)
        yield Token(text, start, end, fmean(scores) if scores else None)
