"""How the weights of joins are learnt."""

import numpy as np
import pytest
from scipy.special import expit
from sms_diar.clustering.speakers.same_speaker import MEASUREMENTS, Groups, Weights
from sms_diar.clustering.speakers.times import RowTimes

from benchmarks.fitting import merging
from benchmarks.fitting.merging import (
    OFFSETS,
    START,
    Decisions,
    Fragmented,
    Session,
    decide,
    fit_trust,
    fit_weights,
    judge_weights,
    learn_decisions,
    n_passes,
)
from sms_diar.preprocessing import scale_rows
from sms_diar.synthetic import PldaWorld
from sms_diar.types import Segment

N_TERMS = len(Weights._fields) - 1


def fragmented(*args, **options):
    return Fragmented.of(session(*args, **options))


def session(n_speakers=4, seed=0, name="a/0", extractor="x", eer=0.15):
    world = PldaWorld(dim=30, eer=eer, mean_segments=30.0, std_segments=3.0)
    drawn = world.draw_session(n_speakers, random_state=seed)
    names = np.array([f"spk{number}" for number in drawn.speakers])
    return Session(name, extractor, drawn.X, names)


def decisions(m=400, seed=0, weights=START, session="a/0", extractor="x"):
    """Measurements of which the truth is drawn as the weights say."""
    rng = np.random.default_rng(seed)
    measured = rng.standard_normal((m, N_TERMS))
    score = measured @ np.array(weights[:-1]) + weights.constant
    same = rng.random(m) < expit(score)
    return Decisions(measured, same, np.full(m, session), np.full(m, extractor))


def test_the_oracle_joins_until_speakers_are_left():
    found = decide(fragmented())
    assert found.measured.shape == (len(found.same), N_TERMS)
    assert np.isfinite(found.measured).all()
    # Every right pair is a join; wrong pairs were looked at before or at the end.
    assert found.same.sum() >= 1
    assert (~found.same).sum() >= 1
    assert set(found.session) == {"a/0"}
    assert set(found.extractor) == {"x"}


def test_one_speaker_has_no_pairs_of_two():
    found = decide(fragmented(1, eer=0.2))
    assert len(found.same) >= 1
    assert found.same.all()


def test_a_session_of_a_few_rows_teaches_nothing():
    found = decide(Fragmented.of(Session("b/0", "x", np.eye(3), np.zeros(3))))
    assert found.measured.shape == (0, N_TERMS)


def test_no_step_gives_many_wrong_pairs(monkeypatch):
    monkeypatch.setattr(merging, "_WRONG", 1)
    few = decide(fragmented(6))
    # One wrong pair at most before each join, and one where none is right any more.
    assert (~few.same).sum() <= few.same.sum() + 1


def test_the_same_session_gives_the_same_decisions():
    one, two = decide(fragmented()), decide(fragmented())
    np.testing.assert_array_equal(one.measured, two.measured)


