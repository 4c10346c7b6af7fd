"""Fragments become speakers: joined as long as likelihood ratios say so.

A fragment of n rows counts as ``n b / (n + b)`` observations of its speaker, never as
more than b: the coarsening of ``speakers/EVIDENCE.md``, here for each fragment by
itself, since speakers of five and of five hundred segments lie side by side. The
log-likelihood ratio of two of them being one speaker is PLDA's, with these counts. It
has to exceed the log of the number of fragments, which is what the best of so many
strangers reaches by chance.

Fragments that prefer each other are joined, all at once, and the ratios of what came
out are computed anew; when no pair is left, neighbours of the means are looked for once
more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sms_diar.clustering.many._kernels import pair_gains
from sms_diar.clustering.many.nearest import (
    NearArray,
    Rows,
    Search,
    SingleArray,
    find_neighbours,
)
from sms_diar.types import FloatArray, IntArray

COARSENING = 11.0
"""Observations that the rows of a fragment, be they ever so many, stay below."""

_PARTNERS = 10  # fragments nearest to one whose union with it is looked at
_PAIRS = 20_000  # pairs between two looks at the clock


@dataclass(frozen=True, eq=False)
class Groups:
    """Sums over groups.

    Parameters
    ----------
    sizes : ndarray of shape (g,)
        Rows of each.
    sums : ndarray of shape (g, d)
        Their sums, in the space where the model is diagonal.
    """

    sizes: IntArray
    sums: FloatArray

    @classmethod
    def of(cls, rows: Rows, labels: IntArray) -> Groups:
        """Sums of rows that have labels 0, 1, ..."""
        n_groups = int(labels.max()) + 1
        sums = np.zeros((n_groups, rows.vectors.shape[1]))
        for first in range(0, len(rows), _PAIRS):
            part = slice(first, first + _PAIRS)
            np.add.at(sums, labels[part], rows.vectors[part].astype(np.float64))
        return cls(np.bincount(labels, minlength=n_groups), sums)

    def merged(self, owner: IntArray) -> Groups:
        """Groups of groups; `owner` has numbers 0, 1, ..."""
        n_groups = int(owner.max()) + 1
        sums = np.zeros((n_groups, self.sums.shape[1]))
        np.add.at(sums, owner, self.sums)
        sizes = np.zeros(n_groups, dtype=np.int64)
        np.add.at(sizes, owner, self.sizes)
        return Groups(sizes, sums)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def means(self) -> FloatArray:
        """Mean of each."""
        return self.sums / self.sizes[:, None]

    @property
    def counts(self) -> FloatArray:
        """Observations that each counts as."""
        return self.sizes * COARSENING / (self.sizes + COARSENING)


def join_groups(
    groups: Groups,
    psi: FloatArray,
    links: IntArray,
    *,
    low: int,
    high: int,
    search: Search = "auto",
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[float], None] = lambda _: None,
) -> IntArray:
    """Speaker of each group.

    Parameters
    ----------
    groups : Groups
        Fragments.
    psi : ndarray of shape (d,)
        Variances between speakers.
    links : ndarray of shape (m, 2)
        Pairs of fragments that have neighbours in each other.
    low, high : int
        Bounds on the number of speakers. Above `high` joins go on, whatever they cost.
    search, seed, workers
        As of `find_neighbours`.
    tell : callable, optional
        Called with the share that is done.

    Returns
    -------
    owner : ndarray of shape (g,)
        Numbers 0, 1, ... in the order of first fragments.
    """
    owner = np.arange(len(groups))
    first = len(groups)
    fewest = max(low, 1)
    pairs, fresh = _distinct(links), False
    while len(groups) > fewest:
        gains = pair_scores(groups, psi, pairs)
        chosen = _mutual(gains, pairs, math.log(len(groups)))[: len(groups) - fewest]
        if not len(chosen) and not fresh:
            rows = Rows(_as_single(groups, psi), psi)
            near = find_neighbours(
                rows, _PARTNERS, search=search, seed=seed, workers=workers
            )[0]
            pairs, fresh = _distinct(np.concatenate((pairs, links_of(near)))), True
            continue
        if not len(chosen):
            if len(groups) <= high:
                break
            # Fewer are asked for: half of the best at once, the rest is weighed anew.
            best = _mutual(gains, pairs, -np.inf)
            chosen = best[: min(len(groups) - high, (len(best) + 1) // 2)]
        step = _united(chosen, len(groups))
        owner, groups = step[owner], groups.merged(step)
        pairs, fresh = _distinct(step[pairs]), False
        tell(1.0 - len(groups) / first)
    return owner


def links_of(near: NearArray, labels: IntArray | None = None) -> IntArray:
    """Pairs of a row and a neighbour, or of their groups, each once."""
    n, k = near.shape
    names = np.arange(n) if labels is None else labels
    found = np.empty((0, 2), dtype=np.int64)
    for column in range(k):
        known = near[:, column] >= 0
        pairs = np.stack((names[known], names[near[known, column]]), axis=1)
        found = _distinct(np.concatenate((found, pairs)))
    return found


def pair_scores(groups: Groups, psi: FloatArray, pairs: IntArray) -> FloatArray:
    """Log-likelihood ratios of pairs of groups."""
    means, counts = groups.means, groups.counts
    one, other = np.ascontiguousarray(pairs.T)
    gains = np.empty(len(pairs))
    for first in range(0, len(pairs), _PAIRS):
        part = slice(first, first + _PAIRS)
        pair_gains(means, counts, psi, one[part], other[part], gains[part])
    return gains


def _mutual(gains: FloatArray, pairs: IntArray, least: float) -> IntArray:
    """Pairs of groups that are each other's best partners, the best pair first."""
    kept = np.flatnonzero(gains >= least)
    ends = pairs[kept].T.ravel()
    numbers = np.concatenate((kept, kept))
    order = np.lexsort((numbers, -gains[numbers], ends))
    ends, numbers = ends[order], numbers[order]
    first = np.flatnonzero(np.diff(ends, prepend=-1))
    chosen, times = np.unique(numbers[first], return_counts=True)
    mutual = chosen[times == 2]
    return np.asarray(pairs[mutual[np.argsort(-gains[mutual], kind="stable")]])


def _united(pairs: IntArray, n_groups: int) -> IntArray:
    """New number of each group, where groups of a pair get one."""
    owner = np.arange(n_groups)
    owner[pairs.max(axis=1)] = pairs.min(axis=1)
    return np.unique(owner, return_inverse=True)[1].astype(np.int64)


def _as_single(groups: Groups, psi: FloatArray) -> SingleArray:
    """Means, scaled as if they were single rows, for the search alone."""
    means = groups.means
    energy = np.sum(means**2 / (psi + 1.0), axis=1, keepdims=True)
    energy[energy == 0.0] = 1.0
    single: SingleArray = (means * np.sqrt(len(psi) / energy)).astype(np.float32)
    return single


def _distinct(pairs: IntArray) -> IntArray:
    """Pairs of different numbers, the smaller one first, each once."""
    if not len(pairs):
        return pairs.reshape(0, 2)
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    base = int(high.max()) + 1
    codes = np.unique((low * base + high)[low != high])
    return np.stack((codes // base, codes % base), axis=1)
