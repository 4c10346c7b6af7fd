"""Fast forward passes against recorded output and slow references.

tiny.npz holds networks with few channels: random weights with the names and layers of
the originals, in half precision (one array for each network, with the shapes as JSON),
input, and what `_reference` gave for it in double precision.
"""

import json
import pickle
from math import prod
from pathlib import Path

import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.networks import _reference
from sms_diar.networks.campplus import (
    CampPlus,
    affine_relu,
    bias_relu_means,
    gated_taps,
)
from sms_diar.networks.conversion import (
    as_initializers,
    band_filters,
    convert_campplus,
    convert_pyannet,
    convert_resnet34,
)
from sms_diar.networks.planes import (
    _TAPS_TO_TILE,
    every_second,
    frames_of_tiles,
    tiles_of_frames,
)
from sms_diar.networks.pyannet import (
    FIELD,
    STEP,
    PyanNet,
    _tanh,
    normalise_leaky,
    pool_three,
)
from sms_diar.networks.resnet34 import SHORTEST, ResNet34

LENGTHS = (3, 20, 201)  # 201 frames: 101 after halving, a part of 100 and one of 1


@pytest.fixture(scope="module")
def tiny():
    with np.load(Path(__file__).with_name("tiny.npz")) as content:
        return dict(content)


def weights_of(tiny, name):
    shapes = json.loads(str(tiny[f"{name}_shapes"]))
    ends = np.cumsum([prod(shape) for shape in shapes.values()])
    parts = np.split(tiny[name].astype(np.float64), ends[:-1])
    return {
        key: part.reshape(shape)
        for (key, shape), part in zip(shapes.items(), parts, strict=True)
    }


@pytest.fixture(scope="module")
def campplus(tiny):
    return CampPlus(convert_campplus(weights_of(tiny, "campplus")))


@pytest.fixture(scope="module")
def resnet34(tiny):
    return ResNet34(convert_resnet34(weights_of(tiny, "resnet34")))


@pytest.fixture(scope="module")
def pyannet(tiny):
    return PyanNet(convert_pyannet(weights_of(tiny, "segmentation")))


@pytest.mark.parametrize("row", range(3))
def test_campplus_gives_the_recorded_vectors(tiny, campplus, row):
    frames, expected = tiny["frames"][: LENGTHS[row]], tiny["vectors"][row]
    vectors = campplus.embed(np.stack([frames, frames]))
    assert vectors.shape == (2, campplus.dim) == (2, 6)
    error = np.abs(vectors - expected).max() / np.linalg.norm(expected)
    assert error < 1e-5


@pytest.mark.parametrize("row", range(3))
def test_resnet34_gives_the_recorded_vectors(tiny, resnet34, row):
    length = max(LENGTHS[row], SHORTEST)
    frames, expected = tiny["frames"][:length], tiny["resnet34_vectors"][row]
    vectors = resnet34.embed(np.stack([frames, frames]))
    assert vectors.shape == (2, resnet34.dim) == (2, 5)
    error = np.abs(vectors - expected).max() / np.linalg.norm(expected)
    assert error < 1e-5


@pytest.mark.parametrize("length", range(SHORTEST, SHORTEST + 9))
def test_resnet34_is_its_reference_at_all_lengths_of_tiles(tiny, resnet34, length):
    frames = tiny["frames"][: 2 * length].reshape(2, length, 80).astype(float)
    weights = weights_of(tiny, "resnet34")
    expected = [_reference.resnet34(weights, window) for window in frames]
    np.testing.assert_allclose(resnet34.embed(frames), expected, atol=1e-5)


def test_the_slow_networks_give_the_recorded_output(tiny):
    state, weights = weights_of(tiny, "campplus"), weights_of(tiny, "segmentation")
    for length, expected in zip(LENGTHS, tiny["vectors"], strict=True):
        vector = _reference.campplus(state, tiny["frames"][:length].astype(float))
        np.testing.assert_allclose(vector, expected, rtol=1e-9)
    frames = tiny["frames"][:20].astype(float)
    vector = _reference.resnet34(weights_of(tiny, "resnet34"), frames)
    np.testing.assert_allclose(vector, tiny["resnet34_vectors"][1], rtol=1e-9)
    values = _reference.pyannet(weights, tiny["samples"].astype(float))
    np.testing.assert_allclose(values, tiny["log_probabilities"], rtol=1e-9)


