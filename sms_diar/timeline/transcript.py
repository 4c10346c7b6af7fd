"""Words and when they were spoken.

A transcript is a sequence of phrases, and a phrase is a sequence of words of one
speaker, such as a segment of a speech recogniser or a cue of a subtitle file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import SupportsIndex, overload

from sms_diar._text import is_name
from sms_diar.errors import InvalidParameterError
from sms_diar.types import Problem, Segment, Turn

# Han, Hiragana, Katakana and full-width forms, which are written without spaces.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f"
_MARKS = "\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f\u300d\u300f\uff09"
_PART = re.compile(f"[{_UNSPACED}][{_MARKS}]*|[^{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its punctuation, and its times in seconds.

    Parameters
    ----------
    text : str
        Text without white space.
    start, end : float
        Times in seconds; recognisers often write words without length.
    confidence : float, optional
        Probability of the text according to the recogniser.
    speaker_confidence : float, optional
        Probability of the speaker of the phrase for this word.
    is_estimated : bool, default=False
        Whether the times were estimated from those of the phrase.
    is_joined : bool, default=False
        Whether no space separates the word from the previous one, as in Chinese.
    """

    text: str
    start: float
    end: float
    confidence: float | None = None
    speaker_confidence: float | None = None
    is_estimated: bool = False
    is_joined: bool = False

    def __post_init__(self) -> None:
        if not is_name(self.text) or len(self.text.split()) != 1:
            problem = (
                f"must be one word without white space and control characters, got "
                f"{self.text!r}"
            )
            raise InvalidParameterError(problem, owner="Word", parameter="text")
        _check_times("Word", self.text, self.start, self.end)
        for name in ("confidence", "speaker_confidence"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                problem = f"must be between 0 and 1, got {value!r}"
                raise InvalidParameterError(problem, owner="Word", parameter=name)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words of one speaker that belong together.

    The speaker is None if unknown. Files may contain phrases without words.
    """

    recording: str
    start: float
    end: float
    speaker: str | None = None
    words: tuple[Word, ...] = ()

    def __post_init__(self) -> None:
        for name in ("recording", "speaker"):
            value = getattr(self, name)
            if not (value is None and name == "speaker") and not is_name(value):
                problem = f"must be a name without control characters, got {value!r}"
                raise InvalidParameterError(problem, owner="Phrase", parameter=name)
        _check_times("Phrase", self.recording, self.start, self.end)

    @classmethod
    def of_words(
        cls, recording: str, words: Iterable[Word], speaker: str | None = None
    ) -> Phrase:
        """Return a phrase from the first start to the last end of its words."""
        listed = tuple(words)
        start = min(word.start for word in listed)
        return cls(recording, start, max(w.end for w in listed), speaker, listed)

    @property
    def text(self) -> str:
        """Text of the words, with spaces between words that are not joined."""
        return text_of(self.words)


@dataclass(frozen=True, repr=False)
class Transcript(Sequence[Phrase]):
    """Phrases of any number of recordings, in the order of the input.

    Parameters
    ----------
    phrases : tuple of Phrase
        Phrases with words.
    problems : tuple of Problem
        Remarks of the reader.

    Examples
    --------
    >>> words = words_of_text("Good morning.", 0.5, 1.7)
    >>> transcript = Transcript((Phrase("call", 0.5, 1.7, "ann", words),))
    >>> transcript
    <Transcript: 2 words, 1 phrase, 1 speaker, 1 recording>
    >>> transcript[0].text, [round(word.start, 2) for word in transcript.words]
    ('Good morning.', [0.5, 0.9])
    """

    phrases: tuple[Phrase, ...]
    problems: tuple[Problem, ...] = ()

    @overload
    def __getitem__(self, index: SupportsIndex) -> Phrase: ...

    @overload
    def __getitem__(self, index: slice) -> Transcript: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Phrase | Transcript:
        if isinstance(index, slice):
            return Transcript(self.phrases[index])
        return self.phrases[index]

    def __len__(self) -> int:
        return len(self.phrases)

    def __iter__(self) -> Iterator[Phrase]:
        return iter(self.phrases)

    @property
    def words(self) -> Iterator[Word]:
        """All words in the order of the phrases."""
        return (word for phrase in self.phrases for word in phrase.words)

    @property
    def recordings(self) -> list[str]:
        """Names of the recordings in order of first appearance."""
        return list(dict.fromkeys(phrase.recording for phrase in self.phrases))

    @property
    def speakers(self) -> list[str]:
        """Names of the speakers in order of first appearance."""
        names = (phrase.speaker for phrase in self.phrases)
        return list(dict.fromkeys(name for name in names if name is not None))

    def by_recording(self) -> dict[str, list[Phrase]]:
        """Return the phrases of each recording."""
        groups: dict[str, list[Phrase]] = {}
        for phrase in self.phrases:
            groups.setdefault(phrase.recording, []).append(phrase)
        return groups

    def turns(self) -> list[Turn]:
        """Return phrases that have a speaker and a length as turns."""
        return [
            Turn(Segment(phrase.recording, phrase.start, phrase.end), phrase.speaker)
            for phrase in self.phrases
            if phrase.speaker is not None and phrase.end > phrase.start
        ]

    def __repr__(self) -> str:
        counts = (
            (sum(len(phrase.words) for phrase in self.phrases), "word"),
            (len(self), "phrase"),
            (len(self.speakers), "speaker"),
            (len(self.recordings), "recording"),
        )
        shown = (f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts)
        return f"<Transcript: {', '.join(shown)}>"


def text_of(words: Iterable[Word]) -> str:
    """Return the text of words, with spaces between words that are not joined."""
    parts = (word.text if word.is_joined else f" {word.text}" for word in words)
    return "".join(parts).lstrip()


def split_words(text: str) -> list[tuple[str, bool]]:
    """Split text into words, and whether each is joined to the previous one.

    Characters of scripts without spaces are words of their own.

    >>> split_words("well, 你好")
    [('well,', False), ('你', False), ('好', True)]
    """
    return [
        (part, position > 0)
        for piece in text.split()
        for position, part in enumerate(_PART.findall(piece))
    ]


def is_unspaced(text: str) -> bool:
    """Return true if a text begins in a script without spaces."""
    return re.match(f"[{_UNSPACED}]", text) is not None


def words_of_text(text: str, start: float, end: float) -> tuple[Word, ...]:
    """Divide the time of a text among its words in proportion to their letters."""
    parts = split_words(text)
    times = shared_time([len(part) for part, _ in parts], start, end)
    return tuple(
        Word(part, *span, is_estimated=True, is_joined=is_joined)
        for (part, is_joined), span in zip(parts, times, strict=True)
    )


def shared_time(
    lengths: Sequence[int], start: float, end: float
) -> Iterator[tuple[float, float]]:
    """Yield the times of parts that divide an interval in proportion to lengths."""
    n_before = list(accumulate(lengths, initial=0))
    total = n_before[-1] or 1
    return pairwise(start + (end - start) * n / total for n in n_before)


def _check_times(owner: str, what: str, start: float, end: float) -> None:
    if not 0.0 <= start <= end < inf:
        raise InvalidParameterError(
            f"{owner.lower()} {what!r} must satisfy 0 <= start <= end, got "
            f"start={start!r}, end={end!r}"
        )
