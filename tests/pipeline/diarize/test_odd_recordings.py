"""Recordings that nobody meant to diarize: sensible answers, or clear errors."""

import numpy as np
import pytest
import soundfile

import sms_diar
from sms_diar.errors import DataFormatError, InvalidParameterError, SmsDiarError
from sms_diar.synthetic.voices import Voice, converse
from sms_diar.types import Segment

NO_SPEECH = "no speech was found"


@pytest.fixture(params=["embedded", "neural"])
def model(request):
    """Both ways; the second where the networks are."""
    if request.param == "neural":
        from sms_diar.networks import store

        for name in ("campplus", "segmentation"):
            if not store.is_stored(name):
                pytest.skip(f"no network '{name}'; run sms-diar models fetch {name}")
    return request.param


def spoken(seconds, rate=16000, seed=0):
    rng = np.random.default_rng(seed)
    turns = [(Segment("x", 0.2, seconds - 0.2), Voice(120.0, 1.0, 0.8))]
    return converse(turns, seconds, rng, rate=rate)


def check(found, seconds):
    """Turns inside the recording, each of some length, named after it."""
    assert len(found.recordings) == 1
    for turn in found.turns:
        assert 0.0 <= turn.segment.start < turn.segment.end <= seconds + 1e-6
        assert turn.speaker.startswith("spk-")
    return found


@pytest.mark.parametrize(
    "samples",
    [np.zeros(16000 * 6), np.full(16000 * 6, 0.25)],
    ids=["zeros", "direct current"],
)
def test_silence_is_no_speech(model, samples):
    with pytest.raises(DataFormatError, match=NO_SPEECH):
        sms_diar.diarize((samples, 16000), model=model)


@pytest.mark.parametrize("kind", ["noise", "tones"])
def test_networks_know_that_noise_and_tones_are_no_speech(model, kind):
    """Energy does not: whatever is there all the time is one speaker."""
    rng = np.random.default_rng(0)
    time = np.arange(16000 * 6) / 16000
    chord = sum(np.sin(2 * np.pi * f * time) for f in (220.0, 277.2, 329.6))
    samples = 0.05 * rng.standard_normal(len(time)) if kind == "noise" else 0.1 * chord
    if model == "neural":
        with pytest.raises(DataFormatError, match=NO_SPEECH):
            sms_diar.diarize((samples, 16000), model=model)
    else:
        found = check(sms_diar.diarize((samples, 16000), model=model), 6.0)
        assert found.recordings[0].session.n_speakers == 1


def test_one_voice_is_one_speaker(model):
    found = check(sms_diar.diarize((spoken(8.0), 16000), model=model), 8.0)
    assert len({turn.speaker for turn in found.turns}) == 1
    assert sum(turn.segment.duration for turn in found.turns) > 3.0


def test_two_seconds_are_enough(model):
    found = check(sms_diar.diarize((spoken(2.0), 16000), model=model), 2.0)
    assert len({turn.speaker for turn in found.turns}) == 1


@pytest.mark.parametrize("n_samples", [1, 1200])
def test_what_is_too_short_is_refused(model, n_samples):
    with pytest.raises(SmsDiarError, match=r"too short|no speech"):
        sms_diar.diarize((np.full(n_samples, 0.1), 16000), model=model)


def test_a_stereo_recording_of_192_khz_is_mixed_and_said_to_be(model):
    both = np.stack([spoken(4.0, rate=192000)] * 2, axis=1)
    found = check(sms_diar.diarize((both, 192000), model=model), 4.0)
    assert any("2 channels were mixed" in note for note in found.notes)


@pytest.mark.parametrize("change", ["clipped", "offset", "loud", "quiet"])
def test_clipping_offset_and_level_leave_one_speaker(model, change):
    samples = spoken(6.0)
    samples /= np.abs(samples).max()
    changed = {
        "clipped": np.clip(8.0 * samples, -1.0, 1.0),
        "offset": 0.4 * samples + 0.5,
        "loud": samples,
        "quiet": 0.02 * samples,
    }[change]
    found = check(sms_diar.diarize((changed, 16000), model=model), 6.0)
    assert len({turn.speaker for turn in found.turns}) == 1


def test_each_channel_is_a_speaker_and_turns_may_overlap(model, tmp_path):
    voice = spoken(6.0, rate=8000)
    sides = np.stack([voice, np.where(np.arange(len(voice)) > 24000, voice, 0.0)])
    soundfile.write(tmp_path / "call.wav", 0.5 * sides.T / np.abs(sides).max(), 8000)
    found = sms_diar.diarize(tmp_path / "call.wav", model=model, channel="each")
    by_side = {}
    for turn in found.turns:
        by_side.setdefault(turn.speaker, []).append(turn.segment)
    assert sorted(by_side) == ["ch-1", "ch-2"]
    assert by_side["ch-1"][0].start < 1.5
    assert by_side["ch-2"][0].start > 2.5


@pytest.fixture(scope="module")
def leaking():
    """Two sides that speak in turns, the first of which hears the second at -12 dB."""
    parts = [spoken(2.0, rate=8000, seed=seed) for seed in range(20)]
    first, second = (
        np.concatenate([part * (i % 2 == side) for i, part in enumerate(parts)])
        for side in (0, 1)
    )
    noise = 1e-4 * np.random.default_rng(0).standard_normal((2, len(first)))
    level = 0.3 / max(np.abs(first).max(), np.abs(second).max())
    return (level * np.stack([first + 0.25 * second, second]) + noise).T


def test_strong_crosstalk_is_noted_and_removed_on_request(leaking):
    given = {"model": "embedded", "channel": "each"}
    kept = sms_diar.diarize((leaking, 8000), **given)
    removed = sms_diar.diarize((leaking, 8000), crosstalk="remove", **given)
    (note,) = kept.recordings[0].remarks
    assert (note.kind, note.severity) == ("crosstalk", "note")
    assert note.text.startswith("channel 1: ")
    assert removed.recordings[0].remarks == ()
    assert removed.settings["crosstalk"] == "remove"

    def seconds(found, speaker, side):
        """Speech of a speaker within the turns of a side, which last 2 s each."""
        total = 0.0
        for turn in found.turns:
            times = np.arange(turn.segment.start, turn.segment.end, 0.01)
            total += 0.01 * np.sum(times // 2 % 2 == side) * (turn.speaker == speaker)
        return total

    assert seconds(removed, "ch-1", 1) < 0.2 * seconds(kept, "ch-1", 1)
    assert seconds(removed, "ch-1", 0) > 0.95 * seconds(kept, "ch-1", 0)
    assert seconds(removed, "ch-2", 1) == seconds(kept, "ch-2", 1)


def test_crosstalk_needs_channels_that_are_speakers(leaking):
    with pytest.raises(InvalidParameterError, match="only with channel='each'"):
        sms_diar.diarize((leaking, 8000), channel=1, crosstalk="remove")
    with pytest.raises(InvalidParameterError, match="one of 'keep', 'remove'"):
        sms_diar.diarize((leaking, 8000), channel="each", crosstalk="drop")


def test_several_recordings_are_the_same_on_any_number_of_workers():
    sources = {"a": (spoken(4.0), 16000), "b": (spoken(4.0, seed=1), 16000)}
    sources["silent"] = (np.zeros(16000 * 3), 16000)
    one, two = (sms_diar.diarize(sources, model="embedded", workers=n) for n in (1, 2))
    assert one == two
    assert [one.recordings[0].recording, one.recordings[1].recording] == ["a", "b"]
    assert [problem.recording for problem in one.problems] == ["silent"]
