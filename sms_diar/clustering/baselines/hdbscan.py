"""HDBSCAN of scores: clusters of any shape and density, and noise."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import HDBSCAN

from sms_diar._validation import check_count
from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.agglomerate import mean_features
from sms_diar.clustering.baselines._base import SpeakerBaseline
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import IntArray


class HdbscanSpeakers(SpeakerBaseline):
    """HDBSCAN on the distance ``sqrt(highest score - score)``.

    For cosine scores that is, up to a factor, the distance of unit vectors.
    Every segment needs a speaker, so noise is assigned to the cluster of highest mean
    score. If all segments are noise, there is one speaker.

    Parameters
    ----------
    min_cluster_size : int, default=5
        Minimum number of segments of a cluster.
    min_samples : int or None, default=None
        Number of neighbours, including itself, that make a segment dense; None means
        `min_cluster_size`.
    backend, num_speakers, min_speakers, max_speakers
        As for `SpeakerBaseline`.

    Attributes
    ----------
    noise_ : ndarray of shape (n_segments,)
        True for segments that HDBSCAN labelled as noise.
    labels_, n_clusters_, k_, n_steps_, converged_, backend_, n_features_in_
        As for `SpeakerBaseline`.

    Notes
    -----
    O(n**2) time and memory.
    """

    _n_matrices = 4

    def __init__(
        self,
        *,
        backend: BackEnd | None = None,
        min_cluster_size: int = 5,
        min_samples: int | None = None,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
    ) -> None:
        self.backend = backend
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.num_speakers = num_speakers
        self.min_speakers = min_speakers
        self.max_speakers = max_speakers

    def _check_limits(self) -> None:
        check_count(self._name, "min_cluster_size", self.min_cluster_size, least=2)
        if self.min_samples is not None:
            check_count(self._name, "min_samples", self.min_samples)

    def _label(self, terms: PairwiseTerms, backend: BackEnd) -> IntArray:
        n = len(terms)
        self.k_ = min(self.min_samples or self.min_cluster_size, n)
        if n < self.min_cluster_size:
            self.noise_ = np.ones(n, dtype=bool)
            return np.zeros(n, dtype=np.int64)
        distances = terms.matrix()
        np.subtract(distances.max(), distances, out=distances)
        np.fill_diagonal(distances, 0.0)
        np.sqrt(distances, out=distances)
        labels: IntArray = (
            HDBSCAN(
                min_cluster_size=self.min_cluster_size,
                min_samples=self.k_,
                metric="precomputed",
                copy=False,
            )
            .fit(distances)
            .labels_.astype(np.int64)
        )
        self.noise_ = labels < 0
        if self.noise_.all():
            return np.zeros(n, dtype=np.int64)
        kept, lost = np.flatnonzero(~self.noise_), np.flatnonzero(self.noise_)
        labels[kept] = by_first_appearance(labels[kept])
        dense = PairwiseTerms(terms.U[kept], terms.bias[kept], terms.constant)
        speakers = mean_features(dense, labels[kept])
        scores = terms.U[lost] @ speakers.U.T + speakers.bias
        labels[lost] = np.argmax(scores, axis=1)
        return labels
