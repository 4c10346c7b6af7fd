"""Pairs of speakers of different recordings, and the calibration of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression

from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.identify.prints import compare_prints
from sms_diar.scoring.same_voice import (
    LONGEST,
    SHORTEST,
    Calibration,
    VoiceComparison,
)
from sms_diar.types import BoolArray, FloatArray, Turn


@dataclass(frozen=True, eq=False)
class Pairs:
    """Speakers of two recordings.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Similarity of the voice prints.
    shorter, longer : ndarray of shape (n,)
        Seconds that the two prints rest upon.
    same : ndarray of shape (n,)
        Whether the main speaker of both is the same person.
    """

    scores: FloatArray
    shorter: FloatArray
    longer: FloatArray
    same: BoolArray

    @classmethod
    def join(cls, parts: Sequence[Pairs]) -> Pairs:
        """Concatenate the pairs of several sets."""
        names = ("scores", "shorter", "longer", "same")
        return cls(*(np.concatenate([getattr(p, n) for p in parts]) for n in names))

    def measured(self) -> FloatArray:
        """Return the columns of the regression."""
        seconds = (np.clip(s, SHORTEST, LONGEST) for s in (self.shorter, self.longer))
        columns: FloatArray = np.column_stack((self.scores, *map(np.log, seconds)))
        return columns


def true_speakers(
    recording: DiarizedRecording, reference: Sequence[Turn]
) -> dict[str, str]:
    """Return the main person of each speaker of a recording, if there is one."""
    talk: dict[str, dict[str, float]] = {}
    own = [t for t in reference if t.segment.recording == recording.recording]
    for turn in recording.turns:
        for true in own:
            start = max(turn.segment.start, true.segment.start)
            common = min(turn.segment.end, true.segment.end) - start
            if common > 0.0:
                mine = talk.setdefault(turn.speaker, {})
                mine[true.speaker] = mine.get(true.speaker, 0.0) + common
    return {name: max(mine, key=mine.__getitem__) for name, mine in talk.items()}


def pairs_of(
    recordings: Sequence[DiarizedRecording],
    reference: Sequence[Turn],
    comparison: VoiceComparison,
) -> Pairs:
    """Return all pairs of speakers of different recordings."""
    voices, places, people = [], [], []
    for number, recording in enumerate(recordings):
        true = true_speakers(recording, reference)
        for voice in recording.voices:
            if voice.speaker in true:
                voices.append(voice)
                places.append(number)
                people.append(true[voice.speaker])
    scores, _ = compare_prints(voices, voices, comparison)
    seconds = np.array([voice.seconds for voice in voices])
    one, other = np.triu_indices(len(voices), 1)
    apart = np.array(places)[one] != np.array(places)[other]
    one, other = one[apart], other[apart]
    named = np.array(people)
    return Pairs(
        scores[one, other],
        np.minimum(seconds[one], seconds[other]),
        np.maximum(seconds[one], seconds[other]),
        named[one] == named[other],
    )


def fit_calibration(pairs: Pairs, form: str) -> Calibration:
    """Fit the weights that convert a score to a likelihood ratio.

    Pairs of one person weigh as much, all together, as pairs of two.
    """
    columns = pairs.measured()
    spread = columns.std(axis=0)
    model = LogisticRegression(C=100.0, class_weight="balanced", max_iter=1000)
    model.fit(columns / spread, pairs.same)
    score, shorter, longer = (model.coef_[0] / spread).round(3).tolist()
    constant = round(float(model.intercept_[0]), 3)
    return Calibration(form, score, shorter, longer, constant)


def cost(pairs: Pairs, calibration: Calibration) -> float:
    """Cllr: bits lost by using the ratios; 1 for uninformative ratios.

    It measures both discrimination and calibration.
    """
    weights = np.array([calibration.score, calibration.shorter, calibration.longer])
    ratios = pairs.measured() @ weights + calibration.constant
    same = np.logaddexp(0.0, -ratios[pairs.same]).mean()
    other = np.logaddexp(0.0, ratios[~pairs.same]).mean()
    return float((same + other) / (2.0 * np.log(2.0)))
