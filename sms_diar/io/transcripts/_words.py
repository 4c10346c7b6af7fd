"""Words, lines and names that formats have in common.

Recognisers write words with a leading space, without, or without their punctuation. The
text of the segment shows which words are separated, and which marks belong to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

from sms_diar._text import clean_line
from sms_diar.errors import InvalidParameterError
from sms_diar.io._lines import check_field, split_fields
from sms_diar.io.transcripts._source import Source, timed_words
from sms_diar.io.turns._text import not_negative
from sms_diar.timeline.ticks import TICKS_PER_SECOND
from sms_diar.timeline.transcript import Phrase, Word, shared_time

UNKNOWN = "unknown"
"""Name in files of a speaker that is not known."""

PAUSE = 1.0
"""Pause in seconds that ends a phrase of single words; sentences have shorter ones."""

_REACH = 8  # maximum number of letters of a text between two of its words

Stream = tuple[str, str, str | None]
"""Recording, channel or tier, and speaker of a word."""


def phrases_of_words(words: Iterable[tuple[Stream, Word]]) -> Iterator[Phrase]:
    """Group words, in the order of the file, to phrases.

    A phrase ends before a pause, before a word of another stream, and before a word
    that begins earlier than the previous one.
    """
    parts: list[tuple[Stream, list[Word]]] = []
    for stream, word in words:
        last = parts[-1][1][-1] if parts and parts[-1][0] == stream else None
        if last is not None and last.start <= word.start <= last.end + PAUSE:
            parts[-1][1].append(word)
        else:
            parts.append((stream, [word]))
    for (recording, _, speaker), part in parts:
        yield Phrase.of_words(recording, part, speaker)


def known(name: str) -> str | None:
    """Return the name of a speaker, or None for the names of no known speaker."""
    return None if name.lower() in (UNKNOWN, "null", "na", "<na>", "") else name


def time_of(text: str, what: str) -> float:
    """Parse a time in seconds; raises a plain ValueError."""
    return not_negative(what, text) / TICKS_PER_SECOND


def content_lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of lines that are neither blank nor comments (``;``, ``#``)."""
    for number, line in enumerate(source.lines, start=1):
        fields = split_fields(line)
        if fields and fields[0][0] not in ";#":
            yield number, fields


def written_names(format: str, phrase: Phrase) -> tuple[str, str]:
    """Return recording and speaker, after checking that they can be fields of lines."""
    recording, speaker = phrase.recording, phrase.speaker or UNKNOWN
    for what, name in (("recording", recording), ("speaker", speaker)):
        if name[0] in ";#":
            problem = f"must not begin like a comment, got {name!r}; rename it"
            raise InvalidParameterError(problem, owner=format, parameter=what)
        check_field(format, what, name, format=format)
    return recording, speaker


@dataclass
class Interval:
    """Text to write as a cue or in a tier; times are in milliseconds."""

    speaker: str | None
    start: int
    end: int
    text: str

    @classmethod
    def of(cls, phrase: Phrase, text: str) -> Interval:
        """Return an interval with the times of a phrase."""
        times = round(1000 * phrase.start), round(1000 * phrase.end)
        return cls(phrase.speaker, *times, text)


def apart(intervals: Iterable[Interval]) -> list[Interval]:
    """Sort intervals by start, and separate those of a speaker."""
    rows = sorted(intervals, key=attrgetter("start"))
    latest: dict[str | None, Interval] = {}
    for row in rows:
        before = latest.get(row.speaker)
        if before is not None:
            row.start = max(row.start, before.start + 1)
            before.end = min(before.end, row.start)
        row.end = max(row.end, row.start + 1)
        latest[row.speaker] = row
    return sorted(rows, key=attrgetter("start"))


class Token(NamedTuple):
    """A word as read from a file; its times are None if unknown."""

    text: str
    start: float | None
    end: float | None
    confidence: float | None = None
    speaker: str | None = None


