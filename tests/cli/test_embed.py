"""``sms-diar embed``: equal to Kaldi, and fit for ``sms-diar cluster``."""

import json

import numpy as np
import pytest
import soundfile

from sms_diar.features.kaldi import kaldi_cmvn, kaldi_mfcc
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.pipeline.train.xvectors import XvectorFiles
from tests.networks.nnet3_files import Builder, spliced

RATE = 8000


@pytest.fixture(scope="module")
def reference_data(kaldi_reference, tmp_path_factory):
    """Segments that were cut for Kaldi, with times that are whole samples."""
    folder = tmp_path_factory.mktemp("reference")
    rows = kaldi_reference.segments.items()
    recordings = sorted({recording for _, (recording, _, _) in rows})
    speech = kaldi_reference.speech / "flac"
    (folder / "wav.scp").write_text(
        "".join(f"{name} {speech / name}.flac\n" for name in recordings)
    )
    (folder / "segments").write_text(
        "".join(
            f"{name} {recording} {int(start * RATE) / RATE} {int(end * RATE) / RATE}\n"
            for name, (recording, start, end) in rows
        )
    )
    return folder


def distances(path, expected):
    """Distances of vectors from the expected ones, relative to their length."""
    vectors = read_embeddings(path)
    assert sorted(vectors.ids) == sorted(expected)
    return [
        np.linalg.norm(vector - expected[name]) / np.linalg.norm(expected[name])
        for name, vector in zip(vectors.ids, vectors.vectors, strict=True)
    ]


