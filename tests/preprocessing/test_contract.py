"""What all transformers promise."""

import numpy as np
import pytest
from sklearn.base import clone

from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import (
    Center,
    Lda,
    LengthNorm,
    Pca,
    RecordingPca,
    Wccn,
    Whiten,
)

STEPS = [Center(), LengthNorm(), Pca(), RecordingPca(), Whiten(), Lda(), Wccn()]
AFFINE = [step for step in STEPS if not isinstance(step, LengthNorm)]
steps = pytest.mark.parametrize("step", STEPS, ids=lambda s: type(s).__name__)
affine = pytest.mark.parametrize("step", AFFINE, ids=lambda s: type(s).__name__)


@pytest.fixture
def labelled():
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(6), 5)
    return rng.standard_normal((6, 4))[labels] + rng.standard_normal((30, 4)), labels


@steps
def test_computes_in_float64_whatever_it_is_given(step, labelled):
    X, labels = labelled
    X = X.astype(np.float32)
    got = clone(step).fit(X, labels).transform(X)
    assert got.dtype == np.float64
    wide = X.astype(np.float64)
    np.testing.assert_array_equal(got, clone(step).fit(wide, labels).transform(wide))


@steps
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_names_the_first_row_that_is_not_finite(step, value, word, labelled):
    X, labels = labelled
    X[2:4, 1] = value
    with pytest.raises(InvalidParameterError) as caught:
        clone(step).fit(X, labels)
    expected = f"{type(step).__name__}: X must be finite, got {word}"
    assert str(caught.value).startswith(expected)
    assert "in row 2 (2 of 30 rows are affected)" in str(caught.value)


@affine
def test_affine_gives_the_map_as_matrix_and_offset(step, labelled):
    X, labels = labelled
    fitted = clone(step).fit(X, labels)
    matrix, offset = fitted.affine()
    np.testing.assert_allclose(
        fitted.transform(X), X @ matrix.T + offset, rtol=1e-12, atol=1e-12
    )


@steps
def test_the_order_of_the_rows_does_not_matter(step, labelled):
    X, labels = labelled
    order = np.random.default_rng(0).permutation(len(X))
    got = clone(step).fit(X[order], labels[order]).transform(X)
    want = clone(step).fit(X, labels).transform(X)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


@steps
def test_names_its_columns_for_set_output(step, labelled):
    X, labels = labelled
    fitted = clone(step).fit(X, labels)
    assert len(fitted.get_feature_names_out()) == fitted.transform(X).shape[1]
