"""Derivatives against the library's loop."""

import numpy as np
import pytest
import python_speech_features as psf
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.features.deltas import DeltaConfig, add_deltas, delta


def test_the_slope_of_a_line_is_its_step():
    # window 2: (1 * (4 - 2) + 2 * (5 - 1)) / (2 * (1 + 4)) = 1 in the middle; at the
    # start (1 * (2 - 1) + 2 * (3 - 1)) / 10 = 0.5
    line = np.arange(1.0, 6.0)[:, None]
    np.testing.assert_allclose(delta(line).ravel(), [0.5, 0.8, 1.0, 0.8, 0.5])


@given(n=st.integers(1, 40), window=st.integers(1, 5))
def test_it_is_that_of_python_speech_features(n, window):
    features = np.random.default_rng(n).standard_normal((n, 3)) * 20
    want = psf.delta(features, window)
    np.testing.assert_allclose(delta(features, window), want, rtol=0, atol=1e-12)


def test_delta_delta_is_the_delta_of_the_delta():
    features = np.random.default_rng(0).standard_normal((30, 20))
    got = add_deltas(features, DeltaConfig())
    first = psf.delta(features, 2)
    want = np.hstack([features, first, psf.delta(first, 2)])
    assert got.shape == (30, 60)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


def test_no_derivatives_leave_the_features():
    features = np.ones((3, 2))
    np.testing.assert_array_equal(add_deltas(features, DeltaConfig(order=0)), features)


def test_settings_are_checked():
    with pytest.raises(InvalidParameterError) as caught:
        DeltaConfig(order=-1)
    assert str(caught.value) == (
        "DeltaConfig: order must be a whole number >= 0, got -1"
    )
