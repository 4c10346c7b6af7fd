"""The PLDA model of known groups."""

import numpy as np

from sms_diar.scoring import train_backend
from sms_diar.scoring.backend_plda import model_space
from sms_diar.synthetic import PldaWorld


def test_vectors_of_a_speaker_are_white_in_the_space_of_a_back_end():
    training = PldaWorld(dim=8, eer=0.05).draw_training(400, 8, random_state=0)
    space = model_space(train_backend(training.X, training.speakers))
    U = space.vectors(training.X)
    means = np.array([U[training.speakers == one].mean(axis=0) for one in range(400)])
    within = (U - means[training.speakers]).T @ (U - means[training.speakers])
    np.testing.assert_allclose(within / (400 * 7), np.eye(U.shape[1]), atol=0.1)
    # A mean of eight has an eighth of the noise.
    np.testing.assert_allclose(means.var(axis=0), space.psi + 1 / 8, rtol=0.2)
