"""The same person in several recordings: speakers whose voices are one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit

from sms_diar.clustering.speakers.agglomerate import constrained_groups
from sms_diar.pipeline.identities import PRIOR
from sms_diar.pipeline.voice_prints import VoicePrint, compare_prints
from sms_diar.scoring.same_voice import VoiceComparison
from sms_diar.types import AnyArray, FloatArray, IntArray

_WORTH = 10.0  # speakers looked for in a recording that the prior counts as
_ROUNDS = 50  # of expectation maximisation
_SUREST = 30.0  # log-likelihood ratio that counts as certain


def link_voices(
    voices: Sequence[VoicePrint],
    recordings: Sequence[int],
    comparison: VoiceComparison,
    *,
    names: Sequence[str | None] | None = None,
    threshold: float = 0.5,
) -> tuple[IntArray, list[float | None]]:
    """Find out which speakers are one person.

    Parameters
    ----------
    voices : sequence of VoicePrint
        Speakers of all recordings.
    recordings : sequence of int
        The recording of each; two of one recording are never one person.
    comparison : VoiceComparison
        Compares them.
    names : sequence of str or None, optional
        Who somebody is, where it is known: those of one name are one person, those of
        two are not.
    threshold : float, default=0.5
        Groups are joined as long as the probability that belongs to the mean log odds
        of their pairs is above it.

    Returns
    -------
    people : ndarray of shape (n,)
        Numbers from 0, in the order of the first speaker of each.
    chances : list of float or None
        Probability that somebody is who the others of the group are; None for those
        who are alone.
    """
    if not voices:
        return np.zeros(0, dtype=np.int64), []
    place = np.asarray(recordings)
    codes = _codes(names if names is not None else [None] * len(voices))
    known = codes >= 0
    apart = place[:, None] == place
    apart |= known[:, None] & known & (codes[:, None] != codes)
    odds = _log_odds(voices, place, comparison)
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
    """Log odds, for every two, that they are one person."""
    _, one_way = compare_prints(voices, voices, comparison)
    ratios = (one_way + one_way.T) / 2.0  # equal to the bit
    # Who speaks in another recording is any of those who speak there alike.
    company = np.bincount(recordings)[recordings].astype(np.float64)
    prior = recurrence(ratios, recordings) / np.maximum(company[:, None], company)
    odds: FloatArray = ratios + logit(prior)
    return odds


def recurrence(ratios: FloatArray, recordings: AnyArray) -> float:
    """How often a speaker of one recording speaks in another one.

    Parameters
    ----------
    ratios : ndarray of shape (n, n)
        Log-likelihood ratios of every two speakers.
    recordings : ndarray of shape (n,)
        Numbers of their recordings.

    Returns
    -------
    share : float
        The most probable one by expectation maximisation, from a prior of `PRIOR` that
        is worth `_WORTH` speakers looked for in a recording: of two recordings it
        hardly moves, of many it is what they say.
    """
    n_recordings = int(recordings.max()) + 1
    member = np.zeros((len(recordings), n_recordings))
    member[np.arange(len(recordings)), recordings] = 1.0
    # Mean likelihood ratio, over speakers of a recording, of each speaker.
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
