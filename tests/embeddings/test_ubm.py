"""Training of the background model."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sms_diar.embeddings import train_ubm
from sms_diar.embeddings.ubm import count_steps, cut_blocks
from sms_diar.errors import InvalidParameterError


def draw_frames(n, d, seed, clusters=4):
    rng = np.random.default_rng(seed)
    means = 4.0 * rng.standard_normal((clusters, d))
    return means[rng.integers(0, clusters, n)] + rng.standard_normal((n, d))


def test_one_gaussian_has_the_moments_of_the_frames():
    # 0, 2, 4, 6: mean 3, squares around it 9, 1, 1, 9, their mean 5
    fit = train_ubm(
        [np.array([[0.0], [2.0]]), np.array([[4.0], [6.0]])], 1, min_frames=1
    )
    np.testing.assert_allclose(fit.mixture.means, [[3.0]], rtol=1e-14)
    np.testing.assert_allclose(fit.mixture.covariances, [[5.0]], rtol=1e-14)
    assert fit.n_frames == 4
    assert len(fit.steps) == 1


def test_two_clouds_are_found():
    X = np.concatenate([np.linspace(-11, -9, 101), np.linspace(9, 11, 301)])[:, None]
    fit = train_ubm([X], 2, variance_floor=1e-6)
    order = np.argsort(fit.mixture.means[:, 0])
    np.testing.assert_allclose(fit.mixture.means[order, 0], [-10.0, 10.0], rtol=1e-6)
    np.testing.assert_allclose(
        fit.mixture.weights[order], [101 / 402, 301 / 402], rtol=1e-6
    )


@given(
    st.sampled_from(["diagonal", "full"]),
    st.integers(2, 9),
    st.integers(1, 4),
    st.integers(0, 10**6),
)
@settings(max_examples=10)
def test_the_likelihood_never_falls_between_splits(covariance, c, d, seed):
    X = draw_frames(600, d, seed)
    fit = train_ubm([X], c, covariance=covariance, n_iter=6, seed=seed)
    for before, after in pairwise(fit.steps):
        if before.n_components == after.n_components and not (
            before.floored or before.replaced
        ):
            assert after.log_likelihood >= before.log_likelihood - 1e-10
    assert fit.mixture.n_components == c
    assert len(fit.steps) == count_steps(c, n_iter=6)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_the_result_depends_neither_on_the_blocks_nor_on_the_workers(covariance):
    X = draw_frames(9000, 3, 1)
    whole = train_ubm([X], 5, covariance=covariance, n_iter=3, split_iter=2)
    parts = train_ubm(
        np.array_split(X, 37),
        5,
        covariance=covariance,
        n_iter=3,
        split_iter=2,
        workers=3,
    )
    for name in ("weights", "means", "covariances"):
        np.testing.assert_array_equal(
            getattr(parts.mixture, name), getattr(whole.mixture, name)
        )
    assert parts.steps == whole.steps


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_variances_stay_above_the_floor(covariance):
    # Half of the frames are the same point: a Gaussian would collapse on it.
    rng = np.random.default_rng(0)
    X = np.concatenate([np.full((300, 2), 50.0), rng.standard_normal((300, 2))])
    fit = train_ubm([X], 2, covariance=covariance, variance_floor=0.05)
    assert any(step.floored for step in fit.steps)
    total = np.cov(X.T, bias=True)
    for spread in fit.mixture.covariances:
        if covariance == "diagonal":
            assert (spread >= 0.05 * np.diag(total) * (1 - 1e-12)).all()
        else:
            ratios = np.linalg.eigvals(np.linalg.solve(total, spread)).real
            assert (ratios >= 0.05 * (1 - 1e-9)).all()


def test_starved_components_take_half_of_the_heaviest():
    # Twelve frames lie far out; a component of their own would have less than 20.
    X = np.concatenate([draw_frames(500, 2, 3, clusters=1), np.full((12, 2), 1e3)])
    X += 1e-3 * np.random.default_rng(1).standard_normal(X.shape)
    fit = train_ubm([X], 4, variance_floor=1e-9, n_iter=12)
    assert sum(step.replaced for step in fit.steps) > 0
    assert fit.mixture.n_components == 4


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 7))
def test_blocks_are_cut_to_one_size(lengths, size):
    ends = np.cumsum([0, *lengths])
    rows = np.arange(ends[-1], dtype=float)[:, None]
    parts = [rows[a:b] for a, b in pairwise(ends)]
    blocks = list(cut_blocks(parts, size))
    assert all(len(block) == size for block in blocks[:-1])
    np.testing.assert_array_equal(np.concatenate([rows[:0], *blocks]), rows)


@pytest.mark.parametrize(
    ("frames", "options", "message"),
    [
        ([], {}, "train_ubm: frames must not be empty, got none"),
        (iter([np.ones((3, 1))]), {}, "train_ubm: frames must be an iterable that can"),
        ([np.arange(30.0)[:, None]], {}, "train_ubm: frames must be at least 20 for"),
        ([np.ones((100, 2)) * [1e3, 0.0]], {}, "train_ubm: frames must vary in every"),
        ([np.ones((3, 2)), np.ones((3, 3))], {}, "train_ubm: frames must be of shape"),
        ([np.array([[0.0], [np.nan]])], {}, "train_ubm: frames must be finite"),
        ([np.ones((3, 2))], {"covariance": "round"}, "train_ubm: covariance must be"),
        (
            [np.repeat(np.arange(50.0)[:, None], 2, axis=1)],
            {"covariance": "full"},
            "train_ubm: frames must span all their dimensions for full covariances, "
            "got linearly dependent ones; use diagonal ones",
        ),
    ],
    ids=["none", "generator", "few", "constant", "width", "nan", "shape", "dependent"],
)
def test_broken_input_is_named(frames, options, message):
    with pytest.raises(InvalidParameterError) as caught:
        train_ubm(frames, 2, **options)
    assert str(caught.value).startswith(message)
