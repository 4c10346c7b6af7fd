"""Back ends: one folded map gives what the parts give one after the other."""

from dataclasses import replace

import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.io.kaldi.transform import Centering, LinearTransform, VbxTransform
from sms_diar.preprocessing import FoldedChain, fold, paper_chain
from sms_diar.scoring import CosineScorer, PldaScorer, plda_from_covariances
from sms_diar.scoring.backend import BackEnd, backend_from_transform, build_backend
from sms_diar.scoring.backend_training import train_backend
from sms_diar.types import EmbeddingSet

RNG = np.random.default_rng(3)
DIM, SMALL = 7, 4
X = RNG.standard_normal((30, DIM)) * 3.0 + 1.0


def random_plda(d, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, d, d + 3))
    return plda_from_covariances(rng.standard_normal(d), a @ a.T / d, b @ b.T / d)


CENTERING = Centering(RNG.standard_normal(DIM))
LINEAR = LinearTransform(RNG.standard_normal((SMALL, DIM)))
AFFINE = LinearTransform(RNG.standard_normal((SMALL, DIM + 1)))
VBX = VbxTransform(
    RNG.standard_normal(DIM),
    RNG.standard_normal((DIM, SMALL)),
    RNG.standard_normal(SMALL),
)
TRANSFORMS = {
    "none": None,
    "centering": CENTERING,
    "linear": LINEAR,
    "affine": AFFINE,
    "vbx": VBX,
    "vbx sqrt-dim": replace(VBX, length="sqrt-dim"),
}
transforms = pytest.mark.parametrize(
    "transform", TRANSFORMS.values(), ids=TRANSFORMS.keys()
)
lengths = pytest.mark.parametrize("normalize_length", [False, True])


