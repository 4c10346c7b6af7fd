"""Merge fragments while two of them are more likely one speaker than not.

The log odds that two clusters are one speaker are a linear function of six
measurements without units, so that they mean the same for any extractor:

* distance: log distance of the means in the space of the session, in standard
  deviations within a cluster, without the part that sampling explains;
* similarity: cosine of the mean embeddings as the extractor gave them, corrected for
  sampling;
* direction: cosine of the means in the space of the session, seen from its centre;
* smaller, larger: log numbers of rows, up to `MANY_ROWS`;
* width: log variance of the wider cluster relative to the others, because a cluster of
  several speakers must not attract more.

What they cannot say is how similar different speakers of this session are. The session
says it: a cluster should have few partners with whom it is probably one speaker. If
most clusters have several, the voices are alike and pairs look better than they are. So
the log odds have to exceed the `ambiguity` of the session, times its weight.

`scripts/fit-merging` finds the weights with which sessions of the development corpora
are clustered best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from sms_diar.clustering.speakers.rows import chunks, sum_rows
from sms_diar.types import AnyArray, FloatArray, IntArray

MEASUREMENTS = (
    "distance",
    "similarity",
    "direction",
    "smaller",
    "larger",
    "width",
)

POOLED_ROWS = 10.0
"""Rows that the common variance counts as, against the variance of one cluster, and
about the maximum number of rows that a cluster contributes to it."""

MANY_ROWS = 70.0
"""Size from which a cluster does not attract others more strongly: otherwise one that
grows may absorb a crowd."""

UNDECIDED = 0.4
"""Probability down to which merges are tried. They are kept if the next has less than
half of it."""

_AT_ONCE = 400  # Clusters above which all mutually best pairs are merged at once.
_PAIRS = 4_000_000  # Pairs of clusters that are measured at a time.


class Weights(NamedTuple):
    """Weights of the measurements in the log odds, and of the ambiguity."""

    distance: float
    similarity: float
    direction: float
    smaller: float
    larger: float
    width: float
    constant: float
    ambiguity: float


WEIGHTS = Weights(
    distance=-2.73,
    similarity=8.59,
    direction=0.48,
    smaller=-1.39,
    larger=1.1,
    width=-3.82,
    constant=0.37,
    ambiguity=2.83,
)


@dataclass(eq=False)
class Clusters:
    """Sums over clusters, which suffice to measure and to merge any two of them.

    Parameters
    ----------
    sizes : ndarray of shape (g,)
        Sum of the weights of the rows in each cluster.
    means, raw_means : ndarray of shape (g, q) and (g, d)
        Weighted means in the space of the session, and of the rows of unit length.
    spreads, raw_spreads : ndarray of shape (g,)
        Weighted sums of the squared distances from these means.
    """

    sizes: FloatArray
    means: FloatArray
    raw_means: FloatArray
    spreads: FloatArray
    raw_spreads: FloatArray

    @classmethod
    def of(
        cls,
        rows: AnyArray,
        directions: AnyArray,
        labels: IntArray,
        weights: FloatArray | None = None,
        project: Callable[[AnyArray], FloatArray] = np.asarray,
    ) -> Clusters:
        """Sum over clusters 0, 1, ... of rows.

        `weights`, shape (n,), are 1 by default. `project` maps rows into the space of
        the session, some of them at a time; it is linear.
        """
        if weights is None:
            weights = np.ones(len(labels))
        sizes = np.bincount(labels, weights).astype(np.float64)
        means, spreads = _moments(rows, labels, weights, project)
        raw_means, raw_spreads = _moments(directions, labels, weights, np.asarray)
        return cls(sizes, means, raw_means, spreads, raw_spreads)

    def __len__(self) -> int:
        return len(self.sizes)

    def merge(self, kept: IntArray, gone: IntArray) -> IntArray:
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
        noise = max(_common_variance(self.spreads, n), 1e-12)
        variances = _shrunk(self.spreads, n, noise)
        sampling = variances / n  # variance of a mean, shape: (g,)
        energy = np.sum(self.means**2, axis=1)
        squared = energy[part, None] + energy
        squared -= 2.0 * (self.means[part] @ self.means.T)
        squared = np.maximum(squared - (sampling[part, None] + sampling), 1e-9)
        centred = self.means - n @ self.means / n.sum()
        lengths = np.sum(centred**2, axis=1) - sampling
        direction = _cosines(centred, np.maximum(lengths, 0.2 * sampling + 1e-12), part)
        raw_noise = _common_variance(self.raw_spreads, n)
        raw_sampling = _shrunk(self.raw_spreads, n, raw_noise) / n
        raw_lengths = np.sum(self.raw_means**2, axis=1) - raw_sampling
        similarity = _cosines(self.raw_means, np.maximum(raw_lengths, 1e-6), part)
        sizes = np.minimum(n, MANY_ROWS)
        widths = np.log(variances / _weighted_median(variances, np.sqrt(n)))
        return {
            "distance": np.log(np.sqrt(squared * q / noise) + 0.1),
            "similarity": np.clip(similarity, -0.5, 1.2),
            "direction": np.clip(direction, -1.0, 1.2),
            "smaller": np.log(np.minimum(sizes[part, None], sizes)),
            "larger": np.log(np.maximum(sizes[part, None], sizes)),
            "width": np.maximum(widths[part, None], widths),
        }

    def log_odds(self, part: slice = slice(None)) -> FloatArray:
        """Return the log odds that two clusters, one of a part, are one speaker.

        Returns
        -------
        log_odds : ndarray of shape (m, g)
            Negative infinity for a cluster and itself.
        """
        measured = self.measurements(part)
        odds = np.full_like(measured["distance"], WEIGHTS.constant)
        for name in MEASUREMENTS:
            odds += getattr(WEIGHTS, name) * measured[name]
        own = np.arange(len(self))[part]
        odds[np.arange(len(own)), own] = -np.inf
        return odds

    def best_partners(self) -> tuple[IntArray, FloatArray]:
        """Return the most probable partner of each cluster, and the log odds of both.

        Returns
        -------
        best : ndarray of shape (g,)
            Index of the partner.
        odds : ndarray of shape (g,)
            Log odds that both are one speaker, less the weighted ambiguity.
        """
        g = len(self)
        best, highest, partners = np.empty(g, dtype=np.int64), np.empty(g), np.empty(g)
        step = max(1, _PAIRS // g)
        for first in range(0, g, step):
            part = slice(first, first + step)
            odds = self.log_odds(part)
            best[part] = np.argmax(odds, axis=1)
            highest[part] = odds.max(axis=1)
            partners[part] = expit(odds).sum(axis=1)
        return best, highest - WEIGHTS.ambiguity * ambiguity(partners)


def ambiguity(partners: FloatArray) -> float:
    """Return about the share of clusters that have a partner to be one speaker with.

    `partners` has the expected number of partners of each cluster, the sum of the
    probabilities of its pairs, shape (g,). The result is the mean of x / (1 + x). It is
    at most 1, because many fragments of one speaker are also partners.

    >>> round(ambiguity(np.array([2.0, 1.0, 0.0])), 3)  # 2/3, 1/2, 0
    0.389
    """
    return float(np.mean(partners / (1.0 + partners)))


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
    wrong : float, default=0.0
        Expected number of wrong merges: the sum of one minus their probabilities.
    """

    labels: IntArray
    weakest: float
    refused: float
    wrong: float = 0.0


