"""Speakers of words, by the turns of the speakers.

A hidden Markov model has the speakers as states. The probability of a word in a state
is the activity of the speaker around the word: the mean over the interval of the word,
blurred by an error of its times. Where two speakers overlap, both have the same
activity, and the context decides::

    turns       aaaaaaaaaaaaaaa
                          bbbbbbbbbbbbb
    words       I   think so.  Yes  me too
    active      a   a     ab   b    b  b

The speaker changes between two words with a probability that is a logistic function of
the context: whether a sentence or a phrase ends there, and how far the next edge of a
turn is. Pauses count by these edges. The most probable sequence of speakers is found by
the Viterbi algorithm, and the probability of each speaker by the forward-backward
algorithm. For n words and s speakers both take time O(n s).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from sms_diar.timeline.regions import joined
from sms_diar.timeline.transcript import Phrase, Word
from sms_diar.types import FloatArray, IntArray, Turn

BLURS = (0.02, 0.04, 0.08, 0.16)
"""Mean errors of times in seconds, of words and turns together. The most probable one
is selected for each recording."""

ESTIMATED_BLUR = 0.3
"""Mean error of times that were estimated from the times of the phrase."""

NEAR = 0.75
"""Maximum distance in seconds of a word from the turns; farther ones get no speaker."""

WEIGHTS = (-1.0, 3.9, 0.45, -1.4)
"""Weights of the logit of the probability that the speaker changes between two words: a
constant, whether a sentence ends, whether a phrase ends, and the distance of the
nearest edge of a turn, in units of the blur. `benchmarks.words.fit` fits them."""

TEMPER = 0.6
"""Power of all probabilities in the confidence of speakers, because the errors of
adjacent words are alike; without it, confidences are too high."""

_FAR = 12.0  # distance in blurs beyond which an edge does not matter
_FLOOR = 1e-4  # minimum activity, because any turn can be wrong
_SHORTEST = 0.02  # minimum length of a word; recognisers write words without length
_USUAL = 0.08, 10.0  # usual error in seconds, and its weight in words, for the blur
_UNPUNCTUATED = 0.5  # counts as end of a sentence without punctuation
_ENDS = tuple(".?!\u2026\u3002\uff1f\uff01\u061f\u0964")
_CLOSING = "\"')]\u201d\u2019\u00bb\u300d\u300f\uff09"


@dataclass(frozen=True, eq=False)
class SpeakerModel:
    """Hidden Markov model of the words of a recording.

    `activity` has shape (n_words, n_speakers). `change`, of shape (n_words,), is the
    probability that a word has another speaker than the previous one; all others are
    equally probable.
    """

    activity: FloatArray
    change: FloatArray

    def best_path(self) -> IntArray:
        """Return the most probable sequence of speakers by the Viterbi algorithm."""
        n_words, n_speakers = self.activity.shape
        path = np.zeros(n_words, dtype=np.int64)
        if n_speakers < 2 or not n_words:
            return path
        emission = np.log(self.activity)
        stay, move = np.log1p(-self.change), np.log(self.change / (n_speakers - 1))
        previous = np.empty((n_words, n_speakers), dtype=np.int64)
        everyone = np.arange(n_speakers)
        score = emission[0]
        for word in range(1, n_words):
            # The best other speaker is the first, or the second for the first itself.
            second, first = np.argsort(score)[-2:]
            other = np.where(everyone == first, second, first)
            stayed, moved = score + stay[word], score[other] + move[word]
            previous[word] = np.where(stayed >= moved, everyone, other)
            score = np.maximum(stayed, moved) + emission[word]
        path[-1] = np.argmax(score)
        for word in range(n_words - 1, 0, -1):
            path[word - 1] = previous[word, path[word]]
        return path

    def posterior(self) -> FloatArray:
        """Return the probability of each speaker, shape (n_words, n_speakers)."""
        n_words, n_speakers = self.activity.shape
        if n_speakers < 2:
            return np.ones((n_words, n_speakers))
        move = self.change / (n_speakers - 1)
        stay = 1.0 - self.change - move  # in addition to `move`, which goes to all
        forward, backward = np.ones((2, n_words, n_speakers))
        state = np.full(n_speakers, 1.0 / n_speakers)
        for word in range(n_words):
            state = self.activity[word] * (stay[word] * state + move[word])
            state /= state.sum()
            forward[word] = state
        for word in range(n_words - 1, 0, -1):
            state = self.activity[word] * backward[word]
            backward[word - 1] = stay[word] * state / state.sum() + move[word]
        both = forward * backward
        return np.asarray(both / both.sum(axis=1, keepdims=True))

    def tempered(self, power: float) -> SpeakerModel:
        """Return the model with a power of all probabilities."""
        change, stay = self.change**power, (1.0 - self.change) ** power
        return SpeakerModel(self.activity**power, change / (change + stay))


def assign_speakers(
    phrases: Sequence[Phrase],
    turns: Sequence[Turn],
    confidence: Sequence[float | None] | None = None,
) -> list[Phrase]:
    """Give the words of a recording to the speakers of its turns.

    Parameters
    ----------
    phrases : sequence of Phrase
        Phrases of one recording; their speakers are ignored.
    turns : sequence of Turn
        Turns of the same recording.
    confidence : sequence of float or None, optional
        Probability that each turn has the right speaker; None counts as 1.

    Returns
    -------
    phrases : list of Phrase
        The same words in the same order. Phrases are split where the speaker changes.
        The speaker is None for words that are farther than `NEAR` from all turns.
        Phrases that are not split keep their times.
    """
    numbered = [(n, word) for n, phrase in enumerate(phrases) for word in phrase.words]
    distance = _distance([word for _, word in numbered], turns)
    near = np.flatnonzero(distance <= NEAR).tolist()
    order = sorted(near, key=lambda row: numbered[row][1].start)
    speakers = sorted({turn.speaker for turn in turns})
    model = speaker_model(
        [numbered[row][1] for row in order],
        np.array([numbered[row][0] for row in order], dtype=np.int64),
        turns,
        confidence,
    )
    path, probability = model.best_path(), model.tempered(TEMPER).posterior()
    labels: list[tuple[str | None, float | None]] = [(None, None)] * len(numbered)
    for position, (row, state) in enumerate(zip(order, path.tolist(), strict=True)):
        labels[row] = speakers[state], round(float(probability[position, state]), 6)
    assigned: list[Phrase] = []
    remaining = iter(labels)
    for phrase in phrases:
        labelled = [(word, *next(remaining)) for word in phrase.words]
        assigned += _split(phrase, labelled) if labelled else [phrase]
    return assigned


def _split(
    phrase: Phrase, labelled: Sequence[tuple[Word, str | None, float | None]]
) -> Iterator[Phrase]:
    for speaker, group in groupby(labelled, key=lambda item: item[1]):
        words = tuple(replace(word, speaker_confidence=p) for word, _, p in group)
        if len(words) < len(labelled):
            yield Phrase.of_words(phrase.recording, words, speaker)
        else:
            yield replace(phrase, speaker=speaker, words=words)


def speaker_model(
    words: Sequence[Word],
    phrase: IntArray,
    turns: Sequence[Turn],
    confidence: Sequence[float | None] | None = None,
) -> SpeakerModel:
    """Return the model of words that are sorted by start.

    `phrase` is the number of the phrase of each word; the speakers are in
    alphabetical order.
    """
    blur = word_blur(words, turns)
    logit = change_cues(words, phrase, turns, blur) @ np.array(WEIGHTS)
    change = 1.0 / (1.0 + np.exp(-logit))
    return SpeakerModel(word_activity(words, turns, blur, confidence), change)


def word_blur(words: Sequence[Word], turns: Sequence[Turn]) -> FloatArray:
    """Return the mean time error that is assumed for each word, shape (n_words,).

    Of `BLURS` the most probable one is selected by the words that are partly outside of
    speech. The error of words that are entirely outside is at least their distance.
    """
    measured = [word for word in words if not word.is_estimated]
    speech = [Turn(segment, "-") for segment in joined(t.segment for t in turns)]
    usual, weight = _USUAL
    scores = []
    for blur in BLURS:
        activity = word_activity(measured, speech, np.full(len(measured), blur))
        prior = -usual / blur - np.log(2.0 * blur)
        scores.append(float(np.log(activity).sum()) + weight * prior)
    least = np.full(len(words), BLURS[int(np.argmax(scores))])
    least[[word.is_estimated for word in words]] = ESTIMATED_BLUR
    return np.asarray(np.maximum(least, _distance(words, turns)))


def word_activity(
    words: Sequence[Word],
    turns: Sequence[Turn],
    blur: FloatArray,
    confidence: Sequence[float | None] | None = None,
) -> FloatArray:
    """Return the activity of each speaker during each word, sorted by start.

    The result has shape (n_words, n_speakers). The error of the times of a word has a
    Laplace distribution with mean absolute value `blur`, of shape (n_words,). Turns
    with a confidence are active to that degree.
    """
    speakers = sorted({turn.speaker for turn in turns})
    column = {speaker: index for index, speaker in enumerate(speakers)}
    start, end = _times(words)
    reach = 10.0 * blur  # beyond it less than half of _FLOOR remains
    latest = np.maximum.accumulate(end + reach)
    earliest = np.minimum.accumulate((start - reach)[::-1])[::-1]
    activity = np.zeros((len(words), len(speakers)))
    for turn, weight in zip(turns, confidence or [None] * len(turns), strict=True):
        begin, finish = turn.segment.start, turn.segment.end
        first = np.searchsorted(latest, begin)
        rows = slice(first, np.searchsorted(earliest, finish, "right"))
        late, early, scale = end[rows], start[rows], blur[rows]
        shared = (
            _ramp((late - begin) / scale)
            - _ramp((late - finish) / scale)
            - _ramp((early - begin) / scale)
            + _ramp((early - finish) / scale)
        )
        shared *= (1.0 if weight is None else weight) * scale / (late - early)
        activity[rows, column[turn.speaker]] += shared
    return np.clip(activity, _FLOOR, 1.0)


def change_cues(
    words: Sequence[Word], phrase: IntArray, turns: Sequence[Turn], blur: FloatArray
) -> FloatArray:
    """Return what suggests a change of speaker before each word, shape (n_words, 4).

    The columns are 1, whether a sentence and a phrase ended, and the distance of the
    nearest edge of a turn from the pause before the word, in units of the blur.
    """
    cues = np.ones((len(words), 4))
    ends = [word.text.rstrip(_CLOSING).endswith(_ENDS) for word in words]
    # A transcript without punctuation does not show where sentences end.
    cues[1:, 1] = ends[:-1] if any(ends) else _UNPUNCTUATED
    cues[1:, 2] = np.diff(phrase) != 0
    edges = np.unique([(t.segment.start, t.segment.end) for t in turns])
    start, end = _times(words)
    before = np.concatenate((start[:1], end[:-1]))
    distance = _outside(np.minimum(before, start), np.maximum(before, start), edges)
    cues[:, 3] = np.minimum(distance / blur, _FAR)
    return cues


def _times(words: Sequence[Word]) -> tuple[FloatArray, FloatArray]:
    """Return start and end of words, extended to a minimum length."""
    times = np.array([(word.start, word.end) for word in words]).reshape(-1, 2)
    extra = np.maximum(_SHORTEST - (times[:, 1] - times[:, 0]), 0.0) / 2.0
    return times[:, 0] - extra, times[:, 1] + extra


def _distance(words: Sequence[Word], turns: Sequence[Turn]) -> FloatArray:
    """Return the distance of each word from speech in seconds, shape (n_words,)."""
    speech = joined(turn.segment for turn in turns)
    bounds = np.array([(part.start, part.end) for part in speech]).reshape(-1, 2)
    start, end = _times(words)
    n_before = np.searchsorted(bounds[:, 0], end)
    latest = np.concatenate(([-np.inf], bounds[:, 1]))[n_before]
    distance = _outside(start, end, bounds.ravel())
    return np.where(latest > start, 0.0, distance)


def _outside(start: FloatArray, end: FloatArray, times: FloatArray) -> FloatArray:
    """Return the distance of intervals from the nearest of some sorted times."""
    padded = np.concatenate(([-np.inf], times, [np.inf]))
    n_before = np.searchsorted(times, start)
    after = np.maximum(padded[n_before + 1] - end, 0.0)
    return np.asarray(np.minimum(start - padded[n_before], after))


def _ramp(x: FloatArray) -> FloatArray:
    """Integrate the distribution function of a Laplace distribution up to x."""
    return np.asarray(np.maximum(x, 0.0) + 0.5 * np.exp(-np.abs(x)))