def test_the_vector_of_a_window_does_not_depend_on_the_batch(tiny, campplus):
    frames = tiny["frames"][:90].reshape(3, 30, 80)
    together = campplus.embed(frames)
    for row in range(3):
        alone = campplus.embed(frames[row : row + 1])[0]
        np.testing.assert_allclose(alone, together[row], atol=1e-6)
    assert campplus.embed(frames[:0]).shape == (0, 6)


@pytest.mark.parametrize("shape", [(1, 2, 80), (1, 10, 40), (10, 80)])
def test_campplus_refuses_other_shapes(campplus, shape):
    with pytest.raises(InvalidParameterError, match=r"n_frames, 80\) with at least 3"):
        campplus.embed(np.zeros(shape))


def test_resnet34_needs_two_frames_after_halving_three_times(resnet34):
    with pytest.raises(InvalidParameterError, match="at least 9 frames"):
        resnet34.embed(np.zeros((1, 8, 80)))


def test_pyannet_gives_the_recorded_log_probabilities(tiny, pyannet):
    windows = np.stack([tiny["samples"]] * 3)
    values = pyannet.log_probabilities(windows)
    assert values.shape == (3, (5000 - FIELD) // STEP + 1, 7)
    np.testing.assert_allclose(np.exp(values).sum(axis=2), 1.0, atol=1e-5)
    for window in values:
        np.testing.assert_allclose(window, tiny["log_probabilities"], atol=1e-5)


@pytest.mark.parametrize("n_samples", [FIELD, FIELD + 7 * STEP + 5])
def test_pyannet_is_its_reference(tiny, pyannet, n_samples):
    samples = tiny["samples"][:n_samples].astype(float)
    [values] = pyannet.log_probabilities(samples[None])
    expected = _reference.pyannet(weights_of(tiny, "segmentation"), samples)
    np.testing.assert_allclose(values, expected, atol=1e-3)


def test_three_independent_outputs_become_probabilities_of_all_sets(tiny):
    weights = weights_of(tiny, "segmentation")
    for name in ("onnx::MatMul_917", "ortshared_1_1_7_0_token_109"):
        weights[name] = weights[name][..., :3]
    network = PyanNet(convert_pyannet(weights))
    samples = tiny["samples"].astype(float)
    [found] = np.exp(network.log_probabilities(samples[None]))
    active = 1.0 / (1.0 + np.exp(-_reference.pyannet(weights, samples)))
    assert network.classes[-2:] == ((1, 2), (0, 1, 2))
    for group, column in zip(network.classes, found.T, strict=True):
        each = [active[:, i] if i in group else 1 - active[:, i] for i in range(3)]
        np.testing.assert_allclose(column, np.prod(each, axis=0), atol=1e-4)
    copy = pickle.loads(pickle.dumps(network))  # as other processes get it
    np.testing.assert_array_equal(
        copy.log_probabilities(samples[None]), network.log_probabilities(samples[None])
    )


def test_a_filter_is_the_mean_wave_of_its_band():
    times = 2 * np.pi * np.arange(-125, 126)[None] / 16000
    window = np.hamming(251)
    low, band = np.array([[-250.0]]), np.array([[350.0]])
    even, odd = band_filters(low, band, times[:, :125], window[:125])[:, 0]
    # A band from 50 + 250 Hz, 50 + 350 Hz wide; middles of a thousand parts of it.
    frequencies = 300.0 + 400.0 * (np.arange(1000) + 0.5) / 1000
    angles = frequencies * times.T
    np.testing.assert_allclose(even, np.cos(angles).mean(axis=1) * window, atol=1e-6)
    np.testing.assert_allclose(odd, np.sin(angles).mean(axis=1) * window, atol=1e-6)


def test_tensors_of_pytorch_get_the_names_and_order_of_the_onnx_file(tiny):
    expected = weights_of(tiny, "segmentation")
    filters = expected.pop("/sincnet/conv1d.0/Concat_2_output_0")
    bands = np.ones((len(filters) // 2, 1))
    times, window = -np.ones((1, filters.shape[2] // 2)), np.ones(filters.shape[2] // 2)
    tensors = {name: value for name, value in expected.items() if "sincnet" in name}
    tensors |= {
        "sincnet.wav_norm1d.weight": expected["ortshared_1_1_1_1_token_110"],
        "sincnet.wav_norm1d.bias": expected["ortshared_1_1_1_0_token_107"],
        "sincnet.conv1d.0.filterbank.low_hz_": bands,
        "sincnet.conv1d.0.filterbank.band_hz_": bands,
        "sincnet.conv1d.0.filterbank.n_": times,
        "sincnet.conv1d.0.filterbank.window_": window,
        "classifier.weight": expected["onnx::MatMul_917"].T,
        "classifier.bias": expected["ortshared_1_1_7_0_token_109"],
    }
    for layer in range(2):
        tensors[f"linear.{layer}.weight"] = expected[f"onnx::MatMul_{915 + layer}"].T
        tensors[f"linear.{layer}.bias"] = expected[f"linear.{layer}.bias"]
    for layer in range(4):
        bias, inputs, recurrent = (
            expected[f"onnx::LSTM_{783 + 43 * layer + i}"] for i in range(3)
        )
        kinds = {"weight_ih": inputs, "weight_hh": recurrent}
        kinds["bias_ih"], kinds["bias_hh"] = np.split(bias, 2, axis=1)
        for kind, (ahead, back) in kinds.items():
            for way, rows in ((f"l{layer}", ahead), (f"l{layer}_reverse", back)):
                enter, leave, keep, new = np.split(rows, 4)
                gates = [enter, keep, new, leave]
                tensors[f"lstm.{kind}_{way}"] = np.concatenate(gates)
    found = as_initializers(tensors)
    # The file's own times and window are used, not those of the formula.
    expected["/sincnet/conv1d.0/Concat_2_output_0"] = band_filters(
        bands, bands, times, window
    )
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_pyannet_refuses_less_than_one_frame(pyannet):
    with pytest.raises(InvalidParameterError, match="at least 991 samples"):
        pyannet.log_probabilities(np.zeros((1, FIELD - 1)))


def test_the_tangent_of_the_cells_is_exact_to_32_bits():
    x = np.linspace(-12, 12, 4001).astype(np.float32)
    values = [_tanh(value) for value in x]
    np.testing.assert_allclose(values, np.tanh(x.astype(np.float64)), atol=6.1e-8)


@pytest.mark.compiled
def test_elementwise_parts_of_campplus_are_what_they_say():
    rng = np.random.default_rng(5)
    length, n_windows, c = 7, 2, 3
    n = length * n_windows
    x = rng.standard_normal((c, n)).astype(np.float32)
    a, b = rng.standard_normal((2, c)).astype(np.float32)
    out = np.empty_like(x)
    affine_relu(x, a, b, out)
    expected = np.maximum(a[:, None] * x + b[:, None], 0)
    np.testing.assert_allclose(out, expected, rtol=1e-6)

    part = 5
    context = np.empty((c, n_windows * 2), dtype=np.float32)
    rectified = x.copy()
    bias_relu_means(rectified, b, length, part, context)
    np.testing.assert_allclose(rectified, np.maximum(x + b[:, None], 0), rtol=1e-6)
    windows = rectified.reshape(c, n_windows, length)
    parts = [windows[:, :, :part].mean(axis=2), windows[:, :, part:].mean(axis=2)]
    expected = np.stack(parts, axis=2) + windows.mean(axis=2)[:, :, None]
    np.testing.assert_allclose(context, expected.reshape(c, -1), rtol=1e-5)

    taps = rng.standard_normal((3, c, n)).astype(np.float32)
    gate = rng.uniform(size=(c, n_windows * 2)).astype(np.float32)
    gated_taps(taps, gate, length, part, 2, out)
    cut = np.pad(taps.reshape(3, c, n_windows, length), ((0, 0),) * 3 + ((2, 2),))
    summed = cut[0, ..., :length] + cut[1, ..., 2:-2] + cut[2, ..., 4:]
    factors = np.repeat(gate.reshape(c, n_windows, 2), (part, length - part), axis=2)
    np.testing.assert_allclose(out.reshape(factors.shape), summed * factors, atol=1e-6)


def tiled(frames, n_tiles):
    """Windows of frames (rows, c, n_windows, length) in the layout of tiles."""
    rows, c, n_windows, length = frames.shape
    padded = np.zeros((rows, c, n_windows, 4 * n_tiles), dtype=np.float32)
    padded[..., :length] = frames
    shaped = padded.reshape(rows, c, n_windows * n_tiles, 4)
    return np.ascontiguousarray(shaped.transpose(0, 3, 1, 2))


@pytest.mark.compiled
@pytest.mark.parametrize("length", [8, 9, 11])
def test_products_of_tiles_are_convolutions_over_time(length):
    rng = np.random.default_rng(7)
    rows, c, n_windows, n_tiles = 2, 3, 2, -(-length // 4)
    frames = rng.standard_normal((rows, c, n_windows, length)).astype(np.float32)
    rest = rng.standard_normal(frames.shape).astype(np.float32)
    bias = rng.standard_normal(c).astype(np.float32)
    taps = rng.standard_normal((c, 3))  # a filter for each channel
    tiles = np.empty((6, rows + 2, c, n_windows * n_tiles), dtype=np.float32)
    beside = np.empty((2, n_windows * n_tiles), dtype=np.float32)
    tiles_of_frames(tiled(frames, n_tiles), -1, length, tiles, beside)
    assert not tiles[:, [0, -1]].any()
    inner = np.empty_like(tiles[:, 2:])
    tiles_of_frames(tiled(frames, n_tiles), 1, length, inner, beside)
    np.testing.assert_array_equal(inner, tiles[:, 2:])
    products = np.einsum("pj,cj,prct->prct", _TAPS_TO_TILE, taps, tiles[:, 1:-1])

    padded = np.pad(frames, ((0, 0), (0, 0), (0, 0), (1, 1)))
    expected = bias[None, :, None, None] + rest
    for tap in range(3):
        expected = (
            expected
            + taps[None, :, None, None, tap] * (padded[..., tap : tap + length])
        )
    expected = np.maximum(expected, 0)
    plain = np.empty_like(tiled(frames, n_tiles))
    residual = tiled(rest, n_tiles)
    for row in range(rows):
        product = products[:, row : row + 1].astype(np.float32)
        frames_of_tiles(product, bias, residual, row, length, plain)
    np.testing.assert_allclose(plain, tiled(expected, n_tiles), atol=1e-5)
    halved, half = every_second(plain, length)
    expected = expected[..., ::2]
    assert half == expected.shape[3]
    np.testing.assert_allclose(halved, tiled(expected, -(-half // 4)), atol=1e-5)


@pytest.mark.compiled
def test_pooling_and_normalisation_are_what_they_say():
    rng = np.random.default_rng(6)
    frames = rng.standard_normal((11, 4)).astype(np.float32)
    phases = np.zeros((2, 6, 4), dtype=np.float32)
    phases[0], phases[1, :5] = frames[::2], frames[1::2]
    for rectify in (0, 1):
        pooled = np.empty((3, 4), dtype=np.float32)
        pool_three(phases, rectify, pooled)
        seen = np.abs(frames) if rectify else frames
        assert (pooled == seen[:9].reshape(3, 3, 4).max(axis=1)).all()
    scale, shift = rng.standard_normal((2, 4)).astype(np.float32)
    out = frames.copy()
    affine = np.empty((2, 4), dtype=np.float32)
    normalise_leaky(out, scale, shift, 0.01, np.zeros((2, 4)), affine)
    away = frames - frames.mean(axis=0)
    value = away / np.sqrt(frames.var(axis=0) + 1e-5) * scale + shift
    np.testing.assert_allclose(out, np.maximum(value, 0.01 * value), atol=1e-5)
