"""Fast forward passes against plain ones, with weights that nobody trained."""

import numpy as np
import pytest

from sms_diar.errors import InvalidParameterError
from sms_diar.networks import _reference
from sms_diar.networks._campplus_kernels import (
    affine_relu,
    bias_relu_means,
    gated_taps,
    next_tiles,
    transform_tiles,
)
from sms_diar.networks._pyannet_kernels import normalise_leaky, pool_three, tanh
from sms_diar.networks.campplus import _TAPS_TO_TILE, CampPlus
from sms_diar.networks.campplus_weights import convert as convert_campplus
from sms_diar.networks.pyannet import FIELD, STEP, PyanNet
from sms_diar.networks.pyannet_weights import convert as convert_pyannet


@pytest.fixture(scope="module")
def campplus_state():
    rng = np.random.default_rng(0)
    state = {}

    def weight(name, *shape):
        scale = (2.0 / np.prod(shape[1:])) ** 0.5
        state[f"{name}.weight"] = scale * rng.standard_normal(shape)

    def norm(name, size, *, affine=True):
        state[f"{name}.running_mean"] = 0.1 * rng.standard_normal(size)
        state[f"{name}.running_var"] = rng.uniform(0.5, 2.0, size)
        if affine:
            state[f"{name}.weight"] = rng.uniform(0.5, 1.5, size)
            state[f"{name}.bias"] = 0.1 * rng.standard_normal(size)

    weight("head.conv1", 32, 1, 3, 3)
    weight("head.conv2", 32, 32, 3, 3)
    norm("head.bn1", 32)
    norm("head.bn2", 32)
    for name in ("layer1.0", "layer1.1", "layer2.0", "layer2.1"):
        for i in (1, 2):
            weight(f"head.{name}.conv{i}", 32, 32, 3, 3)
            norm(f"head.{name}.bn{i}", 32)
        if name.endswith("0"):
            weight(f"head.{name}.shortcut.0", 32, 32, 1, 1)
            norm(f"head.{name}.shortcut.1", 32)
    weight("xvector.tdnn.linear", 128, 320, 5)
    norm("xvector.tdnn.nonlinear.batchnorm", 128)
    channels = 128
    for number, n_layers in enumerate((12, 24, 16), 1):
        for layer in range(1, n_layers + 1):
            name = f"xvector.block{number}.tdnnd{layer}"
            norm(f"{name}.nonlinear1.batchnorm", channels)
            weight(f"{name}.linear1", 128, channels, 1)
            norm(f"{name}.nonlinear2.batchnorm", 128)
            weight(f"{name}.cam_layer.linear_local", 32, 128, 3)
            for i, shape in ((1, (64, 128)), (2, (32, 64))):
                weight(f"{name}.cam_layer.linear{i}", *shape, 1)
                bias = 0.1 * rng.standard_normal(shape[0])
                state[f"{name}.cam_layer.linear{i}.bias"] = bias
            channels += 32
        norm(f"xvector.transit{number}.nonlinear.batchnorm", channels)
        weight(f"xvector.transit{number}.linear", channels // 2, channels, 1)
        channels //= 2
    norm("xvector.out_nonlinear.batchnorm", channels)
    weight("xvector.dense.linear", 192, 2 * channels, 1)
    norm("xvector.dense.nonlinear.batchnorm", 192, affine=False)
    return state


@pytest.fixture(scope="module")
def pyannet_weights():
    rng = np.random.default_rng(1)

    def draw(*shape, scale=1.0):
        return scale * rng.standard_normal(shape)

    weights = {
        "ortshared_1_1_1_1_token_110": np.array([0.8]),
        "ortshared_1_1_1_0_token_107": np.array([0.1]),
        "/sincnet/conv1d.0/Concat_2_output_0": draw(80, 1, 251, scale=0.06),
        "sincnet.conv1d.1.weight": draw(60, 80, 5, scale=0.05),
        "sincnet.conv1d.2.weight": draw(60, 60, 5, scale=0.06),
        "sincnet.conv1d.1.bias": draw(60),
        "sincnet.conv1d.2.bias": draw(60),
        "onnx::MatMul_915": draw(256, 128, scale=0.2),
        "onnx::MatMul_916": draw(128, 128, scale=0.2),
        "onnx::MatMul_917": draw(128, 7, scale=0.2),
        "linear.0.bias": draw(128),
        "linear.1.bias": draw(128),
        "ortshared_1_1_7_0_token_109": draw(7),
    }
    for number, size in enumerate((80, 60, 60)):
        weights[f"sincnet.norm1d.{number}.weight"] = 1.0 + draw(size, scale=0.2)
        weights[f"sincnet.norm1d.{number}.bias"] = draw(size, scale=0.2)
    for layer, size in enumerate((60, 256, 256, 256)):
        first = 783 + 43 * layer
        weights[f"onnx::LSTM_{first}"] = draw(2, 1024, scale=0.2)
        weights[f"onnx::LSTM_{first + 1}"] = draw(2, 512, size, scale=0.1)
        weights[f"onnx::LSTM_{first + 2}"] = draw(2, 512, 128, scale=0.1)
    return weights


# 201 frames are 101 after halving: two parts with a gate each, the second of one frame.
@pytest.mark.parametrize("n_frames", [3, 20, 201])
def test_campplus_is_its_reference(campplus_state, n_frames):
    network = CampPlus(convert_campplus(campplus_state))
    frames = np.random.default_rng(2).standard_normal((2, n_frames, 80))
    found = network.embed(frames)
    assert found.shape == (2, network.dim) == (2, 192)
    for vector, window in zip(found, frames, strict=True):
        expected = _reference.campplus(campplus_state, window)
        error = np.abs(vector - expected).max() / np.linalg.norm(expected)
        assert error < 1e-5


def test_a_window_has_the_same_vector_whatever_it_is_computed_with(campplus_state):
    network = CampPlus(convert_campplus(campplus_state))
    frames = np.random.default_rng(3).standard_normal((3, 30, 80))
    together = network.embed(frames)
    for row in range(3):
        alone = network.embed(frames[row : row + 1])[0]
        np.testing.assert_allclose(alone, together[row], atol=1e-4)
    assert network.embed(frames[:0]).shape == (0, 192)


@pytest.mark.parametrize("shape", [(1, 2, 80), (1, 10, 40), (10, 80)])
def test_campplus_refuses_other_shapes(campplus_state, shape):
    network = CampPlus(convert_campplus(campplus_state))
    with pytest.raises(InvalidParameterError, match=r"n_frames, 80\) with at least 3"):
        network.embed(np.zeros(shape))


@pytest.mark.parametrize("n_samples", [FIELD, FIELD + 7 * STEP + 5, 16000])
def test_pyannet_is_its_reference(pyannet_weights, n_samples):
    network = PyanNet(convert_pyannet(pyannet_weights))
    windows = np.random.default_rng(4).standard_normal((3, n_samples))
    found = network.log_probabilities(windows)
    assert found.shape == (3, (n_samples - FIELD) // STEP + 1, 7)
    np.testing.assert_allclose(np.exp(found).sum(axis=2), 1.0, atol=1e-5)
    for values, window in zip(found, windows, strict=True):
        expected = _reference.pyannet(pyannet_weights, window)
        np.testing.assert_allclose(values, expected, atol=1e-3)


def test_pyannet_refuses_less_than_one_frame(pyannet_weights):
    network = PyanNet(convert_pyannet(pyannet_weights))
    with pytest.raises(InvalidParameterError, match="at least 991 samples"):
        network.log_probabilities(np.zeros((1, FIELD - 1)))


@pytest.mark.compiled
def test_the_tangent_of_the_cells_is_exact_to_32_bits():
    x = np.linspace(-12, 12, 4001).astype(np.float32)
    found = np.empty_like(x)
    tanh(x, found)
    np.testing.assert_allclose(found, np.tanh(x.astype(np.float64)), atol=6.1e-8)


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
    plain = tiled(frames, n_tiles)
    tiles = np.zeros((6, rows + 2, c, n_windows * n_tiles), dtype=np.float32)
    transform_tiles(plain, length, tiles)
    products = np.einsum("pj,cj,prct->prct", _TAPS_TO_TILE, taps, tiles[:, 1:-1])

    padded = np.pad(frames, ((0, 0), (0, 0), (0, 0), (1, 1)))
    expected = bias[None, :, None, None] + rest
    for tap in range(3):
        expected = (
            expected
            + taps[None, :, None, None, tap] * (padded[..., tap : tap + length])
        )
    expected = np.maximum(expected, 0)
    found, after = np.empty_like(plain), np.zeros_like(tiles)
    products = products.astype(np.float32)
    next_tiles(products, bias, tiled(rest, n_tiles), length, found, after)
    np.testing.assert_allclose(found, tiled(expected, n_tiles), atol=1e-5)
    again = np.zeros_like(tiles)
    transform_tiles(found.copy(), length, again)
    np.testing.assert_array_equal(after, again)


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
    out = np.empty_like(frames)
    normalise_leaky(frames, scale, shift, 0.01, out)
    away = frames - frames.mean(axis=0)
    value = away / np.sqrt(frames.var(axis=0) + 1e-5) * scale + shift
    np.testing.assert_allclose(out, np.maximum(value, 0.01 * value), atol=1e-5)
