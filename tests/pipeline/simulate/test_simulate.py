"""Conversations made of synthetic voices: truth, sound, seeds and refusals."""

import json
from itertools import pairwise

import numpy as np
import pytest
import soundfile
from scipy.signal import butter, sosfilt

import sms_diar
from sms_diar._random import named_generator
from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.io.kaldi.validate import validate_data_dir
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.pipeline.simulate import api as simulate_module
from sms_diar.synthetic.voices import Voice

RATE = 8000
SPEAKERS = ("ann", "bob", "cat", "dan")


@pytest.fixture(scope="module")
def voices(tmp_path_factory, write_tables):
    """Four voices, 12 segments of 0.9 to 2.4 s each, without a pause between them."""
    folder = tmp_path_factory.mktemp("voices")
    wav, segments, speakers = [], [], []
    for number, name in enumerate(SPEAKERS):
        rng = named_generator(number, "voice")
        voice, parts, at = Voice.draw(rng), [], 0.0
        for place in range(12):
            seconds = round(rng.uniform(0.9, 2.4), 3)
            parts.append((1 + number) * 0.5 * voice.speak(seconds, rng))
            segments.append(f"{name}-{place:02d} {name} {at:.3f} {at + seconds:.3f}")
            speakers.append(f"{name}-{place:02d} {name}")
            at += seconds
        signal = np.clip(np.concatenate(parts), -1, 1)
        soundfile.write(folder / f"{name}.wav", signal, RATE)
        wav.append(f"{name} {name}.wav")
    return write_tables(folder, wav__scp=wav, segments=segments, utt2spk=speakers)


@pytest.fixture
def simulate(voices, tmp_path):
    """Simulate into a new folder each time."""

    def run(data=voices, **options):
        folder = tmp_path / f"made{len(list(tmp_path.glob('made*')))}"
        return sms_diar.simulate(data, folder, **options)

    return run


def samples(made, number=0, suffix="wav"):
    path = made.output / "audio" / f"sim-{number:04d}.{suffix}"
    return soundfile.read(path)[0]


def is_spoken(made, number=0, speaker=None, rate=RATE):
    """Whether each sample is in a turn of the reference that was written."""
    spoken = np.zeros(len(samples(made, number)), dtype=int)
    for turn in read_rttm(made.output / "ref.rttm"):
        if turn.segment.recording != f"sim-{number:04d}":
            continue
        if speaker in (None, turn.speaker):
            times = turn.segment.start, turn.segment.end
            start, end = (round(time * rate) for time in times)
            spoken[start:end] += 1
    return spoken


def decibels(signal):
    return 10.0 * np.log10(np.mean(signal**2))


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


# --- the reference -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "overlap"), [(8000, 0.0), (16000, 0.25), (11025, 0.25)]
)
def test_there_is_sound_where_the_reference_has_speech_and_only_there(
    simulate, overlap, rate
):
    made = simulate(speakers=3, duration=40.0, overlap=overlap, rate=rate)
    signal, spoken = samples(made), is_spoken(made, rate=rate)
    assert len(signal) == 40 * rate
    assert not signal[spoken == 0].any()
    frame = rate // 100
    n_frames = len(signal) // frame
    loudest, least = (
        values[: n_frames * frame].reshape(n_frames, frame)
        for values in (np.abs(signal), spoken)
    )
    within = least.min(axis=1) > 0
    assert (loudest.max(axis=1)[within] > 0.005).all()
    assert within.sum() > 2000


def test_overlap_and_speakers_are_those_asked_for(simulate):
    made = simulate(speakers=4, duration=90.0, overlap=0.2)
    spoken = is_spoken(made)
    share = np.sum(spoken >= 2) / np.sum(spoken >= 1)
    assert share == pytest.approx(0.2, abs=0.03)
    assert share == pytest.approx(made.recordings[0].overlap)
    assert {turn.speaker for turn in made.turns} == set(SPEAKERS)


