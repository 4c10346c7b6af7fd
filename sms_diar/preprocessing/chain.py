"""Standard chain of transforms, and folding of a chain into one matrix.

The paper maps an embedding x to ``phi = W T (x / |x|)``, scaled to unit length again,
with PCA ``T`` and whitening ``W``. Stochastic mean shift moves one x and needs its new
phi many thousand times. The chain is therefore folded into one matrix and one offset
between two length normalisations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing._base import AffineTransformer
from sms_diar.preprocessing.axes import Shrinkage
from sms_diar.preprocessing.unsupervised import LengthNorm, Pca, Whiten, scale_rows
from sms_diar.types import FloatArray

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline


def paper_chain(
    n_components: int | float | None = None,
    *,
    center: bool = True,
    shrinkage: Shrinkage = "auto",
    scale: Literal["unit", "sqrt_dim"] = "unit",
) -> Pipeline:
    """Build the chain: length normalisation, PCA, whitening, length normalisation.

    Fit it on a training set, or on the session that is to be clustered. In a session
    with few speakers the leading directions separate the speakers, and whitening
    equalises them; keep few dimensions in this case.

    Parameters
    ----------
    n_components : int, float or None, default=None
        Number of dimensions after the PCA; see `Pca`.
    center : bool, default=True
        If True, PCA and whitening subtract the mean of the normalised vectors. If
        False, the chain is exactly the product of the paper's formula.
    shrinkage : float in [0, 1] or "auto", default="auto"
        Shrinkage of the whitening; see `Whiten`. The paper uses none (0), which
        requires many more vectors than `n_components`.
    scale : {"unit", "sqrt_dim"}, default="unit"
        Length of the result.

    Returns
    -------
    chain : sklearn.pipeline.Pipeline
        Unfitted chain with steps "length", "pca", "whiten" and "phi".

    Examples
    --------
    >>> import numpy as np
    >>> from sms_diar.preprocessing import paper_chain
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> phi = paper_chain(3).fit_transform(X)
    >>> phi.shape, bool(np.allclose((phi**2).sum(axis=1), 1.0))
    ((50, 3), True)
    """
    from sklearn.pipeline import Pipeline  # noqa: PLC0415 - takes 4 MB

    return Pipeline(
        [
            ("length", LengthNorm()),
            ("pca", Pca(n_components=n_components, center=center)),
            ("whiten", Whiten(shrinkage=shrinkage, center=center)),
            ("phi", LengthNorm(scale=scale)),
        ]
    )


@dataclass(frozen=True, eq=False)
class FoldedChain:
    """Fitted chain as one affine map between two length normalisations.

    ``phi(x) = out( matrix @ in(x) + offset )``, where ``in`` and ``out`` scale to
    `in_length` and `out_length`, or do nothing if these are None.

    Parameters
    ----------
    matrix : ndarray of shape (q, d)
        Product of all affine steps.
    offset : ndarray of shape (q,)
        Image of the origin.
    in_length : float or None
        Length to which input vectors are scaled.
    out_length : float or None
        Length to which results are scaled.

    Notes
    -----
    With ``in_length = 1``, phi is parallel to ``matrix @ x + |x| * offset``. The image
    of a mean of vectors is therefore the mean of their images, plus the offset times
    the length of that mean, so moving a point does not require a product with `matrix`.
    """

    matrix: FloatArray
    offset: FloatArray
    in_length: float | None = None
    out_length: float | None = None

    def __post_init__(self) -> None:
        if self.matrix.ndim != 2 or self.offset.shape != self.matrix.shape[:1]:
            raise InvalidParameterError(
                f"matrix and offset must be of shapes (q, d) and (q,), got "
                f"{self.matrix.shape} and {self.offset.shape}",
                owner="FoldedChain",
            )

    @property
    def dim_in(self) -> int:
        """Dimension of the input vectors."""
        return int(self.matrix.shape[1])

    def linear(self, X: npt.ArrayLike) -> FloatArray:
        """Transform the rows of `X` without the last length normalisation."""
        rows: FloatArray = check_array(X, dtype=np.float64)
        if rows.shape[1] != self.dim_in:
            problem = f"must have {self.dim_in} columns, got {rows.shape[1]}"
            raise InvalidParameterError(problem, owner="FoldedChain", parameter="X")
        if self.in_length is not None:
            rows = scale_rows(rows, self.in_length)
        mapped: FloatArray = rows @ self.matrix.T + self.offset
        return mapped

    def transform(self, X: npt.ArrayLike) -> FloatArray:
        """Return phi of the rows of `X`, shape (n, q)."""
        mapped = self.linear(X)
        if self.out_length is None:
            return mapped
        return scale_rows(mapped, self.out_length)


def fold(chain: Pipeline) -> FoldedChain:
    """Fold a fitted chain into one matrix and one offset.

    Parameters
    ----------
    chain : sklearn.pipeline.Pipeline
        Fitted chain of steps of this package, with length normalisations only at its
        ends. Steps that are "passthrough" or None are skipped.

    Returns
    -------
    folded : FoldedChain
        Equivalent of ``chain.transform``, up to rounding.
    """
    steps = [
        (name, step)
        for name, step in chain.steps
        if step is not None and step != "passthrough"
    ]
    if not steps:
        problem = "must have at least one step, got none"
        raise InvalidParameterError(problem, owner="fold", parameter="chain")
    first = steps[0][1]
    check_is_fitted(first, "n_features_in_")  # LengthNorm itself needs no fitting
    dim = int(first.n_features_in_)
    matrix, offset = np.eye(dim), np.zeros(dim)
    in_length: float | None = None
    out_length: float | None = None
    for position, (name, step) in enumerate(steps):
        if isinstance(step, LengthNorm) and position == 0:
            in_length = step.length(dim)
        elif isinstance(step, LengthNorm) and position == len(steps) - 1:
            out_length = step.length(len(matrix))
        elif isinstance(step, AffineTransformer):
            factor, shift = step.affine()
            matrix, offset = factor @ matrix, factor @ offset + shift
        else:
            raise InvalidParameterError(
                f"step {name!r} must be an affine step of this package, or a "
                f"LengthNorm at either end of the chain, got {step!r}",
                owner="fold",
            )
    return FoldedChain(matrix, offset, in_length, out_length)
