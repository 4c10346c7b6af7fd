"""Speakers of one recording against known voices: each name once, or nobody's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from sms_diar.pipeline.identities import PRIOR, VoiceMatch
from sms_diar.pipeline.voice_prints import VoicePrint, compare_prints
from sms_diar.scoring.same_voice import VoiceComparison, open_set_posteriors
from sms_diar.types import FloatArray, IntArray

_NOBODY = -1


def match_voices(
    speakers: Sequence[VoicePrint],
    known: Sequence[VoicePrint],
    comparison: VoiceComparison,
    *,
    threshold: float = 0.5,
) -> list[tuple[str | None, tuple[VoiceMatch, ...]]]:
    """Find the known voices among the speakers of one recording.

    Parameters
    ----------
    speakers : sequence of VoicePrint
        Those of the recording, different people.
    known : sequence of VoicePrint
        Enrolled voices, different people.
    comparison : VoiceComparison
        Compares them.
    threshold : float, default=0.5
        A name is given from this probability on.

    Returns
    -------
    found : list of (str or None, tuple of VoiceMatch)
        For each speaker the name, if any, and all comparisons.

    Notes
    -----
    The most probable way to give each name at most once, and each speaker at most
    one, is found first. The probability of a name is then that of an open set: half
    for somebody unknown, the other half shared by the enrolled voices, without those
    that belong to other speakers of the recording.
    """
    scores, ratios = compare_prints(speakers, known, comparison)
    chosen = _assignment(ratios)
    found = []
    for row, column in enumerate(chosen.tolist()):
        free = ~np.isin(np.arange(len(known)), np.delete(chosen, row))
        posteriors = open_set_posteriors(ratios[row], prior=PRIOR, free=free)
        matches = tuple(
            VoiceMatch(voice.speaker, *map(float, figures))
            for voice, *figures in zip(
                known, scores[row], ratios[row], posteriors, strict=True
            )
        )
        given = column != _NOBODY and posteriors[column] >= threshold
        found.append((known[column].speaker if given else None, matches))
    return found


def _assignment(ratios: FloatArray) -> IntArray:
    """The enrolled voice of each speaker, or `_NOBODY`: the most probable way."""
    n, m = ratios.shape
    # Odds against nobody; whoever is nobody, of whom there are enough, adds nothing.
    odds = ratios + np.log(PRIOR / max(m, 1) / (1.0 - PRIOR))
    rows, columns = linear_sum_assignment(
        np.hstack((odds, np.zeros((n, n)))), maximize=True
    )
    chosen = np.full(n, _NOBODY, dtype=np.int64)
    chosen[rows] = np.where(columns < m, columns, _NOBODY)
    return chosen
