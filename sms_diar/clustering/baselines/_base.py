"""Base class of the baselines.

Baselines have the interface of the mean-shift estimators: they take raw embeddings, a
back end that scores pairs and bounds on the number of speakers, and number labels by
first appearance.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from sms_diar._random import as_generator
from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.agglomerate import mean_features
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.bounds import reach_bounds
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray, RandomState

_BYTES = 8 * 2**30  # of matrices of all pairs at a time


class SpeakerBaseline(SpeakerEstimator):
    """Base class of methods that label all segments at once.

    Subclasses return labels. This class enforces the bounds on the number of speakers:
    clusters of highest mean score are merged, and the loosest clusters are split.

    Parameters
    ----------
    backend : BackEnd or None, default=None
        Back end that scores pairs; None is cosine scoring with whitening fitted
        on the session itself (:func:`~sms_diar.scoring.session_backend`).
    num_speakers, min_speakers, max_speakers : int or None, default=None
        Bounds on the number of clusters.

    Attributes
    ----------
    labels_ : ndarray of shape (n_segments,)
        Speaker of each segment, numbered from 0 by first appearance.
    n_clusters_ : int
        Number of speakers.
    k_ : int
        Number of neighbours of a segment; 0 for methods without neighbourhoods.
    n_steps_ : int
        Number of steps, whose meaning depends on the method; 0 if there are none.
    converged_ : bool
        True unless an iterative method reached its limit.
    backend_ : BackEnd
        Back end that was used.
    n_features_in_ : int
        Number of columns of the data.
    """

    _n_matrices: ClassVar[int]  # of n x n numbers that are held at a time

    @property
    def n_matrices(self) -> int:
        """Maximum number of n x n matrices in memory."""
        return self._n_matrices

    @abstractmethod
    def _label(self, terms: PairwiseTerms, backend: BackEnd) -> IntArray:
        """Label all segments with arbitrary numbers."""

    def _fit_rows(self, X: FloatArray) -> None:
        self._check_size(len(X))
        backend = self.backend_
        terms = backend.features(backend.prepare(X))
        self.k_ = 0  # no neighbourhoods
        self.n_steps_ = 0
        self.converged_ = True
        labels = by_first_appearance(self._label(terms, backend))
        labels = reach_bounds(terms, labels, *self._bounds(len(X)))
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        self._speakers = mean_features(terms, labels)
        self._tell(1.0)

    def _check_size(self, n: int) -> None:
        check_memory(self._name, n, self._n_matrices)

    def _most_sought(self, n: int) -> int:
        """Maximum number of speakers; by default a fifth of the segments.

        Without a limit, methods that compare numbers of speakers may prefer speakers
        of a single segment.
        """
        low, high = self._bounds(n)
        if self.max_speakers is not None:
            return high
        return max(1, low, n // 5)


def check_memory(owner: str, n: int, n_matrices: int) -> None:
    """Raise an error if the scores of all pairs would not fit into memory."""
    most = int((_BYTES / (8 * n_matrices)) ** 0.5)
    if n > most:
        size = 8 * n_matrices * n**2 / 1e9
        problem = (
            f"must have at most {most} segments, got {n}; scores of all their pairs "
            f"would take {size:.1f} GB. Cluster recordings one by one, or use "
            f"SpeakerStochasticMeanShift, which holds no such matrix"
        )
        raise InvalidParameterError(problem, owner=owner, parameter="X")


def draw_seed(random_state: RandomState) -> int:
    """Draw a seed for scikit-learn, which does not accept a Generator."""
    return int(as_generator(random_state).integers(2**31 - 1))
