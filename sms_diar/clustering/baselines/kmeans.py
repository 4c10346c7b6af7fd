"""k-means of scoring vectors, with the number of clusters by silhouette."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances, silhouette_score

from sms_diar._validation import check_count, check_flag
from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.baselines._base import SpeakerBaseline, draw_seed
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray, RandomState

_CANDIDATES = 16  # numbers of speakers that are tried at a time


class KMeansSpeakers(SpeakerBaseline):
    """k-means in the space of the scores.

    Clustered are the vectors whose inner products make up the scores: whitened
    embeddings for cosine, and weighted speaker features for PLDA.

    Parameters
    ----------
    spherical : bool, default=False
        If True, scale these vectors to unit length first, so that only angles count.
        For cosine they have unit length already; for PLDA the length is information.
    n_init : int, default=5
        Number of starts of k-means for each number of clusters; the best is kept.
    random_state : int, Generator, RandomState or None, default=None
        Random seed of k-means.
    backend, num_speakers, min_speakers, max_speakers
        As for `SpeakerBaseline`. Without `max_speakers`, the maximum is a fifth of the
        number of segments. Silhouettes compare clusters, so the result is one speaker
        only if the bounds require it or all segments are equal.

    Attributes
    ----------
    silhouettes_ : dict from int to float
        Mean silhouette for the numbers of clusters that were tried.
    labels_, n_clusters_, k_, n_steps_, converged_, backend_, n_features_in_
        As for `SpeakerBaseline`; a step is a number of clusters that was tried.

    Notes
    -----
    Numbers of clusters are tried on a geometric grid, which is refined around the
    best until its neighbours are tried. O(n**2) memory for the silhouettes, O(n)
    for a given number.
    """

    _n_matrices = 2

    def __init__(
        self,
        *,
        backend: BackEnd | None = None,
        spherical: bool = False,
        n_init: int = 5,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.backend = backend
        self.spherical = spherical
        self.n_init = n_init
        self.num_speakers = num_speakers
        self.min_speakers = min_speakers
        self.max_speakers = max_speakers
        self.random_state = random_state

    def _check_limits(self) -> None:
        check_count(self._name, "n_init", self.n_init)
        check_flag(self._name, "spherical", self.spherical)

    def _check_size(self, n: int) -> None:
        if self.num_speakers is None:  # otherwise nothing is asked of all pairs
            super()._check_size(n)

    def _label(self, terms: PairwiseTerms, backend: BackEnd) -> IntArray:
        rows = scale_rows(terms.U) if self.spherical else terms.U
        seed = draw_seed(self.random_state)
        self.silhouettes_: dict[int, float] = {}
        most = self._most_sought(len(rows))
        if self.num_speakers is not None or most == 1:
            low = high = most if self.num_speakers is None else self.num_speakers
        else:
            # A silhouette needs two clusters, and one that has two members.
            low = max(self.min_speakers or 1, 2)
            high = min(most, len(np.unique(rows, axis=0)), len(rows) - 1)
        if high <= low:
            self.n_steps_ = 1
            count = max(1, min(low, high))
            return partition(rows, count, n_init=self.n_init, seed=seed)
        return self._best(rows, low, high, seed)

    def _best(self, rows: FloatArray, low: int, high: int, seed: int) -> IntArray:
        """Return the labels of highest silhouette, the fewest clusters among equals."""
        distances = pairwise_distances(rows)
        np.fill_diagonal(distances, 0.0)
        found: dict[int, IntArray] = {}
        grid = np.geomspace(low, high, _CANDIDATES)
        while True:
            for count in sorted({round(value) for value in grid} - set(found)):
                labels = partition(rows, count, n_init=self.n_init, seed=seed)
                found[count] = by_first_appearance(labels)
                self.silhouettes_[count] = _silhouette(distances, labels)
            tried = sorted(found)
            best = max(tried, key=lambda count: (self.silhouettes_[count], -count))
            place = tried.index(best)
            around = tried[max(place - 1, 0)], tried[min(place + 1, len(tried) - 1)]
            if around[1] - around[0] <= (around[0] < best) + (best < around[1]):
                break
            grid = np.linspace(*around, _CANDIDATES)
            self._tell(0.5)
        self.n_steps_ = len(found)
        return found[best]


def _silhouette(distances: FloatArray, labels: IntArray) -> float:
    if labels.min() == labels.max():  # rows that differ by rounding alone
        return -1.0
    return float(silhouette_score(distances, labels, metric="precomputed"))


def partition(rows: FloatArray, n_clusters: int, *, n_init: int, seed: int) -> IntArray:
    """Cluster `rows` of shape (n, d) by k-means; equal rows share a cluster.

    There are at most as many clusters as different rows. The best of `n_init` starts
    of k-means++ is kept.
    """
    n_different = len(np.unique(rows, axis=0))
    model = KMeans(min(n_clusters, n_different), n_init=n_init, random_state=seed)
    with warnings.catch_warnings():
        # Rows that differ by rounding alone may end in one cluster; callers count.
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels: IntArray = model.fit(rows).labels_.astype(np.int64)
    return labels
