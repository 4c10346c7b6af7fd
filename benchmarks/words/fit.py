"""Fit the weights of `sms_diar.timeline.word_speakers`.

The conditional likelihood of the true speakers is maximised over all conditions of the
report::

    python -m benchmarks.words.fit
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from benchmarks.words.transcripts import ERRORS, MAIN, OTHERS, Simulated, simulate
from sms_diar._numba import kernel
from sms_diar.timeline.word_speakers import (
    WEIGHTS,
    SpeakerModel,
    change_cues,
    word_activity,
    word_blur,
)
from sms_diar.types import FloatArray, IntArray

SEEDS = range(4)
CONDITIONS = [*MAIN, *ERRORS, *(each for group in OTHERS.values() for each in group)]


class Example:
    """A transcript with known speakers."""

    def __init__(self, drawn: Simulated) -> None:
        words = [word for phrase in drawn.phrases for word in phrase.words]
        blur = word_blur(words, drawn.turns)
        activity = word_activity(words, drawn.turns, blur)
        self.cues = (activity, *change_cues(words, drawn.turns, blur))
        speakers = sorted({turn.speaker for turn in drawn.turns})
        self.true = np.array([speakers.index(name) for name in drawn.speakers])

    def log_likelihood(self, weights: FloatArray) -> float:
        """Return the logarithm of the probability of the true speakers."""
        model = SpeakerModel.weighted(*self.cues, weights.tolist())
        return float(_log_likelihood(model.fit, model.leave, model.enter, self.true))


@kernel
def _log_likelihood(
    fit: FloatArray, leave: FloatArray, enter: FloatArray, true: IntArray
) -> float:
    """Compare the potential of the true path with the sum over all paths."""
    state = fit[0] / fit[0].sum()
    value = np.log(state[true[0]])
    for word in range(1, len(fit)):
        now, previous = true[word], true[word - 1]
        if now != previous:
            value += np.log(leave[word, previous] + enter[word, now])
        left = state * leave[word]
        moved = enter[word] * (state.sum() - state) + left.sum() - left
        state = fit[word] * (state + moved)
        total = state.sum()
        value += np.log(fit[word, now] / total)
        state /= total
    return value


def main() -> None:
    """Print the weights."""
    examples = [Example(simulate(c, seed)) for c in CONDITIONS for seed in SEEDS]
    n_words = sum(len(example.true) for example in examples)

    def loss(weights: FloatArray) -> float:
        return -sum(each.log_likelihood(weights) for each in examples) / n_words

    found = minimize(loss, np.array(WEIGHTS), method="L-BFGS-B")
    print(found.x.round(2).tolist(), f"{found.fun:.4f} nats per word")


if __name__ == "__main__":
    main()
