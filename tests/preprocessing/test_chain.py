"""The paper's chain and its folded form."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import (
    Center,
    FoldedChain,
    LengthNorm,
    Pca,
    Whiten,
    fold,
    paper_chain,
)


@pytest.fixture(name="X")
def vectors():
    rng = np.random.default_rng(9)
    return rng.standard_normal((40, 12)) @ rng.standard_normal((12, 12)) + 0.5


def test_phi_is_the_formula_of_the_paper(X):
    phi = paper_chain(5, center=False, shrinkage=0.0).fit_transform(X)
    y = X / np.linalg.norm(X, axis=1)[:, None]
    values, vectors = np.linalg.eigh(y.T @ y / len(y))
    T = vectors[:, ::-1][:, :5].T
    W = np.diag(values[::-1][:5] ** -0.5)
    want = y @ T.T @ W
    want /= np.linalg.norm(want, axis=1)[:, None]
    np.testing.assert_allclose(phi @ phi.T, want @ want.T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", ["unit", "sqrt_dim"])
@pytest.mark.parametrize("center", [True, False])
def test_the_folded_chain_gives_what_the_chain_gives(X, center, scale):
    chain = paper_chain(4, center=center, scale=scale).fit(X)
    folded = fold(chain)
    new = np.random.default_rng(1).standard_normal((7, 12)) * 3.0
    np.testing.assert_allclose(
        folded.transform(new), chain.transform(new), rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(
        folded.linear(new), chain[:-1].transform(new), rtol=1e-12, atol=1e-12
    )
    assert folded.matrix.shape == (4, 12)


def test_phi_of_a_mean_follows_from_the_images_of_its_members(X):
    folded = fold(paper_chain(4).fit(X))
    moved = X[:17].mean(axis=0)
    images = X[:17] @ folded.matrix.T
    cheap = images.mean(axis=0) + np.linalg.norm(moved) * folded.offset
    cheap /= np.linalg.norm(cheap)
    np.testing.assert_allclose(folded.transform([moved])[0], cheap, rtol=1e-11)


@pytest.mark.parametrize("n", [2, 5, 12])
def test_a_short_session_can_be_its_own_training_set(X, n):
    phi = paper_chain(10).fit_transform(X[:n])
    assert phi.shape == (n, min(10, n - 1))
    np.testing.assert_allclose(np.linalg.norm(phi, axis=1), 1.0, rtol=1e-12)


def test_chains_of_other_steps_fold_too(X):
    chain = Pipeline(
        [
            ("center", Center(shrink=3.0)),
            ("skip", "passthrough"),
            ("pca", Pca(n_components=6)),
            ("white", Whiten(method="zca")),
        ]
    ).fit(X)
    folded = fold(chain)
    assert folded.in_length is None
    assert folded.out_length is None
    np.testing.assert_allclose(folded.transform(X), chain.transform(X), atol=1e-12)


@pytest.mark.parametrize(
    "middle", [StandardScaler(), LengthNorm()], ids=["foreign", "norm inside"]
)
def test_what_cannot_be_folded_is_named(X, middle):
    chain = Pipeline([("a", Center()), ("b", middle), ("c", Center())]).fit(X)
    with pytest.raises(InvalidParameterError, match="fold: step 'b' must be an affine"):
        fold(chain)


def test_an_unfitted_chain_is_refused():
    with pytest.raises(NotFittedError):
        fold(paper_chain(2))


def test_a_chain_of_nothing_is_refused(X):
    with pytest.raises(InvalidParameterError, match="fold: chain must have at least"):
        fold(Pipeline([("skip", "passthrough")]).fit(X))


def test_vectors_and_maps_of_other_dimensions_are_refused(X):
    with pytest.raises(InvalidParameterError, match="FoldedChain: X must have 12"):
        fold(paper_chain(4).fit(X)).transform(X[:, :5])
    with pytest.raises(InvalidParameterError, match="FoldedChain: matrix and offset"):
        FoldedChain(np.eye(3), np.zeros(2))
