"""NIST STM: one phrase per line, ``recording channel speaker start end <labels> text``.

Labels are optional: ``<o,f0,male>`` or ``<NA>``. Lines of ``inter_segment_gap`` or
``excluded_region``, or with the text ``ignore_time_segment_in_scoring``, contain no
words. Of alternatives, ``{ a / b }``, the first is read, and ``@`` among them is
no word. STM has no escape for these signs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sms_diar.io._lines import check_fields
from sms_diar.io.transcripts import _words
from sms_diar.io.transcripts._source import Source, text_phrase
from sms_diar.io.turns._text import FaultError, is_stm, plain_seconds
from sms_diar.timeline.transcript import Phrase

_LABELS = re.compile(r"<[^<>,]*,[^<>]*>|<NA>")
_NOBODY = ("inter_segment_gap", "excluded_region")
_IGNORED = ["ignore_time_segment_in_scoring"]


def fits(source: Source) -> bool:
    """Recognise the position of the times; speakers may be numbers in ``.stm``."""
    fields = next((fields for _, fields in _words.content_lines(source)), [])
    return is_stm(fields) or (bool(fields) and source.path.suffix.lower() == ".stm")


def read(source: Source) -> Iterator[Phrase]:
    """Yield the lines of speakers, also those without words."""
    for number, fields in _words.content_lines(source):
        try:
            yield from _phrase(fields)
        except ValueError as error:
            raise FaultError(str(error), number) from None


def text(phrases: Sequence[Phrase]) -> str:
    """Format phrases, sorted by recording and start as NIST's programs require."""
    lines = []
    for phrase in sorted(phrases, key=lambda phrase: (phrase.recording, phrase.start)):
        recording, speaker = _words.written_names("STM", phrase)
        times = f"{plain_seconds(phrase.start)} {plain_seconds(phrase.end)}"
        is_like_labels = phrase.words and _LABELS.fullmatch(phrase.words[0].text)
        words = f"<NA> {phrase.text}" if is_like_labels else phrase.text
        lines.append(f"{recording} 1 {speaker} {times} {words}".rstrip() + "\n")
    return "".join(lines)


def _phrase(fields: Sequence[str]) -> Iterator[Phrase]:
    if len(fields) < 5:
        raise ValueError(
            f"a line has at least 5 fields (recording, channel, speaker, start, end, "
            f"words), this one has {len(fields)}"
        )
    recording, speaker = check_fields([fields[0], fields[2]])
    start, end = _words.time_of(fields[3], "start"), _words.time_of(fields[4], "end")
    words = fields[6:] if fields[5:] and _LABELS.fullmatch(fields[5]) else fields[5:]
    if speaker.lower() not in _NOBODY and [w.lower() for w in words] != _IGNORED:
        chosen = " ".join(_first_alternatives(words))
        yield text_phrase(recording, chosen, start, end, _words.known(speaker))


def _first_alternatives(words: Sequence[str]) -> Sequence[str]:
    """Return the words without all but the first of alternatives, also nested ones."""
    chosen: list[str] = []
    is_other: list[bool] = []  # for each open brace, whether a stroke was read
    for word in words:
        if word == "{":
            is_other.append(False)
        elif word == "/" and is_other:
            is_other[-1] = True
        elif word == "}" and is_other:
            is_other.pop()
        elif not any(is_other) and not (word == "@" and is_other):
            chosen.append(word)
    return words if is_other else chosen