def test_each_speaker_is_heard_with_what_was_said(simulate, voices):
    # Where one alone speaks, the samples are those of the source.
    made = simulate(speakers=2, duration=20.0)
    signal = samples(made)
    segments = read_segments(made.output / "segments")
    origins = read_segments(made.output / "source_segments")
    owners = DataDir(made.output).utt2spk
    assert segments.keys() == origins.keys() == owners.keys()
    for name, segment in segments.items():
        origin = origins[name]
        assert origin.recording == owners[name]
        source, _ = soundfile.read(voices / f"{origin.recording}.wav")
        first, start = round(origin.start * RATE), round(segment.start * RATE)
        n = round(segment.duration * RATE)
        inner = slice(40, n - 40)  # 5 ms fade at both ends
        got = signal[start : start + n][inner]
        np.testing.assert_allclose(got, source[first : first + n][inner], atol=1e-9)


def test_the_folder_is_a_sound_data_directory(simulate):
    made = simulate(speakers=3, duration=20.0, conversations=2, overlap=0.1)
    assert validate_data_dir(made.output) == []
    data = DataDir(made.output)
    assert dict(data.durations) == {"sim-0000": 20.0, "sim-0001": 20.0}
    assert dict(data.reco2num_spk) == {"sim-0000": 3, "sim-0001": 3}
    turns = list(read_rttm(made.output / "ref.rttm"))
    assert turns == list(made.turns)
    for recording in data.durations:
        placed = [s for s in data.segments.values() if s.recording == recording]
        heard = [t for t in turns if t.segment.recording == recording]
        assert sum(s.duration for s in placed) == pytest.approx(
            sum(turn.segment.duration for turn in heard)
        )


def test_the_record_says_what_was_made(simulate, voices):
    made = simulate(speakers=2, duration=20.0, overlap=0.1, seed=3, rt60=0.3)
    record = json.loads((made.output / "simulation.json").read_text())
    assert record == json.loads(json.dumps(made.record()))
    assert record["version"] == sms_diar.__version__
    settings = record["settings"]
    assert (settings["seed"], settings["overlap"], settings["rate"]) == (3, 0.1, RATE)
    assert settings["data"] == str(voices)
    [one] = record["conversations"]
    for speaker in one["speakers"]:
        assert set(speaker["sources"]) <= set(DataDir(voices).utt2spk)
        assert 0.5 <= speaker["distance"] <= 3.0
    assert {"output": str(made.output), **record} == made.to_dict()
    assert str(made).splitlines()[0].split() == [
        *("recording", "seconds", "speakers", "turns", "overlap", "repeated")
    ]


def test_pauses_in_segments_are_cut_out_unless_they_are_wanted(
    simulate, tmp_path, write_tables
):
    # One second of a voice, one of silence, by turns.
    folder = tmp_path / "gaps"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in "xy":
        voice = Voice.draw(rng)
        parts = [
            part
            for _ in range(8)
            for part in (voice.speak(1.0, rng), 1e-4 * rng.standard_normal(RATE))
        ]
        soundfile.write(folder / f"{name}.wav", np.concatenate(parts), RATE)
    data = write_tables(folder, wav__scp=["x x.wav", "y y.wav"], utt2spk=["x x", "y y"])
    for options, least, most in (({"vad": "none"}, 0.0, 0.6), ({}, 0.85, 1.0)):
        made = simulate(data, duration=20.0, **options)
        said = "pauses inside the segments count as speech in the reference"
        assert any(said in note for note in made.notes) == bool(options)
        signal, spoken = samples(made), is_spoken(made)
        frames = np.abs(signal.reshape(-1, 80)).max(axis=1) > 0.005
        within = spoken.reshape(-1, 80).min(axis=1) > 0
        assert least <= frames[within].mean() <= most


# --- seeds -------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes(simulate):
    options = {"duration": 10.0, "snr": 10.0, "noise": "pink", "rt60": 0.2}
    for extra in ({}, {"format": "flac"}, {"telephone": True}):
        first = simulate(**options, **extra)
        assert contents(first.output) == contents(simulate(**options, **extra).output)
    other = simulate(**options, seed=1)
    assert contents(first.output) != contents(other.output)


def test_a_conversation_does_not_depend_on_how_many_are_made(simulate):
    few = simulate(duration=10.0, conversations=1, snr=20.0, level_spread=3.0)
    many = simulate(duration=10.0, conversations=3, snr=20.0, level_spread=3.0)
    assert np.array_equal(samples(few), samples(many))
    assert few.turns == many.recordings[0].turns
    assert few.recordings == many.recordings[:1]
    assert not np.array_equal(samples(many, 1), samples(many, 2))


