"""I-vectors of Kaldi's extractors: Kaldi's own values, and a slow implementation."""

from dataclasses import replace

import numpy as np
import pytest

from sms_diar.embeddings import _reference as reference
from sms_diar.embeddings import kaldi
from sms_diar.embeddings.extractor import IvectorExtractor
from sms_diar.embeddings.kaldi import KaldiIvectorExtractor, kaldi_models
from sms_diar.embeddings.mixture import GaussianMixture
from sms_diar.embeddings.total_variability import TotalVariability
from sms_diar.errors import InvalidParameterError
from sms_diar.io.kaldi.ivector_models import KaldiExtractor, KaldiMixture
from sms_diar.pipeline.train.kaldi import KaldiFiles

C, D, R = 5, 3, 4


def spreads(rng):
    factors = 0.3 * rng.standard_normal((C, D, D)) + np.eye(D)
    return factors @ factors.transpose(0, 2, 1)


@pytest.fixture
def made():
    """An extractor without a projection of weights, and three segments."""
    rng = np.random.default_rng(7)
    means = 2.0 * rng.standard_normal((C, D))
    weights = rng.dirichlet(np.full(C, 5.0))
    matrices = 0.5 * rng.standard_normal((C, D, R))
    matrices[:, :, 0] = means / 20.0
    ubm = KaldiMixture.of(weights, means, spreads(rng))
    extractor = KaldiExtractor(matrices, ubm.precisions, weights, 20.0)
    segments = [
        (f"s{n}", (2.5 * rng.standard_normal((n, D))).astype(np.float32))
        for n in (1, 12, 300)
    ]
    return KaldiIvectorExtractor(extractor, ubm, num_gselect=3, min_post=0.1), segments


def with_projection(extractor, scale):
    rng = np.random.default_rng(1)
    projection = scale * rng.standard_normal((C, R))
    projection[:, 0] = np.log(extractor.extractor.weights) / extractor.extractor.offset
    return replace(
        extractor, extractor=replace(extractor.extractor, weights=projection)
    )


def slow_posterior(selection, logs, n_selected, min_post):
    """Return the posteriors of the components that Kaldi keeps for one frame.

    `selection` and `logs` are the log-densities, shape (c,), under the mixtures with
    diagonal and full covariances.
    """
    best = np.argsort(selection)[::-1][:n_selected]
    shares = np.exp(logs[best]) / np.exp(logs[best]).sum()
    kept = {int(c): share for c, share in zip(best, shares, strict=True)}
    kept = {c: share for c, share in kept.items() if share >= min_post}
    if not kept:
        return {int(best[np.argmax(shares)]): 1.0}
    return {c: share / sum(kept.values()) for c, share in kept.items()}


def slow_ivector(counts, sums, matrices, precisions, offset, projection=None):
    """Return the i-vector of one segment as Kaldi's ``ivector-extract`` writes it.

    `counts` (c,) and `sums` (c, d) are not centred, and x has its prior at
    ``(offset, 0, ..., 0)``. With a `projection` (c, r), the weights are
    ``softmax(projection @ x)``, whose log-likelihood is expanded at the current x.
    """
    rank = matrices.shape[2]
    linear = offset * np.eye(rank)[0]
    quadratic = np.eye(rank)
    for count, total, M, P in zip(counts, sums, matrices, precisions, strict=True):
        linear += M.T @ P @ total
        quadratic += count * M.T @ P @ M
    x = solve_floored(quadratic, linear)
    prior = offset * np.eye(rank)[0]
    if projection is None:
        return x - prior
    for _ in range(4):
        this_linear, this_quadratic = linear.copy(), quadratic.copy()
        weights = np.exp(projection @ x) / np.exp(projection @ x).sum()
        for count, w, weight in zip(counts, projection, weights, strict=True):
            expected = counts.sum() * weight
            this_linear += (count - expected + max(count, expected) * (w @ x)) * w
            this_quadratic += max(count, expected) * np.outer(w, w)
        previous, x = x, solve_floored(this_quadratic, this_linear)
        if np.sqrt(((x - previous) ** 2).sum()) < 0.1:
            break
    return x - prior


def solve_floored(quadratic, linear):
    values, vectors = np.linalg.eigh(quadratic)
    return vectors @ ((vectors.T @ linear) / np.maximum(values, 1.0))


def log_densities(frames, mixture):
    """Log-densities of frames under a mixture, shape (n, c)."""
    parts = (mixture.weights, mixture.means, mixture.covariances)
    return reference.log_densities(frames.astype(np.float64), *parts)


