"""Unsupervised adaptation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.scoring import (
    _reference,
    adapt_plda,
    covariances,
    plda_from_covariances,
)
from sms_diar.types import PldaModel


def test_adaptation_of_one_dimension_by_hand():
    # within 1, between 1, total 2, mean 0; data 1 and 5: mean 3, variance 4, plus
    # the squared difference of means 9 makes 13 = 6.5 totals. The excess 13 - 2 = 11
    # goes to within by 0.3 and to between by 0.7.
    model = plda_from_covariances([0.0], [[1.0]], [[1.0]])
    adapted = adapt_plda(model, [[1.0], [5.0]])
    assert adapted.mean.tolist() == [3.0]
    within, between = covariances(adapted)
    np.testing.assert_allclose(within, [[1 + 0.3 * 11]], rtol=1e-13)
    np.testing.assert_allclose(between, [[1 + 0.7 * 11]], rtol=1e-13)


def test_without_the_difference_of_means_only_the_spread_counts():
    # variance 4 is an excess of 2
    model = plda_from_covariances([0.0], [[1.0]], [[1.0]])
    within, between = covariances(
        adapt_plda(model, [[1.0], [5.0]], mean_diff_scale=0.0)
    )
    np.testing.assert_allclose([within, between], [[[1.6]], [[2.4]]], rtol=1e-13)


def test_less_variance_than_expected_moves_the_mean_only():
    model = plda_from_covariances([0.0, 0.0], 4 * np.eye(2), np.diag([5.0, 9.0]))
    adapted = adapt_plda(model, [[0.5, 1.0], [-0.5, 1.0]])
    assert adapted.mean.tolist() == [0.0, 1.0]
    np.testing.assert_allclose(covariances(adapted).within, 4 * np.eye(2), atol=1e-12)
    np.testing.assert_allclose(adapted.psi, model.psi, rtol=1e-12)


@given(
    st.integers(1, 6),
    st.integers(1, 30),
    st.tuples(*[st.floats(0.0, 1.0)] * 3),
    st.integers(0, 10**6),
)
def test_equals_the_steps_of_kaldi(d, n, scales, seed):
    rng = np.random.default_rng(seed)
    model = PldaModel(
        rng.standard_normal(d),
        rng.standard_normal((d, d)) + 2 * np.eye(d),
        np.sort(rng.uniform(0.0, 5.0, d))[::-1],
    )
    X = 3.0 * rng.standard_normal((n, d)) + 1.0
    got = adapt_plda(
        model,
        X,
        within_covar_scale=scales[0],
        between_covar_scale=scales[1],
        mean_diff_scale=scales[2],
    )
    within, between = _reference.kaldi_adaptation(model, X, *scales)
    size = np.abs(within).max() + np.abs(between).max()
    np.testing.assert_allclose(covariances(got).within, within, atol=1e-7 * size)
    np.testing.assert_allclose(covariances(got).between, between, atol=1e-7 * size)
    np.testing.assert_allclose(got.mean, X.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.empty((0, 1)), {}, "X must hold vectors, got none"),
        ([[1.0, 2.0]], {}, "X must be of shape (n, 1), got (1, 2)"),
        (
            [[1.0]],
            {"within_covar_scale": -0.1},
            "within_covar_scale must be a finite number >= 0, got -0.1",
        ),
    ],
)
def test_wrong_input_is_named(X, options, message):
    model = plda_from_covariances([0.0], [[1.0]], [[1.0]])
    with pytest.raises(InvalidParameterError) as caught:
        adapt_plda(model, X, **options)
    assert str(caught.value) == f"adapt_plda: {message}"
