"""Agglomerative clustering of PLDA or cosine scores.

This is the standard method of diarization: the two clusters with the highest mean
score are merged repeatedly, until no pair of clusters scores above a threshold. All
merges are stored, so other thresholds need no further clustering.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sms_diar._validation import check_choice, check_count, is_real
from sms_diar.clustering.agglomerate import Linkage, link
from sms_diar.clustering.baselines._base import SpeakerBaseline
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray

_BINS = 4096


def two_gaussian_threshold(scores: FloatArray, *, n_iter: int = 20) -> float:
    """Find the score at which two Gaussians fitted to all scores are equally likely.

    EM starts one standard deviation below and above the mean. The scores are first
    sorted into 4096 bins, each represented by the mean of its members. The result is
    minus infinity if all scores are equal or one Gaussian vanishes.

    >>> float(two_gaussian_threshold(np.array([-1.0, -1.0, 3.0, 3.0])))
    1.0
    """
    low, high = float(scores.min()), float(scores.max())
    # Rounding alone spreads equal scores by some 1e-16 of their size.
    if high - low <= 1e-12 * max(1.0, abs(low), abs(high)):
        return -np.inf
    values, shares = _binned(np.ravel(scores))
    mean = float(shares @ values)
    variance = float(shares @ (values - mean) ** 2)
    weights = np.array([0.5, 0.5])
    means = mean + np.sqrt(variance) * np.array([-1.0, 1.0])
    floor = 1e-6 * variance  # two values only would leave no variance at all
    for _ in range(n_iter):
        logs = np.log(weights) - 0.5 * (values[:, None] - means) ** 2 / variance
        gamma = np.exp(logs - logs.max(axis=1, keepdims=True))  # shape: (bins, 2)
        gamma *= (shares / gamma.sum(axis=1))[:, None]
        weights = gamma.sum(axis=0)
        if weights.min() < 1e-12:
            return -np.inf
        means = gamma.T @ values / weights
        spread = float(np.sum(gamma * (values[:, None] - means) ** 2))
        variance = max(spread, floor)
    odds = float(np.log(weights[0] / weights[1]))
    return float(means.mean() + variance * odds / (means[1] - means[0]))


def _binned(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    counts, edges = np.histogram(scores, bins=_BINS)
    sums = np.histogram(scores, bins=edges, weights=scores)[0]
    full = counts > 0
    return sums[full] / counts[full], counts[full] / len(scores)


class AgglomerativeSpeakers(SpeakerBaseline):
    """Merge the clusters of highest score until a threshold or a number.

    Parameters
    ----------
    linkage : {"average", "complete", "single"}, default="average"
        Score of two clusters: mean, lowest or highest of the scores of their
        pairs.
    threshold : float, "calibrated" or None, default=None
        Clusters merge while they score above this. None means 0 for PLDA, whose
        scores are log-likelihood ratios, and "calibrated" for cosine, which has
        no natural zero. "calibrated" is the point between two Gaussians fitted to
        the scores of the session (`two_gaussian_threshold`). It assumes two groups of
        scores even in a session of one speaker, and tends to give too many clusters; a
        threshold tuned on similar sessions is better.
    backend, num_speakers, min_speakers, max_speakers
        As for `SpeakerBaseline`; the bounds outrank the threshold.

    Attributes
    ----------
    threshold_ : float
        Threshold that was used; minus infinity if all scores are equal.
    children_ : ndarray of shape (n_segments - 1, 2)
        Clusters that merge, numbered as in scikit-learn.
    merge_scores_ : ndarray of shape (n_segments - 1,)
        Scores at which they merge, decreasing.
    labels_, n_clusters_, k_, n_steps_, converged_, backend_, n_features_in_
        As for `SpeakerBaseline`; a step is a merge.

    Notes
    -----
    O(n**2) time and memory; some 18,000 segments at most.

    Examples
    --------
    >>> import numpy as np
    >>> from sms_diar.clustering.baselines import AgglomerativeSpeakers
    >>> rng = np.random.default_rng(0)
    >>> speakers = np.repeat([[3.0, 0, 0], [0, 3.0, 0], [0, 0, 3.0]], 20, axis=0)
    >>> X = speakers + 0.3 * rng.standard_normal((60, 3))
    >>> model = AgglomerativeSpeakers().fit(X)
    >>> model.n_clusters_, int(model.labels_at(-1.0).max()) + 1
    (3, 1)
    """

    _n_matrices = 3

    def __init__(
        self,
        *,
        backend: BackEnd | None = None,
        linkage: Linkage = "average",
        threshold: float | Literal["calibrated"] | None = None,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
    ) -> None:
        self.backend = backend
        self.linkage = linkage
        self.threshold = threshold
        self.num_speakers = num_speakers
        self.min_speakers = min_speakers
        self.max_speakers = max_speakers

    def labels_at(self, threshold: float) -> IntArray:
        """Return the labels that another threshold would have given, without bounds."""
        check_is_fitted(self)
        return self._dendrogram.labels_of(self._dendrogram.count_at(threshold))

    def labels_with(self, num_speakers: int) -> IntArray:
        """Return the labels when merging stops at a number of speakers."""
        check_is_fitted(self)
        check_count(self._name, "num_speakers", num_speakers)
        n = len(self.labels_)
        if num_speakers > n:
            raise InvalidParameterError(
                f"must be at most the number of segments ({n}), got {num_speakers}",
                owner=self._name,
                parameter="num_speakers",
            )
        return self._dendrogram.labels_of(num_speakers)

    def _check_limits(self) -> None:
        check_choice(
            self._name, "linkage", self.linkage, ("average", "complete", "single")
        )
        if not (
            self.threshold is None
            or self.threshold == "calibrated"
            or is_real(self.threshold)
        ):
            raise InvalidParameterError(
                f"must be a finite number, 'calibrated' or None, got "
                f"{self.threshold!r}",
                owner=self._name,
                parameter="threshold",
            )

    def _label(self, terms: PairwiseTerms, backend: BackEnd) -> IntArray:
        scores = terms.matrix()
        self.threshold_ = self._stop(scores, backend)
        self._dendrogram = link(scores, self.linkage)
        self.children_ = self._dendrogram.children
        self.merge_scores_ = self._dendrogram.scores
        low, high = self._bounds(len(terms))
        count = int(np.clip(self._dendrogram.count_at(self.threshold_), low, high))
        self.n_steps_ = len(terms) - count
        return self._dendrogram.labels_of(count)

    def _stop(self, scores: FloatArray, backend: BackEnd) -> float:
        if self.threshold is None and backend.kind == "plda":
            return 0.0
        if self.threshold is None or self.threshold == "calibrated":
            if len(scores) == 1:
                return -np.inf
            return two_gaussian_threshold(scores[np.tri(len(scores), k=-1, dtype=bool)])
        return float(self.threshold)
