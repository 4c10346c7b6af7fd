"""Frames of data directories: order of steps, sessions, and broken recordings."""

import numpy as np
import pytest
import soundfile

from sms_diar.errors import InvalidParameterError
from sms_diar.features.cmvn import CmvnStats, sliding_cmvn_rows
from sms_diar.features.extract import (
    features_of_segments,
    session_statistics,
    speech_of_recordings,
)
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.mfcc import DeltaConfig, add_deltas, mfcc
from sms_diar.features.vad import VadConfig
from sms_diar.io.kaldi.data_dir import DataDir

RATE = 8000


def voice(seconds, seed):
    """Noise whose colour and level change, on the 16-bit grid."""
    rng = np.random.default_rng(seed)
    n = int(seconds * RATE)
    level = np.repeat(rng.uniform(0.02, 0.2, n // 800 + 1), 800)[:n]
    signal = np.convolve(rng.standard_normal(n), [1.0, rng.uniform(-1, 1)], "same")
    return np.round(signal * level * 8192) / 32768


@pytest.fixture
def data(tmp_path):
    """Two recordings with two segments each."""
    for name, seed in (("a", 1), ("b", 2)):
        soundfile.write(tmp_path / f"{name}.flac", voice(3, seed), RATE)
    (tmp_path / "wav.scp").write_text("a a.flac\nb b.flac\n")
    (tmp_path / "segments").write_text(
        "a1 a 0 1.5\na2 a 1 2.75\nb1 b 0.1 0.9\nb2 b 1 3\n"
    )
    return DataDir(tmp_path)


def front_end(method="session", vad="none", **deltas):
    return FrontEnd.from_dict(
        {"cmvn": {"method": method}, "vad": {"method": vad}, "deltas": deltas}
    )


def cepstra(data, recording, start, end, config):
    """Cepstra of a stretch, by reading the file at once."""
    signal, _ = soundfile.read(data.path / f"{recording}.flac")
    part = signal[round(start * RATE) : round(end * RATE)]
    return np.concatenate(list(mfcc([part], config.mfcc)))


PARTS = {
    "a1": ("a", 0, 1.5),
    "a2": ("a", 1, 2.75),
    "b1": ("b", 0.1, 0.9),
    "b2": ("b", 1, 3),
}


@pytest.mark.parametrize(
    ("method", "pool"),
    [
        ("session", lambda name: PARTS),
        ("recording", lambda name: [n for n in PARTS if n[0] == name[0]]),
        ("segment", lambda name: [name]),
    ],
)
def test_cepstra_are_normalised_before_derivatives_are_taken(data, method, pool):
    config = front_end(method)
    static = {name: cepstra(data, *part, config) for name, part in PARTS.items()}
    got = dict(features_of_segments(data, config))
    assert list(got) == ["a1", "a2", "b1", "b2"]
    for name, frames in got.items():
        pooled = np.concatenate([static[other] for other in pool(name)])
        normal = (static[name] - pooled.mean(axis=0)) / pooled.std(axis=0)
        want = add_deltas(normal, DeltaConfig())
        assert frames.dtype == np.float32
        assert frames.shape == (len(static[name]), 60)
        np.testing.assert_allclose(frames, want, rtol=0, atol=1e-5)


def test_sliding_and_no_normalisation(data):
    for method in ("sliding", "none"):
        config = front_end(method, order=0)
        static = cepstra(data, *PARTS["b2"], config)
        want = static
        if method == "sliding":
            want = sliding_cmvn_rows(static, slice(0, len(static)), 300)
        got = dict(features_of_segments(data, config, ids=["b2"]))["b2"]
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("method", ["session", "recording", "sliding"])
def test_long_segments_are_finished_in_parts_without_a_seam(data, monkeypatch, method):
    from sms_diar.features import frames as of_recording

    config = front_end(method, vad="energy")
    want = dict(features_of_segments(data, config))
    whole = of_recording.row_blocks
    monkeypatch.setattr(of_recording, "row_blocks", lambda n: whole(n, 7))
    monkeypatch.setattr(of_recording, "BLOCK", 1)
    monkeypatch.setattr(of_recording, "_KEPT_FRAMES", 1)
    got = dict(features_of_segments(data, config))
    assert list(got) == list(want)
    for name, frames in want.items():
        np.testing.assert_allclose(got[name], frames, rtol=0, atol=1e-5)


def test_statistics_and_frames_are_those_of_speech(tmp_path):
    # a second of speech between seconds of silence, and the same speech alone
    speech = voice(1, 5)
    silence = np.zeros(RATE)
    soundfile.write(
        tmp_path / "a.wav", np.concatenate((silence, speech, silence)), RATE
    )
    (tmp_path / "wav.scp").write_text("a a.wav\n")
    config = front_end("session", vad="energy", order=0)
    data = DataDir(tmp_path)
    stats = session_statistics(data, config)
    [(name, frames)] = features_of_segments(data, config)
    assert name == "a"
    assert len(frames) == stats.count
    assert stats.count == pytest.approx(100, abs=6)
    np.testing.assert_allclose(frames.mean(axis=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(frames.std(axis=0), 1.0, atol=1e-5)


def test_statistics_of_directories_make_one_session(data):
    config = front_end()
    parts = [session_statistics(data, config, ids=[name]) for name in PARTS]
    want = dict(features_of_segments(data, config))
    got = dict(features_of_segments(data, config, stats=sum(parts)))
    for name, frames in want.items():
        np.testing.assert_allclose(got[name], frames, rtol=0, atol=1e-6)
    with pytest.raises(InvalidParameterError, match="features_of_segments: stats"):
        list(features_of_segments(data, config, stats=CmvnStats.of(np.zeros((0, 20)))))


def test_workers_do_not_change_a_bit(data):
    one = list(features_of_segments(data, front_end(vad="energy")))
    two = list(features_of_segments(data, front_end(vad="energy"), workers=2))
    assert [name for name, _ in one] == [name for name, _ in two]
    for (_, a), (_, b) in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_rate_is_resampled(data):
    from scipy.signal import resample_poly

    signal, _ = soundfile.read(data.path / "a.flac")
    soundfile.write(
        data.path / "a.flac", resample_poly(signal, 2, 1), 16000, subtype="PCM_24"
    )
    config = front_end("none", order=0)
    got = dict(features_of_segments(data, config, ids=["a1"]))["a1"]
    want = cepstra(DataDir(data.path), "b", 0, 1.5, config)
    assert got.shape == want.shape
    twice = resample_poly(soundfile.read(data.path / "a.flac")[0], 1, 2)[:12000]
    direct = np.concatenate(list(mfcc([twice], config.mfcc)))
    np.testing.assert_allclose(got, direct, rtol=1e-6, atol=1e-5)


def break_everything(data):
    """Recordings c to i, each broken in its own way, and good a and b."""
    folder = data.path
    (folder / "c.wav").touch()
    soundfile.write(folder / "d.wav", voice(1, 4), RATE)
    (folder / "d.wav").write_bytes((folder / "d.wav").read_bytes()[:20])
    spoilt = voice(2, 5)
    spoilt[RATE + 100] = np.nan
    soundfile.write(folder / "e.wav", spoilt, RATE, subtype="FLOAT")
    soundfile.write(folder / "f.wav", np.stack([voice(1, 6)] * 2, axis=1), RATE)
    soundfile.write(folder / "g.wav", np.zeros(RATE), RATE)
    names = "abcdefgh"
    files = {"a": "a.flac", "b": "b.flac"}
    (folder / "wav.scp").write_text(
        "".join(f"{n} {files.get(n, f'{n}.wav')}\n" for n in names)
    )
    with (folder / "segments").open("a") as table:
        table.write("b3 b 1 1\nb4 b 2 4\nb5 b 1 1.01\nb6 b 3.5 4\n")
        table.write("c1 c 0 1\nd1 d 0 1\ne1 e 0 1\ne2 e 1 2\nf1 f 0 1\n")
        table.write("g1 g 0 1\nh1 h 0 1\n")
    return DataDir(folder)


def test_broken_recordings_leave_the_others_intact(data):
    config = front_end("recording", vad="energy")
    want = dict(features_of_segments(data, config))
    broken = break_everything(data)
    problems = []
    got = dict(features_of_segments(broken, config, problems=problems))
    assert list(got) == ["a1", "a2", "b1", "b2", "e1"]
    for name, frames in want.items():
        np.testing.assert_array_equal(got[name], frames)
    named = [problem.segment or problem.recording for problem in problems]
    assert named == [None, "b4", "b5", "b6", "c", "d", "e2", "f", "g1", "h"]
    words = [
        "segments:5: a segment must satisfy 0 <= start < end, got start=1.0, end=1.0",
        "b.flac: segment 'b4' ends at 4 s, 1 s after the end of the recording (3 s)",
        "b.flac: segment 'b5' of 0.01 s is shorter than a frame of 0.025 s",
        "b.flac: segment 'b6' starts at 3.5 s, but the recording ends at 3 s",
        "c.wav: is empty (0 bytes)",
        "d.wav: the WAV header ends before the samples begin",
        "e.wav: sample 8100 (1.012 s) is NaN",
        "f.wav: has 2 channels",
        "g.wav: no speech was found in segment 'g1'",
        "wav.scp: no audio file 'h.wav' for 'h'",
    ]
    for problem, expected in zip(problems, words, strict=True):
        assert f"{data.path}/{expected}" in str(problem)
    assert (problems[1].recording, problems[1].segment) == ("b", "b4")


def test_speech_of_whole_recordings(data):
    silence = np.zeros(RATE)
    soundfile.write(
        data.path / "a.flac", np.concatenate((silence, voice(1, 3), silence)), RATE
    )
    (data.path / "b.flac").unlink()
    problems = []
    found = dict(speech_of_recordings(data, VadConfig(), problems=problems))
    assert list(found) == ["a"]
    [segment] = found["a"]
    assert segment.recording == "a"
    assert segment.start == pytest.approx(1.0, abs=0.04)
    assert segment.end == pytest.approx(2.0, abs=0.04)
    assert [problem.recording for problem in problems] == ["b"]


@pytest.mark.corpus
def test_real_segments_have_a_frame_every_ten_milliseconds(corpus_data):
    data = DataDir(corpus_data / "audiomnist8k")
    names = [f"am01-{number:03d}" for number in range(5)] + ["am02-000"]
    total = 0
    for name, frames in features_of_segments(data, front_end(), ids=names):
        length = data.segments[name].duration
        assert len(frames) == pytest.approx((length - 0.025) * 100 + 1, abs=1)
        assert np.isfinite(frames).all()
        total += len(frames)
    speech = sum(
        len(frames)
        for _, frames in features_of_segments(data, front_end(vad="energy"), ids=names)
    )
    assert 0.4 * total < speech < total
