"""Subtitles, SubRip and WebVTT, to and from turns and phrases.

As turns, SRT cues are written with the speaker's name, ``[ann]``, and WebVTT cues with
a voice tag, ``<v ann>ann``. Every name before the words of a cue is read as a speaker.

In transcripts, voice tags, ``<v ann>``, and ``[ann]: words`` name the speaker. Two
other patterns also occur in ordinary text, ``ann: words`` ("He said: no") and
``[ann] words`` ("[laughs] Well"):

- A name before a colon begins a line, has at most four words, and of several words the
  last does not begin with a small letter. It is a speaker if it occurs in two cues, or
  if most cues begin a line with such a name.
- A name in brackets without a colon is a speaker if most cues have one.

Formatting tags are removed; times inside WebVTT cues, ``<00:00:01.000>``, are times of
words. Cues without a speaker have the speaker None. SRT has no escape for an arrow,
``-->``: in a text it is written as ``->``, and names that contain it are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import escape, unescape
from itertools import chain, groupby, pairwise
from math import inf
from typing import NamedTuple

from sms_diar._text import clean_line
from sms_diar.errors import InvalidParameterError
from sms_diar.io.registry import TURN_FORMATS
from sms_diar.io.transcripts._source import Source
from sms_diar.io.transcripts._words import PAUSE, UNKNOWN, Interval, apart, known
from sms_diar.io.turns._text import (
    FaultError,
    Spoken,
    check_name,
    clock_ticks,
    milliseconds,
    one_recording,
)
from sms_diar.timeline.ticks import TICKS_PER_SECOND
from sms_diar.timeline.transcript import (
    Phrase,
    Word,
    is_unspaced,
    split_words,
    text_of,
    words_of_text,
)
from sms_diar.types import Turn

# Broadcasters ask for two lines of about 42 characters, shown for one to six seconds,
# so that they can be read and do not flash.
LINE_LENGTH = 42
MOST_LINES = 2
LONGEST_CUE = 6.0
SHORTEST_CUE_MS = 1000

_SHORT_PAUSE = 0.3  # seconds; a good place to divide a phrase
_TIME = r"(?:([0-9]{1,6}):)?([0-9]{1,2}):([0-9]{2})[.,]([0-9]{3})"
_TIMING = re.compile(rf"\s*{_TIME}\s+-->\s+{_TIME}(?:\s.*)?")
_HEAD = "WEBVTT"
_FORMAT = re.compile(r"</?(?:[bcius]|font|lang|rt|ruby)(?:[.\s=][^<>]*)?>|\{\\[^{}]*\}")
_MARK = re.compile(
    r"<v(?:\.[^\s<>]*)?[ \t](?P<voice>[^<>]*)>|</v>|<(?:(?P<hours>[0-9]{1,6}):)?"
    r"(?P<minutes>[0-9]{1,2}):(?P<seconds>[0-9]{2})[.,](?P<part>[0-9]{3})>"
)
_NAME = re.compile(
    r"[\s-]*+(?:\[(?P<name>[^\[\]]+)\](?P<colon>:?)|(?P<said>[^\s:\[][^:]*):)(?:\s|$)"
)
_MOST_NAME_WORDS = 4


class Cue(NamedTuple):
    """A cue: line number of its time line, start and end in ticks, text lines."""

    line: int
    start: int
    end: int
    text: list[str]


def _has_words(format: str, source: Source) -> bool:
    """Recognise a file with cues that have more than the speaker's name."""
    is_format = TURN_FORMATS[format].matches(source.text.lstrip())
    return is_format and any(p.text != p.speaker for p in read(source))


srt_fits, vtt_fits = (partial(_has_words, name) for name in ("srt", "vtt"))


def _cues(source: Source) -> tuple[list[Cue], Callable[[str], str]]:
    """Return the cues of a file, and the function that decodes their text."""
    if TURN_FORMATS["vtt"].matches(source.text.lstrip()):
        return list(_webvtt_cues(source.lines)), unescape
    return list(_cues_of(source.lines)), str


def read(source: Source) -> Iterator[Phrase]:
    """Yield a phrase for each cue, or for each speaker of a cue."""
    cues, plain = _cues(source)
    names = _Names(cues)
    for cue in cues:
        try:
            words = list(_words(cue, names, plain))
        except ValueError as error:
            raise FaultError(str(error), cue.line) from None
        for speaker, group in groupby(words, key=lambda pair: pair[0]):
            part = (word for _, word in group)
            yield Phrase.of_words(source.recording, part, speaker)


