"""How the weights of merges are fitted."""

import numpy as np
import pytest
from scipy.special import expit

from benchmarks.fitting import merging
from benchmarks.fitting.merging import (
    ROUNDS,
    START,
    Decisions,
    Session,
    decide,
    fit_certainty,
    fit_trust,
    fit_weights,
    judge_weights,
    learn_decisions,
    number_evidence_of,
    propose,
    unseen_certainty,
)
from sms_diar.clustering import SpeakerFragmentMeanShift
from sms_diar.clustering.speakers.fragments import CERTAINTY
from sms_diar.clustering.speakers.merging import Clusters, Weights
from sms_diar.synthetic import PldaWorld

N_TERMS = len(Weights._fields) - 1
SMALLER = Weights._fields.index("smaller")


def session(n_speakers=4, seed=0, name="a/0", extractor="x", eer=0.15):
    world = PldaWorld(dim=30, eer=eer, mean_segments=30.0, std_segments=3.0)
    drawn = world.draw_session(n_speakers, random_state=seed)
    names = np.array([f"spk{number}" for number in drawn.speakers])
    return Session(name, "g", extractor, drawn.X, names)


def decided(one, weights=START, *, guided=True):
    return decide(one, propose(one), weights, guided=guided, name=one.name)


def decisions(m=400, seed=0, weights=START, name="a/0", extractor="x"):
    """Terms of which the truth is drawn as the weights say."""
    rng = np.random.default_rng(seed)
    terms = rng.standard_normal((m, N_TERMS))
    same = rng.random(m) < expit(terms @ np.array(weights[:-1]) + weights.constant)
    return Decisions(terms, same, np.full(m, name), np.full(m, extractor))


def test_what_is_kept_is_what_the_default_merges():
    one = session()
    proposed = propose(one)
    plain = SpeakerFragmentMeanShift(random_state=0).fit(one.X)
    np.testing.assert_array_equal(proposed.labels_, plain.labels_)
    assert len(proposed.fragments_) == len(one.X)
    assert proposed.fragments_.max() >= proposed.labels_.max()


def test_the_oracle_merges_until_speakers_are_left():
    found = decided(session())
    assert found.terms.shape == (len(found.same), N_TERMS)
    n_fragments = int(propose(session()).fragments_.max()) + 1
    # Every right pair is a merge, and four speakers are left.
    assert found.same.sum() == n_fragments - 4
    assert (~found.same).sum() >= 1


def test_the_terms_of_a_pair_give_its_log_odds():
    proposed = propose(session())
    clusters = Clusters.of(proposed.places_, proposed.directions_, proposed.fragments_)
    terms = merging._terms(clusters.measurements(), 0, 2)
    weights = Weights(*np.linspace(-1.0, 1.0, N_TERMS + 1))
    odds = terms @ np.array(weights[:-1]) + weights.constant
    assert odds == pytest.approx(clusters.log_odds(weights)[0, 2])


def test_one_speaker_has_no_pairs_of_two():
    found = decided(session(1, eer=0.2))
    assert len(found.same) >= 1
    assert found.same.all()


def test_a_session_of_a_few_rows_has_no_decisions():
    found = decided(Session("b/0", "g", "x", np.eye(3), np.zeros(3)))
    assert found.terms.shape == (0, N_TERMS)


