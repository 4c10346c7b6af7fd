"""Embedders: input, batches, names, and ONNX files that a TOML describes."""

import pickle
import sys
from functools import partial

import numpy as np
import pytest

from sms_diar._parallel import process_map
from sms_diar.embeddings.network import (
    Embedder,
    FusedEmbedder,
    NetworkEmbedder,
    NetworkInput,
    load_embedder,
)
from sms_diar.errors import (
    ConfigError,
    DataFormatError,
    InvalidParameterError,
    MissingExtraError,
    MissingFileError,
)
from sms_diar.features.filterbank import FilterbankConfig, filterbank
from sms_diar.features.mono import ArraySamples
from sms_diar.types import Segment

RATE = 16000


class Sums:
    """Stands in for a network: size of the input, and its mean."""

    dim = 2

    def embed(self, inputs):
        assert len(inputs) <= 8
        axes = tuple(range(1, inputs.ndim))
        sizes = np.full(len(inputs), inputs.shape[1])
        return np.stack((sizes, inputs.mean(axis=axes)), axis=1)


def embedder(**front):
    return NetworkEmbedder(Sums(), "digest", NetworkInput(**front), name="sums")


@pytest.fixture
def ramp():
    return ArraySamples(np.linspace(-0.5, 0.5, 4 * RATE), RATE, name="ramp")


def test_segments_of_any_lengths_keep_their_order(ramp):
    rng = np.random.default_rng(0)
    starts = rng.uniform(0, 2, 40).round(2)
    lengths = rng.choice([0.5, 0.7, 1.5], 40)
    segments = [Segment("ramp", a, a + b) for a, b in zip(starts, lengths, strict=True)]
    network = embedder(filterbank=None, shortest=1)
    found = network.embed(ramp, segments)
    assert found[:, 0].tolist() == [round(length * RATE) for length in lengths]
    middles = (starts + lengths / 2) / 4 - 0.5  # of a ramp, the mean
    np.testing.assert_allclose(found[:, 1], middles, atol=1e-4)
    np.testing.assert_array_equal(found, network.embed(ramp, segments, workers=3))
    assert network.embed(ramp, []).shape == (0, 2)


def test_what_reaches_beyond_the_recording_is_cut_off(ramp):
    [found] = embedder(filterbank=None).embed(ramp, [Segment("ramp", 3.5, 4.5)])
    assert found[0] == 0.5 * RATE


def test_segments_that_are_too_short_are_refused(ramp):
    network = embedder()
    assert network.shortest == 0.045  # three frames: 25 ms and two steps of 10 ms
    assert network.embed(ramp, [Segment("ramp", 1.0, 1.045)]).shape == (1, 2)
    for segment in (Segment("ramp", 1.0, 1.04), Segment("ramp", 3.98, 5.0)):
        with pytest.raises(InvalidParameterError, match=r"at least 0\.045 s, got 0\.0"):
            network.embed(ramp, [segment])


def test_audio_of_another_rate_is_refused():
    audio = ArraySamples(np.zeros(8000), 8000)
    with pytest.raises(
        InvalidParameterError, match="must have 16000 samples per second"
    ):
        embedder().embed(audio, [Segment("x", 0.0, 0.5)])


def test_frames_lose_their_mean_over_the_segment():
    samples = np.random.default_rng(1).standard_normal(8000)
    frames = filterbank(samples, FilterbankConfig())
    found = NetworkInput().of(samples)
    np.testing.assert_allclose(found, frames - frames.mean(axis=0), atol=1e-12)
    np.testing.assert_array_equal(NetworkInput(subtract_mean=False).of(samples), frames)
    scaled = NetworkInput(filterbank=None, scale=32768.0).of(samples)
    np.testing.assert_array_equal(scaled, 32768.0 * samples)


def test_the_fingerprint_follows_from_weights_and_settings():
    known = embedder().fingerprint
    assert known == embedder(shortest=9).fingerprint
    others = [
        NetworkEmbedder(Sums(), "other digest", NetworkInput()).fingerprint,
        embedder(subtract_mean=False).fingerprint,
        embedder(scale=2.0).fingerprint,
        embedder(filterbank=FilterbankConfig(n_filters=40)).fingerprint,
        embedder(filterbank=FilterbankConfig(window="hamming")).fingerprint,
        embedder(filterbank=None).fingerprint,
    ]
    assert len({known, *others}) == 7


