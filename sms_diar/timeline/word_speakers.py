"""Speakers of words, by the turns of the speakers.

A conditional random field has the speakers as states. A word fits a speaker by the
activity of the speaker around it: the mean over the interval of the word, blurred by an
error of its times. Where two speakers overlap, both have the same activity, and the
context decides::

    turns       aaaaaaaaaaaaaaa
                          bbbbbbbbbbbbb
    words       I   think so.  Yes  me too
    active      a   a     ab   b    b  b

The speaker changes from a to b where a word ends with a turn of a, or where the next
word begins with a turn of b. A sentence ends at most changes of the first kind and at
some of the second, where a speaker is interrupted. Each word gets its most probable
speaker by the forward-backward algorithm, so that as many words as possible are right.
For n words and s speakers it takes time O(n s).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from sms_diar.timeline.regions import joined
from sms_diar.timeline.transcript import Phrase, Word
from sms_diar.types import FloatArray, Turn

BLURS = (0.02, 0.04, 0.08, 0.16)
"""Mean errors of times in seconds, of words and turns together. The most probable one
is selected for each recording."""

ESTIMATED_BLUR = 0.3
"""Mean error of times that were estimated from the times of the phrase."""

NEAR = 0.75
"""Maximum distance in seconds of a word from the turns; farther ones get no speaker."""

WEIGHTS = (-2.0, 4.6, -0.5, 2.7, -2.7, 2.3, 0.6)
"""Weights of the model. The logarithm of a potential of change has a constant and an
addition where a sentence ends: two weights for a change at the end of a turn, two at
the start of a turn, and two at any time. The last one is the power of activities; it is
below 1 because the errors of adjacent words are alike. `benchmarks.words.fit` fits them
by maximum likelihood."""

_LEAST = 1e-3  # minimum potential of a speaker, because any turn can be wrong
_OUTSIDE = 1e-4  # the same for the probability of words outside of speech
_SHORTEST = 0.02  # minimum length of a word; recognisers write words without length
_USUAL = 0.08, 10.0  # usual error in seconds, and its weight in words, for the blur
_UNPUNCTUATED = 0.5  # counts as end of a sentence without punctuation
_ENDS = tuple(".?!\u2026\u3002\uff1f\uff01\u061f\u0964")
_CLOSING = "\"')]\u201d\u2019\u00bb\u300d\u300f\uff09"


@dataclass(frozen=True, eq=False)
class SpeakerModel:
    """Conditional random field of the words of a recording.

    All arrays have shape (n_words, n_speakers). `fit` is the potential of a word and a
    speaker. The potential of a change from speaker x to y before a word is ``leave[x] +
    enter[y]``; the potential of no change is 1. The first rows of both are not used.
    """

    fit: FloatArray
    leave: FloatArray
    enter: FloatArray

    @classmethod
    def weighted(
        cls,
        activity: FloatArray,
        stop: FloatArray,
        at_end: FloatArray,
        at_start: FloatArray,
        weights: Sequence[float] = WEIGHTS,
    ) -> SpeakerModel:
        """Return the model of `word_activity` and `change_cues`."""
        end, end_stop, start, start_stop, any_time, any_stop, power = weights
        enter = np.exp(start + start_stop * stop - at_start)
        return cls(
            np.maximum(activity**power, _LEAST),
            np.exp(end + end_stop * stop - at_end),
            enter + np.exp(any_time + any_stop * stop),
        )

    def posterior(self) -> FloatArray:
        """Return the probability of each speaker, shape (n_words, n_speakers)."""
        forward, backward = np.ones((2, *self.fit.shape))
        # Without a change 1, which includes what is added for changes to all speakers.
        stay = 1.0 - self.leave - self.enter
        state = forward[0] = self.fit[0] / self.fit[0].sum()
        for word in range(1, len(forward)):
            moved = self.enter[word] + self.leave[word] @ state
            state = self.fit[word] * (stay[word] * state + moved)
            state /= state.sum()
            forward[word] = state
        for word in range(len(forward) - 1, 0, -1):
            state = self.fit[word] * backward[word]
            state /= state.sum()
            moved = self.leave[word] + self.enter[word] @ state
            backward[word - 1] = stay[word] * state + moved
        both = forward * backward
        return np.asarray(both / both.sum(axis=1, keepdims=True))


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
    labels: list[tuple[str | None, float | None]] = [(None, None)] * len(numbered)
    if order:
        model = speaker_model([numbered[row][1] for row in order], turns, confidence)
        for row, probability in zip(order, model.posterior(), strict=True):
            best = int(probability.argmax())
            labels[row] = speakers[best], round(float(probability[best]), 6)
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
    turns: Sequence[Turn],
    confidence: Sequence[float | None] | None = None,
) -> SpeakerModel:
    """Return the model of words that are sorted by start.

    The speakers are in alphabetical order.
    """
    blur = word_blur(words, turns)
    activity = word_activity(words, turns, blur, confidence)
    return SpeakerModel.weighted(activity, *change_cues(words, turns, blur))


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
        likelihood = float(np.log(np.maximum(activity, _OUTSIDE)).sum())
        scores.append(likelihood + weight * prior)
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
    reach = 16.0 * blur  # beyond it less than 1e-7 remains
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
    return np.clip(activity, 0.0, 1.0)


def change_cues(
    words: Sequence[Word], turns: Sequence[Turn], blur: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what suggests a change of speaker before each word.

    The first array, of shape (n_words, 1), is 1 where a sentence ended. The others have
    shape (n_words, n_speakers): the distance of the end of the previous word from the
    nearest end of a turn of each speaker, and of the start of the word from the nearest
    start, in units of the blur.
    """
    stop = np.zeros((len(words), 1))
    ends = [word.text.rstrip(_CLOSING).endswith(_ENDS) for word in words]
    # A transcript without punctuation does not show where sentences end.
    stop[1:, 0] = ends[:-1] if any(ends) else _UNPUNCTUATED
    start, end = _times(words)
    before = np.concatenate((start[:1], end[:-1]))
    times: dict[str, list[tuple[float, float]]] = {}
    for turn in turns:
        span = turn.segment.start, turn.segment.end
        times.setdefault(turn.speaker, []).append(span)
    bounds = [np.sort(times[speaker], axis=0) for speaker in sorted(times)]
    at_end = [_outside(before, before, each[:, 1]) / blur for each in bounds]
    at_start = [_outside(start, start, each[:, 0]) / blur for each in bounds]
    return stop, np.stack(at_end, axis=1), np.stack(at_start, axis=1)


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