def token_phrases(
    recording: str,
    tokens: Sequence[Token],
    start: float | None = None,
    end: float | None = None,
    *,
    speaker: str | None = None,
    text: str = "",
) -> list[Phrase]:
    """Return the words of a segment as phrases, one for each run of a speaker.

    Words without times share the time between their neighbours in proportion to their
    letters. A word without a speaker has the speaker of the previous word, at first
    `speaker`. The phrases are extended to contain their words. `text` has the spaces
    and punctuation that words may lack. Without `start` and `end`, the words define
    the times of the segment.
    """
    if start is None or end is None:
        start = min((t.start for t in tokens if t.start is not None), default=0.0)
        end = max((t.end for t in tokens if t.end is not None), default=start)
    cleaned = [clean_line(token.text) for token in tokens]
    if not text:
        is_spaced = any(token.text[:1].isspace() for token in tokens)
        text = ("" if is_spaced else " ").join(token.text for token in tokens)
    texts = _in_text(cleaned, clean_line(text))
    times = _times(tokens, [len(text) for text in cleaned], start, end)
    words: list[tuple[str | None, Word]] = []
    for token, (shown, is_joined), (first, last, is_estimated) in zip(
        tokens, texts, times, strict=True
    ):
        speaker = token.speaker or speaker
        flags = {
            "is_joined": is_joined and bool(words) and words[-1][0] == speaker,
            "is_estimated": is_estimated,
        }
        parts = timed_words(shown, first, last, token.confidence, **flags)
        words += [(speaker, word) for word in parts]
    phrases = []
    for name, group in groupby(words, key=itemgetter(0)):
        phrases.append(Phrase.of_words(recording, (word for _, word in group), name))
    if not phrases:
        return [Phrase(recording, start, end, speaker)]
    phrases[0] = replace(phrases[0], start=min(start, phrases[0].start))
    phrases[-1] = replace(phrases[-1], end=max(end, phrases[-1].end))
    return phrases


def _in_text(words: Sequence[str], text: str) -> list[tuple[str, bool]]:
    """Return words with their punctuation in a text, and whether each is joined."""
    shown: list[tuple[str, bool]] = []
    position, end, n_missing = 0, 0, 0
    for word in words:
        reach = position + n_missing + len(word) + _REACH
        begin = text.find(word, position, reach)
        if begin < 0:
            shown.append((word, False))
            n_missing += len(word) + 1
            end = -1
            continue
        before, after = _marks(text[end:begin]) if end >= 0 else ("", "")
        is_joined = bool(shown) and begin == end + len(before) and not after
        if shown and before:
            shown[-1] = (shown[-1][0] + before, shown[-1][1])
        elif not shown:
            after = before or after
        shown.append((after + word, is_joined))
        position = end = begin + len(word)
        n_missing = 0
    if shown and end >= 0:
        shown[-1] = (shown[-1][0] + _marks(text[end : end + _REACH])[0], shown[-1][1])
    return shown


def _marks(gap: str) -> tuple[str, str]:
    """Return the marks of a gap that belong to the word before and after it."""
    if not gap or gap == " " or any(map(str.isalnum, gap)):
        return "", ""
    parts = gap.split(" ")
    return parts[0], parts[-1] if len(parts) > 1 else ""


def _times(
    tokens: Sequence[Token], lengths: Sequence[int], start: float, end: float
) -> Iterator[tuple[float, float, bool]]:
    """Yield start, end and whether they are estimated, for each token."""
    index, before = 0, start
    while index < len(tokens):
        _, first, last, *_ = tokens[index]
        if first is not None and last is not None:
            yield first, last, False
            index, before = index + 1, last
            continue
        stop = index
        while stop < len(tokens) and None in tokens[stop][1:3]:
            stop += 1
        after = tokens[stop].start if stop < len(tokens) else end
        length = max(0.0, (end if after is None else after) - before)
        for times in shared_time(lengths[index:stop], before, before + length):
            yield (*times, True)
        index, before = stop, before + length