def test_cosines_of_two_embedders_are_their_weighted_mean(ramp):
    def unit(rows):
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    first, second = embedder(filterbank=None), embedder(scale=9.0)
    fused = FusedEmbedder(first, second, 0.3)
    assert isinstance(fused, Embedder)
    segments = [Segment("ramp", start, start + 0.5) for start in (0.0, 1.0, 3.0)]
    rows = fused.embed(ramp, segments)
    assert rows.shape == (3, fused.dim)
    one, other = (part.embed(ramp, segments) for part in (first, second))
    np.testing.assert_array_equal(rows[:, :2], one)
    mean = 0.7 * unit(one) @ unit(one).T + 0.3 * unit(other) @ unit(other).T
    np.testing.assert_allclose(unit(rows) @ unit(rows).T, mean, rtol=1e-12)


def test_the_fingerprint_of_two_embedders_follows_from_both_and_the_weight():
    first, second = embedder(), embedder(scale=9.0)
    trials = (first, second, 0.3), (second, first, 0.3), (first, second, 0.4)
    prints = {FusedEmbedder(*trial).fingerprint for trial in trials}
    assert len(prints) == 3
    assert FusedEmbedder(first, second, 0.3).fingerprint in prints
    with pytest.raises(InvalidParameterError, match="the rate 16000"):
        FusedEmbedder(first, embedder(rate=8000, filterbank=None), 0.3)


def test_the_filterbank_must_have_the_rate_of_the_network():
    with pytest.raises(
        InvalidParameterError, match="must have the rate 8000, got 16000"
    ):
        NetworkInput(rate=8000)


def test_campplus_has_a_name_and_the_fingerprint_its_back_end_knows(stored_network):
    stored_network("campplus")
    found = load_embedder("campplus")
    assert isinstance(found, Embedder)
    assert (found.rate, found.dim) == (16000, 192)
    assert found.fingerprint == "2659431de6e2a3ee"


@pytest.mark.parametrize("name", ["campplus", "resnet34"])
def test_networks_find_voices_again(stored_network, one_voice, name):
    from scipy.signal import resample_poly

    stored_network(name)
    network = load_embedder(name)
    vectors = []
    for seed in (1, 2):
        audio = ArraySamples(resample_poly(one_voice(seed), 2, 1), RATE)
        parts = [Segment("voice", 0.5, 2.5), Segment("voice", 2.5, 4.5)]
        vectors.append(network.embed(audio, parts))
    unit = np.concatenate(vectors)
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    cosines = unit @ unit.T
    assert min(cosines[0, 1], cosines[2, 3]) > cosines[:2, 2:].max()


# --- ONNX ---------------------------------------------------------------------


def varint(value):
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor_type(name, shape):
    sizes = b"".join(
        field(1, field(1, size) if isinstance(size, int) else field(2, size))
        for size in shape
    )
    kind = field(1, field(1, 1) + field(2, sizes))  # of 32-bit floats
    return field(1, name) + field(2, kind)


def onnx_mean(path, shape):
    """A network that takes the mean over the second axis, by hand."""
    axes = field(1, "axes") + field(8, 1) + field(20, 7)
    keep = field(1, "keepdims") + field(3, int(len(shape) == 2)) + field(20, 2)
    node = field(1, "feats") + field(2, "embs") + field(4, "ReduceMean")
    node += field(5, axes) + field(5, keep)
    out = ("n", shape[-1]) if len(shape) == 3 else ("n", 1)
    graph = field(1, node) + field(2, "g")
    graph += field(11, tensor_type("feats", shape)) + field(
        12, tensor_type("embs", out)
    )
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 13)))


INF, NAN = float("inf"), float("nan")
DESCRIPTION = {
    "file": "mean.onnx",
    "input": "feats",
    "output": "embs",
    "licence": "CC0-1.0",
}


@pytest.fixture
def described(tmp_path):
    def write(shape=("n", "t", 80), **settings):
        onnx_mean(tmp_path / "mean.onnx", shape)
        path = tmp_path / "mean.toml"
        lines = []
        for key, value in (DESCRIPTION | settings).items():
            shown = str(value).lower() if isinstance(value, bool) else repr(value)
            lines += [f"{key} = {shown}"] if value is not None else []
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write


def test_an_onnx_network_works_by_the_path_of_its_description(described, ramp):
    pytest.importorskip("onnxruntime")
    network = load_embedder(described(subtract_mean=False))
    assert isinstance(network, Embedder)
    assert (network.name, network.rate, network.dim) == ("mean", 16000, 80)
    segments = [Segment("ramp", 0.0, 1.0), Segment("ramp", 1.0, 1.5)]
    found = network.embed(ramp, segments)
    expected = filterbank(ramp.read(16000, 24000), FilterbankConfig()).mean(axis=0)
    np.testing.assert_allclose(found[1], expected, rtol=1e-5)


