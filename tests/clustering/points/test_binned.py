"""The binned approximation: what it keeps of the algorithm, and what it gives up."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from sms_diar.clustering import BinnedStochasticMeanShift, StochasticMeanShift
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic.gaussians import PAPER_MEANS, draw_gaussians


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_bins_of_single_points_are_stochastic_mean_shift(dim):
    X = np.random.default_rng(dim).standard_normal((60, dim))
    exact = StochasticMeanShift(bandwidth=0.9, random_state=2).fit(X)
    binned = BinnedStochasticMeanShift(bandwidth=0.9, bins=10**6, random_state=2)
    binned.fit(X)
    assert binned.n_bins_ == 60
    assert binned.n_steps_ == exact.n_steps_
    np.testing.assert_array_equal(binned.resting_points_, exact.resting_points_)
    np.testing.assert_array_equal(binned.labels_, exact.labels_)


def test_a_bin_pulls_with_the_weight_of_its_points():
    # Three points in one bin at 0.0 and one at 0.5: whichever is drawn, both see
    # both, and the mean is (3 * 0.0 + 0.5) / 4 = 0.125.
    X = np.array([[0.0], [0.0], [0.0], [0.5]])
    model = BinnedStochasticMeanShift(bandwidth=1.0, bins=4, max_steps=1)
    with pytest.warns(match="raise max_steps"):
        model.set_params(random_state=0).fit(X)
    moved = set(model.resting_points_.ravel().tolist())
    assert model.n_bins_ == 2
    assert 0.125 in moved


def test_points_of_one_bin_share_a_cluster():
    X, _ = draw_gaussians(PAPER_MEANS, (300, 300, 300), 0.8, 1)
    model = BinnedStochasticMeanShift(bandwidth=1.0, bins=3, random_state=1).fit(X)
    corner = X.min(axis=0)
    cells = np.floor((X - corner) * 3.0)
    _, cell = np.unique(cells, axis=0, return_inverse=True)
    cell = cell.ravel()
    # Rounding to the lattice may move a point across an edge: none is that close.
    edge = np.abs((X - corner) * 3.0 - np.rint((X - corner) * 3.0))
    assert np.sort(edge.ravel())[2] > 1e-6  # the two corners themselves are zero
    for c in np.unique(cell):
        assert len(set(model.labels_[cell == c].tolist())) == 1


def test_separated_clusters_are_found_as_by_the_algorithm_itself(three_gaussians):
    X, truth = three_gaussians
    model = BinnedStochasticMeanShift(bandwidth=1.0, random_state=0).fit(X)
    exact = StochasticMeanShift(bandwidth=1.0, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, exact.labels_) == 1.0
    assert adjusted_rand_score(model.labels_, truth) == 1.0


@pytest.mark.parametrize("bins", [0, -1, 1.5])
def test_wrong_bins_are_named(bins):
    with pytest.raises(InvalidParameterError, match="bins must be"):
        BinnedStochasticMeanShift(bins=bins).fit([[0.0], [1.0]])
