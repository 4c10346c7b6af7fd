"""Spectral clustering: of a refined affinity, and of a graph that tunes itself.

The affinity of all pairs is cleaned row by row before its eigenvectors are taken:
weak values are suppressed, the matrix is made symmetric and diffused, and rows
are scaled to a maximum of one. The number of speakers is where the ratio of one
eigenvalue to the next is largest (Q. Wang, C. Downey, L. Wan, P. Mansfield,
I. Moreno, "Speaker diarization with LSTM", 2018). The paper's blur along time is
off unless asked for, because segments need not be in order.

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
from scipy.ndimage import gaussian_filter
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from sms_diar._validation import (
    check_count,
    check_flag,
    check_not_negative,
    check_share,
)
from sms_diar.clustering.baselines._base import SpeakerBaseline, draw_seed
from sms_diar.clustering.baselines.kmeans import partition
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray, RandomState

_SUPPRESSION = 0.01  # what weak affinities are multiplied by
_SMALLEST = 0.01  # eigenvalues below this are noise: no gap is looked for there


class SpectralSpeakers(SpeakerBaseline):
    """Spectral clustering with the affinity refined row by row.

    The affinity of a cosine s is ``(1 + s) / 2``; the affinity of a PLDA score is its
    logistic function, the probability of the same speaker.

    Parameters
    ----------
    row_share : float, default=0.95
        Affinities below this share of the largest of their row are suppressed.
    blur : float, default=0.0
        Standard deviation, in segments, of a Gaussian blur of the affinity, for
        windows in temporal order. The paper uses 1.
    random_state : int, Generator, RandomState or None, default=None
        Random seed of k-means.
    backend, num_speakers, min_speakers, max_speakers
        As for `SpeakerBaseline`. Without `max_speakers`, the maximum is a fifth of the
        number of segments.

    Attributes
    ----------
    eigenvalues_ : ndarray
        Largest eigenvalues of the refined affinity, decreasing.
    labels_, n_clusters_, k_, n_steps_, converged_, backend_, n_features_in_
        As for `SpeakerBaseline`.

    Notes
    -----
    O(n**3) time and O(n**2) memory. The refined matrix is not symmetric, but it is
    similar to a symmetric matrix, which is decomposed instead.
    """

    _n_matrices = 6

    def __init__(
        self,
        *,
        backend: BackEnd | None = None,
        row_share: float = 0.95,
        blur: float = 0.0,
        num_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.backend = backend
        self.row_share = row_share
        self.blur = blur
        self.num_speakers = num_speakers
        self.min_speakers = min_speakers
        self.max_speakers = max_speakers
        self.random_state = random_state

    def _check_limits(self) -> None:
        check_share(self._name, "row_share", self.row_share)
        check_not_negative(self._name, "blur", self.blur)

    def _label(self, terms: PairwiseTerms, backend: BackEnd) -> IntArray:
        n = len(terms)
        if n == 1:
            self.eigenvalues_ = np.ones(1)
            return np.zeros(1, dtype=np.int64)
        scores = terms.matrix()  # shape: (n, n)
        affinity = expit(scores) if backend.kind == "plda" else 0.5 * (scores + 1.0)
        values, vectors = leading_vectors(
            refine(affinity, row_share=self.row_share, blur=self.blur),
            min(self._most_sought(n) + 1, n),
        )
        self.eigenvalues_ = values
        self.n_steps_ = 1
        count = int(np.clip(count_by_ratio(values), *self._bounds(n)))
        # Rows of unit length: k-means then goes by angles, as the paper does.
        rows = scale_rows(vectors[:, :count])
        return partition(rows, count, n_init=10, seed=draw_seed(self.random_state))


def refine(
    affinity: FloatArray, *, row_share: float = 0.95, blur: float = 0.0
) -> FloatArray:
    """Clean an affinity matrix of shape (n, n) that is not negative.

    These are all steps of the paper but the last, which scales rows. The result is
    symmetric and positive semi-definite. The parameters are those of
    `SpectralSpeakers`.
    """
    refined = affinity.copy()
    # The affinity of a segment with itself must not exceed its best other affinity.
    np.fill_diagonal(refined, 0.0)
    np.fill_diagonal(refined, refined.max(axis=1))
    if blur > 0.0:
        refined = gaussian_filter(refined, sigma=blur)
    weak = refined < row_share * refined.max(axis=1, keepdims=True)
    refined[weak] *= _SUPPRESSION
    refined = np.maximum(refined, refined.T)
    diffused: FloatArray = refined @ refined.T
    return diffused


def leading_vectors(diffused: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalues and eigenvectors of ``diffused / row maxima``.

    With row maxima M the matrix ``M**-1 S`` has the eigenvalues of the symmetric
    ``M**-1/2 S M**-1/2``, and ``M**-1/2`` times its eigenvectors. Shapes: (count,),
    decreasing, and (n, count).
    """
    largest = diffused.max(axis=1)
    largest[largest == 0.0] = 1.0
    root = np.sqrt(largest)
    n = len(diffused)
    values, vectors = eigh(
        diffused / root / root[:, None], subset_by_index=[n - count, n - 1]
    )
    columns = vectors[:, ::-1] / root[:, None]
    return values[::-1], columns / np.linalg.norm(columns, axis=0)