def test_an_onnx_network_may_take_the_waveform(described, ramp):
    pytest.importorskip("onnxruntime")
    network = load_embedder(described(("n", "t"), features="waveform", scale=100))
    assert network.dim == 1
    [found] = network.embed(ramp, [Segment("ramp", 1.0, 2.0)])
    np.testing.assert_allclose(found, [100 * (1.5 / 4 - 0.5)], atol=1e-2)


def test_descriptions_of_one_file_with_other_settings_have_other_fingerprints(
    described,
):
    pytest.importorskip("onnxruntime")
    first = load_embedder(described()).fingerprint
    second = load_embedder(described(subtract_mean=False)).fingerprint
    assert first != second


@pytest.mark.parametrize(
    ("settings", "kind", "problem"),
    [
        ({"rat": 8000}, ConfigError, "unknown key 'rat'; did you mean 'rate'?"),
        ({"rate": "8000"}, ConfigError, "'rate' must be a whole number, got '8000'"),
        ({"subtract_mean": 1}, ConfigError, "'subtract_mean' must be true or false"),
        ({"licence": None}, ConfigError, "missing licence"),
        ({"features": "mfcc"}, ConfigError, "'features' must be 'fbank' or 'waveform'"),
        ({"rate": 0}, ConfigError, "'rate' must be between 100 and 768000, got 0"),
        ({"rate": 10**18}, ConfigError, "'rate' must be between 100 and 768000"),
        ({"n_filters": 0}, ConfigError, "'n_filters' must be between 1 and 4096"),
        ({"n_filters": 10**9}, ConfigError, "'n_filters' must be between 1 and 4096"),
        ({"scale": -1}, ConfigError, "'scale' must be between 1e-09 and 1e+09, got -1"),
        ({"scale": INF}, ConfigError, "'scale' must be between 1e-09 and 1e+09"),
        ({"scale": 10**400}, ConfigError, "'scale' must be between 1e-09 and 1e+09"),
        ({"shortest": INF}, ConfigError, "'shortest' must be between 0 and 60, got in"),
        ({"shortest": NAN}, ConfigError, "'shortest' must be between 0 and 60, got na"),
        ({"shortest": 1e18}, ConfigError, "'shortest' must be between 0 and 60, got 1"),
        ({"shortest": -1}, ConfigError, "'shortest' must be between 0 and 60, got -1"),
        ({"file": "/dev/zero"}, DataFormatError, "/dev/zero: is a pipe or device"),
        ({"file": "none.onnx"}, MissingFileError, "none.onnx: no such file"),
        ({"file": "mean.toml"}, DataFormatError, "onnxruntime cannot load it"),
        ({"input": "x"}, DataFormatError, "has no input 'x', only feats"),
        ({"output": "x"}, DataFormatError, "has no output 'x', only embs"),
        (
            {"n_filters": 40},
            DataFormatError,
            "does not take an input of shape (1, 98, 40)",
        ),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(described, settings, kind, problem):
    if kind is DataFormatError:
        pytest.importorskip("onnxruntime")
    path = described(**settings)
    with pytest.raises(kind) as caught:
        load_embedder(path)
    assert problem in str(caught.value)
    assert kind is not ConfigError or str(path) in str(caught.value)


def test_a_description_that_is_not_toml_is_refused(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("file : x")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_embedder(path)


def test_without_onnxruntime_the_extra_is_named(described, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'sms-diar\[neural\]'"):
        load_embedder(described())


def test_an_onnx_network_can_be_sent_to_another_process(described, ramp, monkeypatch):
    pytest.importorskip("onnxruntime")
    path = described()
    monkeypatch.chdir(path.parent)
    network = load_embedder(path.name)
    segments = [Segment("ramp", 0.0, 1.0), Segment("ramp", 1.0, 1.5)]
    work = [[segment] for segment in segments]
    sent = list(process_map(partial(network.embed, ramp), work, workers=2))
    np.testing.assert_array_equal(np.concatenate(sent), network.embed(ramp, segments))
    # In another folder, as a worker of a cluster may be.
    data = pickle.dumps(network)
    monkeypatch.chdir("/")
    again = pickle.loads(data)
    assert (again.dim, again.fingerprint) == (network.dim, network.fingerprint)