def spoken(source: Source) -> Iterator[Spoken]:
    """Yield a turn for each speaker of a cue; every name is taken for a speaker."""
    cues, plain = _cues(source)
    names = _Names(cues, are_turns=True)
    for cue in cues:
        first = cue.text[0].strip() if cue.text else ""
        whole = _bracketed(first)
        parts = (
            [part for _, part, _ in _marked(cue, names)] if whole is None else [whole]
        )
        found = (plain(part).strip() for part in parts if part is not None)
        speakers = dict.fromkeys(filter(None, found))
        if not speakers:
            raise FaultError(
                f"the cue does not name a speaker; this may be a transcript (words) "
                f"rather than turns; expected '[name]' or 'name: words', got "
                f"{first[:40]!r}",
                cue.line,
            )
        for speaker in speakers:
            yield Spoken(cue.line, speaker, cue.start, cue.end)


def _webvtt_cues(lines: Sequence[str]) -> Iterator[Cue]:
    """Read the cues of a WebVTT file, after checking its first line."""
    if lines[0] != _HEAD and not lines[0].startswith((f"{_HEAD} ", f"{_HEAD}\t")):
        raise FaultError(f"the first line must be {_HEAD}, got {lines[0][:40]!r}", 1)
    # Lines directly below the first one belong to the header.
    first = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
    return _cues_of(lines, first)


def _cues_of(lines: Sequence[str], first: int = 0) -> Iterator[Cue]:
    """Read cues separated by blank lines, starting at the 0-based line `first`.

    A line before the time line, such as a number, is the cue's identifier. Blocks that
    begin with NOTE, STYLE or REGION are skipped.
    """
    at = first
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        end = at
        while end < len(lines) and lines[end].strip():
            end += 1
        block = lines[at:end]
        if block[0].split()[0] not in ("NOTE", "STYLE", "REGION"):
            yield _cue(block, at + 1)
        at = end


def _cue(block: Sequence[str], number: int) -> Cue:
    for offset, line in enumerate(block[:2]):
        if "-->" not in line:
            continue
        match = _TIMING.fullmatch(line)
        if match is None:
            raise FaultError(
                f"a time line is 'hours:minutes:seconds,milliseconds --> ...', got "
                f"{line.strip()!r}",
                number + offset,
            )
        try:
            start, end = (
                clock_ticks(*match.group(n, n + 1, n + 2, n + 3)) for n in (1, 5)
            )
        except ValueError as error:
            raise FaultError(str(error), number + offset) from None
        return Cue(number + offset, start, end, list(block[offset + 1 :]))
    raise FaultError(
        f"a cue begins with its times ('... --> ...'), got {block[0].strip()!r}; text "
        f"must not contain blank lines",
        number,
    )


def _bracketed(line: str) -> str | None:
    """Return the name if a line is a name in brackets, with any signs, and no words."""
    match = _NAME.match(line)
    is_name = line.startswith("[") and line.endswith("]") and len(line) > 2
    is_name = is_name and (match is None or match.end() == len(line))
    return line[1:-1] if is_name else None


class _Names:
    """Decides which names at the beginning of lines are speakers: all, for turns."""

    def __init__(self, cues: Sequence[Cue], *, are_turns: bool = False) -> None:
        self._are_turns = are_turns
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
        match = _name(line, are_turns=self._are_turns)
        if match is None:
            return None, line
        is_speaker = match["colon"] or self._most.get(match["said"] is None)
        is_speaker = is_speaker or self._are_turns or self._counts[match["said"]] > 1
        if not is_speaker:
            return None, line
        return match["name"] or match["said"], line[match.end() :]


def _name(line: str, *, are_turns: bool = False) -> re.Match[str] | None:
    match = _NAME.match(line)
    if match is None or match["name"] or are_turns:
        return match if match and (match["name"] or match["said"]).strip() else None
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
    rows = []
    for cue in _shown_cues(phrases):
        label = f"{_srt_name(cue.speaker or UNKNOWN)}:" if has_speakers else ""
        text = f"{label} {cue.text}" if cue.text[0] != "\n" else label + cue.text
        rows.append((cue.start, cue.end, text.strip().replace("-->", "->")))
    return _cue_text(rows, mark=",", numbered=True)


def vtt_text(phrases: Sequence[Phrase]) -> str:
    """Format phrases of one recording, with voices."""
    rows = []
    for cue in _shown_cues(phrases):
        voice = "" if cue.speaker is None else _voice(cue.speaker)
        rows.append((cue.start, cue.end, voice + escape(cue.text.strip(), quote=False)))
    return _vtt_file(rows)


def srt_turns_text(turns: Sequence[Turn], _: float) -> str:
    """Format turns of one recording as cues with names."""
    listed = one_recording("SRT", turns)
    rows = ((*milliseconds("SRT", turn), _srt_name(turn.speaker)) for turn in listed)
    return _cue_text(rows, mark=",", numbered=True)


def vtt_turns_text(turns: Sequence[Turn], _: float) -> str:
    """Format turns of one recording as cues with voices."""
    return _vtt_file(
        (*milliseconds("WebVTT", t), _voice(t.speaker) + escape(t.speaker, quote=False))
        for t in one_recording("WebVTT", turns)
    )


