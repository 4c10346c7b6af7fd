"""Pure fragments become speakers: joined as long as two are probably one speaker.

A join that is a little less than probable may make the next ones more so: small groups
measure badly, and grow. Where the best pair is not probable enough, the joins that
would follow are looked at down to a single speaker, and made as far as their odds, all
together, are the best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from sms_diar.clustering.speakers.same_speaker import Groups, Members
from sms_diar.types import FloatArray, IntArray

ENOUGH = 0.4
"""Probability of one speaker above which two groups are joined. Below even odds: in
development sessions, speakers too many cost more than speakers too few."""

_FEW = 400  # groups from which on all that suit each other best are joined at once


class Joined(NamedTuple):
    """Speakers, and how sure every step to them was.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Speakers 0, 1, ...
    taken : list of float
        Probabilities of the joins that were made, in order.
    refused : list of float
        Of those that would have come next, down to a single speaker.
    """

    labels: IntArray
    taken: list[float]
    refused: list[float]


def join_fragments(
    members: Members,
    labels: IntArray,
    low: int,
    high: int,
    tell: Callable[[float], None] = lambda _: None,
) -> Joined:
    """Join the two groups that are most probably one speaker, again and again.

    Parameters
    ----------
    members : Members
        The segments.
    labels : ndarray of shape (n,)
        Fragments 0, 1, ..., each of one speaker.
    low, high : int
        Bounds on the number of speakers; fewer fragments than `low` stay as they are.
    tell : callable, optional
        Called with the share of joins made, now and then.
    """
    labels = labels.copy()
    groups = Groups.of(members, labels)
    first, fewest = len(groups), max(low, 1)
    taken: list[float] = []

    def join(kept: int, gone: int, probability: float) -> None:
        taken.append(probability)
        _rename(labels, kept, gone)
        groups.join(kept, gone)

    while len(groups) > fewest:
        same = groups.same()
        pairs = _best_pairs(same, len(groups) - fewest)
        if same[pairs[0]] >= ENOUGH or len(groups) > high:
            # From the back, so that places of the other pairs stay what they are.
            for kept, gone in sorted(pairs, key=lambda pair: -pair[1]):
                if same[kept, gone] >= ENOUGH or len(groups) > high:
                    join(kept, gone, float(same[kept, gone]))
        else:
            ahead = _ahead(groups, fewest)
            worth = _worthwhile([step.probability for step in ahead])
            if not worth:
                return Joined(labels, taken, [step.probability for step in ahead])
            for step in ahead[:worth]:
                join(*step)
        tell(1.0 - len(groups) / first)
    return Joined(labels, taken, [])


def _best_pairs(same: FloatArray, spare: int) -> list[tuple[int, int]]:
    """Most probable pair; of very many groups, all pairs that prefer each other."""
    if len(same) <= _FEW:
        kept, gone = np.unravel_index(int(np.argmax(same)), same.shape)
        return [(int(min(kept, gone)), int(max(kept, gone)))]
    best = np.argmax(same, axis=1)
    mutual = np.flatnonzero(best[best] == np.arange(len(best)))
    pairs = [(int(i), int(best[i])) for i in mutual if i < best[i]]
    pairs.sort(key=lambda pair: -same[pair])
    return pairs[: max(1, spare)]


def _rename(labels: IntArray, kept: int, gone: int) -> None:
    labels[labels == gone] = kept
    labels[labels > gone] -= 1


class _Step(NamedTuple):
    kept: int
    gone: int
    probability: float


def _ahead(groups: Groups, low: int) -> list[_Step]:
    """Joins that come next; of very many groups, the first."""
    trial = groups.on_trial()
    steps: list[_Step] = []
    while len(trial) > low:
        same = trial.same()
        one, other = np.unravel_index(int(np.argmax(same)), same.shape)
        kept, gone = int(min(one, other)), int(max(one, other))
        steps.append(_Step(kept, gone, float(same[kept, gone])))
        if len(trial) > _FEW:
            break
        trial.join(kept, gone)
    return steps


def _worthwhile(probabilities: list[float]) -> int:
    """How many of the joins to make: those whose odds have the largest product.

    Examples
    --------
    One that is improbable by itself, and makes two others certain:

    >>> _worthwhile([0.3, 0.95, 0.9, 0.001])
    3
    >>> _worthwhile([0.3, 0.2])
    0
    """
    known = np.clip(probabilities, 1e-9, 1.0 - 1e-9)
    gains = np.cumsum(logit(known) - logit(ENOUGH))
    best = int(np.argmax(gains))
    return best + 1 if gains[best] > 0.0 else 0
