"""The PLDA model of known groups."""

import numpy as np
import pytest

from sms_diar.scoring import train_backend
from sms_diar.scoring.backend_plda import model_space
from sms_diar.scoring.session_model import model_of_groups
from sms_diar.synthetic import PldaWorld


def test_variances_by_hand():
    # Means 1 and 9 of two rows each, overall 5: within (4 x 1) / (4 - 2) = 2, around
    # (4 x 16) / 4 = 16; in units of the noise, 8 between speakers.
    rows = np.array([[0.0], [2.0], [8.0], [10.0]])
    model = model_of_groups(rows, np.array([0, 0, 1, 1]))
    assert model.mean.tolist() == [5.0]
    assert model.transform.tolist() == [[pytest.approx(1.0 / np.sqrt(2.0))]]
    assert model.psi.tolist() == [pytest.approx(8.0)]


def test_directions_share_one_variance():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), 40)
    rows = 3.0 * rng.standard_normal((5, 4))[labels] + rng.standard_normal((200, 4))
    model = model_of_groups(rows, labels)
    assert len(set(model.psi.tolist())) == 1
    white = (rows - model.mean) @ model.transform.T
    means = np.array([white[labels == g].mean(axis=0) for g in range(5)])
    # In the space of the model, noise has unit variance.
    assert np.sum((white - means[labels]) ** 2) / (195 * 4) == pytest.approx(1.0)
    assert np.sum(means**2) / (5 * 4) == pytest.approx(model.psi[0])


def test_speakers_are_never_thought_nearer_than_the_noise():
    rng = np.random.default_rng(0)
    model = model_of_groups(rng.standard_normal((40, 3)), np.arange(40) % 2)
    assert model.psi.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (np.array([[1.0, 2.0]]), [0]),
        (np.ones((5, 2)), [0] * 5),
        (np.ones((4, 2)), [0, 1, 2, 3]),
        (np.eye(2)[[0, 0, 1, 1]], [0, 0, 1, 1]),
        (np.arange(6.0).reshape(3, 2), [0, 1, 2]),
    ],
)
def test_what_is_open_is_finite(rows, labels):
    model = model_of_groups(rows, np.array(labels))
    assert np.isfinite(model.transform).all()
    assert np.isfinite(model.psi).all()
    assert (model.psi >= 1.0).all()


def test_a_single_group_says_nothing_about_others():
    rng = np.random.default_rng(0)
    model = model_of_groups(2.0 * rng.standard_normal((400, 3)), np.zeros(400, int))
    assert model.psi.tolist() == [1.0] * 3
    assert model.transform[0, 0] == pytest.approx(0.5, rel=0.05)


def test_vectors_of_a_speaker_are_white_in_the_space_of_a_back_end():
    training = PldaWorld(dim=8, eer=0.05).draw_training(400, 8, random_state=0)
    space = model_space(train_backend(training.X, training.speakers))
    U = space.vectors(training.X)
    means = np.array([U[training.speakers == one].mean(axis=0) for one in range(400)])
    within = (U - means[training.speakers]).T @ (U - means[training.speakers])
    np.testing.assert_allclose(within / (400 * 7), np.eye(U.shape[1]), atol=0.1)
    # A mean of eight has an eighth of the noise.
    np.testing.assert_allclose(means.var(axis=0), space.psi + 1 / 8, rtol=0.2)
