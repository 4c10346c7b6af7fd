"""Unusable recordings and disk failures on the command line."""

import json
import resource
import shutil
import stat
import struct
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest
from joblib import parallel_config

from sms_diar import _files
from sms_diar.features import frames as frames_module
from sms_diar.io.embeddings.files import read_embeddings, write_embeddings
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.pipeline.diarize import api as diarize_module
from sms_diar.types import EmbeddingSet

pytestmark = pytest.mark.usefixtures("no_networks")


def bad_wav(path):
    """Write a WAV file with a rate of 2^31 - 1 Hz in its header."""
    body = struct.pack("<HHIIHH", 1, 1, 2**31 - 1, 0, 2, 16)
    data = b"\1\0" * 4000
    path.write_bytes(
        b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt "
        + struct.pack("<I", 16) + body + b"data" + struct.pack("<I", len(data)) + data
    )  # fmt: skip


def bad_sphere(path):
    """Write a SPHERE file whose rate is "superscript two"."""
    text = (
        "NIST_1A\n   1024\nsample_rate -i \xb2\nsample_byte_format -s2 01\nend_head\n"
    )
    path.write_bytes(text.encode("latin-1").ljust(1024) + b"\0\0" * 800)


@pytest.fixture
def corpus(noise_corpora, tmp_path):
    """Make three recordings; tests may damage the second."""
    folder = tmp_path / "data"
    shutil.copytree(noise_corpora[0], folder)
    lines = (folder / "wav.scp").read_text().replace(str(noise_corpora[0]), str(folder))
    (folder / "wav.scp").write_text(lines)
    return folder


@pytest.fixture
def vectors(tmp_path):
    rng = np.random.default_rng(0)
    rows = np.repeat(np.eye(3), 8, axis=0) + 0.05 * rng.standard_normal((24, 3))
    path = tmp_path / "x.npz"
    write_embeddings(path, EmbeddingSet(tuple(f"a{n:02d}" for n in range(24)), rows))
    return path


@pytest.mark.parametrize("spoil", [bad_wav, bad_sphere])
def test_a_bad_header_costs_one_recording_of_a_batch(
    run_cli, corpus, noise_model, tmp_path, spoil
):
    spoil(corpus / "a1.wav")
    out = tmp_path / "out.rttm"
    common = ("diarize", corpus, "--model", noise_model, "--vad", "none")
    result = run_cli(*common, "--rttm", out)
    assert result.returncode == 3
    problem, written = result.stderr.splitlines()[-2:]
    assert problem.startswith(f"sms-diar: a1: {corpus}/a1.wav: ")
    assert written.startswith(f"sms-diar: wrote {out} (")
    assert {turn.segment.recording for turn in read_rttm(out)} == {"a0", "a2"}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_fault_of_ours_costs_one_recording_of_a_batch(
    run_cli, corpus, noise_model, tmp_path, monkeypatch, workers
):
    good = diarize_module.diarize_recording

    def faulty(recording, *arguments, **names):
        if recording.id == "a1":
            raise KeyError("surprise")
        return good(recording, *arguments, **names)

    monkeypatch.setattr(diarize_module, "diarize_recording", faulty)
    out = tmp_path / "out.rttm"
    with parallel_config(backend="threading"):  # patches do not reach other processes
        result = run_cli(
            "diarize", corpus, "--model", noise_model, "--vad", "none",
            "--rttm", out, "--workers", workers,
        )  # fmt: skip
    assert result.returncode == 3
    problem, written = result.stderr.splitlines()[-2:]
    assert problem.startswith("sms-diar: a1: KeyError: 'surprise'; ")
    assert written.startswith(f"sms-diar: wrote {out} (")
    assert {turn.segment.recording for turn in read_rttm(out)} == {"a0", "a2"}


@pytest.mark.parametrize(
    ("bad", "options"), [(["a1"], ["--strict"]), (["a0", "a1", "a2"], [])]
)
def test_strictness_and_bad_recordings_only_end_with_one(
    run_cli, corpus, noise_model, tmp_path, bad, options
):
    for name in bad:
        bad_wav(corpus / f"{name}.wav")
    out = tmp_path / "out.rttm"
    common = ("diarize", corpus, "--model", noise_model, "--vad", "none")
    result = run_cli(*common, "--rttm", out, *options)
    assert (result.returncode, result.stdout) == (1, "")
    assert "a1.wav: the header gives a sampling rate of" in result.stderr
    assert not out.exists()


@pytest.mark.parametrize("strict", [False, True])
def test_features_and_vectors_of_the_good_recordings_are_written(
    run_cli, corpus, noise_model, tmp_path, strict
):
    bad_wav(corpus / "a1.wav")
    options = ("--strict",) if strict else ()
    commands = [
        ("features", corpus, "-o", tmp_path / "f.ark", "--vad", "none"),
        ("ivectors", "extract", corpus, "-o", tmp_path / "v.npz", "--model",
         noise_model, "--workers", 1),
        ("ivectors", "train", corpus, "-o", tmp_path / "m.npz", "--components", 2,
         "--rank", 2, "--iterations", 1, "--ubm-iterations", 1, "--vad", "none",
         "--workers", 1),
    ]  # fmt: skip
    for command in commands:
        result = run_cli(*command, *options)
        assert result.returncode == (1 if strict else 3), result.stderr
        assert "the header gives a sampling rate of" in result.stderr
        assert "Traceback" not in result.stderr
        output = command[command.index("-o") + 1]
        assert output.exists() != strict
    if not strict:
        assert len(read_embeddings(tmp_path / "v.npz")) == 16


