"""The PLDA model of a back end, out and in again, and scores of trials."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import FoldedChain, fold, paper_chain
from sms_diar.scoring import PldaScorer, plda_from_covariances
from sms_diar.scoring.backend import backend_from_transform, build_backend
from sms_diar.scoring.backend_plda import phi_of, plda_of, trial_terms, with_plda
from sms_diar.types import PldaModel

X = np.random.default_rng(4).standard_normal((25, 6)) + 0.5


def random_plda(d, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, d, d + 3))
    return plda_from_covariances(rng.standard_normal(d), a @ a.T / d, b @ b.T / d)


def paper_backend(plda, **options):
    chain = paper_chain(plda.dim, shrinkage=0.1).fit(X)
    return build_backend(fold(chain), plda, **options), chain


def assert_same_model(got, want, rtol=1e-10):
    np.testing.assert_allclose(got.psi, want.psi, rtol=rtol)
    np.testing.assert_allclose(got.mean, want.mean, rtol=rtol, atol=1e-10)
    assert got.transform.tolist() == want.transform.tolist()


def test_recovery_by_hand():
    # psi = 4: gain**2 = 4/9 and 4/9 / (1 - 8/9) = 4; the transform is 1/2 (within
    # variance 4), the shift -1/2 * 3, and the mean 3 again.
    plda = plda_from_covariances([3.0], [[4.0]], [[16.0]])
    backend = build_backend(FoldedChain(np.eye(1), np.zeros(1)), plda)
    assert backend.gain[0] ** 2 == pytest.approx(4 / 9, rel=1e-15)
    assert backend.shift[0] == -1.5
    got = plda_of(backend)
    assert got.psi[0] == pytest.approx(4.0, rel=1e-14)
    assert (got.mean[0], got.transform[0, 0]) == (3.0, 0.5)


@pytest.mark.parametrize("normalize_length", [False, True])
def test_the_model_of_a_back_end_is_recovered(normalize_length):
    plda = random_plda(4, 1)
    backend, _ = paper_backend(plda, normalize_length=normalize_length)
    assert_same_model(plda_of(backend), plda)


@given(
    psi=st.lists(st.floats(0.0, 1e4), min_size=1, max_size=6), seed=st.integers(0, 99)
)
def test_psi_is_recovered_whatever_its_size(psi, seed):
    rng = np.random.default_rng(seed)
    d = len(psi)
    transform = rng.standard_normal((d, d)) + 3.0 * np.eye(d)
    plda = PldaModel(rng.standard_normal(d), transform, np.array(psi))
    got = plda_of(backend_from_transform(None, plda, d))
    np.testing.assert_allclose(got.psi, plda.psi, rtol=1e-11)


def test_putting_the_same_model_in_changes_nothing():
    plda = random_plda(4, 1)
    for normalize_length in (False, True):
        backend, _ = paper_backend(plda, normalize_length=normalize_length)
        again = with_plda(backend, plda)
        assert again.score_matrix(X).tobytes() == backend.score_matrix(X).tobytes()


@pytest.mark.parametrize("normalize_length", [False, True])
def test_another_model_scores_as_if_built_with_it(normalize_length):
    old, new = random_plda(4, 1), random_plda(4, 2)
    backend, chain = paper_backend(old, normalize_length=normalize_length)
    backend = replace(backend, extractor="abcd", notes={"n": 1})
    changed = with_plda(backend, new)
    want = PldaScorer(new, normalize_length=normalize_length).score_matrix(
        chain.transform(X)
    )
    np.testing.assert_allclose(changed.score_matrix(X), want, rtol=1e-10, atol=1e-10)
    assert (changed.extractor, changed.notes) == ("abcd", {"n": 1})


def test_a_cosine_back_end_can_be_given_a_model():
    plda = random_plda(6, 3)
    backend = with_plda(backend_from_transform(None, None, 6), plda)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    want = PldaScorer(plda).score_matrix(unit)
    np.testing.assert_allclose(backend.score_matrix(X), want, rtol=1e-10, atol=1e-10)
    assert backend.kind == "plda"


def test_phi_is_what_the_chain_gives():
    backend, chain = paper_backend(random_plda(4, 1), normalize_length=True)
    want = chain.transform(X)
    np.testing.assert_allclose(phi_of(backend, X), want, rtol=1e-10, atol=1e-12)


def test_a_model_of_other_dimensions_is_refused():
    backend, _ = paper_backend(random_plda(4, 1))
    with pytest.raises(InvalidParameterError, match="with_plda: model must have the"):
        with_plda(backend, random_plda(5, 1))


@pytest.mark.parametrize(
    "changes",
    [
        {"gain": np.full(4, 0.8)},  # 0.64 is more than any psi gives
        {"square": np.zeros(4)},
        {"projection": np.zeros((4, 4))},
    ],
    ids=["gain", "square", "singular"],
)
def test_numbers_of_no_model_are_refused(changes):
    backend, _ = paper_backend(random_plda(4, 1))
    with pytest.raises(InvalidParameterError, match="plda_of: backend must contain"):
        plda_of(replace(backend, **changes))


@pytest.mark.parametrize("normalize_length", [False, True])
def test_trials_score_as_the_scorer_does(normalize_length):
    plda = random_plda(6, 5)
    counts = np.array([1, 3, 1, 7, 3])
    terms = trial_terms(
        plda, X[:5], X[5:], n_enroll=counts, normalize_length=normalize_length
    )
    scorer = PldaScorer(plda, normalize_length=normalize_length)
    want = scorer.score_matrix(X[:5], X[5:], n_enroll=counts)
    np.testing.assert_allclose(terms.block(slice(None)), want, rtol=1e-10, atol=1e-10)
    part = terms.block(slice(1, 3), slice(4, 9))
    np.testing.assert_allclose(part, want[1:3, 4:9], rtol=1e-10, atol=1e-10)
    rows, columns = np.array([4, 0, 4]), np.array([2, 19, 0])
    np.testing.assert_allclose(
        terms.pairs(rows, columns), want[rows, columns], rtol=1e-10, atol=1e-10
    )
