"""Generators with known truth."""

import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic import (
    PAPER_MEANS,
    draw_corner_means,
    draw_gaussians,
    draw_lattice_means,
)


def test_points_have_the_means_sizes_and_spread_asked_for():
    X, truth = draw_gaussians(PAPER_MEANS, (20_000, 30_000, 10_000), 0.6, 1)
    assert np.bincount(truth).tolist() == [20_000, 30_000, 10_000]
    for label, mean in enumerate(PAPER_MEANS):
        points = X[truth == label]
        # Six standard errors of a mean (0.6 / 100) and of a standard deviation.
        np.testing.assert_allclose(points.mean(axis=0), mean, atol=6 * 0.006)
        np.testing.assert_allclose(points.std(axis=0), 0.6, atol=6 * 0.006)


def test_a_seed_gives_the_same_points():
    first = draw_gaussians(PAPER_MEANS, (5, 5, 5), 1.0, 3).X
    np.testing.assert_array_equal(
        first, draw_gaussians(PAPER_MEANS, (5, 5, 5), 1.0, 3).X
    )
    assert not np.array_equal(first, draw_gaussians(PAPER_MEANS, (5, 5, 5), 1.0, 4).X)


@pytest.mark.parametrize("dim", [2, 3, 12])
def test_corner_means_are_distinct_corners(dim):
    means = draw_corner_means(3, dim, 0)
    assert means.shape == (3, dim)
    assert set(np.unique(means)) <= {-1.0, 1.0}
    assert len(np.unique(means, axis=0)) == 3


def test_lattice_means_are_distinct_and_within_half_the_number():
    for n in (2, 3, 7, 20):
        means = draw_lattice_means(n, n)
        assert means.shape == (n, 2)
        assert np.abs(means).max() <= n / 2
        assert len(np.unique(means, axis=0)) == n
        np.testing.assert_array_equal(means, np.round(means))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: draw_gaussians([[0.0]], [1, 2], 1.0), "means must be one row for"),
        (lambda: draw_gaussians([[0.0]], [0], 1.0), "sizes must be"),
        (lambda: draw_gaussians([[0.0]], [1], -1.0), "std must be"),
        (lambda: draw_corner_means(3, 1), "n_clusters must be at most the 2 corners"),
    ],
    ids=["shape", "size", "std", "corners"],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(InvalidParameterError, match=f": {message}"):
        call()


@pytest.mark.parametrize(("std", "optimum"), [(0.6, 0.935), (0.8, 0.854)])
def test_the_best_possible_purity_of_the_papers_sets(std, optimum):
    # The Bayes classifier of equal isotropic Gaussians takes the nearest mean.
    X, truth = draw_gaussians(PAPER_MEANS, (100_000,) * 3, std, 7)
    distances = np.linalg.norm(X[:, None] - np.array(PAPER_MEANS), axis=2)
    purity = np.mean(np.argmin(distances, axis=1) == truth)
    # Three standard errors of a share near 0.9 over 300,000 points are 0.002.
    assert purity == pytest.approx(optimum, abs=0.002)
