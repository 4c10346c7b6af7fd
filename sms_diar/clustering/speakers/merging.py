"""Merge fragments while two of them are more likely one speaker than not.

The log odds that two clusters are one speaker are a linear function of seven
measurements without units, so that they mean the same for any extractor:

* distance: log distance of the means in the space of the session, in standard
  deviations within a cluster, without the part that sampling explains;
* similarity: cosine of the mean embeddings as the extractor gave them, corrected for
  sampling;
* direction: cosine of the means in the space of the session, seen from its centre;
* smaller, larger: log numbers of rows;
* crowd: log number of clusters, because the more there are, the more pairs are similar
  by chance;
* width: log variance of the wider cluster relative to the others, because a cluster of
  several speakers must not attract more.

`scripts/fit-merging` estimates the weights from sessions of the development corpora.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from sms_diar.types import FloatArray, IntArray

MEASUREMENTS = (
    "distance",
    "similarity",
    "direction",
    "smaller",
    "larger",
    "crowd",
    "width",
)

POOLED_ROWS = 10.0
"""Rows that the common variance counts as, against the variance of one cluster."""

UNDECIDED = 0.4
"""Probability below even to which merges are tried, if the next one is improbable."""

CLEAR = 0.2
"""Probability of the next merge below which merges that were tried are kept."""

_AT_ONCE = 400  # Clusters above which all mutually best pairs are merged at once.
_PAIRS = 4_000_000  # Pairs of clusters that are measured at a time.


class Weights(NamedTuple):
    """Weights of the measurements in the log odds, and the constant."""

    distance: float
    similarity: float
    direction: float
    smaller: float
    larger: float
    crowd: float
    width: float
    constant: float


WEIGHTS = Weights(
    distance=-3.448,
    similarity=8.834,
    direction=1.543,
    smaller=-1.333,
    larger=0.837,
    crowd=-0.544,
    width=-4.709,
    constant=1.703,
)


@dataclass(eq=False)
class Clusters:
    """Sums over clusters, which suffice to measure and to merge any two of them.

    Parameters
    ----------
    sizes : ndarray of shape (g,)
        Number of rows in each cluster.
    means, raw_means : ndarray of shape (g, q) and (g, d)
        Means in the space of the session, and of the rows of unit length.
    spreads, raw_spreads : ndarray of shape (g,)
        Summed squared distances from these means.
    n_sets : int, default=1
        Number of such sets of clusters in the session, the blocks of a long one.
    """

    sizes: FloatArray
    means: FloatArray
    raw_means: FloatArray
    spreads: FloatArray
    raw_spreads: FloatArray
    n_sets: int = 1

    @classmethod
    def of(
        cls, places: FloatArray, directions: FloatArray, labels: IntArray
    ) -> Clusters:
        """Sum over clusters 0, 1, ... of rows."""
        sizes = np.bincount(labels).astype(np.float64)
        means, spreads = _moments(places, labels, sizes)
        raw_means, raw_spreads = _moments(directions, labels, sizes)
        return cls(sizes, means, raw_means, spreads, raw_spreads)

    def __len__(self) -> int:
        return len(self.sizes)

    def merge(self, kept: int, gone: int) -> None:
        """Merge two clusters; indices above `gone` decrease by one."""
        a, b = self.sizes[kept], self.sizes[gone]
        share = b / (a + b)
        for means, spreads in (
            (self.means, self.spreads),
            (self.raw_means, self.raw_spreads),
        ):
            difference = means[gone] - means[kept]
            spreads[kept] += spreads[gone] + a * share * float(difference @ difference)
            means[kept] += share * difference
        self.sizes[kept] = a + b
        remaining = np.arange(len(self)) != gone
        for name in ("sizes", "means", "raw_means", "spreads", "raw_spreads"):
            setattr(self, name, getattr(self, name)[remaining])

    def merge_pairs(self, kept: IntArray, gone: IntArray) -> IntArray:
        """Merge disjoint pairs of clusters, and return the new index of each."""
        a, b = self.sizes[kept], self.sizes[gone]
        share = b / (a + b)
        for means, spreads in (
            (self.means, self.spreads),
            (self.raw_means, self.raw_spreads),
        ):
            difference = means[gone] - means[kept]
            spreads[kept] += spreads[gone] + a * share * np.sum(difference**2, axis=1)
            means[kept] += share[:, None] * difference
        self.sizes[kept] = a + b
        owner = np.arange(len(self))
        remaining = np.ones(len(self), dtype=np.bool_)
        owner[gone], remaining[gone] = kept, False
        for name in ("sizes", "means", "raw_means", "spreads", "raw_spreads"):
            setattr(self, name, getattr(self, name)[remaining])
        return np.asarray((np.cumsum(remaining) - 1)[owner])

    def measurements(self, part: slice = slice(None)) -> dict[str, FloatArray]:
        """Measure pairs of clusters: those of a part with all, by default all pairs.

        Returns
        -------
        measurements : dict from str to ndarray of shape (m, g)
            Matrices by the names of `MEASUREMENTS`; values of a cluster with itself
            are undefined.
        """
        n, q = self.sizes, self.means.shape[1]
        n_free = max(float(n.sum()) - len(n), 1.0)
        noise = max(float(self.spreads.sum()) / n_free, 1e-12)
        variances = _shrunk(self.spreads, n, noise)
        sampling = variances / n  # variance of a mean, shape: (g,)
        energy = np.sum(self.means**2, axis=1)
        squared = energy[part, None] + energy
        squared -= 2.0 * (self.means[part] @ self.means.T)
        squared = np.maximum(squared - (sampling[part, None] + sampling), 1e-9)
        centred = self.means - n @ self.means / n.sum()
        lengths = np.sum(centred**2, axis=1) - sampling
        direction = _cosines(centred, np.maximum(lengths, 0.2 * sampling + 1e-12), part)
        raw_noise = float(self.raw_spreads.sum()) / n_free
        raw_sampling = _shrunk(self.raw_spreads, n, raw_noise) / n
        raw_lengths = np.sum(self.raw_means**2, axis=1) - raw_sampling
        similarity = _cosines(self.raw_means, np.maximum(raw_lengths, 1e-6), part)
        widths = np.log(variances / _weighted_median(variances, np.sqrt(n)))
        return {
            "distance": np.log(np.sqrt(squared * q / noise) + 0.1),
            "similarity": np.clip(similarity, -0.5, 1.2),
            "direction": np.clip(direction, -1.0, 1.2),
            "smaller": np.log(np.minimum(n[part, None], n)),
            "larger": np.log(np.maximum(n[part, None], n)),
            "crowd": np.full_like(squared, np.log(self.n_sets * len(n))),
            "width": np.maximum(widths[part, None], widths),
        }

    def log_odds(
        self, weights: Weights = WEIGHTS, part: slice = slice(None)
    ) -> FloatArray:
        """Return the log odds that two clusters, one of a part, are one speaker.

        Returns
        -------
        log_odds : ndarray of shape (m, g)
            Negative infinity for a cluster and itself.
        """
        measured = self.measurements(part)
        odds = np.full_like(measured["distance"], weights.constant)
        for name in MEASUREMENTS:
            odds += getattr(weights, name) * measured[name]
        own = np.arange(len(self))[part]
        odds[np.arange(len(own)), own] = -np.inf
        return odds

    def best_partners(self) -> tuple[IntArray, FloatArray]:
        """Return the most probable partner of each cluster, and their log odds."""
        g = len(self)
        best, highest = np.empty(g, dtype=np.int64), np.empty(g)
        step = max(1, _PAIRS // g)
        for first in range(0, g, step):
            odds = self.log_odds(part=slice(first, first + step))
            best[first : first + step] = np.argmax(odds, axis=1)
            highest[first : first + step] = odds.max(axis=1)
        return best, highest


class Merged(NamedTuple):
    """Result of merging.

    Parameters
    ----------
    labels : ndarray of shape (n,)
        Clusters 0, 1, ...
    weakest : float
        Probability of the least probable merge; 1 if there was none.
    refused : float
        Probability of the merge that would have come next; 0 if there is none.
    """

    labels: IntArray
    weakest: float
    refused: float


def merge_fragments(
    places: FloatArray,
    directions: FloatArray,
    labels: IntArray,
    low: int,
    high: int,
    progress: Callable[[float], None] = lambda _: None,
) -> Merged:
    """Merge the most probable pair of clusters while its odds are above even.

    A few merges with a probability just below even are made as well if the next one is
    improbable (`UNDECIDED`, `CLEAR`): a person with several ways of speaking leaves
    such pairs, and then a gap.

    Parameters
    ----------
    places : ndarray of shape (n, q)
        Rows in the space of the session.
    directions : ndarray of shape (n, d)
        Rows of unit length, as the extractor gave them.
    labels : ndarray of shape (n,)
        Fragments 0, 1, ..., each of one speaker.
    low, high : int
        Bounds on the number of clusters. If there are fewer fragments than `low`, they
        are not merged.
    progress : callable, optional
        Called with the share of merges made.
    """
    labels = labels.copy()
    clusters = Clusters.of(places, directions, labels)
    n_fragments, fewest = len(clusters), max(low, 1)
    weakest = 1.0
    while len(clusters) > fewest:
        odds = clusters.log_odds()
        pairs = _best_pairs(odds, len(clusters) - fewest)
        pairs = [p for p in pairs if odds[p] > 0.0] or pairs[:1]
        if odds[pairs[0]] <= 0.0 and len(clusters) <= high:
            break
        # In descending order, so that the indices of the other pairs stay valid.
        for kept, gone in sorted(pairs, key=lambda pair: -pair[1]):
            weakest = min(weakest, float(expit(odds[kept, gone])))
            labels[labels == gone] = kept
            labels[labels > gone] -= 1
            clusters.merge(kept, gone)
        progress(1.0 - len(clusters) / n_fragments)
    if fewest < len(clusters) <= min(high, _AT_ONCE):
        return _try_undecided(clusters, Merged(labels, weakest, 0.0), fewest)
    refused = 0.0
    if len(clusters) > fewest:
        refused = float(expit(clusters.log_odds().max()))
    return Merged(labels, weakest, refused)


def _try_undecided(clusters: Clusters, found: Merged, fewest: int) -> Merged:
    """Make undecided merges if they leave half of the clusters and end in a gap.

    Returns the partition after them, or the partition that was found.
    """
    n_found, labels, weakest = len(clusters), found.labels.copy(), found.weakest
    odds = clusters.log_odds()
    found = found._replace(refused=float(expit(odds.max())))
    while (probability := float(expit(odds.max()))) > UNDECIDED:
        if len(clusters) <= max(fewest, 2) or 2 * len(clusters) <= n_found:
            return found
        [(kept, gone)] = _best_pairs(odds, 1)
        labels[labels == gone] = kept
        labels[labels > gone] -= 1
        clusters.merge(kept, gone)
        weakest = min(weakest, probability)
        odds = clusters.log_odds()
    return Merged(labels, weakest, probability) if probability < CLEAR else found


def merge_many(
    clusters: Clusters,
    low: int,
    high: int,
    progress: Callable[[float], None] = lambda _: None,
) -> Merged:
    """Merge all mutually best pairs with odds above even, until there are none.

    For very many clusters: only the best partner of each is stored. `labels` of the
    result are the new clusters of the given ones, which are changed. The other
    parameters are those of `merge_fragments`.
    """
    labels = np.arange(len(clusters))
    n_given, fewest = len(clusters), max(low, 1)
    weakest = 1.0
    while len(clusters) > fewest:
        best, odds = clusters.best_partners()
        one = np.flatnonzero(best[best] == np.arange(len(best)))
        one = one[one < best[one]]
        one = one[np.argsort(-odds[one], kind="stable")]
        n_probable = int(np.count_nonzero(odds[one] > 0.0))
        n_pairs = min(max(n_probable, len(clusters) - high), len(clusters) - fewest)
        if n_pairs <= 0:
            return Merged(labels, weakest, float(expit(odds.max())))
        one = one[:n_pairs]
        weakest = min(weakest, float(expit(odds[one[-1]])))
        labels = clusters.merge_pairs(one, best[one])[labels]
        progress(1.0 - len(clusters) / n_given)
    return Merged(labels, weakest, 0.0)


def _best_pairs(odds: FloatArray, n_spare: int) -> list[tuple[int, int]]:
    """Return the best pair; of very many clusters, all mutually best pairs."""
    if len(odds) <= _AT_ONCE:
        one, other = np.unravel_index(int(np.argmax(odds)), odds.shape)
        return [(int(min(one, other)), int(max(one, other)))]
    best = np.argmax(odds, axis=1)
    mutual = np.flatnonzero(best[best] == np.arange(len(best)))
    pairs = [(int(i), int(best[i])) for i in mutual if i < best[i]]
    pairs.sort(key=lambda pair: -odds[pair])
    return pairs[: max(1, n_spare)]


def _moments(
    rows: FloatArray, labels: IntArray, sizes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return means, and summed squared distances from them."""
    means = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(means, labels, rows)
    means /= sizes[:, None]
    squared = np.sum((rows - means[labels]) ** 2, axis=1)
    return means, np.bincount(labels, squared).astype(np.float64)


def _shrunk(spreads: FloatArray, sizes: FloatArray, common: float) -> FloatArray:
    """Return the variance of each cluster, shrunk towards the common one."""
    variances: FloatArray = (spreads + POOLED_ROWS * common) / (
        sizes - 1.0 + POOLED_ROWS
    )
    return variances


def _cosines(
    vectors: FloatArray, squared_lengths: FloatArray, part: slice
) -> FloatArray:
    cosines: FloatArray = vectors[part] @ vectors.T
    cosines /= np.sqrt(squared_lengths[part, None] * squared_lengths)
    return cosines


def _weighted_median(values: FloatArray, weights: FloatArray) -> float:
    order = np.argsort(values, kind="stable")
    summed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(summed, summed[-1] / 2.0)])