def merge_fragments(
    clusters: Clusters,
    low: int,
    high: int,
    progress: Callable[[float], None] = lambda _: None,
) -> Merged:
    """Merge the most probable pair of clusters while it has more than even odds.

    Further merges are tried while they are not improbable (`UNDECIDED`). They are kept
    if then a gap follows and half of the clusters remain: a person with several ways of
    speaking leaves such pairs, but in a crowd they do not end.

    Parameters
    ----------
    clusters : Clusters
        Fragments, each of one speaker; merged in place.
    low, high : int
        Bounds on the number of clusters. If there are fewer fragments than `low`, they
        are not merged.
    progress : callable, optional
        Called with the share of merges made.

    Returns
    -------
    merged : Merged
        `labels` are the new clusters of the fragments.
    """
    fewest = max(low, 1)
    start = Merged(np.arange(len(clusters)), 1.0, 0.0)
    found = _merge(clusters, start, fewest, high, 0.5, progress)
    n_found = len(clusters)
    tried = _merge(clusters, found, fewest, high, UNDECIDED)
    gap = 0.0 < tried.refused < UNDECIDED / 2.0
    return tried if gap and len(clusters) >= n_found // 2 else found


def _merge(
    clusters: Clusters,
    start: Merged,
    fewest: int,
    high: int,
    least: float,
    progress: Callable[[float], None] = lambda _: None,
) -> Merged:
    """Continue merging while a merge has more than the least probability.

    Of very many clusters, all pairs are merged at once of which each is the best
    partner of the other.
    """
    labels, weakest, _, wrong = start
    n_given = len(clusters)
    while len(clusters) > fewest:
        best, odds = clusters.best_partners()
        one = np.flatnonzero(best[best] == np.arange(len(best)))
        one = one[one < best[one]]
        one = one[np.argsort(-odds[one], kind="stable")]
        n_probable = int(np.count_nonzero(expit(odds[one]) > least))
        n_pairs = min(max(n_probable, len(clusters) - high), len(clusters) - fewest)
        if n_pairs <= 0:
            return Merged(labels, weakest, float(expit(odds.max())), wrong)
        one = one[: n_pairs if len(clusters) > _AT_ONCE else 1]
        weakest = min(weakest, float(expit(odds[one[-1]])))
        wrong += float(expit(-odds[one]).sum())
        labels = clusters.merge(one, best[one])[labels]
        progress(1.0 - len(clusters) / n_given)
    return Merged(labels, weakest, 0.0, wrong)


def _moments(
    rows: AnyArray,
    labels: IntArray,
    weights: FloatArray,
    project: Callable[[AnyArray], FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Return means of clusters, and weighted sums of squared distances from them."""
    sizes = np.bincount(labels, weights)[:, None]
    means = project(sum_rows(labels, rows, weights) / sizes)
    squared = np.empty(len(rows))
    for part in chunks(len(rows)):
        differences = project(rows[part]) - means[labels[part]]
        squared[part] = np.sum(differences**2, axis=1)
    return means, np.bincount(labels, weights * squared).astype(np.float64)


def _common_variance(spreads: FloatArray, sizes: FloatArray) -> float:
    """Return the variance within a typical cluster.

    Clusters differ in their variances, so the weight of a large one is limited. If it
    grew with the rows, a cluster of many speakers would raise the noise, bring all
    clusters closer together, and so absorb the session.
    """
    free = np.maximum(sizes - 1.0, 0.0)
    weights = POOLED_ROWS / (free + POOLED_ROWS)
    return float(weights @ spreads) / max(float(weights @ free), 1.0)


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
