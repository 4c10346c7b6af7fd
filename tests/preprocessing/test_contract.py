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


@pytest.mark.parametrize(
    ("step", "parameter"),
    [
        (Center(shrink=-1.0), "shrink"),
        (Center(prior_mean=[1.0]), "prior_mean"),
        (Center(prior_mean=[1.0, 0.0, 2.0, np.nan]), "prior_mean"),
        (LengthNorm(scale="two"), "scale"),
        *(
            (Pca(n_components=n), "n_components")
            for n in (0, 5, 1.0, -0.5, "all", True)
        ),
        (RecordingPca(target_energy=0.0), "target_energy"),
        (RecordingPca(extra=-1), "extra"),
        (RecordingPca(shrinkage=2), "shrinkage"),
        (Whiten(shrinkage=-0.1), "shrinkage"),
        (Whiten(shrinkage="oas"), "shrinkage"),
        (Whiten(method="cholesky"), "method"),
        (Lda(n_components=6), "n_components"),
        (Lda(smoothing=2), "smoothing"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(step, parameter, labelled):
    with pytest.raises(InvalidParameterError) as caught:
        step.fit(*labelled)
    assert str(caught.value).startswith(f"{type(step).__name__}: {parameter} must")


@pytest.mark.parametrize(
    ("step", "y", "problem"),
    [
        (Pca(), None, "X must contain vectors that differ, got 4 equal"),
        (Lda(), [3, 3, 3, 3], "y must name at least two speakers"),
        (Lda(), [0, 1, 2, 3], "y must name some speaker twice"),
        (Wccn(), [0, 1, 2, 3], "y must name some speaker twice"),
    ],
)
def test_data_without_variation_are_refused(step, y, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        step.fit(np.ones((4, 3)), y)
