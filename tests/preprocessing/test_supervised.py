"""Steps that need speakers: LDA, WCCN and the statistics under them."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sms_diar.errors import InvalidParameterError
from sms_diar.preprocessing import Lda, Wccn, speaker_stats
from sms_diar.preprocessing.axes import fix_signs


@pytest.fixture
def speakers():
    rng = np.random.default_rng(8)
    labels = np.repeat(np.arange(8), [3, 4, 5, 6, 7, 8, 9, 10])
    mixing = rng.standard_normal((5, 5))
    X = rng.standard_normal((8, 5))[labels] * 2 + rng.standard_normal((52, 5)) @ mixing
    return X, labels


def within_of(X, labels):
    deviations = np.vstack(
        [X[labels == s] - X[labels == s].mean(0) for s in set(labels)]
    )
    return deviations.T @ deviations / len(X)


def test_statistics_of_two_speakers_by_hand():
    # a: (0, 0), (2, 0) with mean (1, 0); b: (5, 6) alone.
    # scatter: (-1, 0) and (1, 0) squared = [[2, 0], [0, 0]]
    X = np.array([[0.0, 0.0], [5.0, 6.0], [2.0, 0.0]])
    stats = speaker_stats(X, np.array(["a", "b", "a"]))
    assert stats.names.tolist() == ["a", "b"]
    assert stats.counts.tolist() == [2, 1]
    assert stats.means.tolist() == [[1.0, 0.0], [5.0, 6.0]]
    assert stats.scatter.tolist() == [[2.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(stats.mean, X.mean(axis=0), rtol=1e-15)


def test_within_and_between_add_up_to_the_total(speakers):
    X, labels = speakers
    stats = speaker_stats(X, labels)
    np.testing.assert_allclose(
        stats.within() + stats.between(), np.cov(X.T, bias=True), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.3, 1.0])
def test_lda_solves_the_generalised_eigenvalue_problem(speakers, smoothing):
    X, labels = speakers
    within = within_of(X, labels)
    total = np.cov(X.T, bias=True)
    mixed = smoothing * total + (1 - smoothing) * within
    values, vectors = eigh(total - within, mixed)
    model = Lda(n_components=3, smoothing=smoothing).fit(X, labels)
    np.testing.assert_allclose(model.ratios_, values[::-1][:3], rtol=1e-9)
    np.testing.assert_allclose(
        model.components_, fix_signs(vectors[:, ::-1].T[:3]), rtol=1e-8, atol=1e-10
    )


def test_lda_spans_what_scikit_learn_spans(speakers):
    X, labels = speakers
    ours = Lda(n_components=2).fit_transform(X, labels)
    theirs = LinearDiscriminantAnalysis(solver="eigen", n_components=2).fit_transform(
        X, labels
    )
    for column in range(2):
        correlation = np.corrcoef(ours[:, column], theirs[:, column])[0, 1]
        assert abs(correlation) == pytest.approx(1.0, abs=1e-9)


def test_lda_works_with_fewer_vectors_than_dimensions():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 3)
    X = rng.standard_normal((4, 50))[labels] * 3 + rng.standard_normal((12, 50))
    mapped = Lda().fit_transform(X, labels)
    assert mapped.shape == (12, 3)
    same = np.linalg.norm(mapped[0] - mapped[1])
    assert same < 0.01 * np.linalg.norm(mapped[0] - mapped[3])


def test_wccn_makes_the_covariance_within_speakers_the_identity(speakers):
    X, labels = speakers
    mapped = Wccn(shrinkage=0.0).fit_transform(X, labels)
    np.testing.assert_allclose(within_of(mapped, labels), np.eye(5), atol=1e-12)


def test_wccn_says_what_to_do_when_vectors_are_too_few():
    X = np.random.default_rng(0).standard_normal((6, 10))
    with pytest.raises(InvalidParameterError, match="Wccn: X must vary within"):
        Wccn(shrinkage=0.0).fit(X, [0, 0, 0, 1, 1, 1])
    assert Wccn().fit(X, [0, 0, 0, 1, 1, 1]).transform(X).shape == (6, 10)
