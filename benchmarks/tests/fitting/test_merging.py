"""How the weights of merges are fitted."""

import numpy as np
import pytest
from scipy.special import expit

from benchmarks.fitting import merging
from benchmarks.fitting.merging import (
    MAX_OF_GROUP,
    OFFSPRING,
    START,
    STEPS,
    Session,
    changed,
    fit_certainty,
    fit_trust,
    fit_weights,
    mean_of_groups,
    merged_labels,
    number_evidence_of,
    propose,
    quality,
    unseen_certainty,
)
from sms_diar.clustering import SpeakerFragmentMeanShift
from sms_diar.clustering._modes import by_first_appearance
from sms_diar.clustering.speakers.fragments import CERTAINTY
from sms_diar.clustering.speakers.merging import WEIGHTS, Weights
from sms_diar.metrics import score_clustering
from sms_diar.synthetic import PldaWorld


def session(n_speakers=4, seed=0, name="a/0", extractor="x", eer=0.15):
    world = PldaWorld(dim=30, eer=eer, mean_segments=30.0, std_segments=3.0)
    drawn = world.draw_session(n_speakers, random_state=seed)
    names = np.array([f"spk{number}" for number in drawn.speakers])
    return Session(name, "g", extractor, drawn.X, names)


def test_what_is_kept_is_what_the_default_merges():
    one = session()
    proposed = propose(one)
    plain = SpeakerFragmentMeanShift(random_state=0).fit(one.X)
    np.testing.assert_array_equal(proposed.labels_, plain.labels_)
    assert len(proposed.fragments_) == len(one.X)
    assert proposed.fragments_.max() >= proposed.labels_.max()


def test_merging_again_gives_the_same_labels_with_the_same_weights():
    one = session()
    proposed = propose(one)
    found = by_first_appearance(merged_labels(one, proposed))
    np.testing.assert_array_equal(found, proposed.labels_)
    with changed((merging.merging, "WEIGHTS", WEIGHTS._replace(constant=1000.0))):
        assert merged_labels(one, proposed).max() == 0
    n_fragments = int(proposed.fragments_.max()) + 1
    with changed((merging.merging, "WEIGHTS", WEIGHTS._replace(constant=-1000.0))):
        assert merged_labels(one, proposed).max() == n_fragments - 1


def test_a_session_of_a_few_rows_keeps_its_labels():
    one = Session("b/0", "g", "x", np.eye(3), np.zeros(3))
    assert merged_labels(one, propose(one)).tolist() == [0, 0, 0]


def test_changes_are_undone_after_an_error():
    before = merging.START
    with changed((merging, "START", 7)):
        assert merging.START == 7
    assert before == merging.START
    with pytest.raises(KeyError), changed((merging, "START", 7)):
        raise KeyError
    assert before == merging.START


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        # K = 1 and the right number.
        ([0, 0, 1, 1], 1.0 + 0.15 + 0.1),
        # One cluster: purity of the cluster 1/2, of the speakers 1: K = .707; half of
        # the number.
        ([0, 0, 0, 0], 0.5**0.5 + 0.1 - 0.1 * np.log(2) - (0.75 - 0.5**0.5)),
        # Four clusters: purity 1, and 1/2 of the speakers; twice the number.
        ([0, 1, 2, 3], 0.5**0.5 - 0.1 * np.log(2) - (0.75 - 0.5**0.5)),
    ],
)
def test_the_quality_of_labels_by_hand(labels, expected):
    one = Session("a/0", "g", "x", np.eye(4), np.array(["a", "a", "b", "b"]))
    assert quality(one, np.array(labels)) == pytest.approx(expected)


def test_a_cluster_that_absorbs_a_crowd_costs_quality():
    # Of 30 speakers with four rows, 15 are one cluster: the paper's K hardly shows it.
    speakers = np.repeat(np.arange(30), 4)
    one = Session("a/0", "g", "x", np.eye(120), speakers)
    absorbed = np.where(speakers < 15, 15, speakers)
    k = score_clustering(speakers, absorbed).purity.k
    assert k > 0.9
    assert quality(one, absorbed) < k - 0.15


def test_groups_count_alike():
    groups = [Session("", name, "x", np.eye(1), np.zeros(1)) for name in "aaab"]
    assert mean_of_groups(groups, [1.0, 2.0, 3.0, 10.0]) == 6.0


def test_the_search_finds_the_weights_that_are_best(monkeypatch):
    # In place of sessions, the quality is highest at these weights.
    best = Weights(*(np.array(START) + 1.5 * np.array(STEPS)))

    def closeness(_, weights):
        return -np.sum(((np.array(weights) - best) / STEPS) ** 2)

    monkeypatch.setattr(merging, "_mean_quality", closeness)
    steps = []
    found = fit_weights([], [], progress=lambda: steps.append(1))
    assert len(steps) == merging.GENERATIONS
    assert np.abs((np.array(found) - best) / STEPS).max() < 0.3
    assert found == fit_weights([], [])  # the seed decides
    assert found != fit_weights([], [], seed=1)
    without = fit_weights([], [], ("distance", "width"))
    assert without.distance == without.width == 0.0
    assert abs(without.larger - best.larger) < 0.3 * STEPS.larger


def test_weights_of_real_sessions_are_better_than_others():
    sessions = [session(n, seed=n, name=f"{n}", eer=0.2) for n in (2, 5, 8)]
    proposals = [propose(one) for one in sessions]

    def mean_quality(weights):
        with changed((merging.merging, "WEIGHTS", weights)):
            pairs = zip(sessions, proposals, strict=True)
            return np.mean(
                [quality(one, merged_labels(one, own)) for one, own in pairs]
            )

    with changed((merging, "START", START._replace(constant=2.0))):
        found = fit_weights(sessions, proposals, generations=8)
        assert mean_quality(found) > mean_quality(merging.START)


def test_groups_are_thinned_evenly():
    sessions = [session(2, name=f"{n}") for n in range(3)]
    sessions = [*sessions * 9, Session("e", "g", "x", np.ones((5, 30)), np.zeros(5))]
    proposals = [propose(one) for one in sessions[:3]] * 9 + [propose(sessions[-1])]
    chosen = merging._some_of_each(sessions, proposals)
    # 27 sessions of one group, every third; equal rows have no fragments.
    assert len(chosen) == 9 <= MAX_OF_GROUP
    assert {one.name for one, _ in chosen} == {"0"}
    assert OFFSPRING % 2 == 0


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
    right = rows[:, 1] > np.median(rows[:, 1])
    others = extractors != "x"
    constant, *slopes = fit_certainty(rows[others], right[others], weights[others])
    assert len((constant, *slopes)) == len(CERTAINTY)
    found = unseen_certainty(rows, right, weights, extractors)
    np.testing.assert_allclose(found[~others], expit(constant + rows[~others] @ slopes))
