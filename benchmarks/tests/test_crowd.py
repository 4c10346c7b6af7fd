"""Crowds drawn by the law of a back end."""

import numpy as np
import pytest

from benchmarks.scale import draw_crowd
from sms_diar.datasets import default_model_path, voice_backend_path
from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.train.models import read_backend
from sms_diar.scoring.backend_plda import plda_of


@pytest.fixture(scope="module")
def backend():
    return read_backend(voice_backend_path())


def test_speakers_say_as_much_as_they_may(backend):
    crowd = draw_crowd(backend, 3000, random_state=0)
    counts = np.bincount(crowd.speakers)
    assert crowd.X.shape == (3000, 192)
    assert crowd.X.dtype == np.float32
    assert counts.sum() == 3000
    assert counts.min() >= 5
    # Even on a logarithmic scale: half of the speakers below sqrt(5 * 500) = 50.
    assert 0.3 < np.mean(counts < 50) < 0.7


def test_variances_are_those_of_the_model(backend):
    crowd = draw_crowd(backend, 8000, most=20, random_state=2)
    model = plda_of(backend)
    U = (crowd.X - model.mean) @ model.transform.T
    sizes = np.bincount(crowd.speakers)
    means = np.stack(
        [np.bincount(crowd.speakers, weights=column) / sizes for column in U.T], axis=1
    )
    within = (U - means[crowd.speakers]).var(axis=0) * 8000 / (8000 - len(sizes))
    np.testing.assert_allclose(within, 1.0, atol=0.1)
    between = means.var(axis=0) - np.mean(1.0 / sizes)
    assert np.corrcoef(between, model.psi)[0, 1] > 0.98


def test_same_seed_same_crowd(backend):
    one, two = (draw_crowd(backend, 100, random_state=4) for _ in range(2))
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.speakers, two.speakers)


def test_a_back_end_that_drops_dimensions_is_refused():
    with pytest.raises(InvalidParameterError):
        draw_crowd(read_backend(default_model_path()), 100)