@pytest.mark.parametrize("network", ["final.raw", "final.txt"])
@pytest.mark.parametrize(
    ("chunks", "file"), [(10000, "xvectors.ark"), (100, "xvectors_chunk100.ark")]
)
def test_vectors_are_those_of_kaldi(
    kaldi_reference, reference_data, run_cli, tmp_path, network, chunks, file
):
    folder = kaldi_reference.folder / "xvector_nnet"
    output = tmp_path / "x.ark"
    result = run_cli(
        "embed", reference_data, "--kaldi", folder, "--nnet", folder / network,
        "--chunk-size", chunks, "-o", output, "--workers", 1,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    errors = distances(output, kaldi_reference.matrices(file))
    assert len(errors) == 30
    assert max(errors) < 1e-4


def test_frames_of_kaldi_give_the_vectors_of_kaldi(kaldi_reference):
    speech = kaldi_reference.matrices("vad.ark")
    expected = kaldi_reference.matrices("xvectors.ark")
    extractor = XvectorFiles(kaldi_reference.folder / "xvector_nnet").read()
    for name, cepstra in kaldi_reference.matrices("mfcc.ark").items():
        vector = extractor.extract(kaldi_cmvn(cepstra)[speech[name] != 0])
        error = np.linalg.norm(vector - expected[name])
        assert error < 2e-6 * np.linalg.norm(expected[name])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A network for 13 cepstra, with its options."""
    net = Builder()
    net.lines = ["input-node name=input dim=13"]
    net.affine("tdnn1.affine", spliced("input", -2, 0, 2), 39, 8)
    net.relu("tdnn1.relu", "tdnn1.affine", 8)
    net.extraction("extract", "tdnn1.relu", 8)
    net.pooling("pool", "extract", 17)
    net.affine("embedding", "pool", 16, 5)
    net.affine("output.affine", "embedding", 5, 3)
    net.output("output.affine")
    path = tmp_path_factory.mktemp("nnet")
    (path / "final.raw").write_bytes(net.binary)
    (path / "extract.config").write_text("output-node name=output input=embedding\n")
    (path / "mfcc.conf").write_text("--sample-frequency=8000\n--dither=0\n")
    (path / "vad.conf").write_text("--vad-energy-threshold=5.5\n")
    return path


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Two recordings of noise, and three segments of them."""
    path = tmp_path_factory.mktemp("calls")
    rng = np.random.default_rng(1)
    for name in ("a", "b"):
        noise = 0.1 * rng.standard_normal(6 * RATE)
        soundfile.write(path / f"{name}.wav", noise, RATE, subtype="PCM_16")
    (path / "wav.scp").write_text(f"a {path}/a.wav\nb {path}/b.wav\n")
    (path / "segments").write_text("a-1 a 1.0 4.2\na-2 a 5.0 6.0\nb-1 b 0.0 3.0\n")
    return path


def run(run_cli, calls, folder, output, *options):
    result = run_cli(
        "embed", calls, "--kaldi", folder, "-o", output, "--workers", 1, *options
    )
    assert result.returncode == 0, result.stderr
    return read_embeddings(output)


def samples(calls, name, start, end):
    read, _ = soundfile.read(calls / f"{name}.wav")
    return read[round(start * RATE) : round(end * RATE)]


@pytest.mark.parametrize("scope", ["segment", "window", "none"])
def test_windows_are_cut_from_the_frames_of_a_segment(
    calls, folder, run_cli, tmp_path, scope
):
    output = tmp_path / "x.ark"
    vectors = run(run_cli, calls, folder, output, "--window", 1.5, "--cmvn", scope)
    segments = read_segments(tmp_path / "x.segments")
    # 3.2 s: windows at 0, 0.75 and 1.5, and the rest from 2.25, which is long enough.
    assert vectors.ids == tuple(segments)
    assert [(s.recording, s.start, s.end) for s in segments.values()][:5] == [
        ("a", 1.0, 2.5), ("a", 1.75, 3.25), ("a", 2.5, 4.0), ("a", 3.25, 4.2),
        ("a", 5.0, 6.0),
    ]  # fmt: skip
    assert vectors.ids[1] == "a-1-00000075-00000225"
    files = XvectorFiles(folder)
    front_end = files.front_end(vad=False)
    frames = kaldi_mfcc(samples(calls, "a", 1.0, 4.2), front_end.mfcc)
    if scope == "segment":
        frames = kaldi_cmvn(frames)
    window = frames[75:225]
    if scope == "window":
        window = kaldi_cmvn(window)
    expected = files.read().extract(window)
    np.testing.assert_allclose(vectors.vectors[1], expected, rtol=1e-6)


def test_windows_can_be_clustered(calls, folder, run_cli, tmp_path):
    output = tmp_path / "x.ark"
    run(run_cli, calls, folder, output, "--window", 1.5)
    rttm = tmp_path / "x.rttm"
    result = run_cli(
        "cluster", output, "--segments", tmp_path / "x.segments", "--rttm", rttm
    )
    assert result.returncode == 0, result.stderr
    recordings = {line.split()[1] for line in rttm.read_text().splitlines()}
    assert recordings == {"a", "b"}


def test_segments_use_only_frames_with_speech(calls, folder, run_cli, tmp_path):
    vectors = run(run_cli, calls, folder, tmp_path / "x.npz")
    assert vectors.ids == ("a-1", "a-2", "b-1")
    files = XvectorFiles(folder)
    extractor, front_end = files.read(), files.front_end()
    expected = extractor.extract(front_end.frames(samples(calls, "a", 1.0, 4.2)))
    np.testing.assert_allclose(vectors.vectors[0], expected, rtol=1e-6)
    assert not (tmp_path / "x.segments").exists()
    threads = run(run_cli, calls, folder, tmp_path / "y.npz", "--workers", 2)
    assert threads.ids == vectors.ids
    assert np.array_equal(threads.vectors, vectors.vectors)


def test_a_back_end_fits_segments_and_windows(calls, folder, run_cli, tmp_path):
    segments = run(run_cli, calls, folder, tmp_path / "x.npz")
    windows = run(run_cli, calls, folder, tmp_path / "y.npz", "--window", 1.5)
    assert segments.extractor == windows.extractor


def test_an_output_can_be_named(calls, folder, run_cli, tmp_path):
    named = run(run_cli, calls, folder, tmp_path / "x.npz", "--output-node", "pool")
    assert named.dim == 16
    own = run(run_cli, calls, folder, tmp_path / "y.npz", "--output-node", "output")
    assert own.dim == 3
    assert named.extractor != own.extractor


def test_chunk_sizes_are_read_from_the_folder(calls, folder, run_cli, tmp_path):
    other = tmp_path / "nnet"
    other.mkdir()
    for path in folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    (other / "max_chunk_size").write_text("60\n")
    (other / "min_chunk_size").write_text("30\n")
    extractor = XvectorFiles(other).read()
    assert (extractor.chunk_size, extractor.min_chunk_size) == (60, 30)
    result = run_cli(
        "embed", calls, "--kaldi", other, "--chunk-size", 61, "-o", tmp_path / "x.ark"
    )
    assert result.returncode == 1
    assert "--chunk-size must be at most 60 for this network" in result.stderr
    (other / "max_chunk_size").write_text("many")
    result = run_cli("embed", calls, "--kaldi", other, "-o", tmp_path / "x.ark")
    assert result.returncode == 1
    assert "max_chunk_size: must be a positive whole number" in result.stderr


def test_a_network_that_ends_at_the_embedding_needs_no_other_file(folder, tmp_path):
    (tmp_path / "final.ext.raw").write_bytes((folder / "final.raw").read_bytes())
    assert XvectorFiles(tmp_path).read().network.dim == 3


def test_segments_that_are_too_short_are_reported(calls, folder, run_cli, tmp_path):
    for path in (*calls.glob("*.scp"), calls / "segments"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    with (tmp_path / "segments").open("a") as table:
        table.write("b-2 b 4.0 4.045\n")  # three frames, of which the network needs 5
    output = tmp_path / "x.ark"
    options = ("--min-chunk-size", 1, "--vad", "none", "--json")
    result = run_cli(
        "embed", tmp_path, "--kaldi", folder, "-o", output, "--workers", 1, *options
    )
    assert result.returncode == 3
    record = json.loads(result.stdout)
    assert record["vectors"] == 3
    [problem] = record["problems"]
    assert problem["segment"] == "b-2"
    assert "context of the network, got 3" in result.stderr
    assert read_embeddings(output).ids == ("a-1", "a-2", "b-1")


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("final.raw", "no final.raw"),
        ("extract.config", "no extract.config"),
        ("mfcc.conf", "no mfcc.conf"),
        ("vad.conf", "no vad.conf"),
    ],
)
def test_missing_files_are_named_with_a_remedy(
    calls, folder, run_cli, tmp_path, missing, message
):
    other = tmp_path / "nnet"
    other.mkdir()
    for path in folder.iterdir():
        if path.name != missing:
            (other / path.name).write_bytes(path.read_bytes())
    result = run_cli("embed", calls, "--kaldi", other, "-o", tmp_path / "x.ark")
    assert result.returncode == 1
    assert message in result.stderr
    assert "--" in result.stderr
    assert not (tmp_path / "x.ark").exists()


