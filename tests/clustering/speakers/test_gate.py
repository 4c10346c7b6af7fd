"""The gate: neighbours must score a share of the self-score, or be the best."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sms_diar._numba import kernel
from sms_diar.clustering import SpeakerStochasticMeanShift
from sms_diar.clustering.speakers import _kernels, _reference
from sms_diar.clustering.speakers._reference import Gate
from sms_diar.preprocessing import FoldedChain
from sms_diar.scoring import build_backend, train_backend

pytestmark = pytest.mark.compiled

select, pass_gate = kernel(_kernels.select), kernel(_kernels.pass_gate)


def cosine():
    return build_backend(FoldedChain(np.eye(2), np.zeros(2), in_length=1.0))


def session(seed=0, n_speakers=4, per_speaker=12, dim=8, spread=0.8):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), per_speaker)
    speakers = rng.standard_normal((n_speakers, dim))
    return speakers[truth] + spread * rng.standard_normal((len(truth), dim)), truth


def plda(dim=8):
    X, truth = session(100, n_speakers=40, per_speaker=10, dim=dim)
    return train_backend(X, truth, n_components=dim - 2)


def test_a_gate_keeps_a_share_of_the_self_score_and_the_best():
    # Cosine scores of 0 degrees with 0, 20, 50, 70 degrees: 1, 0.94, 0.64, 0.34.
    angles = np.radians([0.0, 20.0, 50.0, 70.0])
    states = np.column_stack([np.cos(angles), np.sin(angles)])

    def near(share, least, k=4):
        gate = Gate(share, least)
        return _reference.nearest(0, states, cosine(), k, gate=gate).tolist()

    assert near(0.6, 1) == [0, 1, 2]
    assert near(0.9, 1) == [0, 1]
    assert near(0.99, 1) == [0]
    assert near(0.99, 3) == [0, 1, 2]  # the three best, itself among them
    assert near(0.6, 1, k=2) == [0, 1]  # a gate adds nobody to the k best
    assert near(0.0, 1) == [0, 1, 2, 3]


def test_one_gated_step_is_the_mean_of_those_who_pass():
    # From 0 degrees with a gate of 0.9: 0 and 20 degrees; from 180: itself.
    angles = np.radians([0.0, 20.0, 50.0, 70.0, 180.0])
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    draws = [np.random.default_rng(seed).integers(5, size=1)[0] for seed in range(20)]
    for point, target in ((0, (X[0] + X[1]) / 2), (4, X[4])):
        model = SpeakerStochasticMeanShift(
            backend=cosine(),
            k=4,
            gate=0.9,
            gate_least=1,
            max_steps=1,
            random_state=draws.index(point),
        )
        with pytest.warns(ConvergenceWarning):
            model.fit(X)
        np.testing.assert_allclose(model.resting_points_[point], target, atol=1e-15)


ranks = st.lists(st.integers(0, 5), min_size=1, max_size=30)


@given(ranks, st.integers(1, 35), st.integers(-1, 6), st.integers(1, 35))
def test_the_kernel_passes_whom_the_reference_passes(values, k, limit, least):
    scores = np.array(values, dtype=float)
    best, heap = np.empty(k, dtype=np.int64), np.empty(k)
    size = select(scores, k, best, heap)
    size = pass_gate(scores, best, size, float(limit), least, heap)
    ranked = np.argsort(-scores, kind="stable")[:k]
    want = ranked[Gate(1.0, least).choose(scores[ranked], float(limit))]
    np.testing.assert_array_equal(best[:size], np.sort(want))


# Not a share of 1: a point at the very place of another scores its self-score, and
# the last digit of either would decide.
shares = st.sampled_from([-1.0, 0.0, 0.3, 0.7, 0.95])
gates = st.builds(Gate, shares, st.integers(1, 9))


@given(st.integers(0, 50), gates, st.integers(1, 20))
def test_gated_runs_equal_the_reference(seed, gate, k):
    X, _ = session(seed, per_speaker=8)
    backend = plda()
    prepared = backend.prepare(X)
    sms = SpeakerStochasticMeanShift(
        backend=backend,
        k=k,
        gate=gate.share,
        gate_least=gate.least,
        max_steps=150,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sms.fit(X)
    draws = np.random.default_rng(seed).integers(len(X), size=150)
    want, steps = _reference.stochastic(
        prepared, backend, draws, np.full(150, k), 1e-3, len(X), gate
    )
    np.testing.assert_allclose(sms.resting_points_, want, atol=1e-9)
    assert sms.n_steps_ == steps


def test_a_gate_that_all_pass_changes_nothing():
    X, _ = session()
    model = SpeakerStochasticMeanShift(random_state=0)
    free = clone(model).set_params(k=9).fit(X)
    for params in ({"gate": -1e9}, {"gate": 1.0, "gate_least": 9}):
        gated = clone(model).set_params(k=9, **params).fit(X)
        np.testing.assert_array_equal(free.resting_points_, gated.resting_points_)


def test_a_gate_saves_small_speakers_from_being_swallowed():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [40, 40, 6])
    X = rng.standard_normal((3, 12))[truth] + 0.25 * rng.standard_normal((86, 12))
    model = SpeakerStochasticMeanShift(k=17, gate=0.3, random_state=0)
    np.testing.assert_array_equal(model.fit_predict(X), truth)
