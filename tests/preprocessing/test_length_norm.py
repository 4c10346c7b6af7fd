"""Length normalisation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sms_diar.preprocessing import LengthNorm, scale_rows

vectors = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(-1e150, 1e150, allow_subnormal=False),
)


def test_unit_length():
    # |(3, 4)| = 5
    got = LengthNorm().transform([[3.0, 4.0], [0.0, -2.0]])
    np.testing.assert_allclose(got, [[0.6, 0.8], [0.0, -1.0]], rtol=1e-15)


def test_length_of_the_root_of_the_dimension():
    # sqrt(4) = 2
    got = LengthNorm(scale="sqrt_dim").transform([[0.0, 9.0, 0.0, 0.0]])
    assert got.tolist() == [[0.0, 2.0, 0.0, 0.0]]


@pytest.mark.parametrize("size", [1e-320, 1e-300, 1e-160, 1e160, 1e300], ids=str)
def test_huge_and_tiny_vectors_keep_their_direction(size):
    got = scale_rows(np.array([[size, -size]]))
    np.testing.assert_allclose(got, [[0.5**0.5, -(0.5**0.5)]], rtol=1e-14)


@given(vectors)
def test_every_vector_but_zero_gets_the_length_and_keeps_its_direction(X):
    scaled = LengthNorm().fit_transform(X)
    norms = np.linalg.norm(scaled, axis=1)
    zero = ~X.any(axis=1)
    np.testing.assert_allclose(norms, np.where(zero, 0.0, 1.0), rtol=1e-14)
    assert (np.sign(scaled) * np.sign(X) >= 0.0).all()
    np.testing.assert_allclose(scale_rows(scaled), scaled, rtol=1e-14)


@given(vectors, st.integers(-20, 20))
def test_length_normalisation_does_not_see_the_scale(X, exponent):
    np.testing.assert_array_equal(scale_rows(X * 2.0**exponent), scale_rows(X))
