"""Principal directions of one recording.

The few speakers of a conversation differ along few directions. Kaldi's diarization
projects the vectors of each recording, and the PLDA model with them, on the directions
that contain a given share of the recording's variance (``ivector-plda-scoring-dense
--target-energy``). The model is projected by :func:`sms_diar.scoring.recording_scorer`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_count, check_share
from sms_diar.preprocessing._base import AffineTransformer
from sms_diar.preprocessing.axes import (
    Shrinkage,
    check_shrinkage,
    principal_axes,
    resolve_shrinkage,
)

_ROUNDING = 1e-12


class RecordingPca(AffineTransformer):
    """Project on the directions that contain a share of a recording's variance.

    Parameters
    ----------
    target_energy : float in (0, 1], default=0.5
        Share of the variance that must be exceeded. With 0.999 or more nothing is
        projected, as in Kaldi.
    extra : int, default=1
        Number of directions kept in addition. Kaldi's loop counts one too many; 1
        reproduces its dimensions, 0 keeps what the target requires.
    shrinkage : float in [0, 1] or "auto", default=0.0
        Weight of a scaled identity in the covariance whose energy is counted. In a
        short recording the variance concentrates on few directions by chance; shrinkage
        compensates for this, so that more directions are kept. It does not change the
        directions themselves.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal rows by decreasing variance. The entry of largest magnitude in each
        is positive.
    mean_ : ndarray of shape (n_features,)
        Zeros: the projection is linear, because the PLDA model has its own mean.
    energy_ : float
        Share of the variance that was kept, without shrinkage.
    shrinkage_ : float
        Shrinkage that was used.
    n_components_ : int
        Number of dimensions kept.
    n_features_in_ : int
        Number of columns of the data.

    Notes
    -----
    Directions without variance are never kept, so n vectors give at most n - 1
    dimensions. A recording with a single distinct vector has no directions and is not
    projected.

    Examples
    --------
    >>> from sms_diar.preprocessing import RecordingPca
    >>> X = [[3.0, 1.0, 0.0], [-3.0, 1.0, 0.0], [0.0, 3.0, 1.0]]
    >>> RecordingPca(target_energy=0.5, extra=0).fit(X).components_.tolist()
    [[1.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        *,
        target_energy: float = 0.5,
        extra: int = 1,
        shrinkage: Shrinkage = 0.0,
    ) -> None:
        self.target_energy = target_energy
        self.extra = extra
        self.shrinkage = shrinkage

    def fit(self, X: npt.ArrayLike, y: Any = None) -> Self:
        """Find the directions of the recording `X`; `y` is ignored."""
        target = check_share(self._name, "target_energy", self.target_energy)
        extra = check_count(self._name, "extra", self.extra, least=0)
        shrinkage = check_shrinkage(self._name, self.shrinkage)
        rows = self._rows(X, reset=True)
        dim = rows.shape[1]
        self.mean_ = np.zeros(dim)
        centred = rows - rows.mean(axis=0)
        variances, axes, rank = principal_axes(centred, complete=False)
        self.shrinkage_ = resolve_shrinkage(shrinkage, centred, variances)
        if rank == 0 or target >= 0.999:
            self.components_ = np.eye(dim)
            self.energy_ = 1.0
        else:
            even = np.sum(variances) / dim
            shrunk = (1.0 - self.shrinkage_) * variances + self.shrinkage_ * even
            # Directions without variance share the shrunk energy but are not kept.
            shares = np.cumsum(shrunk) / np.sum(variances)
            # Rounded, so that equal directions share exactly despite rounding errors.
            needed = int(np.count_nonzero(shares <= target + _ROUNDING)) + 1
            self.components_ = axes[: min(rank, needed + extra)]
            selected = variances[: len(self.components_)]
            self.energy_ = float(selected.sum() / variances.sum())
        self.n_components_ = len(self.components_)
        return self
