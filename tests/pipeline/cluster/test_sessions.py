"""Summaries of sessions, and when their answers are in doubt."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar.pipeline.cluster.sessions import SessionSummary, session_table


def summary(n_segments=40, n_speakers=2, k=None, **known):
    return SessionSummary("call", n_segments, n_speakers, k, 10, True, **known)


def test_methods_without_probabilities_raise_no_doubt():
    assert summary().doubts == ()
    assert summary(n_speakers=40, n_segments=40).doubts == ()
    assert summary(n_speakers=1, n_segments=3).doubts == ()


@pytest.mark.parametrize("n_speakers", [1, 2, 6])
def test_a_number_that_is_probably_right_is_not_in_doubt(n_speakers):
    posterior = {n_speakers: 0.55, n_speakers + 1: 0.45}
    known = {"count_posterior": posterior, "confidence": 0.3, "seconds": 30.0}
    assert summary(n_segments=3, n_speakers=n_speakers, **known).doubts == ()


def test_an_improbable_number_names_its_alternatives_likeliest_first():
    posterior = {1: 0.06, 2: 0.42, 3: 0.3, 4: 0.15, 5: 0.07, 6: 0.04}
    assert summary(count_posterior=posterior).doubts == (
        "the number of speakers is uncertain: 2 (42%), 3 (30%), 4 (15%), 5 (7%)",
    )
    spread = dict.fromkeys(range(2, 22), 0.05)
    assert summary(count_posterior=spread).doubts == (
        "the number of speakers is uncertain: 2 (5%)",
    )


def test_an_answer_that_is_not_the_likeliest_number_is_explained():
    [doubt] = summary(n_speakers=4, count_posterior={4: 0.19, 5: 0.41, 6: 0.4}).doubts
    assert doubt.startswith("the number of speakers is uncertain: 4 (19%), 5 (41%)")
    assert doubt.endswith("give the number if you know it")


def test_a_number_that_the_caller_fixed_is_not_in_doubt():
    fixed = {"number_given": True, "count_posterior": {1: 0.2, 2: 0.8}}
    assert summary(n_segments=3, n_speakers=1, **fixed).doubts == ()


@pytest.mark.parametrize(
    ("rival", "fault"),
    [(200, "several speakers may share a label"), (1, "one speaker may have several")],
)
def test_a_far_better_partition_is_a_doubt(rival, fault):
    [doubt] = summary(rival=rival, count_posterior={2: 1.0}).doubts
    assert f"about {rival} clusters" in doubt
    assert fault in doubt


@given(
    st.dictionaries(st.integers(1, 9), st.floats(0.01, 1.0), min_size=1),
    st.integers(1, 12),
)
def test_the_posterior_of_turns_is_about_the_number_in_the_turns(weights, n_turns):
    total = sum(weights.values())
    posterior = {number: weight / total for number, weight in weights.items()}
    clusters = max(posterior, key=lambda number: posterior[number])
    clustered = summary(n_speakers=clusters, count_posterior=posterior)
    turns = clustered.of_turns(n_turns)
    assert turns.n_speakers == n_turns
    assert n_turns in turns.count_posterior
    assert sum(turns.count_posterior.values()) == pytest.approx(1.0)
    if n_turns != clusters and posterior[clusters] > 0.99:
        assert turns.doubts


def test_turns_of_a_fixed_number_claim_no_probability():
    fixed = summary(number_given=True, count_posterior={2: 1.0})
    assert fixed.of_turns(1).count_posterior is None
    assert fixed.of_turns(1).doubts == ()


def test_numbers_of_speakers_are_strings_in_plain_values():
    values = summary(count_posterior={2: 0.75, 3: 0.25}).to_dict()
    assert values["count_posterior"] == {"2": 0.75, "3": 0.25}
    assert values["n_speakers"] == 2
    assert json.loads(json.dumps(values)) == values
    assert summary().to_dict()["count_posterior"] is None


def test_several_sessions_have_a_mean():
    text = session_table([summary(), summary(n_speakers=5)])
    assert text.endswith("2 sessions, 3.50 speakers on average")
    assert "average" not in session_table([summary()])


def test_k_is_a_column_only_if_a_session_has_it():
    head = ["session", "segments", "speakers"]
    without, with_k = summary(k=None), summary(k=7)
    assert session_table([without, without]).splitlines()[0].split() == head
    lines = session_table([without, with_k]).splitlines()
    assert lines[0].split() == [*head, "k"]
    assert [line.split()[-1] for line in lines[1:3]] == ["-", "7"]
