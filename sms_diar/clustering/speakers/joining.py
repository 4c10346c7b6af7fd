"""Pure fragments become speakers: joined as long as two are probably one speaker."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

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
    first = len(groups)
    taken: list[float] = []
    while len(groups) > max(low, 1):
        same = groups.same()
        pairs = _best_pairs(same, len(groups) - max(low, 1))
        if same[pairs[0]] < ENOUGH and len(groups) <= high:
            break
        # From the back, so that places of the other pairs stay what they are.
        for kept, gone in sorted(pairs, key=lambda pair: -pair[1]):
            if same[kept, gone] < ENOUGH and len(groups) <= high:
                continue
            taken.append(float(same[kept, gone]))
            _rename(labels, kept, gone)
            groups.join(kept, gone)
        tell(1.0 - len(groups) / first)
    return Joined(labels, taken, _refused(groups, max(low, 1)))


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


def _refused(groups: Groups, low: int) -> list[float]:
    """Probabilities of the joins that come next; of very many groups, the first."""
    refused: list[float] = []
    while len(groups) > low:
        same = groups.same()
        kept, gone = np.unravel_index(int(np.argmax(same)), same.shape)
        refused.append(float(same[kept, gone]))
        if len(groups) > _FEW:
            break
        groups.join(int(min(kept, gone)), int(max(kept, gone)))
    return refused