def test_on_its_own_way_the_method_joins_wrongly_and_learns_from_it():
    # Weights that find every pair likely: all fragments end in one group.
    anything = START._replace(constant=100.0)
    found = decide(fragmented(), anything, guided=False)
    guided = decide(fragmented(), anything)
    n_groups = 1 + int(fragmented().proposal.fragments.max())
    shown = sum(min(4, g * (g - 1) // 2) for g in range(2, n_groups + 1))
    assert len(found.same) == shown
    assert (~found.same).sum() > (~guided.same).sum()


def test_on_its_own_way_the_method_stops_where_nothing_is_likely():
    nothing = START._replace(constant=-1000.0)
    found = decide(fragmented(), nothing, guided=False)
    assert len(found.same) == 4  # shown once, and nothing joined


def test_a_mixture_of_speakers_is_no_speaker():
    # Groups 0 and 1 have the same most frequent speaker, but their rows agree in a
    # quarter of all pairs (1/2 x 1/2); groups 1 and 2 in half of them.
    talk = np.array([[2.0, 1.0, 1.0, 0.0], [2.0, 0.0, 0.0, 2.0], [4.0, 0.0, 0.0, 0.0]])
    fragments = fragmented().proposal
    labels = np.arange(len(fragments.fragments)) % 3
    step = merging._Step.of(Groups.of(fragments.members, labels), talk, START)
    true = {
        (int(a), int(b)): bool(t)
        for a, b, t in zip(step.one, step.other, step.true, strict=True)
    }
    assert true == {(0, 1): False, (0, 2): True, (1, 2): True}
    assert (np.diff(step.probability) <= 0.0).all()


def test_groups_count_by_the_root_of_their_size():
    pairs = decisions(2)
    pairs.measured[:, MEASUREMENTS.index("smaller")] = np.log([1.0, 9.0])
    np.testing.assert_allclose(merging._shares(pairs), [0.25, 0.75])


def test_a_constant_of_the_wanted_length_is_added():
    plain = session()
    moved = plain.shifted(0.7)
    added = moved.X - scale_rows(plain.X)
    np.testing.assert_allclose(added, np.tile(added[0], (len(added), 1)))
    assert np.linalg.norm(added[0]) == pytest.approx(0.7)
    assert moved.name == "a/0 + 0.7"
    np.testing.assert_array_equal(moved.speakers, plain.speakers)


def test_times_are_known_where_there_are_segments():
    plain = session()
    assert plain.times == (None, 1.0)
    windows = [Segment("a", 0.5 * i, 0.5 * i + 1.0) for i in range(len(plain.X))]
    timed = Session("a/0", "x", plain.X, plain.speakers, windows)
    times, weight = timed.times
    assert isinstance(times, RowTimes)
    assert weight == pytest.approx(0.5, abs=0.02)


def test_decisions_are_joined_and_parted_by_extractor():
    both = Decisions.join([decisions(10), decisions(6, extractor="y")])
    assert len(both.same) == 16
    assert len(both.of("y").same) == len(both.without("x").same) == 6
    np.testing.assert_array_equal(both.without("y").measured, decisions(10).measured)


def test_weights_that_made_the_truth_are_learnt():
    wanted = Weights(1, -2, -1, 0.5, 0, 2, 0.2, -0.5, 1, 0, 0.3, -0.2, 0, -1)
    every = decisions(20_000, weights=wanted)
    # As many sessions as pairs, so that there is no need for caution.
    many = Decisions(every.measured, every.same, np.arange(20_000), every.extractor)
    found = fit_weights(many)
    np.testing.assert_allclose(found, wanted, atol=0.15)


def test_sessions_count_alike_however_many_pairs_they_have():
    small, other = decisions(50, seed=1), decisions(60, seed=2, session="b/0")
    once = Decisions.join([small, other])
    often = Decisions.join([small, *[other] * 20])
    # Repeating all pairs of a session changes nothing but rounding in the scaler.
    shares = merging._shares(often)
    for name in ("a/0", "b/0"):
        assert shares[often.session == name].sum() == pytest.approx(1.0)
    assert judge_weights(START, often) == pytest.approx(judge_weights(START, once))


def test_weights_are_judged_by_hand():
    # Scores 2 and -1 of one speaker, in two sessions: losses log(1 + e^-2) and
    # log(1 + e), and the second is wrong.
    weights = Weights(1.0, *[0.0] * N_TERMS)
    measured = np.zeros((2, N_TERMS))
    measured[:, 0] = 2.0, -1.0
    pairs = Decisions(
        measured, np.array([True, True]), np.array(["a", "b"]), np.array(["x", "x"])
    )
    loss, error = judge_weights(weights, pairs)
    assert loss == pytest.approx((np.log1p(np.exp(-2.0)) + np.log1p(np.e)) / 2.0)
    assert error == 0.5


def test_two_passes_and_offsets_are_learnt_from():
    sessions = [
        session(seed=0, name="a/0"),
        session(seed=1, name="a/1"),
        session(seed=2, name="b/0"),
    ]
    told = []
    found = learn_decisions(sessions, lambda: told.append(1))
    # Three once and then twice more, with each offset of the first of a condition.
    assert len(told) == n_passes(sessions) == 3 + 2 * (3 + len(OFFSETS) * 2)
    names = set(found.session.tolist())
    assert {"a/0", "a/1", "b/0", "a/0 + 0.7", "b/0 + 1.2"} <= names
    assert not {"a/1 + 0.7", "a/1 + 1.2"} & names
    # Better than to know nothing, with a loss of log 2.
    loss, error = judge_weights(fit_weights(found), found)
    assert loss < 0.2
    assert error < 0.05


def test_trust_grows_with_nearness():
    told = []
    sessions = [session(4, seed=seed, eer=0.2) for seed in range(4)]
    # A session of equal rows teaches nothing, and breaks nothing.
    sessions.append(Session("c/0", "x", np.ones((5, 30)), np.zeros(5)))
    constant, slope, of_number = fit_trust(sessions, lambda: told.append(1))
    assert len(told) == 5
    assert slope > 0.0
    assert all(np.isfinite([constant, of_number]))
