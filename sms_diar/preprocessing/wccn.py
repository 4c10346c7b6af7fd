"""Within-class covariance normalisation.

Directions in which a speaker varies between segments are scaled down before cosine
scoring (Hatch, Kajarekar and Stolcke, "Within-class covariance normalization for
SVM-based speaker recognition", 2006).
"""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags

from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing._base import AffineTransformer
from sms_diar.preprocessing.axes import Shrinkage, check_shrinkage, ledoit_wolf
from sms_diar.preprocessing.speakers import check_repeated, speaker_stats


class Wccn(AffineTransformer):
    """Whiten the within-speaker covariance.

    The matrix is the transposed Cholesky factor of the inverse covariance, as in the
    literature; any other square root would give the same angles.

    Parameters
    ----------
    shrinkage : float in [0, 1] or "auto", default="auto"
        Weight of a scaled identity in the covariance; "auto" is the weight of Ledoit
        and Wolf for the deviations from the speaker means. It must be positive if there
        are fewer vectors than dimensions.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
        Zeros: WCCN does not move the origin. Put `Center` before it if needed.
    components_ : ndarray of shape (n_features, n_features)
        Upper triangular matrix.
    shrinkage_ : float
        Shrinkage that was used.
    n_features_in_ : int
        Number of columns of the data.

    Examples
    --------
    >>> from sms_diar.preprocessing import Wccn
    >>> X = [[2.0, 1.0], [-2.0, 1.0], [2.0, -1.0], [-2.0, -1.0]]
    >>> Wccn(shrinkage=0.0).fit(X, [0, 0, 0, 0]).components_.tolist()
    [[0.5, 0.0], [0.0, 1.0]]
    """

    def __init__(self, *, shrinkage: Shrinkage = "auto") -> None:
        self.shrinkage = shrinkage

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Estimate the within-speaker covariance of the rows of `X`, speakers `y`."""
        shrinkage = check_shrinkage(self._name, self.shrinkage)
        rows, labels = self._labelled_rows(X, y)
        stats = speaker_stats(rows, labels)
        check_repeated(self._name, stats)
        within = stats.within()
        dim = rows.shape[1]
        if isinstance(shrinkage, str):
            deviations = rows - stats.means[np.searchsorted(stats.names, labels)]
            variances = np.linalg.eigvalsh(within).astype(np.float64)
            shrinkage = ledoit_wolf(deviations, variances)
        self.shrinkage_ = float(shrinkage)
        smoothed = (1.0 - self.shrinkage_) * within
        smoothed[np.diag_indices(dim)] += self.shrinkage_ * np.trace(within) / dim
        spread = np.linalg.eigvalsh(smoothed)
        if spread[0] <= spread[-1] * dim * np.finfo(np.float64).eps:
            raise InvalidParameterError(
                f"must vary within speakers in all {dim} dimensions, got "
                f"n_samples={len(rows)} of {stats.n_speakers} speakers that do not; "
                f"raise shrinkage (now {self.shrinkage_:g}) or reduce the dimensions "
                f"with Pca",
                owner=self._name,
                parameter="X",
            )
        self.mean_ = np.zeros(dim)
        self.components_ = np.linalg.cholesky(np.linalg.inv(smoothed)).T
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
