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
from sms_diar.io.transcripts import _words
from sms_diar.io.transcripts._source import Source, text_phrase
from sms_diar.io.turns import eaf, textgrid
from sms_diar.io.turns._text import FaultError, Spoken, check_name
from sms_diar.io.turns.registry import TURN_FORMATS
from sms_diar.timeline.ticks import TICKS_PER_SECOND
from sms_diar.timeline.transcript import Phrase, Word

_KIND = re.compile(r"(?i)(?:(.*\S)\s*-\s*)?(word|phone)s")
_SILENCE = ("<eps>", "<sil>", "sil", "sp")


def _has_words(format: str, source: Source) -> bool:
    """Recognise a file whose intervals have more than the name of the tier."""
    is_format = TURN_FORMATS[format].matches(source.text.lstrip())
    return is_format and any(
        clean_line(interval.text) not in ("", interval.speaker)
        for interval in _intervals(source)
    )


textgrid_fits = partial(_has_words, "textgrid")
eaf_fits = partial(_has_words, "eaf")


def _intervals(source: Source) -> Iterator[Spoken]:
    is_xml = source.text.lstrip().startswith("<")
    read = eaf.intervals if is_xml else textgrid.intervals
    return read(source.path.read_bytes())


def read(source: Source) -> Iterator[Phrase]:
    """Yield the phrases of all tiers in order of time."""
    tiers: dict[str, list[Spoken]] = {}
    for interval in _intervals(source):
        tiers.setdefault(interval.speaker, []).append(interval)
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

    A phrase that overlaps the next one of its speaker ends where that begins; phrases
    that begin together are joined. Phrases without words have the speaker's name.
    """
    tiers: dict[str, list[tuple[int, int, str]]] = {}
    for phrase in sorted(phrases, key=lambda phrase: phrase.start):
        speaker = check_name(format, "speaker", phrase.speaker or _words.UNKNOWN)
        rows = tiers.setdefault(speaker, [])
        start = round(1000 * phrase.start)
        end, text = max(round(1000 * phrase.end), start + 1), phrase.text or speaker
        if rows and rows[-1][0] == start:
            _, last, before = rows.pop()
            end, text = max(end, last), f"{before} {text}"
        elif rows and rows[-1][1] > start:
            rows[-1] = (rows[-1][0], start, rows[-1][2])
        rows.append((start, end, text))
    return tiers


def _phrases(stream: _words.Stream, rows: Sequence[Spoken]) -> Iterator[Phrase]:
    """Group intervals of one word to phrases; other intervals are phrases."""
    words: list[tuple[_words.Stream, Word]] = []
    for row in rows:
        start, end = row.start / TICKS_PER_SECOND, row.end / TICKS_PER_SECOND
        if _KIND.fullmatch(row.speaker) and row.text.strip().lower() in _SILENCE:
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
