"""Fit the weights of a change of speaker in `sms_diar.timeline.word_speakers`.

A random search minimises the errors relative to the rule of the greatest overlap, on
average over the conditions::

    python -m benchmarks.words.fit
"""

from __future__ import annotations

import numpy as np

from benchmarks.words import rules
from benchmarks.words.transcripts import Condition, Simulated, simulate
from sms_diar.timeline.word_speakers import (
    WEIGHTS,
    SpeakerModel,
    change_cues,
    speaker_model,
    word_blur,
)
from sms_diar.types import FloatArray

SEEDS = range(4)
CONDITIONS = [
    Condition(overlap, jitter, turn_errors=turn_errors)
    for overlap, jitter, turn_errors in (
        *((overlap, 0.1, False) for overlap in (0.0, 0.1, 0.25)),
        *((overlap, 0.1, True) for overlap in (0.0, 0.1, 0.25)),
        *((overlap, 0.0, False) for overlap in (0.1, 0.25)),
    )
]
TRIALS = 150
STEP = np.array([0.4, 0.4, 0.2, 0.15])  # s.d. of a trial around the best weights


class Example:
    """A transcript whose speakers are found again and again."""

    def __init__(self, drawn: Simulated) -> None:
        words = [word for phrase in drawn.phrases for word in phrase.words]
        numbers = [n for n, phrase in enumerate(drawn.phrases) for _ in phrase.words]
        phrase, blur = np.array(numbers), word_blur(words, drawn.turns)
        self.activity = speaker_model(words, phrase, drawn.turns).activity
        self.cues = change_cues(words, phrase, drawn.turns, blur)
        self.speakers = sorted({turn.speaker for turn in drawn.turns})
        self.true = drawn.speakers
        simple = rules.by_word(drawn.phrases, drawn.turns)
        self.errors = rules.error_rate(simple, self.true)

    def errors_with(self, weights: FloatArray) -> float:
        """Return the errors with some weights in percent."""
        change = 1.0 / (1.0 + np.exp(-(self.cues @ weights)))
        path = SpeakerModel(self.activity, change).best_path()
        return rules.error_rate([self.speakers[state] for state in path], self.true)


def relative_errors(weights: FloatArray, examples: list[list[Example]]) -> float:
    """Return the mean over conditions of errors relative to the simple rule."""
    ratios = [
        sum(example.errors_with(weights) for example in group)
        / sum(example.errors for example in group)
        for group in examples
    ]
    return float(np.mean(ratios))


def main() -> None:
    """Print each improvement of the weights."""
    examples = [[Example(simulate(c, seed)) for seed in SEEDS] for c in CONDITIONS]
    rng = np.random.default_rng(0)
    best = np.array(WEIGHTS)
    lowest = relative_errors(best, examples)
    for trial in range(TRIALS):
        weights = best + STEP * rng.normal(size=len(STEP))
        weights[2] = max(weights[2], 0.0)
        value = relative_errors(weights, examples)
        if value < lowest:
            best, lowest = weights, value
            print(trial, best.round(2).tolist(), round(lowest, 3), flush=True)


if __name__ == "__main__":
    main()
