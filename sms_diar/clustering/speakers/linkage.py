"""Average linkage of things of which some must not, and some must, be together."""

from __future__ import annotations

import numpy as np

from sms_diar.errors import InvalidParameterError
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray


def constrained_groups(
    scores: FloatArray,
    apart: BoolArray,
    *,
    threshold: float = 0.0,
    together: AnyArray | None = None,
) -> IntArray:
    """Join the two groups of highest mean score, again and again.

    Parameters
    ----------
    scores : ndarray of shape (n, n)
        Symmetric; log odds that two are one, say. The diagonal does not matter.
    apart : ndarray of shape (n, n)
        Symmetric; pairs that are never in one group.
    threshold : float, default=0.0
        Groups whose mean score is not above it are not joined.
    together : ndarray of shape (n,), optional
        Numbers from 0; those of one number are one group from the beginning. What is
        -1 is on its own.

    Returns
    -------
    groups : ndarray of shape (n,)
        Numbers from 0, in the order of first members. Of equal scores the pair that
        comes first is joined first, so results follow from the order alone.

    Notes
    -----
    Time O(n**3) in the worst case, in n compiled passes over n * n numbers: half a
    minute for 3000.

    Examples
    --------
    The first two are most alike, and must not be together:

    >>> scores = np.array([[0, 9, 2, -1], [9, 0, 1, -1], [2, 1, 0, -1], [-1] * 3 + [0]])
    >>> apart = np.zeros((4, 4), dtype=bool)
    >>> apart[0, 1] = apart[1, 0] = True
    >>> constrained_groups(scores, apart).tolist()
    [0, 1, 0, 2]
    """
    n = len(scores)
    owner = np.arange(n)
    sums = np.array(scores, dtype=np.float64)
    barred = np.array(apart, dtype=np.bool_)
    sizes = np.ones(n)
    np.fill_diagonal(barred, val=True)
    for first, second in _given_pairs(together):
        kept, gone = sorted((owner[first], owner[second]))
        if barred[kept, gone]:
            raise InvalidParameterError(
                f"constrained_groups: together must not join what is kept apart, got "
                f"{first} and {second}"
            )
        _join(owner, sums, barred, sizes, int(kept), int(gone))
    means = np.where(barred, -np.inf, sums / np.outer(sizes, sizes))
    while n:
        kept, gone = (int(x) for x in np.unravel_index(np.argmax(means), means.shape))
        if not means[kept, gone] > threshold:
            break
        kept, gone = min(kept, gone), max(kept, gone)
        _join(owner, sums, barred, sizes, kept, gone)
        means[gone] = means[:, gone] = -np.inf
        row = np.where(barred[kept], -np.inf, sums[kept] / (sizes[kept] * sizes))
        means[kept] = means[:, kept] = row
    groups: IntArray = np.unique(owner, return_inverse=True)[1].astype(np.int64)
    return groups


def _given_pairs(together: AnyArray | None) -> list[tuple[int, int]]:
    firsts: dict[int, int] = {}
    pairs = []
    for place, number in enumerate([] if together is None else together.tolist()):
        if number < 0:
            continue
        if number in firsts:
            pairs.append((firsts[number], place))
        firsts.setdefault(number, place)
    return pairs


def _join(
    owner: IntArray,
    sums: FloatArray,
    barred: BoolArray,
    sizes: FloatArray,
    kept: int,
    gone: int,
) -> None:
    """Make one group of two, which keeps the place of the first."""
    owner[owner == gone] = kept
    sums[kept] += sums[gone]
    sums[:, kept] += sums[:, gone]
    sizes[kept] += sizes[gone]
    barred[kept] |= barred[gone]
    barred[:, kept] |= barred[:, gone]
    barred[gone] = barred[:, gone] = True
    barred[kept, kept] = True