@pytest.mark.parametrize(
    "sound",
    [
        {"snr": 5.0},
        {"rt60": 0.5},
        {"telephone": True},
        {"level": -20.0, "level_spread": 6.0},
    ],
    ids=str,
)
def test_turns_are_the_same_however_they_sound(simulate, sound):
    clean, other = simulate(duration=10.0), simulate(duration=10.0, **sound)
    assert clean.turns == other.turns
    assert not np.array_equal(samples(clean), samples(other))


def test_blocks_of_audio_do_not_matter(simulate, monkeypatch):
    options = {
        "duration": 20.0,
        "overlap": 0.2,
        "snr": 10.0,
        "noise": "pink",
        "rt60": 0.3,
        "telephone": True,
    }
    whole = simulate(**options)
    monkeypatch.setattr(simulate_module, "BLOCK", 777)
    assert contents(simulate(**options).output) == contents(whole.output)


# --- sound -------------------------------------------------------------------------


def test_speech_has_the_level_asked_for(simulate):
    made = simulate(speakers=4, duration=60.0, level=-30.0)
    for speaker in SPEAKERS:
        heard = samples(made)[is_spoken(made, speaker=speaker) > 0]
        assert decibels(heard) == pytest.approx(-30.0, abs=0.05)


def test_levels_of_speakers_spread(simulate):
    even, spread = (
        simulate(speakers=4, duration=60.0, level=-30.0, level_spread=spread)
        for spread in (0.0, 5.0)
    )
    for before, after in zip(
        even.recordings[0].participants, spread.recordings[0].participants, strict=True
    ):
        chosen = is_spoken(spread, speaker=after.speaker) > 0
        louder = decibels(samples(spread)[chosen]) - decibels(samples(even)[chosen])
        assert louder == pytest.approx(after.gain_db - before.gain_db, abs=0.05)
    gains = [one.gain_db for one in spread.recordings[0].participants]
    assert np.ptp(gains) > 3.0


@pytest.mark.parametrize(
    ("noise", "snr"), [("white", 0.0), ("pink", 15.0), ("recorded", 15.0)]
)
def test_noise_is_as_far_below_speech_as_asked(
    simulate, tmp_path, write_tables, snr, noise
):
    source = noise
    if noise == "recorded":
        (tmp_path / "noises").mkdir()
        hum = np.random.default_rng(0).uniform(-0.01, 0.01, 3 * RATE)
        soundfile.write(tmp_path / "noises" / "hum.wav", hum, RATE)
        source = write_tables(tmp_path / "noises", wav__scp=["hum hum.wav"])
    clean = simulate(duration=60.0)
    noisy = simulate(duration=60.0, snr=snr, noise=source)
    speech = samples(clean)[is_spoken(clean) > 0]
    rest = samples(noisy) - samples(clean)
    assert decibels(speech) - decibels(rest) == pytest.approx(snr, abs=0.3)
    # As loud in pauses.
    pauses = rest[is_spoken(clean) == 0]
    assert decibels(speech) - decibels(pauses) == pytest.approx(snr, abs=1.0)


def test_a_room_fades_with_its_reverberation_time(simulate, tmp_path, write_tables):
    # Interrupted noise: what is left in pauses, integrated backwards, falls by 60 dB
    # in the reverberation time.
    rt60, folder = 0.6, tmp_path / "noise"
    folder.mkdir()
    hiss = 0.1 * np.random.default_rng(0).standard_normal(60 * RATE)
    soundfile.write(folder / "x.wav", hiss, RATE)
    data = write_tables(folder, wav__scp=["x x.wav"], utt2spk=["x x"])
    made = simulate(data, speakers=1, duration=300.0, pause_mean=3.0, rt60=rt60)
    signal, curves = samples(made), []
    for before, after in pairwise(made.turns):
        start = round(before.segment.end * RATE)
        if after.segment.start - before.segment.end > rt60:
            tail = signal[start : start + round(rt60 * RATE)]
            curves.append(np.cumsum(tail[::-1] ** 2)[::-1] / np.sum(tail**2))
    assert len(curves) > 10
    level = 10.0 * np.log10(np.maximum(np.mean(curves, axis=0), 1e-9))
    chosen = (level < -5.0) & (level > -25.0)
    slope = np.polyfit(np.flatnonzero(chosen) / RATE, level[chosen], 1)[0]
    assert -60.0 / slope == pytest.approx(rt60, rel=0.15)


