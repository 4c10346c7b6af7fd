"""Are two groups of segments one speaker? A probability from nine measurements.

Groups lie in the session's own space (``neighbour_space.py``). None of the
measurements has a unit, so that they mean the same for any extractor:

* links: how often neighbours of one group's members are in the other group, compared
  with a thorough mixture of both;
* apart: distance of the means, in standard deviations of a group;
* typical: the same distance, compared with that of two groups of this session;
* smaller, larger: how many segments the two have;
* cosine: of the two means as the extractor gave them, without what chance adds to
  their lengths;
* turns: how often windows that overlap in time are in different ones of the two;
* crowd: how many groups there are, because the more there are, the likelier it is that
  two of different speakers look alike by chance;
* wide: the variance of the wider one, compared with other groups: a group that holds
  several speakers already must not draw in the others.

A logistic regression weighs them. What links, distances and cosines of a few segments
say is mostly chance, so these weigh more the more segments the smaller group has. The
weights are at the end of the day opinions about all speakers and extractors;
`scripts/fit-merging` learns them from sessions of the development corpora, and
EVIDENCE.md says how well they carry over to vectors of an extractor that they were not
learnt from.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from sms_diar.types import FloatArray, IntArray

MEASUREMENTS = (
    "links",
    "apart",
    "typical",
    "smaller",
    "larger",
    "cosine",
    "turns",
    "crowd",
    "wide",
)

GROWING = ("links", "apart", "cosine", "smaller")
"""Measurements that weigh more the more segments the smaller group has."""

_POOLED = 10.0  # segments that the common variance is worth against a group's own
_SAMPLE = 600  # groups that tell what a typical distance is
_NO_TURNS = 0.4  # what the measurement is of one turn in six windows


class Weights(NamedTuple):
    """Of the logistic regression.

    The names are those of the measurements; `more_...` is added to the weight of one
    for each unit of "smaller", the log of the number of segments.
    """

    links: float
    apart: float
    typical: float
    smaller: float
    larger: float
    cosine: float
    turns: float
    crowd: float
    wide: float
    more_links: float
    more_apart: float
    more_cosine: float
    more_smaller: float
    constant: float


WEIGHTS = Weights(
    links=-2.209,
    apart=-1.045,
    typical=-2.807,
    smaller=-0.186,
    larger=0.585,
    cosine=6.781,
    turns=0.635,
    crowd=-1.199,
    wide=-2.013,
    more_links=3.357,
    more_apart=-0.738,
    more_cosine=1.527,
    more_smaller=-0.604,
    constant=-2.296,
)


class Members(NamedTuple):
    """Segments and how they hang together; whoever groups them.

    Parameters
    ----------
    places : ndarray of shape (n, q)
        Coordinates in the space of the session.
    directions : ndarray of shape (n, d)
        Rows of unit length, as the extractor gave them.
    linked : ndarray of shape (m, 2)
        Pairs of a segment and one of its nearest neighbours.
    touching : ndarray of shape (t, 2) or None
        Pairs that overlap in time; None where times are not known.
    """

    places: FloatArray
    directions: FloatArray
    linked: IntArray
    touching: IntArray | None


@dataclass(eq=False)
class Groups:
    """Sums over groups, enough to measure any two of them and to join them.

    Parameters
    ----------
    sizes : ndarray of shape (g,)
        Segments of each.
    means, raw_means : ndarray of shape (g, q) and (g, d)
        Of their places, and of their directions.
    spreads, raw_spreads : ndarray of shape (g,)
        Summed squared distances from these.
    links : ndarray of shape (g, g)
        Pairs of neighbours from one group to another.
    turns : ndarray of shape (g, g) or None
        Pairs that overlap in time.
    crowd : int, optional
        How many groups there are, if others than these are to be thought of.
    """

    sizes: FloatArray
    means: FloatArray
    raw_means: FloatArray
    spreads: FloatArray
    raw_spreads: FloatArray
    links: FloatArray
    turns: FloatArray | None
    crowd: int | None = None

    @classmethod
    def of(cls, members: Members, labels: IntArray) -> Groups:
        """Sum up groups 0, 1, ..."""
        sizes = np.bincount(labels).astype(np.float64)
        means, spreads = _moments(members.places, labels, sizes)
        raw_means, raw_spreads = _moments(members.directions, labels, sizes)
        links = _counts(labels, members.linked, len(sizes))
        turns = None
        if members.touching is not None:
            one_way = _counts(labels, members.touching, len(sizes))
            turns = one_way + one_way.T
        return cls(sizes, means, raw_means, spreads, raw_spreads, links, turns)

    def __len__(self) -> int:
        return len(self.sizes)

    def on_trial(self) -> Groups:
        """The same groups, to join on trial.

        They stay as many as they are: that some were joined on trial must not make
        the next joins more probable, or any crowd would become one speaker.
        """
        return replace(copy.deepcopy(self), crowd=self.crowd or len(self))

    def join(self, kept: int, gone: int) -> None:
        """Make one group of two; those behind `gone` move up."""
        a, b = self.sizes[kept], self.sizes[gone]
        share = b / (a + b)
        for means, spreads in (
            (self.means, self.spreads),
            (self.raw_means, self.raw_spreads),
        ):
            apart = means[gone] - means[kept]
            spreads[kept] += spreads[gone] + a * share * float(apart @ apart)
            means[kept] += share * apart
        self.sizes[kept] = a + b
        others = np.arange(len(self)) != gone
        for name in ("links", "turns"):
            counts = getattr(self, name)
            if counts is not None:
                counts[kept] += counts[gone]
                counts[:, kept] += counts[:, gone]
                setattr(self, name, counts[np.ix_(others, others)])
        for name in ("sizes", "means", "raw_means", "spreads", "raw_spreads"):
            setattr(self, name, getattr(self, name)[others])

    def measurements(self) -> Iterator[FloatArray]:
        """Measurements of every two groups, in the order of `MEASUREMENTS`.

        Each is of shape (g, g) and symmetric; the diagonal means nothing.
        """
        n, q = self.sizes, self.means.shape[1]
        free = max(float(n.sum()) - len(n), 1.0)
        noise = max(float(self.spreads.sum()) / free, 1e-12)
        variances = _shrunk(self.spreads, n, noise)
        chance = variances / n
        distances = _squared_distances(self.means) - chance[:, None] - chance
        distances = np.maximum(distances, 1e-9)
        yield np.sqrt(self._mixing())
        yield np.log(np.sqrt(distances * q / noise) + 0.1)
        yield np.log(np.sqrt(distances / _typical(distances, n)) + 0.01)
        smaller = np.minimum(n[:, None], n)
        yield np.log(smaller)
        yield np.log(np.maximum(n[:, None], n))
        yield self._cosines(free)
        if self.turns is None:
            yield np.zeros_like(smaller)
        else:
            yield np.sqrt(self.turns / smaller) - _NO_TURNS
        yield np.full_like(smaller, np.log(self.crowd or len(n)))
        width = np.log(variances / _weighted_median(variances, np.sqrt(n)))
        yield np.maximum(width[:, None], width)

    def terms(self) -> Iterator[FloatArray]:
        """Measurements, and those that grow times "smaller": in the order of weights.

        Each is of shape (g, g) and symmetric; the diagonal means nothing.
        """
        kept = {}
        for name, measured in zip(MEASUREMENTS, self.measurements(), strict=True):
            if name in GROWING:
                kept[name] = measured
            yield measured
        for name in GROWING:
            yield kept[name] * kept["smaller"]

    def same(self, weights: Weights = WEIGHTS) -> FloatArray:
        """Probability, for every two groups, that they are one speaker.

        Returns
        -------
        same : ndarray of shape (g, g)
            Zero on the diagonal.
        """
        score = np.full((len(self), len(self)), weights.constant)
        for weight, term in zip(weights[:-1], self.terms(), strict=True):
            score += weight * term
        probability: FloatArray = expit(score)
        np.fill_diagonal(probability, 0.0)
        return probability

    def _cosines(self, free: float) -> FloatArray:
        """Cosines of raw means, whose lengths chance adds to."""
        noise = float(self.raw_spreads.sum()) / free
        chance = _shrunk(self.raw_spreads, self.sizes, noise) / self.sizes
        lengths = np.maximum(np.sum(self.raw_means**2, axis=1) - chance, 1e-6)
        cosines = self.raw_means @ self.raw_means.T
        cosines /= np.sqrt(lengths[:, None] * lengths)
        return np.clip(cosines, -0.5, 1.2)

    def _mixing(self) -> FloatArray:
        """Links between two groups as a share of those of a thorough mixture."""
        n, links = self.sizes, self.links
        between = links + links.T
        inside = np.diag(links)
        every = inside[:, None] + inside + between
        expected = every * 2.0 * n[:, None] * n / (n[:, None] + n) ** 2
        share: FloatArray = np.divide(
            between, expected, out=np.zeros_like(between), where=expected > 0.0
        )
        return share


def _moments(
    rows: FloatArray, labels: IntArray, sizes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    means = np.zeros((len(sizes), rows.shape[1]))
    np.add.at(means, labels, rows)
    means /= sizes[:, None]
    off = np.sum((rows - means[labels]) ** 2, axis=1)
    return means, _sums(labels, off)


def _sums(labels: IntArray, values: FloatArray) -> FloatArray:
    return np.bincount(labels, values).astype(np.float64)


def _counts(labels: IntArray, pairs: IntArray, n_groups: int) -> FloatArray:
    counts = np.zeros((n_groups, n_groups))
    np.add.at(counts, (labels[pairs[:, 0]], labels[pairs[:, 1]]), 1.0)
    return counts


def _shrunk(spreads: FloatArray, n: FloatArray, common: float) -> FloatArray:
    """Variance of each group, all directions together, drawn to that of all."""
    variances: FloatArray = (spreads + _POOLED * common) / (n - 1.0 + _POOLED)
    return variances


def _squared_distances(means: FloatArray) -> FloatArray:
    energy = np.sum(means**2, axis=1)
    distances: FloatArray = energy[:, None] + energy - 2.0 * means @ means.T
    return distances


def _typical(distances: FloatArray, n: FloatArray) -> float:
    """Median over pairs of groups, large ones weighing more."""
    some = np.unique(np.linspace(0, len(n) - 1, min(len(n), _SAMPLE)).astype(np.int64))
    one, other = np.triu_indices(len(some), 1)
    if not len(one):
        return 1.0
    weights = np.sqrt(n[some[one]] * n[some[other]])
    return _weighted_median(distances[some[one], some[other]], weights)


def _weighted_median(values: FloatArray, weights: FloatArray) -> float:
    order = np.argsort(values, kind="stable")
    summed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(summed, summed[-1] / 2.0)])
