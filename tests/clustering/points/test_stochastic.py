"""What the stochastic estimators draw, and from which generator."""

import numpy as np
import pytest

from sms_diar.clustering import DoublyStochasticMeanShift, StochasticMeanShift

ESTIMATORS = [
    StochasticMeanShift(bandwidth=1.0),
    DoublyStochasticMeanShift(bandwidth=(0.5, 1.5)),
    DoublyStochasticMeanShift(bandwidth=1.0),
]
family = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


@family
def test_a_seed_and_its_generator_draw_the_same(estimator, three_gaussians):
    # 8 draws per point at a time with a seed, but 4096 draws with a generator.
    X = np.concatenate([three_gaussians[0], three_gaussians[0] + 10.0] * 4)
    assert 8 * len(X) > 4096
    seeded = estimator.set_params(random_state=3).fit(X).resting_points_
    rng = np.random.default_rng(3)
    given = estimator.set_params(random_state=rng).fit(X).resting_points_
    np.testing.assert_array_equal(given, seeded)


def test_a_given_generator_is_advanced_by_whole_short_chunks(three_gaussians):
    X, _ = three_gaussians
    X = np.concatenate([X, X + 10.0] * 4)
    rng = np.random.default_rng(3)
    model = StochasticMeanShift(bandwidth=1.0, random_state=rng).fit(X)
    n_chunks = -(-model.n_steps_ // 4096)
    other = np.random.default_rng(3)
    other.integers(len(X), size=n_chunks * 4096)
    assert rng.integers(2**40) == other.integers(2**40)


def test_names_of_columns_do_not_outlive_a_fit_without_them(three_gaussians):
    X, _ = three_gaussians
    model = StochasticMeanShift(bandwidth=1.0, random_state=0)
    model.feature_names_in_ = np.array(["a", "b"], dtype=object)
    model.fit(X)
    assert not hasattr(model, "feature_names_in_")
    assert model.fit(X[:, :1]).n_features_in_ == 1