def _voice(speaker: str) -> str:
    name = escape(check_name("WebVTT", "speaker", speaker), quote=False)
    return f"<v {name}>"


def _srt_name(speaker: str) -> str:
    payload = f"[{check_name('SRT', 'speaker', speaker)}]"
    if "-->" in speaker or _bracketed(payload) != speaker:
        problem = (
            f"must be a name that subtitles can contain, got {speaker!r}; rename it, "
            f"or write WebVTT"
        )
        raise InvalidParameterError(problem, owner="SRT", parameter="speaker")
    return payload


def _vtt_file(cues: Iterable[tuple[int, int, str]]) -> str:
    body = _cue_text(cues, mark=".", numbered=False)
    return f"{_HEAD}\n\n{body}" if body else f"{_HEAD}\n"


def _cue_text(
    cues: Iterable[tuple[int, int, str]], *, mark: str, numbered: bool
) -> str:
    """Format cues: start and end in milliseconds, and text.

    `mark` separates seconds and milliseconds.
    """
    blocks = []
    for number, (start, end, text) in enumerate(cues, start=1):
        head = f"{number}\n" if numbered else ""
        times = f"{clock(start, mark)} --> {clock(end, mark)}"
        blocks.append(f"{head}{times}\n{text}\n")
    return "\n".join(blocks)


def clock(time: int, mark: str = ".") -> str:
    """Format milliseconds as hours, minutes and seconds."""
    seconds, part = divmod(time, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}{mark}{part:03d}"


def _shown_cues(phrases: Sequence[Phrase]) -> list[Interval]:
    """Divide phrases of one recording into cues, in order of time.

    Short cues last longer if there is room before the next one.
    """
    cues = apart(
        Interval.of(
            Phrase.of_words(phrase.recording, chain(*lines), phrase.speaker),
            "\n".join(map(text_of, lines)),
        )
        for phrase, parts in _cue_lines(phrases)
        for lines in parts
    )
    for cue, limit in zip(cues, [*(c.start for c in cues[1:]), inf], strict=False):
        cue.end = max(cue.end, int(min(cue.start + SHORTEST_CUE_MS, limit)))
    return cues


def breaks(phrases: Sequence[Phrase]) -> Iterator[int]:
    """Yield 2 for each word that begins a cue, plus 1 if it begins a further line."""
    for phrase, parts in _cue_lines(phrases):
        marks: list[int] = []
        for lines in parts:
            first = len(marks)
            for number, line in enumerate(lines):
                marks += [int(number > 0), *[0] * (len(line) - 1)] if line else []
            marks[first] += 2
        remaining = iter(marks)
        for place, word in enumerate(phrase.words):
            yield 0 if place and _is_part(word) else next(remaining)


def _cue_lines(
    phrases: Sequence[Phrase],
) -> Iterator[tuple[Phrase, Iterator[list[list[Word]]]]]:
    """Yield each phrase and its cues, as lists of lines of words.

    The first line begins with the name of the speaker, and is empty if that fills it.
    """
    has_speakers = any(phrase.speaker is not None for phrase in phrases)
    for phrase in phrases:
        length = len(f"[{phrase.speaker or UNKNOWN}]:") if has_speakers else 0
        parts = _divided(length, _whole(phrase.words))
        yield phrase, (_lines(length, words) for words in parts)


def _whole(words: Sequence[Word]) -> list[Word]:
    """Join words that no space separates, except in scripts without spaces."""
    whole: list[Word] = []
    for word in words:
        if whole and _is_part(word):
            text, end = whole[-1].text + word.text, max(whole[-1].end, word.end)
            whole[-1] = replace(whole[-1], text=text, end=end)
        else:
            whole.append(word)
    return whole


def _is_part(word: Word) -> bool:
    return word.is_joined and not is_unspaced(word.text)


def _divided(name_length: int, words: Sequence[Word]) -> Iterator[list[Word]]:
    """Divide the words of a phrase at pauses, and where a cue would be too long."""
    part: list[Word] = []
    for word in words:
        while part and not _fits(name_length, [*part, word]):
            n_words = _best_break(part)
            yield part[:n_words]
            part = part[n_words:]
        if part and word.start - part[-1].end > PAUSE:
            yield part
            part = []
        part.append(word)
    if part:
        yield part


def _fits(name_length: int, words: Sequence[Word]) -> bool:
    is_short = words[-1].end - words[0].start <= LONGEST_CUE
    return is_short and len(_lines(name_length, words)) <= MOST_LINES


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


def _lines(name_length: int, words: Sequence[Word]) -> list[list[Word]]:
    """Fill lines with words; the first one begins with the name of the speaker."""
    lines: list[list[Word]] = [[]]
    length = name_length
    for number, word in enumerate(words):
        n_letters = len(word.text) + (not word.is_joined or number == 0)
        if length and length + n_letters > LINE_LENGTH:
            lines.append([])
            length = 0
        lines[-1].append(word)
        length += n_letters if length else len(word.text)
    return lines
