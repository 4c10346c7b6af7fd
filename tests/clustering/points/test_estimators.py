"""What all four estimators promise."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sms_diar.clustering import (
    KERNELS,
    BlurringMeanShift,
    DoublyStochasticMeanShift,
    MeanShift,
    StochasticMeanShift,
)
from sms_diar.errors import InvalidParameterError

FAMILY = [
    MeanShift(),
    BlurringMeanShift(),
    StochasticMeanShift(random_state=0),
    DoublyStochasticMeanShift(random_state=0),
]
family = pytest.mark.parametrize("estimator", FAMILY, ids=lambda e: type(e).__name__)


@family
@pytest.mark.parametrize("kernel", KERNELS)
def test_finds_three_separated_gaussians(estimator, kernel, three_gaussians):
    X, truth = three_gaussians
    # Weights that fall towards the edge need a wider ball to see as much.
    bandwidth = 1.0 if kernel == "uniform" else 1.3
    model = clone(estimator).set_params(kernel=kernel, bandwidth=bandwidth).fit(X)
    assert model.n_clusters_ == 3
    # Rows are grouped by cluster, and labels count by first appearance.
    np.testing.assert_array_equal(model.labels_, truth)
    assert model.converged_
    assert model.cluster_centers_.shape == (3, 2)
    np.testing.assert_allclose(
        model.cluster_centers_, [[1, 1], [-1, -1], [1, -1]], atol=0.15
    )


@family
def test_auto_bandwidth_mixes_no_separated_gaussians(estimator, three_gaussians):
    X, truth = three_gaussians
    model = clone(estimator).fit(X)
    for cluster in range(model.n_clusters_):
        assert len(set(truth[model.labels_ == cluster])) == 1
    assert 3 <= model.n_clusters_ <= 10


@family
def test_one_point_is_one_cluster(estimator):
    model = clone(estimator).fit([[3.0, 4.0]])
    assert model.labels_.tolist() == [0]
    assert model.cluster_centers_.tolist() == [[3.0, 4.0]]
    assert model.objective_ == 1.0  # K(0) of the pair (1, 1)


@family
def test_constant_data_are_one_cluster_that_never_moves(estimator):
    X = np.full((7, 3), 0.1)
    model = clone(estimator).fit(X)
    assert model.labels_.tolist() == [0] * 7
    np.testing.assert_array_equal(model.cluster_centers_, X[:1])
    assert model.objective_ == 7 * 8 / 2


@family
def test_duplicated_rows_share_a_label(estimator, three_gaussians):
    X, _ = three_gaussians
    labels = clone(estimator).set_params(bandwidth=1.0).fit_predict(np.repeat(X, 2, 0))
    np.testing.assert_array_equal(labels[::2], labels[1::2])


@family
def test_a_neighbour_is_strictly_closer_than_the_bandwidth(estimator):
    X = [[0.0], [0.75], [1.5]]  # gaps equal to the bandwidth, to the last bit
    labels = clone(estimator).set_params(bandwidth=0.75).fit_predict(X)
    assert labels.tolist() == [0, 1, 2]
    labels = clone(estimator).set_params(bandwidth=0.9000001).fit_predict(X[:2])
    assert labels.tolist() == [0, 0]


@family
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30, 1e300], ids=str)
def test_labels_do_not_depend_on_the_scale(estimator, scale, three_gaussians):
    X, truth = three_gaussians
    model = clone(estimator).set_params(bandwidth=1.0 * scale).fit(X * scale)
    np.testing.assert_array_equal(model.labels_, truth)
    assert np.isfinite(model.cluster_centers_).all()
    assert model.objective_ > 0.0


@family
def test_auto_bandwidth_follows_the_scale(estimator, three_gaussians):
    X, _ = three_gaussians
    labels = clone(estimator).fit_predict(X)
    for scale in (2.0**-600, 2.0**600):
        np.testing.assert_array_equal(clone(estimator).fit_predict(X * scale), labels)


@family
def test_bandwidth_far_below_the_spacing_of_numbers_separates_all(estimator):
    X = [[1e200], [1e200], [2e200], [3.0]]
    labels = clone(estimator).set_params(bandwidth=1e-200).fit_predict(X)
    assert labels.tolist() == [0, 0, 1, 2]


@family
def test_float32_gives_float32_centres_and_the_same_labels(estimator, three_gaussians):
    X, truth = three_gaussians
    model = clone(estimator).set_params(bandwidth=1.0).fit(X.astype(np.float32))
    assert model.cluster_centers_.dtype == np.float32
    np.testing.assert_array_equal(model.labels_, truth)


@family
@pytest.mark.parametrize(
    ("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_names_the_first_row_that_is_not_finite(estimator, value, word):
    X = np.zeros((4, 2))
    X[2, 1] = value
    name = type(estimator).__name__
    with pytest.raises(InvalidParameterError) as caught:
        clone(estimator).fit(X)
    expected = f"{name}: X must be finite, got {word}"
    assert str(caught.value).startswith(expected)
    assert "in row 2 (1 of 4 rows are affected)" in str(caught.value)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"bandwidth": -1}, "bandwidth must be a finite number > 0, got -1"),
        ({"bandwidth": True}, "bandwidth must be a finite number > 0, got True"),
        ({"bandwidth": "scott"}, "bandwidth must be one of 'auto', got 'scott'"),
        ({"tol": 0}, "tol must be a finite number > 0, got 0"),
        ({"tol": np.nan}, "tol must be a finite number > 0, got nan"),
        ({"kernel": "flat"}, "kernel must be one of 'uniform', 'biweight',"),
        ({"merge_threshold": 0.0}, "merge_threshold must be a finite number > 0"),
        ({"record": "all"}, "record must be one of 'objective', 'states', got 'all'"),
        ({"max_records": 1}, "max_records must be a whole number >= 3, got 1"),
    ],
    ids=lambda value: str(value)[:30],
)
@family
def test_wrong_parameters_are_named(estimator, params, message):
    with pytest.raises(InvalidParameterError) as caught:
        clone(estimator).set_params(**params).fit([[0.0], [1.0]])
    assert str(caught.value).startswith(f"{type(estimator).__name__}: {message}")


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (MeanShift(max_iter=0), "MeanShift: max_iter must be a whole number >= 1"),
        (BlurringMeanShift(max_iter=2.5), "BlurringMeanShift: max_iter must be a"),
        (StochasticMeanShift(max_steps=True), "StochasticMeanShift: max_steps must be"),
        (StochasticMeanShift(rest_share=1.5), "StochasticMeanShift: rest_share must"),
        (DoublyStochasticMeanShift(bandwidth=(2.0, 1.0)), "DoublyStochasticMeanShift:"),
        (
            DoublyStochasticMeanShift(bandwidth=(1.0, 2.0, 3.0)),
            "DoublyStochasticMeanShift: bandwidth must be a number, a pair (low, high) "
            "or 'auto', got (1.0, 2.0, 3.0)",
        ),
        (DoublyStochasticMeanShift(bandwidth=(0.0, 2.0)), "DoublyStochasticMeanShift:"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_wrong_limits_are_named(estimator, message):
    with pytest.raises(InvalidParameterError) as caught:
        estimator.fit([[0.0], [1.0]])
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("estimator", "remedy"),
    [
        (MeanShift(bandwidth=0.9, max_iter=1), "raise max_iter (now 1) or tol"),
        (BlurringMeanShift(bandwidth=0.9, max_iter=1), "raise max_iter (now 1) or tol"),
        (
            StochasticMeanShift(bandwidth=0.9, max_steps=130, random_state=0),
            "raise max_steps or tol, or lower rest_share",
        ),
    ],
    ids=["ms", "bms", "sms"],
)
def test_warns_with_a_remedy_when_the_limit_is_hit(estimator, remedy, three_gaussians):
    with pytest.warns(ConvergenceWarning) as caught:
        estimator.fit(three_gaussians[0])
    message = str(caught[0].message)
    assert message.startswith(f"{type(estimator).__name__}: the longest last move")
    assert message.endswith(remedy)
    assert not estimator.converged_


@family
def test_predict_is_about_where_a_point_climbs(estimator, three_gaussians):
    X, truth = three_gaussians
    model = clone(estimator).set_params(bandwidth=1.0).fit(X)
    # Closest to the middle of cluster 1 and 2, and far outside cluster 0.
    assert model.predict([[-0.8, -1.2], [0.7, -0.9], [9.0, 9.0]]).tolist() == [1, 2, 0]
    assert np.mean(model.predict(X) == truth) == 1.0


def test_mean_shift_predicts_its_own_labels(three_gaussians):
    X = np.random.default_rng(0).standard_normal((150, 2))
    model = MeanShift(bandwidth=0.6).fit(X)
    assert model.n_clusters_ > 2
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@family
def test_a_larger_merge_threshold_never_gives_more_clusters(estimator):
    X = np.random.default_rng(3).standard_normal((80, 2))
    counts = [
        clone(estimator).set_params(bandwidth=0.5, merge_threshold=t).fit(X).n_clusters_
        for t in (0.01, 0.1, 0.5, 2.0, 100.0)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 1
