"""``sms-diar features`` end to end."""

import json
from pathlib import Path

import kaldiio
import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from sms_diar.cli.main import app
from sms_diar.cli.options.recordings import CmvnMethod, VadMethod, read_front_end
from sms_diar.errors import MissingFileError, OutputError
from sms_diar.features import cmvn, vad
from sms_diar.features.extract import features_of_segments
from sms_diar.features.front_end import FrontEnd
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.pipeline.train.extraction import write_features


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        signal = rng.normal(0, 0.1, 8000) * np.repeat(rng.uniform(0.1, 1, 10), 800)
        soundfile.write(tmp_path / f"{name}.wav", signal, 8000)
    (tmp_path / "wav.scp").write_text("a a.wav\nb b.wav\n")
    (tmp_path / "segments").write_text("a1 a 0 0.5\na2 a 0.5 1\nb1 b 0 1\n")
    return tmp_path


def run(folder, *options):
    out = folder / "feats.ark"
    return CliRunner().invoke(
        app, ["features", str(folder), "-o", str(out), *options]
    ), out


def test_the_ark_holds_what_the_library_computes(folder):
    result, out = run(folder, "--scp", str(folder / "feats.scp"))
    assert result.exit_code == 0, result.output
    want = dict(features_of_segments(DataDir(folder)))
    for read in (
        kaldiio.load_ark(str(out)),
        kaldiio.load_scp(str(folder / "feats.scp")).items(),
    ):
        got = dict(read)
        assert list(got) == ["a1", "a2", "b1"]
        for name, frames in want.items():
            np.testing.assert_array_equal(got[name], frames)
    total = sum(map(len, want.values()))
    assert result.output == (
        f"wrote {out}: 3 segments, {total} frames of 60 ({total / 360000:.2f} h of "
        f"speech)\n"
    )


def test_options_change_the_settings_of_the_file(folder):
    conf = folder / "conf.toml"
    conf.write_text('[mfcc]\nlow_hz = 0\n[cmvn]\nmethod = "segment"\n')
    result, out = run(
        folder, "--config", str(conf), "--no-deltas", "--vad", "none", "--json"
    )
    assert result.exit_code == 0, result.output
    summary = json.loads(result.output)
    settings = FrontEnd.from_dict(summary["front_end"])
    assert settings.mfcc.low_hz == 0.0
    assert (settings.cmvn.method, settings.vad.method) == ("segment", "none")
    assert (summary["segments"], summary["frames"], summary["dim"]) == (3, 194, 20)
    assert summary["problems"] == []
    assert {m.shape for _, m in kaldiio.load_ark(str(out))} == {(48, 20), (98, 20)}


def test_compressed_features_are_near_the_plain_ones(folder):
    run(folder)
    plain = dict(kaldiio.load_ark(str(folder / "feats.ark")))
    size = (folder / "feats.ark").stat().st_size
    result, out = run(folder, "--compress")
    assert result.exit_code == 0
    assert out.stat().st_size < 0.4 * size
    for name, frames in kaldiio.load_ark(str(out)):
        assert np.abs(frames - plain[name]).max() < 0.02 * np.ptp(plain[name])


def test_a_broken_recording_costs_only_itself_and_the_exit_code_is_three(folder):
    run(folder, "--cmvn", "recording")
    want = dict(kaldiio.load_ark(str(folder / "feats.ark")))
    (folder / "a.wav").write_bytes(b"")
    result, out = run(folder, "--cmvn", "recording", "--workers", "2")
    assert result.exit_code == 3
    assert f"sms-diar: a: {folder}/a.wav: is empty (0 bytes)\n" in result.stderr
    assert result.stdout.endswith("; 1 problem(s) on standard error\n")
    [(name, frames)] = kaldiio.load_ark(str(out))
    assert name == "b1"
    np.testing.assert_array_equal(frames, want["b1"])


def test_problems_are_in_the_json_too(folder):
    (folder / "b.wav").unlink()
    result, _ = run(folder, "--json")
    assert result.exit_code == 3
    [problem] = json.loads(result.stdout)["problems"]
    assert (problem["recording"], problem["segment"]) == ("b", None)


def test_where_nothing_can_be_read_nothing_is_written(folder):
    out = folder / "feats.ark"
    out.write_bytes(b"old")
    for name in ("a.wav", "b.wav"):
        (folder / name).write_bytes(b"")
    result, _ = run(folder)
    assert str(result.exception).startswith(f"{folder}: no segment has features")
    assert f"sms-diar: b: {folder}/b.wav: is empty (0 bytes)\n" in result.stderr
    assert out.read_bytes() == b"old"


def test_stereo_telephone_calls_are_read_by_channel(folder):
    left, _ = soundfile.read(folder / "a.wav")
    right, _ = soundfile.read(folder / "b.wav")
    soundfile.write(folder / "c.wav", np.stack([left, right], axis=1), 8000)
    (folder / "segments").unlink()
    (folder / "wav.scp").write_text("b b.wav\nc sph2pipe -f wav -p -c 2 c.wav |\n")
    result, out = run(folder, "--cmvn", "segment")
    assert result.exit_code == 0, result.output
    got = dict(kaldiio.load_ark(str(out)))
    np.testing.assert_array_equal(got["b"], got["c"])
    (folder / "wav.scp").write_text("c c.wav\n")
    result, _ = run(folder, "--channel", "2", "--cmvn", "segment")
    assert result.exit_code == 0
    np.testing.assert_array_equal(dict(kaldiio.load_ark(str(out)))["c"], got["b"])


def test_the_library_does_not_replace_a_recording_by_its_features(folder):
    before = (folder / "b.wav").read_bytes()
    with pytest.raises(OutputError, match=r"b\.wav: is read as an input"):
        write_features(DataDir(folder), folder / "b.wav")
    assert (folder / "b.wav").read_bytes() == before


def test_choices_are_those_of_the_front_end():
    """They are repeated in the command, so that ``--help`` is fast."""
    assert tuple(VadMethod) == vad.METHODS
    assert tuple(CmvnMethod) == cmvn.METHODS


def test_a_front_end_is_read_by_the_name_of_a_configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_front_end(Path("mfcc_8k_full")).mfcc.high_hz == 4000.0
    with pytest.raises(MissingFileError, match="nosuch: no such file"):
        read_front_end(Path("nosuch"))