def test_a_telephone_has_its_band_rate_and_steps(simulate, tmp_path, voices):
    made = simulate(duration=20.0, telephone=True, snr=10.0)
    signal = samples(made)
    power = np.abs(np.fft.rfft(signal)) ** 2
    hertz = np.fft.rfftfreq(len(signal), 1 / RATE)
    in_band = np.mean(power[(hertz > 300) & (hertz < 3400)])
    assert np.mean(power[hertz < 150]) < 0.01 * in_band
    assert np.mean(power[hertz > 3800]) < 0.01 * in_band
    assert len(np.unique(signal)) <= 255
    info = soundfile.info(made.output / "audio" / "sim-0000.wav")
    assert info.samplerate == 8000


def test_rate_and_format_are_those_asked_for(simulate):
    plain = simulate(duration=10.0)
    packed = simulate(duration=10.0, format="flac")
    assert np.array_equal(samples(plain), samples(packed, suffix="flac"))
    faster = simulate(duration=10.0, rate=16000)
    info = soundfile.info(faster.output / "audio" / "sim-0000.wav")
    assert (info.samplerate, info.frames) == (16000, 160_000)
    assert faster.turns == plain.turns
    # The same speech, up to the filter of the resampler.
    low = sosfilt(butter(8, 3000, fs=16000, output="sos"), samples(faster))
    assert decibels(low) == pytest.approx(decibels(samples(plain)), abs=1.0)
    assert faster.notes[0].endswith(
        "resampled from 8000 to 16000 Hz; the spectrum above 4000 Hz is empty"
    )


def test_what_is_too_loud_is_clipped_and_said(simulate):
    made = simulate(duration=10.0, level=-3.0)
    assert made.recordings[0].n_clipped > 0
    [note] = made.notes
    assert note.startswith(f"{made.recordings[0].n_clipped} samples were too loud")


def test_one_channel_of_several_can_be_chosen(simulate, tmp_path, write_tables):
    folder = tmp_path / "stereo"
    folder.mkdir()
    voice = Voice.draw(np.random.default_rng(0)).speak(3.0, np.random.default_rng(1))
    both = np.column_stack([voice, np.zeros_like(voice)])
    soundfile.write(folder / "x.wav", both, RATE)
    data = write_tables(folder, wav__scp=["x x.wav"], utt2spk=["x x"])
    with pytest.raises(DataFormatError, match="has 2 channels"):
        simulate(data, speakers=1, duration=6.0)
    options = {"speakers": 1, "duration": 6.0, "vad": "none"}
    assert samples(simulate(data, **options, channel=1)).any()
    assert not samples(simulate(data, **options, channel=2)).any()


# --- what recurs -------------------------------------------------------------------


def test_speech_that_recurs_is_said(simulate):
    # Two voices have about 40 s; 200 s are mostly repetition.
    made = simulate(duration=200.0)
    [one] = made.recordings
    assert 0.6 < one.repeated < 0.9
    [note] = made.notes
    assert note.startswith(
        f"speech recurs in 1 of 1 conversations, up to {one.repeated:.0%}"
    )
    assert simulate(duration=15.0).notes == ()


def test_overlap_that_cannot_be_is_said(simulate):
    made = simulate(duration=60.0, overlap=0.9, dominance="zipf")
    [note] = [note for note in made.notes if note.startswith("overlap")]
    assert f"(first sim-0000: {made.recordings[0].overlap:.3f})" in note


# --- refusals ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "options"),
    [
        ("speakers", {"speakers": 5}),
        ("speakers", {"speakers": 0}),
        ("overlap", {"overlap": 1.2}),
        ("overlap", {"speakers": 1, "overlap": 0.1}),
        ("duration", {"duration": 0.0}),
        ("duration", {"speakers": 4, "duration": 2.0}),
        ("turn_segments", {"turn_segments": (1, 2), "turn_mean": 3.0}),
        ("noise", {"noise": "brown", "snr": 10.0}),
        ("noise", {"noise": "pink"}),
        ("level", {"level": 3.0}),
        ("snr", {"snr": float("nan")}),
        ("rt60", {"rt60": -0.5}),
        ("rate", {"telephone": True, "rate": 6000}),
        ("rate", {"rate": 10}),
        ("format", {"format": "mp3"}),
        ("prefix", {"prefix": "a/b"}),
        ("vad", {"vad": "loud"}),
        ("seed", {"seed": -1}),
    ],
)
def test_what_cannot_be_is_refused(simulate, tmp_path, parameter, options):
    with pytest.raises(InvalidParameterError, match=f"^simulate: {parameter} "):
        simulate(**options)
    assert list(tmp_path.rglob("*.wav")) == []


