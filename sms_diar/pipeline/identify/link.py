"""Linking: find the same speaker in several recordings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit

from sms_diar.clustering.speakers.agglomerate import constrained_groups
from sms_diar.pipeline.identify.names import PRIOR
from sms_diar.pipeline.identify.prints import VoicePrint, compare_prints
from sms_diar.scoring.same_voice import VoiceComparison
from sms_diar.types import AnyArray, FloatArray, IntArray

_WORTH = 10.0  # pseudo-count of the prior, in pairs of speaker and recording
_ROUNDS = 50  # iterations of expectation maximisation
_SUREST = 30.0  # maximum log-likelihood ratio


def link_voices(
    voices: Sequence[VoicePrint],
    recordings: Sequence[int],
    comparison: VoiceComparison,
    *,
    names: Sequence[str | None] | None = None,
    threshold: float = 0.5,
) -> tuple[IntArray, list[float | None]]:
    """Group the speakers that are the same person.

    Parameters
    ----------
    voices : sequence of VoicePrint
        Speakers of all recordings.
    recordings : sequence of int
        Recording of each speaker; speakers of one recording are never grouped.
    comparison : VoiceComparison
        Comparison of voice prints.
    names : sequence of str or None, optional
        Known names. Speakers with equal names are one person, and speakers with
        different names are not.
    threshold : float, default=0.5
        Groups are merged while the probability of the mean log odds of their pairs
        is above this.

    Returns
    -------
    people : ndarray of shape (n,)
        Group of each speaker, numbered from 0 by their first speakers.
    chances : list of float or None
        Probability that a speaker is the same person as the rest of the group; None
        for groups of one speaker.
    """
    if not voices:
        return np.zeros(0, dtype=np.int64), []
    recording_of = np.asarray(recordings)
    codes = _codes(names if names is not None else [None] * len(voices))
    has_name = codes >= 0
    apart = recording_of[:, None] == recording_of
    apart |= has_name[:, None] & has_name & (codes[:, None] != codes)
    odds = _log_odds(voices, recording_of, comparison)
    people = constrained_groups(
        odds, apart, threshold=float(logit(threshold)), together=codes
    )
    same = people[:, None] == people
    np.fill_diagonal(same, val=False)
    chances = [
        float(expit(odds[one, own].mean())) if own.any() else None
        for one, own in enumerate(same)
    ]
    return people, chances


def _log_odds(
    voices: Sequence[VoicePrint], recordings: AnyArray, comparison: VoiceComparison
) -> FloatArray:
    """Return the log odds that two speakers are one person, shape (n, n)."""
    _, one_way = compare_prints(voices, voices, comparison)
    ratios = (one_way + one_way.T) / 2.0  # exactly symmetric
    # A priori, each speaker of the other recording is equally likely.
    company = np.bincount(recordings)[recordings].astype(np.float64)
    prior = recurrence(ratios, recordings) / np.maximum(company[:, None], company)
    odds: FloatArray = ratios + logit(prior)
    return odds


def recurrence(ratios: FloatArray, recordings: AnyArray) -> float:
    """Estimate the probability that a speaker also speaks in another recording.

    Parameters
    ----------
    ratios : ndarray of shape (n, n)
        Log-likelihood ratios of all pairs of speakers.
    recordings : ndarray of shape (n,)
        Recording of each speaker.

    Returns
    -------
    share : float
        Maximum a posteriori estimate by expectation maximisation. The prior `PRIOR`
        has the pseudo-count `_WORTH`, so it dominates for two recordings and has
        little weight for many.
    """
    n_recordings = int(recordings.max()) + 1
    member = np.zeros((len(recordings), n_recordings))
    member[np.arange(len(recordings)), recordings] = 1.0
    # Mean likelihood ratio of each speaker over the speakers of each recording.
    sizes = member.sum(axis=0)
    likely = np.exp(np.minimum(ratios, _SUREST)) @ member / np.maximum(sizes, 1.0)
    looked_for = likely[(member == 0.0) & (sizes > 0.0)]
    share = PRIOR
    for _ in range(_ROUNDS):
        present = share * looked_for / (share * looked_for + 1.0 - share)
        share = (PRIOR * _WORTH + present.sum()) / (_WORTH + len(present))
    return float(share)


def _codes(names: Sequence[str | None]) -> IntArray:
    numbers = {name: n for n, name in enumerate(dict.fromkeys(names)) if name}
    return np.array([numbers.get(name or "", -1) for name in names], dtype=np.int64)
