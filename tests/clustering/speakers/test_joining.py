"""Fragments become speakers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit
from sms_diar.clustering.speakers.joining import ENOUGH, join_fragments
from sms_diar.clustering.speakers.same_speaker import Groups
from sms_diar.clustering.speakers.untrained import members_of

from sms_diar.clustering.speakers import joining
from sms_diar.metrics import score_clustering
from sms_diar.preprocessing import scale_rows


def session(n_speakers=3, each=12, seed=0, q=6):
    """Separated speakers, each in pieces of four segments."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_speakers), each)
    voices = 8.0 * rng.standard_normal((n_speakers, q))
    places = voices[truth] + rng.standard_normal((len(truth), q))
    return members_of(places, scale_rows(places), None), truth


def slow_join(members, labels, low, high):
    """Join by join, all sums anew."""
    taken = []
    while labels.max() + 1 > max(low, 1):
        way, probabilities = slow_way(members, labels, max(low, 1))
        if probabilities[0] >= ENOUGH or labels.max() + 1 > high:
            worth = 1
        else:
            known = np.clip(probabilities, 1e-9, 1 - 1e-9)
            gains = np.cumsum(logit(known) - logit(ENOUGH))
            if gains.max() <= 0.0:
                break
            worth = int(np.argmax(gains)) + 1
        labels, taken = way[worth - 1], taken + probabilities[:worth]
    return labels, taken


def slow_way(members, labels, fewest):
    """Joins down to the fewest groups, as probable as if none had been made."""
    crowd = labels.max() + 1
    way, probabilities = [], []
    while labels.max() + 1 > fewest:
        same = replace(Groups.of(members, labels), crowd=crowd).same()
        kept, gone = sorted(np.unravel_index(np.argmax(same), same.shape))
        labels = np.where(labels == gone, kept, labels)
        labels = labels - (labels > gone)
        probabilities.append(same[kept, gone])
        way.append(labels)
    return way, probabilities


def test_pieces_of_speakers_are_put_together():
    members, truth = session()
    pieces = np.arange(36) // 4
    joined = join_fragments(members, pieces, 1, 36)
    np.testing.assert_array_equal(joined.labels, truth)
    # Nine pieces, three speakers: six joins; two more would end at one speaker.
    assert len(joined.taken) == 6
    assert len(joined.refused) == 2
    assert min(joined.taken) >= ENOUGH > max(joined.refused)
    np.testing.assert_array_equal(pieces, np.arange(36) // 4)  # left as they were


@given(st.integers(0, 500), st.integers(1, 9), st.integers(0, 8))
def test_joins_are_those_of_sums_made_anew(seed, low, more):
    members, _ = session(seed=seed, n_speakers=3)
    pieces = np.arange(36) // 4
    joined = join_fragments(members, pieces, low, low + more)
    labels, taken = slow_join(members, pieces, low, low + more)
    np.testing.assert_array_equal(joined.labels, labels)
    np.testing.assert_allclose(joined.taken, taken, atol=1e-6)


@pytest.mark.parametrize("wanted", range(1, 10))
def test_bounds_are_met_exactly_as_far_as_fragments_reach(wanted):
    members, _ = session()
    pieces = np.arange(36) // 4
    found = join_fragments(members, pieces, wanted, wanted)
    assert found.labels.max() + 1 == wanted
    assert len(found.refused) == 0
    assert len(found.taken) == 9 - wanted


def test_a_doubtful_join_is_made_if_it_makes_others_certain(monkeypatch):
    # Four groups: the best pair has .3, and then everything is one speaker.
    chances = {4: 0.3, 3: 0.9, 2: 0.9}

    def same(groups):
        chance = np.zeros((len(groups), len(groups)))
        if len(groups) > 1:
            chance[0, 1] = chance[1, 0] = chances[len(groups)]
        return chance

    monkeypatch.setattr(Groups, "same", same)
    members, _ = session()
    pieces = np.arange(36) // 9
    joined = join_fragments(members, pieces, 1, 36)
    assert joined.taken == [0.3, 0.9, 0.9]
    assert joined.refused == []
    # If what follows is no better, it is not made, and the odds of all are told.
    chances.update({3: 0.35, 2: 0.2})
    left = join_fragments(members, pieces, 1, 36)
    assert left.taken == []
    assert left.refused == [0.3, 0.35, 0.2]


def test_fewer_fragments_than_wanted_stay_as_they_are():
    members, truth = session()
    found = join_fragments(members, truth, 20, 30)
    np.testing.assert_array_equal(found.labels, truth)
    assert found.taken == found.refused == []


def test_one_fragment_is_one_speaker():
    members, truth = session()
    found = join_fragments(members, np.zeros_like(truth), 1, 36)
    assert found.labels.max() == 0
    assert found.taken == found.refused == []


@pytest.mark.parametrize("wanted", [1, 3, 7, 20])
def test_very_many_groups_are_joined_pair_by_pair_within_the_bounds(
    monkeypatch, wanted
):
    monkeypatch.setattr(joining, "_FEW", 10)
    members, truth = session(each=20)
    found = join_fragments(members, np.arange(60) // 2, wanted, wanted)
    assert found.labels.max() + 1 == wanted
    free = join_fragments(members, np.arange(60) // 2, 1, 60)
    assert score_clustering(truth, free.labels).majority.g == 1.0


def test_progress_tells_the_share_that_is_joined():
    members, _ = session()
    told = []
    join_fragments(members, np.arange(36) // 4, 1, 36, told.append)
    assert told == pytest.approx([step / 9 for step in range(1, 7)])