def count_by_ratio(values: FloatArray) -> int:
    """Return the number of clusters at the largest ratio of successive eigenvalues."""
    above = values[:-1][values[:-1] >= _SMALLEST]
    if not len(above):
        return 1
    following = np.maximum(values[1 : len(above) + 1], 0.0)
    return int(np.argmax(above / (following + 1e-10))) + 1


class NmeSpectralSpeakers(SpeakerBaseline):
    """Spectral clustering of a graph of neighbours, with p and the number tuned.

    Parameters
    ----------
    max_share : float, default=0.25
        Largest p that is tried, as a share of the segments.
    n_trials : int, default=30
        Number of evenly spaced values of p. As g is never above 1, they are tried only
        until p / n exceeds the smallest ratio so far.
    connected : bool, default=True
        If the graph of the best p is not connected, take the next p whose graph is
        connected, as the programs of the authors do. This may lose speakers if many
        have few segments.
    random_state : int, Generator, RandomState or None, default=None
        Random seed of k-means.
    backend, num_speakers, min_speakers, max_speakers
        As for `SpeakerBaseline`. Without `max_speakers`, the maximum is a fifth of the
        number of segments.

    Attributes
    ----------
    trials_ : ndarray of shape (n_values,)
        Values of p that were tried.
    ratios_ : ndarray of shape (n_values,)
        Their ratios p / (n g(p)).
    labels_, n_clusters_, k_, n_steps_, converged_, backend_, n_features_in_
        As for `SpeakerBaseline`; `k_` is the selected p, the number of neighbours of a
        segment including itself, and a step is an eigenvalue problem.

    Notes
    -----
    O(n**3) time for each p and O(n**2) memory, because most of the time is needed to
    bring a matrix to tridiagonal form, for any number of eigenvalues. On one core
    2,000 segments take about 7 seconds.
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
        check_flag(self._name, "connected", self.connected)

    def _label(self, terms: PairwiseTerms, backend: BackEnd) -> IntArray:
        n = len(terms)
        order = ranking(terms.matrix())  # shape: (n, n)
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
        """Return the gaps of all p up to where no larger p can have a smaller ratio."""
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
        """Return the share of segments that are neighbours, divided by the gap."""
        return share / self.size if self.size > 0.0 else np.inf


def ranking(scores: FloatArray) -> IntArray:
    """Sort the partners of each segment, itself first and then the best; shape (n, n).

    Overwrites the scores.
    """
    np.fill_diagonal(scores, np.inf)
    np.negative(scores, out=scores)
    order: IntArray = np.argsort(scores, axis=1, kind="stable")
    return order


def laplacian(order: IntArray, p: int) -> FloatArray:
    """Return the Laplacian of the graph of each segment and its p best partners.

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