def slow(extractor, frames):
    """Statistics and i-vector of one segment, frame by frame."""
    stored = extractor.extractor
    counts, sums = np.zeros(len(stored.weights)), np.zeros(stored.matrices.shape[:2])
    selections = log_densities(frames, extractor.selector or extractor.ubm.diagonal())
    logs = log_densities(frames, extractor.ubm)
    for x, selection, log in zip(frames, selections, logs, strict=True):
        posteriors = slow_posterior(
            selection, log, extractor.num_gselect, extractor.min_post
        )
        for c, share in posteriors.items():
            counts[c] += extractor.posterior_scale * share
            sums[c] += extractor.posterior_scale * share * x.astype(np.float64)
    vector = slow_ivector(
        counts,
        sums,
        stored.matrices,
        stored.precisions,
        stored.offset,
        stored.weights if stored.has_weight_projection else None,
    )
    return counts, sums, vector


@pytest.mark.parametrize("scale", [None, 0.01, 0.3, 3.0])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"num_gselect": 20},
        {"num_gselect": 1},
        {"min_post": 0.0},
        {"min_post": 0.9},
        {"posterior_scale": 0.3},
    ],
    ids=str,
)
def test_vectors_are_those_of_the_slow_implementation(made, settings, scale):
    extractor, segments = made
    extractor = replace(extractor, **settings)
    if scale is not None:
        extractor = with_projection(extractor, scale)
    vectors = extractor.extract_all(segments)
    assert vectors.ids == ("s1", "s12", "s300")
    statistics = extractor.statistics(segments)
    for row, (_, frames) in enumerate(segments):
        counts, sums, vector = slow(extractor, frames)
        np.testing.assert_allclose(statistics.zeroth[row], counts, atol=1e-9)
        np.testing.assert_allclose(statistics.first[row], sums, atol=1e-9)
        np.testing.assert_allclose(vectors.vectors[row], vector, rtol=1e-8, atol=1e-8)


def test_the_projection_of_weights_moves_vectors_for_one_to_four_iterations(
    made, monkeypatch
):
    extractor, segments = made
    counted = []

    def norm(x):
        counted[-1] += 1
        return np.sqrt((x**2).sum())

    plain = extractor.extract_all(segments).vectors
    monkeypatch.setattr(kaldi.np.linalg, "norm", norm)
    seen = set()
    for scale in (0.01, 0.1, 0.3, 1.0, 3.0):
        projected = with_projection(extractor, scale)
        for row, segment in enumerate(segments):
            counted.append(0)
            _, [vector] = projected.solve([segment])
            assert np.abs(vector - plain[row]).max() > 1e-6
            seen.add(counted[-1])
    assert seen == {1, 2, 3, 4}


def test_the_weights_converge_to_the_most_probable_vector(made, monkeypatch):
    monkeypatch.setattr(kaldi, "_ITERATIONS", 500)
    monkeypatch.setattr(kaldi, "_SMALL_CHANGE", 1e-13)
    extractor, segments = made
    projected = with_projection(extractor, 0.3)
    stored = projected.extractor
    statistics = projected.statistics(segments)
    vectors = projected.extract_all(segments).vectors
    for counts, sums, w in zip(
        statistics.zeroth, statistics.first, vectors, strict=True
    ):
        x = w + stored.offset * np.eye(R)[0]
        # Gradient of the log posterior: prior, means, and N_c log softmax(W x)_c
        gradient = -w
        for c in range(C):
            residual = sums[c] - counts[c] * stored.matrices[c] @ x
            gradient = gradient + stored.matrices[c].T @ stored.precisions[c] @ residual
        shares = np.exp(stored.weights @ x) / np.exp(stored.weights @ x).sum()
        gradient = gradient + stored.weights.T @ (counts - counts.sum() * shares)
        np.testing.assert_allclose(gradient, 0.0, atol=1e-8)


def test_results_do_not_depend_on_workers_and_neighbours(made):
    extractor, segments = made
    for chosen in (extractor, with_projection(extractor, 0.3)):
        together = chosen.extract_all(segments, workers=2)
        for row, segment in enumerate(segments):
            alone = chosen.extract_all([segment]).vectors[0]
            np.testing.assert_allclose(alone, together.vectors[row], rtol=0, atol=1e-12)


