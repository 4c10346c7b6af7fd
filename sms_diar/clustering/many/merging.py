"""Merge fragments into speakers by likelihood ratios.

A fragment of n rows counts as ``n b / (n + b)`` observations of its speaker, always
fewer than b. This is the coarsening of ``speakers/EVIDENCE.md``, here for each fragment
separately, because speakers may have five segments or five hundred. Two fragments merge
if their PLDA log-likelihood ratio with these counts exceeds the log of the number of
fragments, which the best of so many pairs of different speakers reaches by chance.

All pairs of fragments that prefer each other are merged at once, and the ratios of the
results are computed again. When no pair remains, neighbours of the means are searched.
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
"""Upper limit of the observations that a fragment counts as."""

_PARTNERS = 10  # nearest fragments with which a merge is considered
_PAIRS = 20_000  # pairs, or rows, at a time


@dataclass(frozen=True, eq=False)
class ClusterSums:
    """Sizes (k,) and vector sums (k, d) of clusters, where the model is diagonal."""

    sizes: IntArray
    sums: FloatArray

    @classmethod
    def of(cls, rows: Rows, labels: IntArray) -> ClusterSums:
        """Sum the rows of labels 0, 1, ..."""
        n_clusters = int(labels.max()) + 1
        sums = np.zeros((n_clusters, rows.vectors.shape[1]))
        for first in range(0, len(rows), _PAIRS):
            part = slice(first, first + _PAIRS)
            np.add.at(sums, labels[part], rows.vectors[part].astype(np.float64))
        return cls(np.bincount(labels, minlength=n_clusters), sums)

    def merged(self, owner: IntArray) -> ClusterSums:
        """Sum clusters that get the same number 0, 1, ... in `owner`."""
        n_clusters = int(owner.max()) + 1
        sums = np.zeros((n_clusters, self.sums.shape[1]))
        np.add.at(sums, owner, self.sums)
        sizes = np.zeros(n_clusters, dtype=np.int64)
        np.add.at(sizes, owner, self.sizes)
        return ClusterSums(sizes, sums)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def means(self) -> FloatArray:
        """Mean of each cluster."""
        return self.sums / self.sizes[:, None]

    @property
    def counts(self) -> FloatArray:
        """Number of observations that each cluster counts as."""
        return self.sizes * COARSENING / (self.sizes + COARSENING)


def merge_fragments(
    clusters: ClusterSums,
    psi: FloatArray,
    pairs: IntArray,
    *,
    low: int,
    high: int,
    search: Search = "auto",
    seed: int = 0,
    workers: int = 1,
    tell: Callable[[float], None] = lambda _: None,
) -> IntArray:
    """Return the speaker of each fragment, numbered in the order of first fragments.

    `pairs` of shape (m, 2) are fragments of neighbouring rows. Above `high` speakers,
    merging continues even if the likelihood falls. `search`, `seed` and `workers` are
    those of `find_neighbours`; `tell` is called with the finished share.
    """
    owner = np.arange(len(clusters))
    n_fragments = len(clusters)
    fewest = max(low, 1)
    pairs, is_fresh = _distinct(pairs), False
    while len(clusters) > fewest:
        gains = pair_scores(clusters, psi, pairs)
        chosen = _mutual(gains, pairs, math.log(len(clusters)))[
            : len(clusters) - fewest
        ]
        if not len(chosen) and not is_fresh:
            rows = Rows(_as_single(clusters, psi), psi)
            near = find_neighbours(
                rows, _PARTNERS, search=search, seed=seed, workers=workers
            )[0]
            pairs, is_fresh = (
                _distinct(np.concatenate((pairs, neighbour_pairs(near)))),
                True,
            )
            continue
        if not len(chosen):
            if len(clusters) <= high:
                break
            # Too many: merge the better half of the pairs, then compute ratios again.
            best = _mutual(gains, pairs, -np.inf)
            chosen = best[: min(len(clusters) - high, (len(best) + 1) // 2)]
        step = _merged_numbers(chosen, len(clusters))
        owner, clusters = step[owner], clusters.merged(step)
        pairs, is_fresh = _distinct(step[pairs]), False
        tell(1.0 - len(clusters) / n_fragments)
    return owner


def neighbour_pairs(near: NearArray, labels: IntArray | None = None) -> IntArray:
    """Return distinct pairs of rows and neighbours, or of their labels."""
    n, k = near.shape
    names = np.arange(n) if labels is None else labels
    pairs = np.empty((0, 2), dtype=np.int64)
    for column in range(k):
        known = near[:, column] >= 0
        added = np.stack((names[known], names[near[known, column]]), axis=1)
        pairs = _distinct(np.concatenate((pairs, added)))
    return pairs


def pair_scores(clusters: ClusterSums, psi: FloatArray, pairs: IntArray) -> FloatArray:
    """Return the log-likelihood ratios of pairs of clusters."""
    means, counts = clusters.means, clusters.counts
    first, second = np.ascontiguousarray(pairs.T)
    gains = np.empty(len(pairs))
    for start in range(0, len(pairs), _PAIRS):
        part = slice(start, start + _PAIRS)
        pair_gains(means, counts, psi, first[part], second[part], gains[part])
    return gains


def _mutual(gains: FloatArray, pairs: IntArray, least: float) -> IntArray:
    """Return pairs of clusters that are each other's best partners, best pair first."""
    kept = np.flatnonzero(gains >= least)
    ends = pairs[kept].T.ravel()
    numbers = np.concatenate((kept, kept))
    order = np.lexsort((numbers, -gains[numbers], ends))
    ends, numbers = ends[order], numbers[order]
    first = np.flatnonzero(np.diff(ends, prepend=-1))
    chosen, times = np.unique(numbers[first], return_counts=True)
    mutual = chosen[times == 2]
    return np.asarray(pairs[mutual[np.argsort(-gains[mutual], kind="stable")]])


def _merged_numbers(pairs: IntArray, n_clusters: int) -> IntArray:
    """Return new numbers of the clusters, equal for the clusters of a pair."""
    owner = np.arange(n_clusters)
    owner[pairs.max(axis=1)] = pairs.min(axis=1)
    return np.unique(owner, return_inverse=True)[1].astype(np.int64)


def _as_single(clusters: ClusterSums, psi: FloatArray) -> SingleArray:
    """Scale means like single rows, for the search of neighbours."""
    means = clusters.means
    energy = np.sum(means**2 / (psi + 1.0), axis=1, keepdims=True)
    energy[energy == 0.0] = 1.0
    single: SingleArray = (means * np.sqrt(len(psi) / energy)).astype(np.float32)
    return single


def _distinct(pairs: IntArray) -> IntArray:
    """Return distinct pairs of different numbers, lower number first."""
    if not len(pairs):
        return pairs.reshape(0, 2)
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    base = int(high.max()) + 1
    codes = np.unique((low * base + high)[low != high])
    return np.stack((codes // base, codes % base), axis=1)
