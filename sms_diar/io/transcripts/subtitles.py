"""Cues of subtitles, SubRip and WebVTT, to and from phrases.

Voice tags, ``<v ann>``, and ``[ann]: words`` name the speaker. Two other patterns also
occur in ordinary text, ``ann: words`` ("He said: no") and ``[ann] words``
("[laughs] Well"):

- A name before a colon begins a line, has at most four words, and of several words the
  last does not begin with a small letter. It is a speaker if it occurs in two cues, or
  if most cues begin a line with such a name.
- A name in brackets without a colon is a speaker if most cues have one.

Formatting tags are removed; times inside WebVTT cues, ``<00:00:01.000>``, are times of
words. Cues without a speaker have the speaker None. SRT has no escape for an arrow in a
text, ``-->``, which is written as ``->``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape, unescape
from itertools import groupby, pairwise

from sms_diar._text import clean_line
from sms_diar.io.transcripts._source import Source
from sms_diar.io.transcripts._words import PAUSE, UNKNOWN, known
from sms_diar.io.turns._text import FaultError, clock_ticks
from sms_diar.io.turns.registry import TURN_FORMATS
from sms_diar.io.turns.subtitles import (
    Cue,
    cue_text,
    cues_of,
    srt_name,
    webvtt_cues,
    webvtt_file,
    webvtt_voice,
)
from sms_diar.timeline.ticks import TICKS_PER_SECOND
from sms_diar.timeline.transcript import (
    Phrase,
    Word,
    is_unspaced,
    split_words,
    words_of_text,
)

# Broadcasters ask for two lines of about 42 characters, shown for one to six seconds,
# so that they can be read and do not flash.
LINE_LENGTH = 42
MOST_LINES = 2
LONGEST_CUE = 6.0
SHORTEST_CUE_MS = 1000

_SHORT_PAUSE = 0.3  # seconds; a good place to divide a phrase
_FORMAT = re.compile(r"</?(?:[bcius]|font|lang|rt|ruby)(?:[.\s=][^<>]*)?>|\{\\[^{}]*\}")
_MARK = re.compile(
    r"<v(?:\.[^\s<>]*)?[ \t](?P<voice>[^<>]*)>|</v>|<(?:(?P<hours>[0-9]{1,6}):)?"
    r"(?P<minutes>[0-9]{1,2}):(?P<seconds>[0-9]{2})[.,](?P<part>[0-9]{3})>"
)
_NAME = re.compile(
    r"[\s-]*+(?:\[(?P<name>[^\[\]]+)\](?P<colon>:?)|(?P<said>[^\s:\[][^:]*):)(?:\s|$)"
)
_MOST_NAME_WORDS = 4


def _has_words(format: str, source: Source) -> bool:
    """Recognise a file with cues that have more than the speaker's name."""
    is_format = TURN_FORMATS[format].matches(source.text.lstrip())
    return is_format and any(p.text != p.speaker for p in read(source))


srt_fits = partial(_has_words, "srt")
vtt_fits = partial(_has_words, "vtt")


def read(source: Source) -> Iterator[Phrase]:
    """Yield a phrase for each cue, or for each speaker of a cue."""
    is_webvtt = TURN_FORMATS["vtt"].matches(source.text.lstrip())
    cues = list(webvtt_cues(source.lines) if is_webvtt else cues_of(source.lines))
    names = _Names(cues)
    for cue in cues:
        try:
            words = list(_words(cue, names, unescape if is_webvtt else str))
        except ValueError as error:
            raise FaultError(str(error), cue.line) from None
        for speaker, group in groupby(words, key=lambda pair: pair[0]):
            part = (word for _, word in group)
            yield Phrase.of_words(source.recording, part, speaker)