def test_lack_of_memory_costs_one_segment(run_cli, corpus, tmp_path, monkeypatch):
    good = frames_module.cepstra_of

    def hungry(audio, piece, *arguments):
        if piece.id == "a1-3":
            raise MemoryError
        return good(audio, piece, *arguments)

    monkeypatch.setattr(frames_module, "cepstra_of", hungry)
    result = run_cli("features", corpus, "-o", tmp_path / "f.ark", "--vad", "none")
    assert result.returncode == 3
    assert "sms-diar: a1-3: needs more memory than there is\n" in result.stderr
    assert "23 segments" in result.stdout


def test_no_folder_or_no_rights_are_found_before_the_work(
    run_cli, corpus, vectors, tmp_path, monkeypatch, noise_model
):
    def work(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr("sms_diar.cluster", work)
    monkeypatch.setattr("sms_diar.diarize", work)
    monkeypatch.setattr("sms_diar.features.extract.list_recordings", work)
    for missing in (tmp_path / "no" / "out", tmp_path / ("x" * 256), tmp_path):
        for command in (
            ("cluster", vectors, "-o", missing),
            ("diarize", corpus, "--model", noise_model, "--rttm", missing),
            ("features", corpus, "-o", missing),
            ("features", corpus, "-o", tmp_path / "f.ark", "--scp", missing),
            ("ivectors", "train", corpus, "-o", missing),
        ):
            result = run_cli(*command)
            assert result.returncode == 1
            assert result.stderr.startswith(f"sms-diar: {missing}: ")
            assert result.stderr.count("\n") == 1


def test_a_full_disk_is_told_in_one_line_and_the_old_output_stays(
    run_cli, vectors, tmp_path
):
    out = tmp_path / "labels.csv"
    out.write_text("old\n" * 300)
    command = ("cluster", vectors, "--method", "ahc", "-o", out)
    assert run_cli(*command[:-1], tmp_path / "fine.csv").returncode == 0  # compiles
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        result = run_cli(*command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith(f"sms-diar: {out}: cannot be written (File too large)")
    assert out.read_text() == "old\n" * 300
    assert list(tmp_path.glob(f"{_files.PREFIX}*")) == []


def test_a_full_device_is_told_in_one_line(run_cli, vectors, full_device):
    result = run_cli("cluster", vectors, "--method", "ahc", "-o", full_device)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith(
        f"sms-diar: {full_device}: cannot be written (No space left on device)"
    )
    assert stat.S_ISCHR(full_device.stat().st_mode)


def test_standard_output_that_is_full_is_told_in_one_line(full_device):
    code = "from sms_diar.cli.main import main; main()"
    with full_device.open("w") as full:
        found = subprocess.run(
            [sys.executable, "-c", code, "recipes"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert found.returncode == 1
    assert found.stderr == "sms-diar: No space left on device\n"


def test_an_id_with_a_space_cannot_shift_the_fields_of_a_line(run_cli, tmp_path):
    path = tmp_path / "x.npz"
    names = np.array(["a b", "c"])
    np.savez(path, ids=names, vectors=np.eye(2))
    result = run_cli("cluster", path, "--method", "ahc")
    assert (result.returncode, result.stdout) == (1, "")
    assert "must be a name without white space" in result.stderr
    result = run_cli("cluster", path, "--method", "ahc", "--json")
    assert set(json.loads(result.stdout)["labels"]) == {"a b", "c"}


@pytest.mark.parametrize("name", ["a\nspk b", "a\0b", "\ud800", ""])
def test_an_id_cannot_forge_a_line(run_cli, tmp_path, name):
    rows = np.array([list(map(ord, name.ljust(8, "\0")))], dtype=np.uint32)
    ids = rows.view("<U8")[:, 0]
    np.savez(tmp_path / "x.npz", ids=ids, vectors=np.ones((1, 2)))
    result = run_cli("cluster", tmp_path / "x.npz", "--method", "ahc")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1


def test_a_worker_that_is_ended_is_told_in_one_line(run_cli, vectors, monkeypatch):
    def end(*_, **__):
        raise BrokenProcessPool("A worker was terminated")

    monkeypatch.setattr("sms_diar.cluster", end)
    result = run_cli("cluster", vectors)
    assert result.returncode == 1
    assert result.stderr.startswith("sms-diar: a worker was killed")
    assert result.stderr.count("\n") == 1


def test_a_description_of_other_vectors_is_noticed(tmp_path):
    path = tmp_path / "x.ark"
    old = EmbeddingSet(("a", "b"), np.eye(2), extractor="old")
    write_embeddings(path, old)
    before = path.read_bytes()
    write_embeddings(path, EmbeddingSet(("c", "d"), 2 * np.eye(2), extractor="new"))
    assert read_embeddings(path).extractor == "new"
    path.write_bytes(before)  # as a kill between the two renames would leave it
    with pytest.raises(ValueError, match="does not match x"):
        read_embeddings(path)
