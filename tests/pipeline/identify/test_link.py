"""Speakers of several recordings, by made-up voice prints."""

import numpy as np
import pytest

from sms_diar.pipeline.cluster.sessions import SessionSummary
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.identify.enrol import Enrolment
from sms_diar.pipeline.identify.match import (
    identify,
    link_voices,
    match_voices,
    recurrence,
)
from sms_diar.pipeline.identify.prints import (
    NamingRules,
    VoicePrint,
    pool_prints,
    voice_prints,
)
from sms_diar.scoring.same_voice import COSINE, Calibration, VoiceComparison
from sms_diar.types import Segment, Turn

# A cosine of .5 says nothing; 1 and 0 are ratios of e**10.
HOW = VoiceComparison(Calibration(COSINE, 20.0, 0.0, 0.0, -10.0))
ANN, BOB, CLEO = np.eye(3)
LINK = NamingRules(link=True)


def voice(name, vector, seconds=10.0):
    return VoicePrint(name, tuple(map(float, vector)), 10, seconds)


def recording(name, **people):
    """Speakers who are heard one after the other, a second each."""
    turns = [
        Turn(Segment(name, float(at), at + 1.0), f"{name}-{who}")
        for at, who in enumerate(people)
    ]
    voices = tuple(
        voice(f"{name}-{who}", vector)
        for who, vector in people.items()
        if vector is not None
    )
    session = SessionSummary(name, len(turns), len(people), None, 0, converged=True)
    return DiarizedRecording(9.0, 9.0, session, tuple(turns), (), voices)


def names(recordings):
    return [[turn.speaker for turn in one.turns] for one in recordings]


def test_a_print_is_the_mean_of_windows_in_which_one_speaks_alone():
    turns = [
        Turn(Segment("r", 0.0, 4.0), "a"),
        Turn(Segment("r", 3.0, 6.0), "b"),
        Turn(Segment("r", 3.9, 4.0), "c"),
    ]
    windows = [Segment("r", at, at + 1.5) for at in (0.0, 0.75, 2.0, 3.0, 4.5)]
    vectors = np.array([[1.0, 0], [0, 1.0], [0.6, 0.8], [0.6, 0.8], [0, -1.0]])
    a, b = voice_prints(turns, windows, vectors)
    # The third and the fourth window have both speakers in them; c has none.
    assert (a.speaker, a.windows, a.seconds) == ("a", 2, 2.25)
    assert a.vector == pytest.approx((0.5, 0.5))
    assert (b.speaker, b.windows, b.seconds) == ("b", 1, 1.5)
    assert b.vector == (0.0, -1.0)
    assert voice_prints([], windows, vectors) == ()


def test_pooled_prints_are_those_of_all_windows():
    one = VoicePrint("a", (1.0, 0.0), 3, 2.0)
    other = VoicePrint("b", (0.0, 1.0), 1, 1.0)
    assert pool_prints([one, other]) == VoicePrint("a", (0.75, 0.25), 4, 3.0)
    assert pool_prints([one]) == one


def test_two_speakers_of_one_recording_are_never_one_person():
    people, _ = link_voices([voice("a", ANN), voice("b", ANN)], [0, 0], HOW)
    assert people.tolist() == [0, 1]
    voices = [voice(n, v) for n, v in zip("abc", (ANN, ANN, ANN), strict=True)]
    people, chances = link_voices(voices, [0, 0, 1], HOW)
    assert people.tolist() == [0, 1, 0]
    assert chances[1] is None
    assert chances[0] == chances[2] > 0.99


def test_the_threshold_is_a_probability_of_ratio_and_prior():
    # Cosine c has the ratio 20 c - 10. One speaker each: the prior moves little.
    near = np.array([0.6, 0.8, 0.0])
    voices = [voice("a", ANN), voice("b", near)]
    [_, _], [chance, _] = link_voices(voices, [0, 1], HOW, threshold=0.5)
    share = recurrence(np.array([[10.0, 2.0], [2.0, 10.0]]), np.array([0, 1]))
    assert chance == pytest.approx(1.0 / (1.0 + np.exp(-2.0) * (1 - share) / share))
    for threshold, people in ((chance - 1e-6, [0, 0]), (chance + 1e-6, [0, 1])):
        found, _ = link_voices(voices, [0, 1], HOW, threshold=threshold)
        assert found.tolist() == people


