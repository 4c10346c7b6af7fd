"""Gaussian mixtures: densities and posteriors of blocks of frames."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sms_diar._validation import check_finite
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray, IntArray

BLOCK = 4096  # frames per block: posteriors of 512 components take 16 MiB


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """Mixture of c Gaussians in d dimensions.

    Parameters
    ----------
    weights : ndarray of shape (c,)
        Positive weights with sum 1.
    means : ndarray of shape (c, d)
        Means of the components.
    covariances : ndarray of shape (c, d) or (c, d, d)
        Variances of diagonal covariances, or full matrices.
    """

    weights: FloatArray
    means: FloatArray
    covariances: FloatArray

    def __post_init__(self) -> None:
        c, d = self.means.shape if self.means.ndim == 2 else (0, 0)
        shapes = ((c, d), (c, d, d))
        if c < 1 or self.weights.shape != (c,) or self.covariances.shape not in shapes:
            raise InvalidParameterError(
                f"weights, means and covariances must be of shapes (c,), (c, d) and "
                f"(c, d) or (c, d, d), got {self.weights.shape}, {self.means.shape} "
                f"and {self.covariances.shape}",
                owner="GaussianMixture",
            )
        for name in ("weights", "means", "covariances"):
            check_finite("GaussianMixture", name, getattr(self, name))
        total = float(self.weights.sum())
        if (self.weights <= 0.0).any() or abs(total - 1.0) > 1e-4:
            raise InvalidParameterError(
                f"must be positive with sum 1, got the minimum "
                f"{float(self.weights.min())!r} and the sum {total!r}",
                owner="GaussianMixture",
                parameter="weights",
            )
        if not self.is_full and (self.covariances <= 0.0).any():
            problem = f"must be positive, got {float(self.covariances.min())!r}"
            raise InvalidParameterError(
                problem, owner="GaussianMixture", parameter="variances"
            )

    @property
    def n_components(self) -> int:
        """Number of Gaussians."""
        return int(self.means.shape[0])

    @property
    def dim(self) -> int:
        """Dimension of the frames."""
        return int(self.means.shape[1])

    @property
    def is_full(self) -> bool:
        """True if the covariances are full matrices."""
        return self.covariances.ndim == 3

    @cached_property
    def whitening(self) -> FloatArray:
        """Whitening transform of each component.

        ``1 / sigma`` of shape (c, d), or inverse Cholesky factors of shape (c, d, d).
        """
        if not self.is_full:
            scales: FloatArray = 1.0 / np.sqrt(self.covariances)
            return scales
        try:
            factors: FloatArray = np.linalg.inv(np.linalg.cholesky(self.covariances))
        except np.linalg.LinAlgError:
            raise InvalidParameterError(
                "must be positive definite, got one that is not; raise the variance "
                "floor",
                owner="GaussianMixture",
                parameter="covariances",
            ) from None
        return np.tril(factors)

    @cached_property
    def _centre(self) -> FloatArray:
        # Centring avoids cancellation in the expanded square.
        centre: FloatArray = self.weights @ self.means / self.weights.sum()
        return centre

    @cached_property
    def _constants(self) -> FloatArray:
        scales = self.whitening
        if self.is_full:
            scales = np.diagonal(scales, axis1=1, axis2=2)
        constants: FloatArray = (
            np.log(self.weights)
            + np.log(scales).sum(axis=1)
            - 0.5 * self.dim * math.log(2.0 * math.pi)
        )
        return constants

    @cached_property
    def _expansion(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        precisions = self.whitening**2
        means = self.means - self._centre
        linear = np.ascontiguousarray((precisions * means).T)
        constants = self._constants - 0.5 * (precisions * means**2).sum(axis=1)
        return linear, np.ascontiguousarray(-0.5 * precisions.T), constants

    def log_densities(self, X: FloatArray) -> FloatArray:
        """Return ``log(w_c N(x; m_c, S_c))``, shape (n, c).

        Diagonal covariances need two matrix products, full covariances one for each
        component.
        """
        if not self.is_full:
            # shapes: (d, c), (d, c), (c,)
            linear, squares, constants = self._expansion
            Z = X - self._centre
            joint: FloatArray = Z @ linear
            Z *= Z
            joint += Z @ squares
            joint += constants
            return joint
        joint = np.empty((len(X), self.n_components))
        for c, factor in enumerate(self.whitening):
            white = (X - self.means[c]) @ factor.T  # shape: (n, d)
            joint[:, c] = self._constants[c] - 0.5 * np.einsum("ij,ij->i", white, white)
        return joint

    def log_densities_of(self, X: FloatArray, chosen: IntArray) -> FloatArray:
        """Return log-densities as `log_densities`, but only of chosen components.

        `chosen` are some components of each frame, shape (n, k) like the result; all
        covariances are full. This is faster by a factor of c / k.
        """
        n, k = chosen.shape
        joint = np.empty(n * k)
        for c, entries in by_component(chosen, self.n_components):
            white = (X[entries // k] - self.means[c]) @ self.whitening[c].T
            squares = np.einsum("ij,ij->i", white, white)
            joint[entries] = self._constants[c] - 0.5 * squares
        return joint.reshape(n, k)

    def posteriors(
        self, X: FloatArray, *, top: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Compute the component posteriors and the log-likelihood of each frame.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Frames; pass at most `BLOCK` of them at a time.
        top : int, optional
            Number of components to keep for each frame; their posteriors are
            renormalised. By default, all are kept.

        Returns
        -------
        posteriors : ndarray of shape (n, c)
            Posteriors; each row has sum 1.
        log_likelihoods : ndarray of shape (n,)
            Log-likelihoods under the full mixture, independent of `top`.
        """
        joint = self.log_densities(X)  # shape: (n, c)
        highest = joint.max(axis=1, keepdims=True)
        joint -= highest
        np.exp(joint, out=joint)
        total = joint.sum(axis=1, keepdims=True)
        log_likelihoods: FloatArray = (highest + np.log(total))[:, 0]
        if top is not None and top < self.n_components:
            _keep_largest(joint, top)
            total = joint.sum(axis=1, keepdims=True)
        joint /= total
        return joint, log_likelihoods


def by_component(chosen: IntArray, n_components: int) -> Iterator[tuple[int, IntArray]]:
    """Yield each component with the flat indices at which it was chosen."""
    order = np.argsort(chosen, axis=None, kind="stable")
    bounds = np.searchsorted(chosen.ravel()[order], np.arange(n_components + 1))
    for c, (first, last) in enumerate(pairwise(bounds.tolist())):
        if first < last:
            yield c, order[first:last]


def _keep_largest(values: FloatArray, top: int) -> None:
    """Set all but the `top` largest values of each row to zero."""
    n, c = values.shape
    is_rest = values < np.partition(values, -top, axis=1)[:, -top, None]
    if np.count_nonzero(is_rest) == n * (c - top):
        np.copyto(values, 0.0, where=is_rest)
    else:  # ties: select by index, which is slower
        smallest = np.argpartition(values, -top, axis=1)[:, :-top]
        np.put_along_axis(values, smallest, 0.0, axis=1)


def check_frames(owner: str, X: FloatArray, dim: int, name: str = "frames") -> None:
    """Raise an error for frames of another width, NaN and infinity."""
    if X.ndim != 2 or X.shape[1] != dim:
        problem = f"must be of shape (n, {dim}), got {X.shape}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    if not np.isfinite(X).all():
        row = int(np.argmin(np.isfinite(X).all(axis=1)))
        problem = f"must be finite, got NaN or infinity in frame {row}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
