"""Known voices in toy recordings: the level of the samples says who speaks."""

import numpy as np
import pytest
import soundfile

import sms_diar
from sms_diar.errors import InvalidParameterError, MissingFileError
from sms_diar.pipeline.diarize.neural import Networks
from sms_diar.pipeline.identify.enrol import enrolment_files
from tests.pipeline.diarize.test_neural import RATE, Embedder, Segmenter, talk

BORROWED = (
    "in doubt: the score calibration was fitted on another model than the network toy; "
    "probabilities may be far off"
)
ANN, BOB, CLEO = 1, 2, 4


@pytest.fixture
def networks():
    return Networks(Segmenter(), Embedder())


def saying(*who, seconds=5.0):
    """(samples, rate) in which people speak one after the other."""
    spans = [(one, 1.0 + n * seconds, (n + 1) * seconds) for n, one in enumerate(who)]
    return talk(*spans, seconds=len(who) * seconds + 1.0), RATE


def diarize(networks, source, **options):
    return sms_diar.diarize(source, model=networks, method="ahc", **options)


def names(found):
    return [[turn.speaker for turn in one.turns] for one in found.recordings]


def test_people_are_linked_and_known_ones_named(networks):
    meetings = {"mon": saying(BOB, ANN), "tue": saying(CLEO, BOB)}
    options = {"link": True, "num_speakers": 2}
    linked = diarize(networks, meetings, **options)
    assert names(linked) == [["spk-01", "spk-02"], ["spk-03", "spk-01"]]
    known = {"ann": saying(ANN, seconds=4.0), "bob": [saying(BOB), saying(BOB)]}
    found = diarize(networks, meetings, enrol=known, **options)
    assert names(found) == [["bob", "ann"], ["spk-01", "bob"]]
    assert "SPEAKER tue 1" in found.to_rttm()
    assert " bob " in found.to_rttm()
    assert found.notes[0] == BORROWED
    content = found.to_dict()
    enrolled = {one["name"]: one for one in content["naming"]["enrolled"]}
    assert list(enrolled) == ["ann", "bob"]
    assert enrolled["bob"]["windows"] > 1.9 * enrolled["ann"]["windows"]
    first = content["recordings"][0]["speakers"][0]
    assert (first["speaker"], first["local"]) == ("bob", "spk-01")
    assert first["named_by"] == "voice"
    assert [one["name"] for one in first["enrolled"]] == ["ann", "bob"]
    assert first["enrolled"][1]["probability"] > content["naming"]["enrol_threshold"]
    assert diarize(networks, meetings, enrol=known, workers=2, **options) == found


def test_without_asking_nothing_is_named(networks):
    found = diarize(networks, saying(BOB, ANN), num_speakers=2)
    assert found.naming is None
    assert "naming" not in found.to_dict()
    [recording] = found.recordings
    assert [voice.speaker[-2:] for voice in recording.voices] == ["01", "02"]
    assert recording.identities == ()


def test_another_voice_in_an_enrolment_is_told(networks):
    source = talk((ANN, 1.0, 7.0), (BOB, 7.0, 9.0), seconds=10.0), RATE
    found = diarize(networks, saying(BOB), enrol={"ann": source}, max_speakers=1)
    [note] = [note for note in found.notes if "another voice" in note]
    assert note == (
        "enrol ann: ann (1): 25% of the speech is of another voice; the speaker "
        "with the most speech was enrolled"
    )
    assert names(found) == [["spk-01"]]


def test_little_speech_is_told(networks):
    source = talk((ANN, 1.0, 2.5), seconds=3.0), RATE
    found = diarize(networks, saying(ANN), enrol={"ann": source}, num_speakers=1)
    assert any(
        note.startswith("enrol ann: ann (1): only 1.5 s of speech")
        for note in found.notes
    )


def test_files_of_one_name_that_do_not_agree_are_told(networks):
    files = [saying(ANN), saying(BOB)]
    found = diarize(networks, saying(ANN), enrol={"ann": files}, num_speakers=1)
    assert "enrol ann: ann (2): does not sound like the previous file" in found.notes


def test_voices_that_sound_alike_are_told(networks):
    known = {"ann": saying(ANN), "eve": saying(ANN)}
    found = diarize(networks, saying(ANN), enrol=known, num_speakers=1)
    told = "enrol: ann and eve have similar voices; they may be confused"
    assert told in found.notes


def test_channels_are_linked_and_named(networks):
    one, other = (talk((who, 1.0, 6.0), seconds=7.0) for who in (ANN, BOB))
    calls = {
        "a": (np.column_stack((one, other)), RATE),
        "b": (np.column_stack((other, one)), RATE),
    }
    found = diarize(networks, calls, channel="each", link=True)
    assert names(found) == [["spk-01", "spk-02"], ["spk-01", "spk-02"]]
    by_channel = [
        {one.local: one.speaker for one in call.identities} for call in found.recordings
    ]
    assert by_channel[0]["ch-1"] == by_channel[1]["ch-2"]
    assert by_channel[0]["ch-2"] == by_channel[1]["ch-1"]
    known = {"ann": saying(ANN)}
    named = diarize(networks, calls, channel="each", enrol=known)
    assert {"ann", "ch-2"} == set(names(named)[0])


def test_what_is_wrong_with_enrolments_is_found_before_the_work(tmp_path):
    with pytest.raises(MissingFileError, match=r"gone\.wav: no such file"):
        enrolment_files({"ann": tmp_path / "gone.wav"})
    with pytest.raises(InvalidParameterError, match="must be audio files"):
        enrolment_files({"ann": tmp_path})
    with pytest.raises(InvalidParameterError, match="got none for 'ann'"):
        enrolment_files({"ann": []})
    with pytest.raises(InvalidParameterError, match="must be a mapping"):
        enrolment_files(["ann.wav"])
    for option in ("link_threshold", "enrol_threshold"):
        with pytest.raises(InvalidParameterError, match=f"{option} must be a prob"):
            sms_diar.diarize(saying(ANN), link=True, **{option: 1.0})


@pytest.mark.corpus
def test_real_voices_are_linked_and_named(corpus_data, stored_network):
    """Two people in two recordings, and each alone; no word is there twice."""
    for name in ("campplus", "segmentation"):
        stored_network(name)

    def said(part):
        """A third of what each says, in pieces of 4 s."""
        pieces = []
        for speaker in ("ar001", "ar003"):
            path = corpus_data / "arabic8k" / "flac" / f"{speaker}.flac"
            samples, rate = soundfile.read(path, start=part * 20 * 8000, frames=96000)
            assert rate == 8000
            pieces.append(samples.reshape(3, -1))
        return pieces

    one, other, known = said(0), said(1), said(2)
    calls = {
        name: (
            np.concatenate([x for pair in zip(*who, strict=True) for x in pair]),
            8000,
        )
        for name, who in (("mon", one), ("tue", other[::-1]))
    }
    enrol = {"ann": (known[0].ravel(), 8000)}
    found = sms_diar.diarize(
        calls, model="neural", link=True, enrol=enrol, num_speakers=2
    )
    heard = [list(dict.fromkeys(turns)) for turns in names(found)]
    assert heard == [["ann", "spk-01"], ["spk-01", "ann"]]
