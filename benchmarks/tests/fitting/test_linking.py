"""Recordings in which speakers recur, and figures computed by hand."""

import numpy as np
import pytest

from benchmarks.fitting.linking_pairs import Pairs, cost, fit_calibration, pairs_of
from benchmarks.fitting.linking_rates import link_rates, name_rates
from benchmarks.fitting.linking_recordings import enrolment_audio, make_recordings
from sms_diar.pipeline.cluster.sessions import SessionSummary
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.identify.prints import Identity, VoicePrint
from sms_diar.scoring.same_voice import COSINE, Calibration, VoiceComparison
from sms_diar.types import Segment, Turn

# Ten seconds each of two people in two recordings.
REFERENCE = [
    Turn(Segment(name, start, start + 10.0), who)
    for name in ("x", "y")
    for start, who in ((0.0, "ann"), (10.0, "bob"))
]


def diarized(name, first, second, named=(None, None)):
    turns = (
        Turn(Segment(name, 0.0, 10.0), first),
        Turn(Segment(name, 10.0, 20.0), second),
    )
    voices = (
        VoicePrint(first, (1.0, 0.0), 5, 4.0),
        VoicePrint(second, (0.0, 1.0), 9, 8.0),
    )
    session = SessionSummary(name, 2, 2, None, 0, converged=True)
    identities = tuple(
        Identity(who, who, by) for who, by in zip((first, second), named, strict=True)
    )
    return DiarizedRecording(20.0, 20.0, session, turns, (), voices, identities)


def test_recordings_share_speakers_but_no_speech(noise_corpora, tmp_path):
    corpus = noise_corpora[0]  # three speakers of eight segments
    made = make_recordings(corpus, tmp_path, speakers=2, parts=2, kept=1)
    people = {}
    for turn in made.reference:
        people.setdefault(turn.speaker, set()).add(turn.segment.recording)
    assert [len(people[name]) for name in ("a0", "a1", "a2")] == [2, 2, 2]
    alone = enrolment_audio(corpus, tmp_path, parts=2, seconds=2.0)
    folders = [*(tmp_path / f"r{n:03d}" for n in range(len(made.paths)))]
    folders += [tmp_path / f"enrol-{name}" for name in alone]
    used = [
        line.split()[1:]
        for folder in folders
        for line in (folder.parent / f"{folder.name}-source" / "segments")
        .read_text()
        .splitlines()
    ]
    assert len(used) == 24
    assert len({tuple(one) for one in used}) == 24


def test_rates_of_links_are_those_by_hand():
    perfect = [diarized("x", "1", "2"), diarized("y", "1", "2")]
    found = link_rates(perfect, REFERENCE)
    assert (found["pairs"], found["precision"], found["recall"]) == (2.0, 1.0, 1.0)
    assert (found["der"], found["der_alone"], found["people"]) == (0.0, 0.0, 2.0)
    # One link of two is missing: a quarter of the speech has a second name.
    found = link_rates([perfect[0], diarized("y", "1", "3")], REFERENCE)
    assert (found["precision"], found["recall"]) == (1.0, 0.5)
    assert found["der_alone"] == 0.0
    assert found["der"] == pytest.approx(0.25, abs=0.01)
    # Both are the wrong way round.
    found = link_rates([perfect[0], diarized("y", "2", "1")], REFERENCE)
    assert (found["precision"], found["recall"]) == (0.0, 0.0)
    assert found["der"] == pytest.approx(0.5, abs=0.01)


def test_rates_of_names_are_those_by_hand():
    recordings = [
        diarized("x", "ann", "eve", ("voice", "voice")),
        diarized("y", "eve", "spk", ("voice", None)),
    ]
    found = name_rates(recordings, REFERENCE, ["ann", "eve"])
    # ann is right in x and confused in y; bob, unknown, is accepted in x.
    assert found == {
        "known": 2.0,
        "rejected": 0.0,
        "confused": 0.5,
        "unknown": 2.0,
        "accepted": 0.5,
    }


def test_pairs_are_of_different_recordings():
    how = VoiceComparison(Calibration(COSINE, 1.0, 0.0, 0.0, 0.0))
    pairs = pairs_of([diarized("x", "1", "2"), diarized("y", "1", "2")], REFERENCE, how)
    assert pairs.scores.tolist() == [1.0, 0.0, 0.0, 1.0]
    assert pairs.same.tolist() == [True, False, False, True]
    assert pairs.shorter.tolist() == [4.0, 4.0, 4.0, 8.0]
    assert pairs.longer.tolist() == [4.0, 8.0, 8.0, 8.0]


def test_a_calibration_finds_the_ratio_of_two_normal_distributions():
    """Means 1 and 0, variance 1/4: the log ratio is 4 s - 2."""
    rng = np.random.default_rng(0)
    n = 40000
    same = np.arange(n) % 4 == 0
    scores = same + 0.5 * rng.standard_normal(n)
    seconds = rng.uniform(1.0, 30.0, (2, n))
    pairs = Pairs(scores, seconds.min(axis=0), seconds.max(axis=0), same)
    found = fit_calibration(pairs, COSINE)
    assert found.score == pytest.approx(4.0, abs=0.15)
    assert (found.shorter, found.longer) == pytest.approx((0.0, 0.0), abs=0.1)
    assert cost(pairs, found) < cost(pairs, Calibration(COSINE, 8.0, 0.0, 0.0, -4.0))
    assert cost(pairs, Calibration(COSINE, 0.0, 0.0, 0.0, 0.0)) == pytest.approx(1.0)