def test_the_method_merges_wrongly_and_that_is_recorded():
    # With these weights every pair is likely: all fragments end in one cluster.
    anything = START._replace(constant=1000.0)
    found = decided(session(), anything, guided=False)
    n_fragments = int(propose(session()).fragments_.max()) + 1
    shown = sum(min(4, g * (g - 1) // 2) for g in range(2, n_fragments + 1))
    assert len(found.same) == shown
    assert (~found.same).sum() >= 3


def test_the_method_stops_where_nothing_is_likely():
    nothing = START._replace(constant=-1000.0)
    assert len(decided(session(), nothing, guided=False).same) == 4


def test_a_mixture_of_speakers_is_no_speaker():
    # Clusters 0 and 1 have the same main speaker, but their rows agree in a quarter of
    # all pairs (1/2 x 1/2); each agrees with cluster 2 in half of them.
    talk = np.array([[2.0, 1.0, 1.0, 0.0], [2.0, 0.0, 0.0, 2.0], [4.0, 0.0, 0.0, 0.0]])
    one, other = np.triu_indices(3, 1)
    assert merging._are_one(talk, one, other).tolist() == [False, True, True]


def test_sessions_weigh_alike_and_pairs_by_the_root_of_their_size():
    pairs = decisions(3)
    pairs.terms[:, SMALLER] = np.log([1.0, 9.0, 5.0])
    pairs.session[:] = "a", "a", "b"
    np.testing.assert_allclose(pairs.shares(), [0.25, 0.75, 1.0])


def test_weights_that_made_the_truth_are_fitted():
    wanted = Weights(1.0, -2.0, -1.0, 0.5, 0.0, 2.0, 0.2, -1.0)
    every = decisions(20_000, weights=wanted)
    # As many sessions as pairs, so that all weigh alike.
    many = Decisions(every.terms, every.same, np.arange(20_000), every.extractor)
    np.testing.assert_allclose(fit_weights(many), wanted, atol=0.15)


def test_a_measurement_that_is_left_out_has_no_weight():
    weights = fit_weights(decisions(), without=("distance",))
    assert weights.distance == 0.0
    assert weights.similarity != 0.0


def test_weights_are_judged_by_hand():
    # Scores 2 and -1 of one speaker, in two sessions: losses log(1 + e^-2) and
    # log(1 + e), and the second is wrong.
    weights = Weights(1.0, *[0.0] * N_TERMS)
    terms = np.zeros((2, N_TERMS))
    terms[:, 0] = 2.0, -1.0
    pairs = Decisions(
        terms, np.array([True, True]), np.array(["a", "b"]), np.array(["x", "x"])
    )
    loss, error = judge_weights(weights, pairs)
    assert loss == pytest.approx((np.log1p(np.exp(-2.0)) + np.log1p(np.e)) / 2.0)
    assert error == 0.5


def test_the_oracle_and_three_rounds_are_joined():
    sessions = [session(seed=0, name="a"), session(seed=1, name="b", extractor="y")]
    proposals = [propose(one) for one in sessions]
    calls = []
    found = learn_decisions(sessions, proposals, lambda: calls.append(1))
    assert len(calls) == 2 * (1 + ROUNDS)
    assert set(found.session) == {f"{n}, round {i}" for n in "ab" for i in range(4)}
    own = found.where(found.extractor == "y")
    assert 0 < len(own.same) < len(found.same)
    # Better than to know nothing, with a loss of log 2, and than the weights before.
    loss, error = judge_weights(fit_weights(found), found)
    loss_before, error_before = judge_weights(START, found)
    assert loss < min(0.2, loss_before)
    assert error < error_before


def test_trust_grows_with_nearness():
    sessions = [session(4, seed=seed, eer=0.2) for seed in range(4)]
    # A session of equal rows has no fragments.
    sessions.append(Session("c/0", "g", "x", np.ones((5, 30)), np.zeros(5)))
    values = fit_trust(sessions, [propose(one) for one in sessions])
    assert values[1] > 0.0
    assert all(np.isfinite(values))


def test_the_number_is_judged_with_weights_of_other_extractors():
    sessions = [
        session(n, seed=seed, eer=0.2, name=f"{n}/{seed}", extractor=extractor)
        for n in (2, 6)
        for seed, extractor in enumerate("xxxyyy")
    ]
    sessions.append(Session("c/0", "g", "x", np.ones((5, 30)), np.zeros(5)))
    evidence = number_evidence_of(sessions, [propose(one) for one in sessions])
    assert [len(part) for part in evidence] == [12] * 4  # equal rows have no fragments
    # Whether a number is right must not depend on weights that saw its extractor.
    rows, right, weights, extractors = evidence
    right = rows[:, 2] > np.median(rows[:, 2])
    others = extractors != "x"
    constant, *slopes = fit_certainty(rows[others], right[others], weights[others])
    assert len((constant, *slopes)) == len(CERTAINTY)
    found = unseen_certainty(rows, right, weights, extractors)
    np.testing.assert_allclose(found[~others], expit(constant + rows[~others] @ slopes))