class _Names:
    """Decides which names at the beginning of lines are speakers."""

    def __init__(self, cues: Sequence[Cue]) -> None:
        self._counts: Counter[str] = Counter()
        n_cues: Counter[bool] = Counter()  # with names in brackets, or before a colon
        for cue in cues:
            lines = _FORMAT.sub("", "\n".join(cue.text)).split("\n")
            matches = [m for m in map(_name, lines) if m and not m["colon"]]
            self._counts.update({m["said"] for m in matches if m["said"]})
            n_cues.update({m["said"] is None for m in matches})
        self._most = {kind: 2 * n > len(cues) for kind, n in n_cues.items()}

    def split(self, line: str) -> tuple[str | None, str]:
        """Return the speaker that a line names, or None, and the rest of the line."""
        match = _name(line)
        if match is None:
            return None, line
        is_speaker = match["colon"] or self._most.get(match["said"] is None)
        if not is_speaker and self._counts[match["said"]] < 2:
            return None, line
        return match["name"] or match["said"], line[match.end() :]


def _name(line: str) -> re.Match[str] | None:
    match = _NAME.match(line)
    if match is None or match["name"]:
        return match if match and match["name"].strip() else None
    words = match["said"].split()
    is_text = len(words) > 1 and words[-1][0].islower()
    return None if is_text or len(words) > _MOST_NAME_WORDS else match


def _words(
    cue: Cue, names: _Names, plain: Callable[[str], str]
) -> Iterator[tuple[str | None, Word]]:
    """Yield the speaker, if known, and the words of a cue."""
    groups: list[tuple[int, list[tuple[str | None, str]]]] = [(cue.start, [])]
    for time, name, text in _marked(cue, names):
        if time is not None:
            groups.append((min(max(time, groups[-1][0]), cue.end), []))
        speaker = None if name is None else known(clean_line(plain(name)))
        groups[-1][1].append((speaker, clean_line(plain(text))))
    groups.append((cue.end, []))
    for number, ((first, parts), (last, _)) in enumerate(pairwise(groups)):
        start, end = first / TICKS_PER_SECOND, last / TICKS_PER_SECOND
        words = words_of_text(" ".join(text for _, text in parts), start, end)
        if number and len(words) == 1:
            words = (replace(words[0], is_estimated=False),)
        speakers = (speaker for speaker, text in parts for _ in split_words(text))
        yield from zip(speakers, words, strict=True)


def _marked(cue: Cue, names: _Names) -> Iterator[tuple[int | None, str | None, str]]:
    """Yield the parts of a cue: a time in ticks if one precedes, speaker and text."""
    voice: str | None = None
    speaker: str | None = None
    for line in _FORMAT.sub("", "\n".join(cue.text)).split("\n"):
        time: int | None = None
        position = 0
        for mark in (*_MARK.finditer(line), None):
            text = line[position : None if mark is None else mark.start()]
            if position == 0 and voice is None:
                name, text = names.split(text)
                speaker = name or speaker
            yield time, voice or speaker, text
            if mark is not None:
                position, time = mark.end(), None
                if mark["seconds"]:
                    parts = mark.group("hours", "minutes", "seconds", "part")
                    time = clock_ticks(*parts)
                else:
                    voice = mark["voice"]


def srt_text(phrases: Sequence[Phrase]) -> str:
    """Format phrases of one recording, ``[ann]: words``, if any speaker is known."""
    has_speakers = any(phrase.speaker is not None for phrase in phrases)

    def label(speaker: str | None) -> str:
        return f"{srt_name(speaker or UNKNOWN)}:" if has_speakers else ""

    cues = _shown_cues(phrases, label)
    rows = ((c.start, c.end, c.text.replace("-->", "->")) for c in cues)
    return cue_text(rows, mark=",", numbered=True)


def vtt_text(phrases: Sequence[Phrase]) -> str:
    """Format phrases of one recording, with voices."""
    rows = []
    for cue in _shown_cues(phrases, lambda _: ""):
        voice = "" if cue.speaker is None else webvtt_voice(cue.speaker)
        rows.append((cue.start, cue.end, voice + escape(cue.text, quote=False)))
    return webvtt_file(rows)


