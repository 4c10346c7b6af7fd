"""PLDA with covariances drawn towards the identity."""

import numpy as np
import pytest

from benchmarks.fitting.shrunk_plda import (
    measured_covariances,
    shrunk,
    train_shrunk_backend,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import all_pairs, equal_error_rate
from sms_diar.scoring import train_backend


def world(rng, n_speakers, n_each, d):
    voices = np.repeat(rng.standard_normal((n_speakers, d)), n_each, axis=0)
    rows = voices + rng.standard_normal(voices.shape)
    return rows, np.repeat(np.arange(n_speakers), n_each)


def test_moments_are_those_of_the_world():
    rows, speakers = world(np.random.default_rng(0), 3000, 4, 3)
    mean, found = measured_covariances(rows, speakers)
    np.testing.assert_allclose(mean, 0.0, atol=0.1)
    np.testing.assert_allclose(found.within, np.eye(3), atol=0.06)
    np.testing.assert_allclose(found.between, np.eye(3), atol=0.12)


def test_no_direction_has_a_negative_variance_between_speakers():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((20, 8))  # no speakers at all
    _, found = measured_covariances(rows, np.repeat(np.arange(5), 4))
    assert np.linalg.eigvalsh(found.between).min() > -1e-12


def test_shrinking_keeps_the_trace():
    """Half of diag(4, 0) and half of diag(2, 2)."""
    np.testing.assert_allclose(shrunk(np.diag([4.0, 0.0]), 0.5), np.diag([3.0, 1.0]))


def test_few_speakers_in_many_dimensions_generalise_better_than_by_em():
    rng = np.random.default_rng(0)
    rows, speakers = world(rng, 12, 12, 40)
    others, known = world(rng, 30, 4, 40)
    rates = [
        equal_error_rate(*all_pairs(backend.score_matrix(others), known))
        for backend in (
            train_shrunk_backend(rows, speakers),
            train_backend(rows, speakers),
        )
    ]
    assert rates[0] < rates[1] - 0.02


def test_speakers_heard_once_are_refused():
    with pytest.raises(InvalidParameterError, match="got 3 vectors of 3 speakers"):
        train_shrunk_backend(np.eye(3), [0, 1, 2])
