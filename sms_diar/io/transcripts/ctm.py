"""NIST CTM: one word per line, or one turn.

``recording channel start duration word [confidence [type [speaker]]]``, or the speaker
of a turn in place of the word; `fits` decides which of the two a file has. Words are
grouped to phrases by speaker, channel and pauses. Of alternatives (``<ALT_BEGIN>``,
``<ALT>``, ``<ALT_END>``) the first is read. Older versions of NeMo write the speaker
in place of the channel, so a channel that is neither a number nor a letter is the
speaker; ``<space>`` inside a word, as of NeMo's aligner, divides words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from sms_diar.io._lines import check_fields
from sms_diar.io.transcripts import _words
from sms_diar.io.transcripts._source import Source, probability, timed_words
from sms_diar.io.turns._text import FaultError, TurnFields, is_stm, scan_turn_lines
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.ticks import TICKS_PER_SECOND, parse_one
from sms_diar.timeline.transcript import Phrase, Word
from sms_diar.types import Problem

_NUMBER = re.compile(r"[0-9.*]+")
_CHANNEL = re.compile(r"[0-9]+|[A-Za-z]")


_CODED = re.compile(r"(?=.*[0-9_]).*[^\W\d_]")


def fits(source: Source) -> bool:
    """Recognise lines of times and words, not those of times and speakers.

    A file contains speakers if half of its lines are a second or longer, as words are
    not, or if half of its lines have names such as ``spk1``: letters with a digit or
    ``_``. All other files contain words, also short turns of speakers with other
    names: they must be read by naming the format. A line with a type of word, the
    seventh field, decides for words.
    """
    durations: list[int] = []
    n_coded = 0
    for _, fields in _words.content_lines(source):
        is_ctm = 5 <= len(fields) <= 8 and not is_stm(fields)
        if is_ctm and all(_NUMBER.fullmatch(field) for field in fields[2:4]):
            if len(fields) > 6:
                return True
            with suppress(ValueError):  # the reader reports it
                durations.append(parse_one("duration", fields[3])[0])
                n_coded += _CODED.match(fields[4]) is not None
        elif not durations:
            return False
    is_short = bool(durations) and median(durations) < TICKS_PER_SECOND
    return is_short and 2 * n_coded < len(durations)


def scan(path: Path, builder: AnnotationBuilder) -> int:
    """Add the turns of a file to an annotation; return their number."""
    return scan_turn_lines(path, _turn_fields, builder)


def words_scan(path: Path, builder: AnnotationBuilder) -> int:
    """Report a CTM of words as an error."""
    problem = Problem(
        "the fifth column contains words, so this is a transcript and not turns: lines "
        "are shorter than a second; 'sms-diar transcript' finds the speakers of its "
        "words; if the names are speakers, convert the file with 'sms-diar convert' to "
        "RTTM and name the format ctm",
        str(path),
        kind="transcript",
    )
    builder.problems.append(problem)
    return builder.close_file(str(path))


def _turn_fields(fields: list[str]) -> TurnFields:
    if len(fields) not in (5, 6):
        raise ValueError(
            f"a line has 5 or 6 fields (recording, channel, onset, duration, speaker, "
            f"perhaps a confidence), this one has {len(fields)}"
        )
    check_fields(fields)
    return TurnFields(*fields[:5])


def read(source: Source) -> Iterator[Phrase]:
    """Yield phrases of words that follow each other without a long pause."""
    return _words.phrases_of_words(_spoken(source))


def text(phrases: Sequence[Phrase]) -> str:
    """Format the words, with types and speakers if any speaker is known."""
    has_speakers = any(phrase.speaker is not None for phrase in phrases)
    rows = []
    for phrase in phrases:
        recording, speaker = _words.written_names("CTM", phrase)
        more = f" lex {speaker}" if has_speakers else ""
        for word in phrase.words:
            start, end = round(word.start, 3), round(word.end, 3)
            sure = "NA" if word.confidence is None else f"{word.confidence:.4g}"
            line = f"{recording} 1 {start:.3f} {end - start:.3f} {word.text} {sure}"
            rows.append((recording, start, f"{line}{more}\n"))
    rows.sort(key=lambda row: row[:2])  # NIST's programs require it
    return "".join(line for *_, line in rows)


def _spoken(source: Source) -> Iterator[tuple[_words.Stream, Word]]:
    is_alternative = False
    for number, fields in _words.content_lines(source):
        if fields[4:] and fields[4].upper() in ("<ALT_BEGIN>", "<ALT>", "<ALT_END>"):
            is_alternative = fields[4].upper() == "<ALT>"
        elif not is_alternative:
            try:
                yield from _parsed(fields)
            except ValueError as error:
                raise FaultError(str(error), number) from None


def _parsed(fields: Sequence[str]) -> Iterator[tuple[_words.Stream, Word]]:
    if not 5 <= len(fields) <= 8:
        raise ValueError(
            f"a line has 5 to 8 fields (recording, channel, start, duration, word, "
            f"confidence, type, speaker), this one has {len(fields)}"
        )
    recording, channel, *named = check_fields([*fields[:2], *fields[7:]])
    speaker = None if _CHANNEL.fullmatch(channel) else channel
    speaker = _words.known([*named, speaker or ""][0])
    start = _words.time_of(fields[2], "start")
    end = start + _words.time_of(fields[3], "duration")
    sure = fields[5] if len(fields) > 5 else ""
    confidence = probability(float(sure)) if re.fullmatch(r"[0-9.]+", sure) else None
    words = timed_words(fields[4].replace("<space>", " "), start, end, confidence)
    return (((recording, channel, speaker), word) for word in words)
