"""Points drawn from isotropic Gaussians with known labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sms_diar._random import as_generator
from sms_diar._validation import check_count, check_not_negative
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray, IntArray, RandomState

PAPER_MEANS = ((1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
"""Means of the three clusters of the paper's two-dimensional sets."""

PAPER_SETS = {
    "set1": (250, 250, 250),
    "set2": (50, 50, 50),
    "set3": (1500, 1500, 1500),
    "set4": (100, 300, 50),
}
"""Number of points per cluster in the four sets of the paper."""


class Sample(NamedTuple):
    """Points and their cluster labels."""

    X: FloatArray
    truth: IntArray


def draw_gaussians(
    means: npt.ArrayLike,
    sizes: Sequence[int],
    std: float,
    random_state: RandomState = None,
) -> Sample:
    """Draw points around given means.

    Parameters
    ----------
    means : array-like of shape (n_clusters, d)
        Mean of each cluster, in d dimensions.
    sizes : sequence of int
        Number of points in each cluster.
    std : float
        Standard deviation of each coordinate (the covariance is ``std**2 I``).
    random_state : int, Generator or None, default=None
        Seed or generator that draws the noise.

    Examples
    --------
    >>> X, truth = draw_gaussians([[0.0, 0.0], [5.0, 5.0]], [2, 1], 0.1, 0)
    >>> X.shape, truth.tolist()
    ((3, 2), [0, 0, 1])
    """
    centres = np.asarray(means, dtype=np.float64)
    check_not_negative("draw_gaussians", "std", std)
    if centres.ndim != 2 or len(centres) != len(sizes):
        problem = (
            f"must be one row for each of the {len(sizes)} sizes, got shape "
            f"{centres.shape}"
        )
        raise InvalidParameterError(problem, owner="draw_gaussians", parameter="means")
    for size in sizes:
        check_count("draw_gaussians", "sizes", size)
    rng = as_generator(random_state)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    noise = rng.standard_normal((len(truth), centres.shape[1]))  # shape: (n, d)
    return Sample(centres[truth] + std * noise, truth)


def draw_corner_means(
    n_clusters: int, dim: int, random_state: RandomState = None
) -> FloatArray:
    """Draw distinct means from the corners ``{-1, 1}**dim`` of a cube."""
    check_count("draw_corner_means", "dim", dim)
    check_count("draw_corner_means", "n_clusters", n_clusters)
    if n_clusters > 2**dim:
        raise InvalidParameterError(
            f"must be at most the {2**dim} corners of a cube in {dim} dimensions, got "
            f"{n_clusters}",
            owner="draw_corner_means",
            parameter="n_clusters",
        )
    rng = as_generator(random_state)
    while True:
        means = rng.choice([-1.0, 1.0], size=(n_clusters, dim))
        if len(np.unique(means, axis=0)) == n_clusters:
            return means


def draw_lattice_means(n_clusters: int, random_state: RandomState = None) -> FloatArray:
    """Draw distinct means from the integer points of ``[-R/2, R/2]**2``.

    R is the number of clusters, so the density is constant.
    """
    check_count("draw_lattice_means", "n_clusters", n_clusters)
    rng = as_generator(random_state)
    half = n_clusters // 2
    side = 2 * half + 1
    cells = rng.choice(side * side, size=n_clusters, replace=False)
    return np.column_stack([cells // side - half, cells % side - half]).astype(float)
