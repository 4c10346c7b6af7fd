"""What is said about a session, and when it is in doubt."""

import json

import pytest

from sms_diar.pipeline.sessions import SessionSummary, session_table


def summary(n_segments=40, n_speakers=2, k=None, **known):
    return SessionSummary("call", n_segments, n_speakers, k, 10, True, **known)


def test_methods_that_do_not_tell_leave_no_doubt():
    assert summary().doubts == ()
    assert summary(n_speakers=40, n_segments=40).doubts == ()


def test_a_sure_number_is_not_in_doubt():
    assert summary(count_posterior={2: 0.7, 3: 0.3}, confidence=0.9).doubts == ()


def test_an_unsure_number_names_its_rivals_likeliest_first():
    posterior = {1: 0.06, 2: 0.42, 3: 0.3, 4: 0.15, 5: 0.07, 6: 0.04}
    assert summary(count_posterior=posterior).doubts == (
        "2 speakers are 42% likely, against 3 (30%), 4 (15%), 5 (7%)",
    )
    spread = dict.fromkeys(range(2, 22), 0.05)
    assert summary(count_posterior=spread).doubts == ("2 speakers are 5% likely",)


def test_a_number_that_was_asked_for_is_not_in_doubt():
    given = {"number_given": True, "count_posterior": {1: 1.0}}
    assert summary(n_segments=3, n_speakers=1, **given).doubts == ()
    assert summary(n_segments=3, n_speakers=1, number_given=True).doubts == ()


def test_one_segment_is_one_speaker_without_doubt():
    assert summary(n_segments=1, n_speakers=1, count_posterior={1: 1.0}).doubts == ()


def test_a_sure_posterior_does_not_make_thin_evidence_thick():
    found = summary(n_segments=6, n_speakers=1, count_posterior={1: 1.0}).doubts
    assert found == ("one speaker on the evidence of 6 segments",)


def test_numbers_of_speakers_are_texts_in_plain_values():
    words = summary(count_posterior={2: 0.75, 3: 0.25}).to_dict()
    assert words["count_posterior"] == {"2": 0.75, "3": 0.25}
    assert words["n_speakers"] == 2
    assert json.loads(json.dumps(words)) == words
    assert summary().to_dict()["count_posterior"] is None


@pytest.mark.parametrize(("n_segments", "said"), [(19, 1), (20, 0)])
def test_one_speaker_of_a_few_segments_is_thin_evidence(n_segments, said):
    found = summary(n_segments, 1, count_posterior={1: 0.9, 2: 0.1}).doubts
    assert len(found) == said
    if said:
        assert found == ("one speaker on the evidence of 19 segments",)


def test_more_speakers_than_minutes_are_many():
    # 90 s of speech: 3 speakers are fine, 4 are more than 2 + 1.5.
    assert summary(n_speakers=3, seconds=90.0).doubts == ()
    assert summary(n_speakers=4, seconds=90.0).doubts == (
        "4 speakers in 1.5 minutes of speech are many",
    )


def test_two_speakers_in_half_a_minute_are_a_dialogue():
    assert summary(n_speakers=2, seconds=30.0).doubts == ()
    assert len(summary(n_speakers=3, seconds=30.0).doubts) == 1


def test_labels_that_are_hardly_trusted_are_said_to_be():
    assert summary(confidence=0.7).doubts == ()
    assert summary(confidence=0.654).doubts == (
        "labels are thought right in 65% of the segments",
    )


def test_all_doubts_are_told():
    one = summary(
        n_speakers=5,
        count_posterior={5: 0.5, 4: 0.5},
        confidence=0.5,
        seconds=60.0,
    )
    assert len(one.doubts) == 3


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