@dataclass
class _ShownCue:
    """A cue to write; times are in milliseconds."""

    speaker: str | None
    start: int
    end: int
    text: str


def _shown_cues(
    phrases: Sequence[Phrase], label: Callable[[str | None], str]
) -> list[_ShownCue]:
    """Divide phrases of one recording into cues, in order of time.

    `label` returns the text before the words of a speaker. Cues of a speaker do not
    overlap, and short ones last longer if there is room before the next cue.
    """
    cues = []
    for phrase in phrases:
        name = label(phrase.speaker)
        for words in _divided(name, _whole(phrase.words)):
            start = round(1000 * words[0].start)
            end = max(start + 1, *(round(1000 * word.end) for word in words))
            text = "\n".join(_filled(name, words))
            cues.append(_ShownCue(phrase.speaker, start, end, text))
    cues.sort(key=lambda cue: cue.start)
    latest: dict[str | None, _ShownCue] = {}
    for cue in cues:
        before = latest.get(cue.speaker)
        if before is not None:
            cue.start = max(cue.start, before.start + 1)
            cue.end = max(cue.end, cue.start + 1)
            before.end = min(before.end, cue.start)
        latest[cue.speaker] = cue
    cues.sort(key=lambda cue: cue.start)
    for cue, following in pairwise(cues):
        cue.end = max(cue.end, min(cue.start + SHORTEST_CUE_MS, following.start))
    if cues:
        cues[-1].end = max(cues[-1].end, cues[-1].start + SHORTEST_CUE_MS)
    return cues


def _whole(words: Sequence[Word]) -> list[Word]:
    """Join words that no space separates, except in scripts without spaces."""
    whole: list[Word] = []
    for word in words:
        if whole and word.is_joined and not is_unspaced(word.text):
            text, end = whole[-1].text + word.text, max(whole[-1].end, word.end)
            whole[-1] = replace(whole[-1], text=text, end=end)
        else:
            whole.append(word)
    return whole


def _divided(label: str, words: Sequence[Word]) -> Iterator[list[Word]]:
    """Divide the words of a phrase at pauses, and where a cue would be too long."""
    part: list[Word] = []
    for word in words:
        while part and not _fits(label, [*part, word]):
            n_words = _best_break(part)
            yield part[:n_words]
            part = part[n_words:]
        if part and word.start - part[-1].end > PAUSE:
            yield part
            part = []
        part.append(word)
    if part:
        yield part


def _fits(label: str, words: Sequence[Word]) -> bool:
    is_short = words[-1].end - words[0].start <= LONGEST_CUE
    return is_short and len(_filled(label, words)) <= MOST_LINES


def _best_break(words: Sequence[Word]) -> int:
    """Return the number of words before the last best break; none is near the start."""
    best, best_rank = len(words), 0
    for n_words in range(len(words) // 3 + 1, len(words) + 1):
        last = words[n_words - 1]
        rank = 3 if last.text[-1] in ".?!\u2026\u3002\uff01\uff1f" else 0
        if n_words < len(words) and words[n_words].start - last.end >= _SHORT_PAUSE:
            rank = max(rank, 2)
        if last.text[-1] in ",;:\u3001\uff0c":
            rank = max(rank, 1)
        if rank >= best_rank:
            best, best_rank = n_words, rank
    return best


def _filled(label: str, words: Sequence[Word]) -> list[str]:
    """Fill lines with words, after the label."""
    lines = [label]
    for number, word in enumerate(words):
        is_joined = not lines[-1] or (word.is_joined and number > 0)
        text = word.text if is_joined else f" {word.text}"
        if lines[-1] and len(lines[-1]) + len(text) > LINE_LENGTH:
            lines.append(word.text)
        else:
            lines[-1] += text
    return lines
