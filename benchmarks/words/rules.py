"""Simple rules that give words to speakers, for comparison.

`by_word` is the usual one: the speaker who shares most time with the word, or the
nearest one. The function ``assign_word_speakers`` of whisperX does the same without the
nearest one: words outside all turns stay without a speaker. `by_phrase` gives all words
of a phrase to the speaker who shares most time with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sms_diar.timeline.transcript import Phrase
from sms_diar.types import FloatArray, Turn


def _shared(
    start: FloatArray, end: FloatArray, turns: Sequence[Turn]
) -> tuple[list[str], FloatArray, FloatArray]:
    """Return speakers, shared time and distance, each of shape (n, n_speakers)."""
    speakers = sorted({turn.speaker for turn in turns})
    shared = np.zeros((len(start), len(speakers)))
    distance = np.full(shared.shape, np.inf)
    for turn in turns:
        column = speakers.index(turn.speaker)
        common = np.minimum(end, turn.segment.end) - np.maximum(
            start, turn.segment.start
        )
        shared[:, column] += np.maximum(common, 0.0)
        distance[:, column] = np.minimum(distance[:, column], np.maximum(-common, 0.0))
    return speakers, shared, distance


def by_word(
    phrases: Sequence[Phrase], turns: Sequence[Turn], *, nearest: bool = True
) -> list[str | None]:
    """Return the speaker with most time in common with each word."""
    words = [word for phrase in phrases for word in phrase.words]
    start, end = (np.array([getattr(w, name) for w in words]) for name in _TIMES)
    speakers, shared, distance = _shared(start, end, turns)
    best: list[str | None] = [speakers[index] for index in shared.argmax(axis=1)]
    for row in np.flatnonzero(shared.max(axis=1) <= 0.0):
        best[row] = speakers[distance[row].argmin()] if nearest else None
    return best


def whisperx(phrases: Sequence[Phrase], turns: Sequence[Turn]) -> list[str | None]:
    """Return the same, but None for words that share no time with a turn."""
    return by_word(phrases, turns, nearest=False)


def by_phrase(phrases: Sequence[Phrase], turns: Sequence[Turn]) -> list[str | None]:
    """Return the speaker with most time in common with the phrase of each word."""
    start, end = (np.array([getattr(p, name) for p in phrases]) for name in _TIMES)
    speakers, shared, _ = _shared(start, end, turns)
    best = [speakers[index] for index in shared.argmax(axis=1)]
    return [
        name for phrase, name in zip(phrases, best, strict=True) for _ in phrase.words
    ]


_TIMES = ("start", "end")


def error_rate(speakers: Sequence[str | None], true: Sequence[str]) -> float:
    """Return the percentage of words with a wrong speaker or none."""
    wrong = [name != right for name, right in zip(speakers, true, strict=True)]
    return 100.0 * float(np.mean(wrong))
