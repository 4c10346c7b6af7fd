"""File names that are not UTF-8 as input, as output and in messages."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sms_diar.datasets import sample_conversation
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.turns.files import read_annotation
from sms_diar.types import EmbeddingSet


@pytest.fixture
def odd(tmp_path):
    """Make the path of a file whose name has a byte that is not UTF-8."""

    def path(name):
        return tmp_path / os.fsdecode(b"caf\xe9" + name.encode())

    try:
        path("").touch()
    except OSError:
        pytest.skip("this file system takes names in UTF-8 only")
    path("").unlink()
    return path


@pytest.fixture
def rttm(odd):
    return Path(shutil.copy(sample_conversation().reference, odd(".rttm")))


@pytest.fixture
def wav(odd):
    samples, rate = soundfile.read(sample_conversation().audio)
    with odd(".wav").open("wb") as file:
        soundfile.write(file, samples[: 20 * rate], rate, format="WAV")
    return odd(".wav")


@pytest.fixture
def ark(tmp_path, odd):
    rng = np.random.default_rng(0)
    centres = np.repeat(8.0 * np.eye(2, 4), 10, axis=0)
    ids = tuple(f"a{place:02d}" for place in range(20))
    vectors = EmbeddingSet(ids, centres + rng.normal(size=(20, 4)))
    write_embeddings(odd(".ark"), vectors)
    rows = (f"{name} s{place // 5}\n" for place, name in enumerate(ids))
    (tmp_path / "utt2spk").write_text("".join(rows))
    return odd(".ark")


def printed(result, code=0):
    """Return standard output and error, which must be encodable."""
    assert result.returncode == code, result.stderr
    assert "fault of sms_diar" not in result.stdout + result.stderr
    return (result.stdout + result.stderr).encode().decode()


def test_turns_are_read_scored_converted_and_shown(run_cli, odd, rttm):
    printed(run_cli("score", rttm, rttm, "--errors", odd(".err.rttm")))
    for format in ("table", "csv", "json"):
        option = ["--json"] if format == "json" else ["--format", format]
        printed(run_cli("score", rttm, rttm, odd(".err.rttm"), *option))
    assert r"caf\udce9.html" in printed(run_cli("report", rttm, "-o", odd(".html")))
    printed(run_cli("convert", rttm, odd(".eaf")))
    assert "SPEAKER caf_ 1 " in printed(run_cli("convert", odd(".eaf"), "-"))


def test_problems_name_the_file(run_cli, odd):
    odd(".rttm").write_text("SPEAKER r 1 0 x <NA> <NA> a <NA> <NA>\n")
    assert r"caf\udce9.rttm:1: error: " in printed(
        run_cli("validate-rttm", odd(".rttm")), 1
    )
    shown = printed(run_cli("validate-rttm", odd(".rttm"), "--json"), 1)
    (problem,) = json.loads(shown)["problems"]
    assert problem["path"].endswith("caf\ufffd.rttm")
    assert r"caf\udce9.csv: no such file" in printed(
        run_cli("score", odd(".csv"), odd(".csv")), 1
    )


def test_recordings_are_diarized_under_a_name_that_can_be_written(run_cli, odd, wav):
    diarize = ("diarize", "--model", "embedded", "--num-speakers", "2", wav)
    result = run_cli(*diarize, "--rttm", odd(".rttm"), "--html", odd(".html"))
    assert "caf_" in printed(result)
    assert {t.segment.recording for t in read_annotation(odd(".rttm"))} == {"caf_"}
    result = run_cli(*diarize, "--json", "--enrol", f"ann={wav}", "--split", odd("-v"))
    printed(result)
    (recording,) = json.loads(result.stdout)["recordings"]
    assert recording["recording"] == "caf_"
    assert len(list(odd("-v").iterdir())) == len(recording["speakers"])


def test_a_damaged_recording_is_named(run_cli, odd):
    odd(".wav").write_bytes(b"RIFFxx")
    shown = printed(run_cli("diarize", "--model", "embedded", odd(".wav")), 1)
    assert r"caf\udce9.wav: the WAV header ends" in shown


def test_a_page_has_the_sound_of_such_a_file(run_cli, odd, wav):
    odd(".rttm").write_text("SPEAKER caf_ 1 0 1.5 <NA> <NA> a <NA> <NA>\n")
    printed(run_cli("report", odd(".rttm"), "--audio", wav, "-o", odd(".html")))
    assert odd(".html").stat().st_size > 150_000  # 70,000 without the sound


def test_sound_beside_a_page_has_a_name_that_the_page_can_link_to(run_cli, odd, wav):
    odd(".rttm").write_text("SPEAKER caf_ 1 0 1.5 <NA> <NA> a <NA> <NA>\n")
    limit = ("--embed-limit", "0")
    printed(run_cli("report", odd(".rttm"), "--audio", wav, "-o", odd(".html"), *limit))
    assert (wav.parent / "caf_-1.mp3").is_file()
    assert "caf_-1.mp3" in odd(".html").read_text()


def test_vectors_are_clustered_and_models_trained(run_cli, tmp_path, odd, ark):
    printed(run_cli("cluster", ark, "-o", odd(".json")))
    assert len(json.loads(odd(".json").read_text())["labels"]) == 20
    train = ("plda", "train", ark, tmp_path / "utt2spk", "-o", odd(".npz"))
    printed(run_cli(*train, "--json"))
    assert r"caf\udce9.ark" in printed(run_cli("plda", "info", odd(".npz")))


def test_data_directories_are_read(run_cli, odd, wav):
    odd("").mkdir()
    shutil.copy(wav, odd("") / "b.wav")
    for name, text in (("wav.scp", "b b.wav"), ("utt2spk", "b s"), ("spk2utt", "s b")):
        (odd("") / name).write_text(text + "\n")
    shown = printed(run_cli("features", odd(""), "-o", odd(".ark")))
    assert r"caf\udce9.ark: 1 segments" in shown
    printed(run_cli("validate-data", odd("")))
