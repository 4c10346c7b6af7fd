"""Tiers of intervals, as in TextGrid and ELAN, to and from phrases.

The name of a tier is the speaker. An interval with one word is a word with its times,
and the words of an interval with several share its time. In the tiers of the Montreal
Forced Aligner, ``ann - words`` and ``ann - phones``, or ``words`` and ``phones``, words
precede: the phones, and a tier ``ann`` of whole phrases, are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from sms_diar._text import clean_line
from sms_diar.errors import InvalidParameterError
from sms_diar.io.registry import TURN_FORMATS
from sms_diar.io.transcripts import _words
from sms_diar.io.transcripts._source import Source, text_phrase
from sms_diar.io.turns import eaf, textgrid
from sms_diar.io.turns._text import (
    FaultError,
    Spoken,
    check_name,
    milliseconds,
    one_recording,
)
from sms_diar.timeline.ticks import TICKS_PER_SECOND
from sms_diar.timeline.transcript import Phrase, Word
from sms_diar.types import Turn

_KIND = re.compile(r"(?i)(?:(.*\S)\s*-\s*)?(word|phone)s")
_SILENCE = ("<eps>", "<sil>", "sil", "sp")


def _has_words(format: str, source: Source) -> bool:
    """Recognise a file whose intervals have more than the name of the tier."""
    is_format = TURN_FORMATS[format].matches(source.text.lstrip())
    return is_format and any(
        clean_line(interval.text) not in ("", interval.speaker)
        for interval in _spoken(format, source)
    )


def _spoken(format: str, source: Source) -> Iterator[Spoken]:
    """Yield the intervals of all tiers as turns."""
    read = textgrid.intervals if format == "textgrid" else eaf.intervals
    return read(source.path.read_bytes())


def _read(format: str, source: Source) -> Iterator[Phrase]:
    """Yield the phrases of all tiers in order of time."""
    tiers: dict[str, list[Spoken]] = {}
    for interval in _spoken(format, source):
        tiers.setdefault(interval.speaker or "", []).append(interval)
    kinds = {tier: _KIND.fullmatch(tier) for tier in tiers}
    aligned = {m[1] or "" for m in kinds.values() if m and m[2].lower() == "word"}
    phrases: list[Phrase] = []
    for tier, rows in tiers.items():
        kind = kinds[tier]
        speaker = (kind[1] or "") if kind else tier
        speaker = speaker if speaker in aligned else tier
        if (kind and kind[2].lower() == "word") or speaker not in aligned:
            phrases += _phrases((source.recording, tier, _words.known(speaker)), rows)
    return iter(sorted(phrases, key=lambda phrase: phrase.start))


textgrid_fits, eaf_fits = (partial(_has_words, name) for name in ("textgrid", "eaf"))
textgrid_read, eaf_read = (partial(_read, name) for name in ("textgrid", "eaf"))
textgrid_spoken, eaf_spoken = (partial(_spoken, name) for name in ("textgrid", "eaf"))


def textgrid_turns_text(turns: Sequence[Turn], duration: float) -> str:
    """Format turns of one recording as a TextGrid in the long format."""
    tiers = {
        speaker: [(turn.segment.start, turn.segment.end, speaker) for turn in tier]
        for speaker, tier in _of_speakers("TextGrid", turns).items()
    }
    return textgrid.grid_text(tiers, duration)


def eaf_turns_text(turns: Sequence[Turn], _: float) -> str:
    """Format turns of one recording as an ELAN document, deterministically."""
    tiers = {
        speaker: [(*milliseconds("EAF", turn), speaker) for turn in tier]
        for speaker, tier in _of_speakers("EAF", turns).items()
    }
    return eaf.document_text(tiers)


def _of_speakers(format: str, turns: Sequence[Turn]) -> dict[str, list[Turn]]:
    """Group turns by speaker, in the order of the speakers' first turns.

    Raises InvalidParameterError if turns of a speaker overlap, which a tier cannot
    represent.
    """
    by_speaker: dict[str, list[Turn]] = {}
    for turn in one_recording(format, turns):
        check_name(format, "speaker", turn.speaker)
        tier = by_speaker.setdefault(turn.speaker, [])
        if tier and tier[-1].segment.end > turn.segment.start:
            problem = (
                f"of one speaker must not overlap within a tier, got {tier[-1]!r} "
                f"and {turn!r}; join them"
            )
            raise InvalidParameterError(problem, owner=format, parameter="turns")
        tier.append(turn)
    return by_speaker


def textgrid_text(phrases: Sequence[Phrase]) -> str:
    """Format phrases of one recording, with a tier per speaker."""
    tiers = {
        name: [(start / 1000, end / 1000, text) for start, end, text in rows]
        for name, rows in _tiers("TextGrid", phrases).items()
    }
    return textgrid.grid_text(tiers)


def eaf_text(phrases: Sequence[Phrase]) -> str:
    """Format phrases of one recording, with a tier per speaker."""
    document = eaf.document_text(_tiers("EAF", phrases))
    return re.sub("[\ufffe\uffff]", "\ufffd", document)  # which XML cannot contain


def _tiers(
    format: str, phrases: Sequence[Phrase]
) -> dict[str, list[tuple[int, int, str]]]:
    """Return start and end in milliseconds and text of each phrase, by speaker.

    Phrases without words have the speaker's name as text.
    """
    tiers: dict[str, list[tuple[int, int, str]]] = {}
    for row in _words.apart(_words.Interval.of(p, p.text) for p in phrases):
        speaker = check_name(format, "speaker", row.speaker or _words.UNKNOWN)
        part = row.start, row.end, row.text or speaker
        tiers.setdefault(speaker, []).append(part)
    return tiers


def _phrases(stream: _words.Stream, rows: Sequence[Spoken]) -> Iterator[Phrase]:
    """Group intervals of one word to phrases; other intervals are phrases."""
    words: list[tuple[_words.Stream, Word]] = []
    for row in rows:
        start, end = row.start / TICKS_PER_SECOND, row.end / TICKS_PER_SECOND
        if _KIND.fullmatch(stream[1]) and row.text.strip().lower() in _SILENCE:
            continue
        try:
            phrase = text_phrase(stream[0], row.text, start, end, stream[2])
        except ValueError as error:
            raise FaultError(str(error), row.line) from None
        if len(phrase.words) == 1:
            words.append((stream, replace(phrase.words[0], is_estimated=False)))
            continue
        yield from _words.phrases_of_words(words)
        words = []
        yield phrase
    yield from _words.phrases_of_words(words)
