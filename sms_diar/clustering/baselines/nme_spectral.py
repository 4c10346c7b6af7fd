"""Spectral clustering that tunes itself by the normalised maximum eigengap.

Segments are joined with their p best partners; the graph of K speakers that say
enough has K small eigenvalues and then a gap. Which p shows it best is found by a
search: the gap in units of the largest eigenvalue, g(p), should be large and p
small, so the p with the smallest ratio p / g(p) is taken, and the place of its gap
is the number of speakers (T. Park, K. Han, M. Kumar, S. Narayanan, "Auto-tuning
spectral clustering for speaker diarization using normalized maximum eigengap",
2020). Only ranks of scores matter, so PLDA and cosine are alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, eigvalsh
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sms_diar._validation import check_count, check_share
from sms_diar.clustering.baselines._base import SpeakerBaseline, draw_seed
from sms_diar.clustering.baselines._partition import partition
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray, RandomState


class NmeSpectralSpeakers(SpeakerBaseline):
    """Spectral clustering of a graph of neighbours, with p and the number tuned.

    Parameters
    ----------
    backend : BackEnd or None, default=None
        Back end that scores pairs; None is cosine scoring with whitening fitted
        on the session itself (:func:`~sms_diar.scoring.session_backend`).
    max_share : float, default=0.25
        Largest p tried, as a share of the segments.
    n_trials : int, default=30
        Values of p, evenly spaced. As g is never above 1, they are tried only up
        to where p / n exceeds the smallest ratio so far.
    connected : bool, default=True
        If the graph of the best p is not connected, take the next p whose graph is
        connected, as the programs of the authors do. This may lose speakers if many
        have few segments.
    num_speakers, min_speakers, max_speakers : int or None, default=None
        Bounds on the number of clusters. Without `max_speakers`, the
        maximum is a fifth of the number of segments.
    random_state : int, Generator, RandomState or None, default=None
        Random seed of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_segments,)
        Speaker of each segment, numbered from 0 by first appearance.
    n_clusters_ : int
        Number of speakers found.
    k_ : int
        The p taken: neighbours of a segment, itself among them.
    trials_ : ndarray of shape (n_values,)
        Values of p tried.
    ratios_ : ndarray of shape (n_values,)
        Their ratios p / (n g(p)).
    n_steps_ : int
        Eigenvalue problems solved.
    converged_ : bool
        True.
    backend_ : BackEnd
        Back end that was used.
    n_features_in_ : int
        Number of columns of the data.

    Notes
    -----
    O(n**3) time for each p and O(n**2) memory, because most of the time is needed to
    bring a matrix to tridiagonal form, for any number of eigenvalues. On one core
    2,000 segments take about 7 seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from sms_diar.clustering.baselines import NmeSpectralSpeakers
    >>> rng = np.random.default_rng(0)
    >>> speakers = np.repeat([[3.0, 0, 0], [0, 3.0, 0], [0, 0, 3.0]], 20, axis=0)
    >>> X = speakers + 0.3 * rng.standard_normal((60, 3))
    >>> NmeSpectralSpeakers(random_state=0).fit(X).n_clusters_
    3
    """

    _n_matrices = 5

    def __init__(
        self,
        *,
        backend: BackEnd | None = None,
        max_share: float = 0.25,
        n_trials: int = 30,
        connected: bool = True,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.backend = backend
        self.max_share = max_share
        self.n_trials = n_trials
        self.connected = connected
        self.num_speakers = num_speakers
        self.min_speakers = min_speakers
        self.max_speakers = max_speakers
        self.random_state = random_state

    def _check_limits(self) -> None:
        check_share(self._name, "max_share", self.max_share)
        check_count(self._name, "n_trials", self.n_trials, least=2)
        if not isinstance(self.connected, (bool, np.bool_)):
            raise InvalidParameterError(
                f"must be True or False, got {self.connected!r}",
                owner=self._name,
                parameter="connected",
            )

    def _label(self, terms: PairwiseTerms, backend: BackEnd) -> IntArray:
        n = len(terms)
        order = ranking(terms.matrix())
        most = min(self._most_sought(n), n - 1)
        grid = self._grid(n)
        gaps = self._search(order, grid, most)
        self.trials_ = np.array(list(gaps))
        self.ratios_ = np.array([gap.ratio(p / n) for p, gap in gaps.items()])
        p = int(self.trials_[np.argmin(self.ratios_)])
        if self.connected:
            p = next((q for q in grid if q >= p and is_whole(order, q)), grid[-1])
        if p not in gaps:
            gaps[p] = find_gap(laplacian(order, p), most)
        self.k_ = p
        self.n_steps_ = len(gaps)
        count = int(np.clip(gaps[p].n_clusters, *self._bounds(n)))
        if count == 1:
            return np.zeros(n, dtype=np.int64)
        vectors = eigh(laplacian(order, p), subset_by_index=[0, count - 1])[1]
        return partition(vectors, count, n_init=10, seed=draw_seed(self.random_state))

    def _grid(self, n: int) -> list[int]:
        largest = min(n, max(2, int(self.max_share * n)))
        grid = np.linspace(1, largest, min(self.n_trials, largest)).astype(np.int64)
        # With p = 1 a segment is joined with itself alone.
        return [int(p) for p in np.unique(np.maximum(grid, min(2, n)))]

    def _search(self, order: IntArray, grid: list[int], most: int) -> dict[int, Gap]:
        """Gaps of rising p, up to where no larger p can have a smaller ratio."""
        n = len(order)
        gaps: dict[int, Gap] = {}
        smallest = np.inf
        for p in grid:
            if p / n >= smallest:  # a gap is no larger than the largest eigenvalue
                break
            gaps[p] = find_gap(laplacian(order, p), most)
            smallest = min(smallest, gaps[p].ratio(p / n))
            self._tell(min(1.0, p / n / smallest) if smallest > 0.0 else 0.0)
        return gaps


class Gap(NamedTuple):
    """Largest gap between neighbouring small eigenvalues of a graph."""

    n_clusters: int
    size: float  # in units of the largest eigenvalue

    def ratio(self, share: float) -> float:
        """The share of segments that are neighbours over the size of the gap."""
        return share / self.size if self.size > 0.0 else np.inf


def ranking(scores: FloatArray) -> IntArray:
    """Partners of each segment, best first, itself before all; overwrites scores."""
    np.fill_diagonal(scores, np.inf)
    np.negative(scores, out=scores)
    order: IntArray = np.argsort(scores, axis=1, kind="stable")
    return order


def laplacian(order: IntArray, p: int) -> FloatArray:
    """Laplacian of the graph that joins each segment with its p best partners.

    A pair has weight 1 if each is among the best of the other, 1/2 if one is.
    """
    n = len(order)
    graph = np.zeros((n, n))
    graph[np.arange(n)[:, None], order[:, :p]] = -0.5
    graph = graph + graph.T
    np.fill_diagonal(graph, 0.0)
    np.fill_diagonal(graph, -graph.sum(axis=1))
    return graph


def find_gap(graph: FloatArray, most: int) -> Gap:
    """Find the number of clusters, at most `most`, after which eigenvalues jump."""
    if most < 1:
        return Gap(1, 0.0)
    values = eigvalsh(graph)
    gaps = np.diff(values[: most + 1])
    where = int(np.argmax(gaps))
    size = float(gaps[where] / values[-1]) if values[-1] > 0.0 else 0.0
    return Gap(where + 1, size)


def is_whole(order: IntArray, p: int) -> bool:
    """Test if the graph of the p best partners of each segment is connected."""
    n = len(order)
    rows = np.repeat(np.arange(n), p)
    edges = np.ones(n * p, dtype=np.int8)
    graph = coo_array((edges, (rows, order[:, :p].ravel())), (n, n))
    return int(connected_components(graph, directed=False)[0]) == 1