def test_cepstra_of_another_dimension_are_refused(calls, folder, run_cli, tmp_path):
    config = tmp_path / "mfcc.conf"
    config.write_text("--sample-frequency=8000\n--num-ceps=20\n")
    result = run_cli(
        "embed", calls, "--kaldi", folder, "--mfcc-config", config,
        "-o", tmp_path / "x.ark",
    )  # fmt: skip
    assert result.returncode == 1
    assert "13 dimensions" in result.stderr


def test_windows_need_the_times_of_segments(calls, folder, run_cli, tmp_path):
    (tmp_path / "wav.scp").write_text(f"a {calls}/a.wav\n")
    output = tmp_path / "x.ark"
    result = run_cli(
        "embed", tmp_path, "--kaldi", folder, "--window", 1.5, "-o", output
    )
    assert result.returncode == 1
    assert "segments: no such file" in result.stderr


def test_windows_end_with_the_frame_at_which_kaldi_ends_them(
    calls, folder, run_cli, tmp_path
):
    options = ("--window", 1.6046, "--cmvn", "none")
    vectors = run(run_cli, calls, folder, tmp_path / "x.ark", *options)
    files = XvectorFiles(folder)
    signal = samples(calls, "a", 1.0, 4.2)
    frames = kaldi_mfcc(signal, files.front_end(vad=False).mfcc)
    # Kaldi writes the end as 1.605 s; the last frame is int(1.605 / 0.01 - 0.5) = 160.
    expected = files.read().extract(frames[:161])
    np.testing.assert_allclose(vectors.vectors[0], expected, rtol=1e-6)