def assert_same_scores(backend, scorer, phi):
    """Compare the factors, and through them the scores, with the parts' own."""
    got = backend.features(backend.prepare(X))
    want = scorer.pairwise_terms(scorer.prepare(phi))
    np.testing.assert_allclose(got.U, want.U, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(got.bias, want.bias, rtol=1e-10, atol=1e-10)
    assert got.constant == pytest.approx(want.constant, rel=1e-12)
    np.testing.assert_allclose(
        backend.score_matrix(X), scorer.score_matrix(phi), rtol=1e-10, atol=1e-10
    )


def test_scores_by_hand():
    # x = (3, 4) has the state (0.6, 0.8); the matrix picks 0.6 and the offset makes
    # it 1.1. psi = 4 and mean 0.1 give u = 1 and so 4/9 - 2 * 8/45 + log(5/3).
    chain = FoldedChain(np.array([[1.0, 0.0]]), np.array([0.5]), in_length=1.0)
    plda = plda_from_covariances([0.1], [[1.0]], [[4.0]])
    backend = build_backend(chain, plda)
    want = 4 / 9 - 16 / 45 + np.log(5 / 3)
    assert backend.score_matrix([[3.0, 4.0]])[0, 0] == pytest.approx(want, abs=1e-14)
    assert (backend.dim, backend.score_dim, backend.kind) == (2, 1, "plda")


@lengths
@transforms
def test_transform_and_plda_equal_the_parts(transform, normalize_length):
    phi = X if transform is None else transform.apply(X)
    plda = random_plda(phi.shape[1], 8)
    backend = backend_from_transform(
        transform, plda, DIM, normalize_length=normalize_length
    )
    scorer = PldaScorer(plda, normalize_length=normalize_length)
    assert_same_scores(backend, scorer, phi)


@transforms
def test_transform_and_cosine_equal_the_parts(transform):
    phi = X if transform is None else transform.apply(X)
    backend = backend_from_transform(transform, None, DIM)
    assert_same_scores(backend, CosineScorer(phi.shape[1]), phi)
    assert backend.kind == "cosine"


@lengths
@pytest.mark.parametrize("scale", ["unit", "sqrt_dim"])
@pytest.mark.parametrize("center", [False, True])
def test_the_papers_chain_and_plda_equal_the_parts(scale, center, normalize_length):
    chain = paper_chain(SMALL, center=center, shrinkage=0.1, scale=scale).fit(X)
    plda = random_plda(SMALL, 9)
    backend = build_backend(fold(chain), plda, normalize_length=normalize_length)
    scorer = PldaScorer(plda, normalize_length=normalize_length)
    assert_same_scores(backend, scorer, chain.transform(X))


def test_states_may_be_scaled_where_the_chain_scales_them():
    chain = paper_chain(SMALL, shrinkage=0.1).fit(X)
    backend = build_backend(fold(chain), random_plda(SMALL, 9))
    states = backend.prepare(X)
    np.testing.assert_allclose(np.linalg.norm(states, axis=1), 1.0, rtol=1e-14)
    one, other = backend.features(states), backend.features(5.0 * states)
    np.testing.assert_allclose(one.U, other.U, rtol=1e-12)


def test_a_vector_equal_to_the_center_has_a_finite_score():
    backend = backend_from_transform(VBX, random_plda(SMALL, 1), DIM)
    rows = np.vstack([VBX.mean1, X[:2]])
    assert np.isfinite(backend.score_matrix(rows)).all()


def test_a_vector_at_the_plda_mean_has_a_finite_score_when_normalised():
    plda = random_plda(DIM, 1)
    backend = backend_from_transform(None, plda, DIM, normalize_length=True)
    assert np.isfinite(backend.score_matrix(plda.mean[None])).all()


def test_arrays_and_words_make_the_back_end_again():
    backend = replace(
        backend_from_transform(VBX, random_plda(SMALL, 2), DIM, normalize_length=True),
        extractor="f00d",
        notes={"vectors": 12},
    )
    words = {"kind": "plda", "extractor": "f00d", "notes": {"vectors": 12}}
    back = BackEnd.from_arrays(backend.arrays(), words)
    assert (back.kind, back.extractor, back.notes) == ("plda", "f00d", {"vectors": 12})
    assert back.score_matrix(X).tobytes() == backend.score_matrix(X).tobytes()
    for name, array in backend.arrays().items():
        assert back.arrays()[name].tolist() == array.tolist(), name
    assert type(back.normalize_state) is bool
    assert type(back.out_length) is float


def embeddings(dim=DIM, extractor=None):
    return EmbeddingSet(("a",), np.ones((1, dim)), extractor=extractor, source="x.ark")


@pytest.mark.parametrize(
    ("ours", "theirs"), [("one", "one"), (None, "one"), ("one", None), (None, None)]
)
def test_the_same_or_an_unknown_extractor_is_compatible(ours, theirs):
    backend = backend_from_transform(None, None, DIM).with_extractor(ours)
    assert backend.check_compatible(embeddings(extractor=theirs)) is None


def test_vectors_of_another_extractor_are_refused():
    backend = backend_from_transform(None, None, DIM).with_extractor("one")
    with pytest.raises(InvalidParameterError, match=r"x\.ark: vectors must come from"):
        backend.check_compatible(embeddings(extractor="two"))


@pytest.mark.parametrize(
    ("name", "shape", "want"),
    [
        ("center", 6, (7,)),
        ("offset", 3, (4,)),
        ("projection", (4, 3), (4, 4)),
        ("shift", 3, (4,)),
        ("norm_weights", 3, (4,)),
        ("square", 3, (4,)),
    ],
)
def test_parts_that_do_not_fit_together(name, shape, want):
    backend = backend_from_transform(VBX, random_plda(SMALL, 2), DIM)
    wrong = np.zeros(shape)
    with pytest.raises(InvalidParameterError) as caught:
        replace(backend, **{name: wrong})
    assert str(caught.value).startswith(f"BackEnd: {name} must be of shape {want}")


def test_a_plda_of_other_dimensions_than_the_transform():
    with pytest.raises(InvalidParameterError, match="build_backend: plda must have"):
        backend_from_transform(VBX, random_plda(5, 2), DIM)


@pytest.mark.parametrize("transform", [LINEAR, VBX, CENTERING])
def test_a_transform_for_other_embeddings(transform):
    with pytest.raises(InvalidParameterError, match="backend_from_transform:"):
        backend_from_transform(transform, None, 9)


@pytest.fixture(scope="module", name="world")
def labelled_world():
    """Speakers that differ in three of twelve dimensions only."""
    rng = np.random.default_rng(0)
    speakers = np.repeat(np.arange(120), 6)
    spread = np.r_[np.full(3, 2.0), np.full(9, 0.05)]
    noise = np.r_[np.full(3, 0.5), np.full(9, 1.5)]
    places = rng.standard_normal((120, 12)) * spread
    return places[speakers] + rng.standard_normal((720, 12)) * noise, speakers


def mean_gap(scores, speakers):
    """Share of pairs of one speaker that score above the median of the others."""
    same = speakers[:, None] == speakers
    upper = np.triu(np.ones_like(same), k=1)
    others = np.median(scores[~same & upper])
    return float(np.mean(scores[same & upper] > others))


def test_training_ranks_new_speakers_as_the_true_model_does(world):
    rows, speakers = world
    train, test = speakers < 80, speakers >= 80
    backend = train_backend(rows[train], speakers[train], extractor="abcd")
    truth = plda_from_covariances(
        np.zeros(12),
        np.diag(np.r_[np.full(3, 0.25), np.full(9, 2.25)]),
        np.diag(np.r_[np.full(3, 4.0), np.full(9, 0.0025)]),
    )
    got = backend.score_matrix(rows[test])
    pairs = np.triu_indices(len(got), k=1)
    true = PldaScorer(truth).score_matrix(rows[test])
    ranks = [np.argsort(np.argsort(scores[pairs])) for scores in (got, true)]
    assert np.corrcoef(*ranks)[0, 1] > 0.8
    cosine = CosineScorer(12).score_matrix(rows[test])
    assert mean_gap(got, speakers[test]) > 0.95 > mean_gap(cosine, speakers[test])
    assert (backend.dim, backend.score_dim) == (12, 12)
    assert (backend.kind, backend.extractor) == ("plda", "abcd")
