"""Spectral clustering of a refined affinity.

The affinity of all pairs is cleaned row by row before its eigenvectors are taken:
weak values are suppressed, the matrix is made symmetric and diffused, and rows
are scaled to a maximum of one. The number of speakers is where the ratio of one
eigenvalue to the next is largest (Q. Wang, C. Downey, L. Wan, P. Mansfield,
I. Moreno, "Speaker diarization with LSTM", 2018). The paper's blur along time is
off unless asked for, because segments need not be in order.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.ndimage import gaussian_filter
from scipy.special import expit

from sms_diar._validation import check_not_negative, check_share
from sms_diar.clustering.baselines._base import SpeakerBaseline, draw_seed
from sms_diar.clustering.baselines._partition import partition
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import FloatArray, IntArray, RandomState

_SUPPRESSION = 0.01  # what weak affinities are multiplied by
_SMALLEST = 0.01  # eigenvalues below this are noise: no gap is looked for there


class SpectralSpeakers(SpeakerBaseline):
    """Spectral clustering with the affinity refined row by row.

    Parameters
    ----------
    backend : BackEnd or None, default=None
        Back end that scores pairs; None is cosine scoring with whitening fitted
        on the session itself (:func:`~sms_diar.scoring.session_backend`). The
        affinity of a cosine s is ``(1 + s) / 2``; the affinity of a PLDA score is
        its logistic function, the probability of the same speaker.
    row_share : float, default=0.95
        Affinities below this share of the largest of their row are suppressed.
    blur : float, default=0.0
        Standard deviation, in segments, of a Gaussian blur of the affinity: for
        windows in order of time, where the paper takes 1.
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
    eigenvalues_ : ndarray
        The largest eigenvalues of the refined affinity, falling.
    k_, n_steps_, converged_ : int, int and bool
        Always 0, 1 and True.
    backend_ : BackEnd
        Back end that was used.
    n_features_in_ : int
        Number of columns of the data.

    Notes
    -----
    O(n**3) time and O(n**2) memory. The refined matrix is not symmetric, but it is
    similar to one that is, which is what is decomposed.

    Examples
    --------
    >>> import numpy as np
    >>> from sms_diar.clustering.baselines import SpectralSpeakers
    >>> rng = np.random.default_rng(0)
    >>> speakers = np.repeat([[3.0, 0, 0], [0, 3.0, 0], [0, 0, 3.0]], 20, axis=0)
    >>> X = speakers + 0.3 * rng.standard_normal((60, 3))
    >>> SpectralSpeakers(random_state=0).fit(X).n_clusters_
    3
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
        scores = terms.matrix()
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
    """Clean an affinity matrix; all steps but the last, which scales its rows.

    Parameters
    ----------
    affinity : ndarray of shape (n, n)
        Not negative.
    row_share, blur : float
        As for `SpectralSpeakers`.

    Returns
    -------
    diffused : ndarray of shape (n, n)
        Symmetric, positive semi-definite.
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
    """Largest eigenvalues, falling, and eigenvectors of ``diffused / row maxima``.

    With row maxima M the matrix ``M**-1 S`` has the eigenvalues of the symmetric
    ``M**-1/2 S M**-1/2``, and ``M**-1/2`` times its eigenvectors.
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
    """Number of clusters at the largest ratio of successive eigenvalues."""
    above = values[:-1][values[:-1] >= _SMALLEST]
    if not len(above):
        return 1
    following = np.maximum(values[1 : len(above) + 1], 0.0)
    return int(np.argmax(above / (following + 1e-10))) + 1