def test_how_often_people_recur_is_learnt_from_many_recordings():
    rng = np.random.default_rng(0)
    recordings = np.arange(40)
    strangers = np.full((40, 40), -4.0) + 0.1 * rng.normal(size=(40, 40))
    assert recurrence(strangers, recordings) < 0.02
    assert recurrence(-strangers, recordings) > 0.98
    # Two recordings of strangers: the prior is worth five times as much.
    assert 0.4 < recurrence(strangers[:2, :2], recordings[:2]) < 0.5
    assert recurrence(np.zeros((1, 1)), np.zeros(1, dtype=int)) == 0.5


def test_linked_speakers_are_numbered_as_they_are_first_heard():
    given = [
        recording("x", a=BOB, b=ANN),
        recording("y", a=CLEO, b=BOB),
        recording("z", a=ANN, b=None, c=CLEO),
    ]
    found, naming = identify(given, HOW, rules=LINK)
    assert names(found) == [
        ["spk-01", "spk-02"],
        ["spk-03", "spk-01"],
        ["spk-02", "spk-04", "spk-03"],
    ]
    assert naming.notes == (
        "link: 7 speakers of 3 recordings are 4 people, 3 of them in several "
        "recordings",
        "z: z-b has too little non-overlapped speech to be linked; it is spk-04",
    )
    assert [one.local for one in found[0].identities] == ["x-a", "x-b"]
    assert [one.speaker for one in found[0].voices] == ["spk-01", "spk-02"]
    assert identify(given, HOW, rules=LINK) == (found, naming)


def test_a_name_is_given_once_in_a_recording_and_to_the_better():
    close = np.array([0.9, 0.1, 0.0])
    known = [voice("ann", ANN), voice("bob", BOB)]
    speakers = [voice("a", close), voice("b", ANN), voice("c", CLEO)]
    found = match_voices(speakers, known, HOW)
    assert [name for name, _ in found] == [None, "ann", None]
    [first, second, third] = [matches for _, matches in found]
    assert [match.name for match in first] == ["ann", "bob"]
    assert first[0].probability == 0.0
    assert first[0].log_ratio > 5.0
    # exp(10) / 4 against 1/2 and exp(-10) / 4
    odds = np.exp(10.0) / 4
    assert second[0].score == pytest.approx(1.0)
    assert second[0].probability == pytest.approx(odds / (odds + 0.5), abs=1e-6)
    assert third[1].probability < 1e-4


def test_somebody_squeezed_out_of_one_name_may_get_the_other():
    """Both fit ann; the first fits bob nearly as well, so bob it is."""
    both = np.array([0.75, 0.65, 0.0]) / np.hypot(0.75, 0.65)
    known = [voice("ann", ANN), voice("bob", BOB)]
    found = match_voices([voice("a", both), voice("b", ANN)], known, HOW)
    assert [name for name, _ in found] == ["bob", "ann"]


def test_names_carry_over_to_linked_recordings():
    """In y, ann is too far from what was enrolled, but not from herself in x."""
    far = np.array([0.8, 0.0, 0.6])
    enrolled = np.array([0.9, 0.436, 0.0])
    given = [recording("x", a=ANN, b=BOB), recording("y", a=far)]
    known = Enrolment((voice("ann", enrolled),))
    strict = NamingRules(link=True, enrol_threshold=0.99)
    alone, _ = identify(given, HOW, known, NamingRules(enrol_threshold=0.99))
    assert names(alone) == [["ann", "x-b"], ["y-a"]]
    found, naming = identify(given, HOW, known, strict)
    assert names(found) == [["ann", "spk-01"], ["ann"]]
    assert [one.named_by for one in found[0].identities] == ["voice", None]
    assert [one.named_by for one in found[1].identities] == ["link"]
    assert naming.notes[0].startswith("enrol ann: found in x (100%)")


def test_different_names_are_never_linked():
    given = [recording("x", a=ANN), recording("y", a=np.array([0.8, 0.6, 0.0]))]
    known = Enrolment((voice("ann", ANN), voice("eve", (0.75, 0.66, 0.0))))
    found, _ = identify(given, HOW, known, LINK)
    assert names(found) == [["ann"], ["eve"]]


def test_numbers_that_were_enrolled_as_names_are_not_given_again():
    given = [recording("x", a=BOB, b=ANN)]
    known = Enrolment((voice("spk-01", ANN),))
    found, _ = identify(given, HOW, known, LINK)
    assert names(found) == [["spk-02", "spk-01"]]


def test_voices_that_were_not_found_are_named_with_the_nearest_miss():
    known = Enrolment((voice("ann", ANN),), ("about ann",))
    found, naming = identify([recording("x", a=BOB)], HOW, known)
    assert names(found) == [["x-a"]]
    assert naming.notes == (
        "about ann",
        "enrol ann: no match (best candidate 0%, threshold 50%)",
    )
