"""Recording a run in bounded memory."""

import numpy as np
import pytest

from sms_diar.clustering import (
    BlurringMeanShift,
    DoublyStochasticMeanShift,
    MeanShift,
    StochasticMeanShift,
)
from sms_diar.clustering.points import _reference

FAMILY = [
    MeanShift(bandwidth=0.9),
    BlurringMeanShift(bandwidth=0.9),
    StochasticMeanShift(bandwidth=0.9, random_state=0),
    DoublyStochasticMeanShift(bandwidth=(0.5, 1.2), random_state=0),
]
family = pytest.mark.parametrize("model", FAMILY, ids=lambda m: type(m).__name__)


@family
def test_begins_with_the_data_and_ends_at_rest(model, three_gaussians):
    X, _ = three_gaussians
    history = model.set_params(record="states").fit(X).history_
    # Rounded to the lattice, 2**-30 bandwidths of about one.
    np.testing.assert_allclose(history.states[0], X, rtol=0, atol=2.0**-30)
    np.testing.assert_array_equal(history.states[-1], model.resting_points_)
    assert history.steps[0] == 0
    assert history.steps[-1] == model.n_steps_
    assert np.all(np.diff(history.steps) > 0)


@family
def test_keeps_no_more_moments_than_allowed(model, three_gaussians):
    X, _ = three_gaussians
    for limit in (3, 4, 10):
        model.set_params(record="states", max_records=limit).fit(X)
        assert 2 <= len(model.history_.steps) <= limit
        assert len(model.history_.states) == len(model.history_.steps)


@family
def test_objective_only_keeps_no_states(model, three_gaussians):
    model.set_params(record="objective", max_records=200).fit(three_gaussians[0])
    assert model.history_.states is None
    assert model.history_.objective[-1] == model.objective_


def test_recorded_objective_is_that_of_the_state_and_never_falls(three_gaussians):
    X, _ = three_gaussians
    model = StochasticMeanShift(bandwidth=0.9, record="states", random_state=2).fit(X)
    history = model.history_
    for state, value in zip(history.states[::10], history.objective[::10], strict=True):
        assert _reference.objective(state, 0.9, "uniform") == pytest.approx(value)
    assert np.all(np.diff(history.objective) >= -1e-9 * history.objective[:-1])
    assert history.objective[-1] > history.objective[0]


@family
def test_recording_does_not_change_the_result(model, three_gaussians):
    X, _ = three_gaussians
    recorded = model.set_params(record="states").fit(X).resting_points_
    plain = model.set_params(record=None).fit(X).resting_points_
    np.testing.assert_array_equal(recorded, plain)


def test_without_recording_there_is_no_history(three_gaussians):
    model = StochasticMeanShift(bandwidth=0.9, random_state=0).fit(three_gaussians[0])
    assert not hasattr(model, "history_")