def test_all_that_shapes_vectors_is_in_the_fingerprint(made):
    extractor, segments = made
    others = [
        replace(extractor, num_gselect=4),
        replace(extractor, min_post=0.2),
        replace(extractor, posterior_scale=0.5),
        replace(extractor, front_end={"mfcc": {}}),
        with_projection(extractor, 0.3),
        replace(extractor, extractor=replace(extractor.extractor, offset=21.0)),
    ]
    prints = {extractor.fingerprint, *(other.fingerprint for other in others)}
    assert len(prints) == 1 + len(others)
    same = replace(extractor, selector=extractor.ubm.diagonal())
    assert same.fingerprint == extractor.fingerprint
    used = replace(extractor)
    assert used.extract_all(segments).extractor == extractor.fingerprint
    assert replace(used).fingerprint == extractor.fingerprint


def test_models_that_do_not_match_are_refused(made):
    extractor, _ = made
    with pytest.raises(InvalidParameterError, match="interchanged"):
        replace(extractor, ubm=extractor.ubm.diagonal(), selector=extractor.ubm)
    small = KaldiMixture(np.ones(1), np.zeros((1, D)), np.ones((1, D)))
    with pytest.raises(InvalidParameterError, match="5 Gaussians") as caught:
        replace(extractor, selector=small)
    assert caught.value.parameter == "selector"
    for settings in ({"num_gselect": 0}, {"min_post": 1.0}, {"posterior_scale": 0.0}):
        with pytest.raises(InvalidParameterError) as caught:
            replace(extractor, **settings)
        assert {caught.value.parameter} == set(settings)


@pytest.mark.parametrize("is_full", [True, False])
def test_an_exported_model_gives_the_same_vectors(is_full):
    rng = np.random.default_rng(3)
    covariances = spreads(rng) if is_full else 0.5 + rng.random((C, D))
    mixture = GaussianMixture(
        rng.dirichlet(np.full(C, 5.0)), 2.0 * rng.standard_normal((C, D)), covariances
    )
    model = TotalVariability(
        0.5 * rng.standard_normal((C, D, R)),
        mixture.means + 0.1 * rng.standard_normal((C, D)),
        mixture,
    )
    own = IvectorExtractor(model, storage="double")
    exported, ubm, dubm = kaldi_models(own)
    ported = KaldiIvectorExtractor(exported, ubm, dubm, num_gselect=C, min_post=0.0)
    segments = [("a", 2.0 * rng.standard_normal((400, D)))]
    vectors = ported.extract_all(segments).vectors
    assert vectors.shape == (1, R + 1)
    assert abs(vectors[0, 0]) < 1e-2
    expected = own.extract_all(segments).vectors
    np.testing.assert_allclose(vectors[:, 1:], expected, rtol=1e-6, atol=1e-6)


@pytest.fixture
def files(kaldi_reference):
    return KaldiFiles(kaldi_reference.folder / "extractor")


@pytest.mark.corpus
def test_vectors_from_speech_are_those_of_kaldi(kaldi_reference, files):
    front_end = files.front_end()
    extractor = files.read(front_end, num_gselect=16)
    expected = kaldi_reference.matrices("ivectors.ark")
    assert len(expected) == 30
    vectors = extractor.extract_all(
        (name, front_end.frames(kaldi_reference.samples(name))) for name in expected
    )
    for name, vector in zip(vectors.ids, vectors.vectors, strict=True):
        difference = np.linalg.norm(vector - expected[name])
        assert difference < 1e-4 * np.linalg.norm(expected[name])


@pytest.mark.corpus
def test_vectors_from_frames_of_kaldi_round_like_those_of_kaldi(kaldi_reference, files):
    extractor = files.read(files.front_end(), num_gselect=16)
    expected = kaldi_reference.matrices("ivectors.ark")
    frames = kaldi_reference.matrices("feats.ark")
    vectors = extractor.extract_all(frames.items())
    for name, vector in zip(vectors.ids, vectors.vectors, strict=True):
        np.testing.assert_allclose(vector, expected[name], rtol=0, atol=2e-5)


@pytest.mark.corpus
def test_the_slow_implementation_gives_the_vectors_of_kaldi(kaldi_reference, files):
    extractor = files.read(files.front_end(), num_gselect=16)
    expected = kaldi_reference.matrices("ivectors.ark")
    for name, frames in kaldi_reference.matrices("feats.ark").items():
        _, _, vector = slow(extractor, frames)
        np.testing.assert_allclose(vector, expected[name], rtol=0, atol=2e-5)