def test_a_folder_with_something_in_it_is_refused(voices, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidParameterError, match="simulate: output must be a new"):
        sms_diar.simulate(voices, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def copied(voices, folder, **tables):
    """The voices with other tables, or, where that is None, without."""
    folder.mkdir()
    lines = [f"{name} {voices / name}.wav\n" for name in SPEAKERS]
    (folder / "wav.scp").write_text("".join(lines))
    for name in ("segments", "utt2spk"):
        text = tables.get(name, (voices / name).read_text())
        if text is not None:
            (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("tables", "kind", "problem"),
    [
        ({"utt2spk": None}, MissingFileError, "utt2spk: no such file"),
        ({"segments": None}, DataFormatError, "is the segments table missing"),
        (
            {"segments": "ann-00 ann 0.0 1.0\neve-00 eve 0.0 1.0\n"},
            DataFormatError,
            "segments:2: recording 'eve'",
        ),
        (
            {"segments": "".join(f"{name}-00 {name} 0.0 99.0\n" for name in SPEAKERS)},
            DataFormatError,
            "ends at 99 s",
        ),
    ],
)
def test_incomplete_tables_are_refused(
    simulate, voices, tmp_path, tables, kind, problem
):
    data = copied(voices, tmp_path / "data", **tables)
    with pytest.raises(kind, match=problem):
        simulate(data, duration=10.0)
    assert not (tmp_path / "made0").exists()  # nothing half done


def test_segments_without_a_speaker_are_left_out(simulate, voices, tmp_path):
    table = [
        line
        for line in (voices / "utt2spk").read_text().splitlines()
        if not line.startswith("dan")
    ]
    data = copied(voices, tmp_path / "data", utt2spk="\n".join(table) + "\n")
    made = simulate(data, speakers=3, duration=10.0)
    assert made.notes == (
        f"{data}/utt2spk: 12 segment(s) have no speaker and were skipped",
    )
    assert "dan" not in {turn.speaker for turn in made.turns}


def test_recordings_of_several_rates_need_a_rate(simulate, tmp_path, write_tables):
    folder = tmp_path / "mixed"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name, rate in (("x", 8000), ("y", 16000)):
        voice = Voice.draw(rng).speak(3.0, rng, rate=rate)
        soundfile.write(folder / f"{name}.wav", voice, rate)
    data = write_tables(folder, wav__scp=["x x.wav", "y y.wav"], utt2spk=["x x", "y y"])
    with pytest.raises(DataFormatError) as caught:
        simulate(data, duration=6.0)
    assert str(caught.value.path) == f"{data}/y.wav"
    assert len(samples(simulate(data, duration=6.0, rate=8000))) == 48_000


def test_a_silent_speaker_has_no_level(simulate, tmp_path, write_tables):
    folder = tmp_path / "mute"
    folder.mkdir()
    soundfile.write(folder / "x.wav", np.zeros(3 * RATE), RATE)
    data = write_tables(folder, wav__scp=["x x.wav"], utt2spk=["x x"])
    with pytest.raises(DataFormatError, match="speaker 'x' is silent"):
        simulate(data, speakers=1, duration=6.0, level=-20.0, vad="none")


# --- real speech ---------------------------------------------------------------------


@pytest.mark.corpus
@pytest.mark.parametrize("corpus", ["arabic8k", "libri-testother10-8k"])
def test_conversations_of_real_speech_can_be_diarized(simulate, corpus_data, corpus):
    made = simulate(corpus_data / corpus, speakers=2, duration=90.0, vad="none")
    # By name: "auto" depends on what this machine has fetched.
    found = sms_diar.diarize(made.output, model="embedded")
    report = sms_diar.score(made.turns, found.turns, collar=0.25)
    assert found.recordings[0].session.n_speakers == 2
    assert report.overall["der"] < 0.1
