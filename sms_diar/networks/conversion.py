"""Conversion of the original weights to the form that the forward passes use.

CAM++: batch normalisations that follow a product are fused into its weights. In the
file of ResNet34 they already are.

PyanNet: the first convolution of a PyTorch file is given by two frequencies of each
filter. Biases of convolutions are dropped, because the following normalisation cancels
them. Sums of gates with a sigmoid are halved; see `pyannet.step_cells`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sms_diar.types import AnyArray, FloatArray

BLOCKS = ((12, 1), (24, 2), (16, 2))
"""Dense blocks of CAM++: number of layers, and dilation in frames."""

HEAD = (
    ("layer1.0", True, 2),
    ("layer1.1", False, 1),
    ("layer2.0", True, 2),
    ("layer2.1", False, 1),
)
"""Residual blocks of CAM++: name, if the shortcut has weights, frequency stride."""

RESIDUAL = tuple(
    (f"layer{layer}.{block}", layer > 1 and block == 0)
    for layer, n_blocks in enumerate((3, 4, 6, 3), 1)
    for block in range(n_blocks)
)
"""Residual blocks of ResNet34: name, and if it has a shortcut and halves both axes."""

LAYERS = 4
"""Number of recurrent layers of PyanNet."""

CONVOLUTIONS = ((251, 10), (5, 1), (5, 1))
"""Number of taps and stride of each convolution of PyanNet."""

_EPS = 1e-5
_RATE = 16000
_LOWEST_HZ = 50.0  # minimum of the lower frequency, and of the width, of a filter


def convert_campplus(tensors: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Convert the original tensors to weights of `CampPlus`."""
    state = {name: array.astype(np.float64) for name, array in tensors.items()}
    weights: dict[str, AnyArray] = {}
    planes = [("conv1", "head.conv1", "head.bn1"), ("conv2", "head.conv2", "head.bn2")]
    for name, has_shortcut, _ in HEAD:
        source = f"head.{name}"
        planes += [
            (f"{name}.conv{i}", f"{source}.conv{i}", f"{source}.bn{i}") for i in (1, 2)
        ]
        if has_shortcut:
            scale, shift = _affine(state, f"{source}.shortcut.1")
            weight = state[f"{source}.shortcut.0.weight"][:, :, 0, 0]
            weights[f"{name}.shortcut.weight"] = weight * scale[:, None]
            weights[f"{name}.shortcut.bias"] = shift
    for name, convolution, norm in planes:
        scale, shift = _affine(state, norm)
        weight = state[f"{convolution}.weight"] * scale[:, None, None, None]
        weights[f"{name}.weight"] = _blocks(weight)
        weights[f"{name}.bias"] = shift
    _convert_dense(state, weights)
    return {name: array.astype(np.float32) for name, array in weights.items()}


def _convert_dense(
    state: Mapping[str, FloatArray], weights: dict[str, AnyArray]
) -> None:
    scale, shift = _affine(state, "xvector.tdnn.nonlinear.batchnorm")
    weight = state["xvector.tdnn.linear.weight"] * scale[:, None, None]
    n_out, n_in, width = weight.shape
    channels = len(state["head.bn2.weight"])
    # The original input order is (channel, frequency); `CampPlus` uses the reverse.
    weight = weight.reshape(n_out, channels, n_in // channels, width)
    weights["tdnn.weight"] = weight.transpose(0, 3, 2, 1).reshape(n_out, -1)
    weights["tdnn.bias"] = shift
    for number, (n_layers, _) in enumerate(BLOCKS, 1):
        for layer in range(1, n_layers + 1):
            source = f"xvector.block{number}.tdnnd{layer}"
            name = f"block{number}.{layer}"
            weights[f"{name}.scale"], weights[f"{name}.shift"] = _affine(
                state, f"{source}.nonlinear1.batchnorm"
            )
            scale, shift = _affine(state, f"{source}.nonlinear2.batchnorm")
            narrow = state[f"{source}.linear1.weight"][:, :, 0]
            weights[f"{name}.narrow.weight"] = narrow * scale[:, None]
            weights[f"{name}.narrow.bias"] = shift
            taps = state[f"{source}.cam_layer.linear_local.weight"]
            taps = taps.transpose(2, 0, 1).reshape(-1, taps.shape[1])
            weights[f"{name}.taps.weight"] = taps
            for i in (1, 2):
                gate = f"{source}.cam_layer.linear{i}"
                weights[f"{name}.gate{i}.weight"] = state[f"{gate}.weight"][:, :, 0]
                weights[f"{name}.gate{i}.bias"] = state[f"{gate}.bias"]
        name, source = f"transit{number}", f"xvector.transit{number}"
        weights[f"{name}.scale"], weights[f"{name}.shift"] = _affine(
            state, f"{source}.nonlinear.batchnorm"
        )
        weights[f"{name}.weight"] = state[f"{source}.linear.weight"][:, :, 0]
    weights["last.scale"], weights["last.shift"] = _affine(
        state, "xvector.out_nonlinear.batchnorm"
    )
    scale, shift = _affine(state, "xvector.dense.nonlinear.batchnorm")
    out = state["xvector.dense.linear.weight"][:, :, 0]
    weights["out.weight"] = out * scale[:, None]
    weights["out.bias"] = shift


def _blocks(weight: AnyArray) -> AnyArray:
    """Convert (out, channel, frequency, time) to the memory order of the planes."""
    return weight.transpose(0, 2, 3, 1).reshape(len(weight), -1)


def _affine(
    state: Mapping[str, FloatArray], name: str
) -> tuple[FloatArray, FloatArray]:
    """Return the scale and the shift of a batch normalisation."""
    scale = 1.0 / np.sqrt(state[f"{name}.running_var"] + _EPS)
    if f"{name}.weight" in state:
        scale = scale * state[f"{name}.weight"]
    shift = -state[f"{name}.running_mean"] * scale
    if f"{name}.bias" in state:
        shift = shift + state[f"{name}.bias"]
    return scale, shift


def convert_resnet34(initializers: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Convert the weights of the ONNX file to weights of `ResNet34`."""
    names = ["conv1"]
    for block, has_shortcut in RESIDUAL:
        names += [f"{block}.conv1", f"{block}.conv2"]
        names += [f"{block}.shortcut"] * has_shortcut
    weights: dict[str, AnyArray] = {}
    for number, name in enumerate(names):
        first = 367 + 3 * number  # numbering of the exporter
        weights[f"{name}.weight"] = _blocks(initializers[f"{first}"])
        weights[f"{name}.bias"] = initializers[f"{first + 1}"]
    out = initializers["model.seg_1.weight"]
    channels = len(weights[f"{name}.bias"])
    # The original input order is (channel, frequency); `ResNet34` uses the reverse.
    halves = out.reshape(len(out), 2, channels, -1).transpose(0, 1, 3, 2)
    weights["out.weight"] = halves.reshape(len(out), -1)
    weights["out.bias"] = initializers["model.seg_1.bias"] - initializers["mean_vec"]
    return {name: array.astype(np.float32) for name, array in weights.items()}


def convert_pyannet_tensors(tensors: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Convert the tensors of a PyTorch file to weights of `PyanNet`."""
    return convert_pyannet(as_initializers(tensors))


def as_initializers(tensors: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Return tensors of PyanNet under the names, and in the order, of the ONNX file."""
    state = {name: array.astype(np.float64) for name, array in tensors.items()}
    source: dict[str, AnyArray] = {
        **state,
        "ortshared_1_1_1_1_token_110": state["sincnet.wav_norm1d.weight"],
        "ortshared_1_1_1_0_token_107": state["sincnet.wav_norm1d.bias"],
        "/sincnet/conv1d.0/Concat_2_output_0": band_filters(
            *(
                state[f"sincnet.conv1d.0.filterbank.{name}_"]
                for name in ("low_hz", "band_hz", "n", "window")
            )
        ),
        "onnx::MatMul_917": state["classifier.weight"].T,
        "ortshared_1_1_7_0_token_109": state["classifier.bias"],
    }
    for layer in range(2):
        source[f"onnx::MatMul_{915 + layer}"] = state[f"linear.{layer}.weight"].T
    for layer in range(LAYERS):
        ways = (f"l{layer}", f"l{layer}_reverse")
        inputs, recurrent, below, above = (
            np.stack([_gates(state[f"lstm.{kind}_{way}"]) for way in ways])
            for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        first = 783 + 43 * layer
        source[f"onnx::LSTM_{first}"] = np.concatenate([below, above], axis=1)
        source[f"onnx::LSTM_{first + 1}"] = inputs
        source[f"onnx::LSTM_{first + 2}"] = recurrent
    return source


def _gates(rows: AnyArray) -> AnyArray:
    """Reorder gates from PyTorch's input, forget, cell, output to that of ONNX."""
    enter, keep, new, leave = np.split(rows, 4)
    return np.concatenate([enter, leave, keep, new])


def band_filters(
    low_hz: FloatArray, band_hz: FloatArray, times: FloatArray, window: FloatArray
) -> FloatArray:
    """Return band-pass filters in two phases, shape (2 * n_bands, 1, n_taps).

    A band is from ``50 + abs(low_hz)`` Hz, and ``50 + abs(band_hz)`` wide; both have
    shape (n_bands, 1). `times` of shape (1, n_taps // 2), in seconds times 2 pi, and
    `window` of shape (n_taps // 2,) are those before the middle. They must be those of
    the file: exact ones change probabilities by up to 1e-2, because the products with
    frequencies are large. The first half of the filters is even, the second half odd.
    """
    low = _LOWEST_HZ + np.abs(low_hz)
    high = np.clip(low + _LOWEST_HZ + np.abs(band_hz), _LOWEST_HZ, _RATE / 2)
    scale = window / times / (high - low)
    even = (np.sin(high * times) - np.sin(low * times)) * scale
    odd = (np.cos(low * times) - np.cos(high * times)) * scale
    middle = np.ones_like(low)
    filters = (
        np.concatenate([even, middle, even[:, ::-1]], axis=1),
        np.concatenate([odd, 0.0 * middle, -odd[:, ::-1]], axis=1),
    )
    return np.concatenate(filters)[:, None, :]


def convert_pyannet(initializers: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Convert the weights of the ONNX file to weights of `PyanNet`."""
    source = initializers
    weights: dict[str, AnyArray] = {
        "wave.scale": source["ortshared_1_1_1_1_token_110"],
        "wave.shift": source["ortshared_1_1_1_0_token_107"],
    }
    names = (
        "/sincnet/conv1d.0/Concat_2_output_0",
        "sincnet.conv1d.1.weight",
        "sincnet.conv1d.2.weight",
    )
    for number, name in enumerate(names):
        _, stride = CONVOLUTIONS[number]
        kernel = source[name].transpose(2, 1, 0)  # shape: (taps, channels in, out)
        missing = -len(kernel) % stride
        padded = np.pad(kernel, ((0, missing), (0, 0), (0, 0)))
        weights[f"convolution{number}.weight"] = padded.reshape(-1, kernel.shape[2])
        weights[f"norm{number}.scale"] = source[f"sincnet.norm1d.{number}.weight"]
        weights[f"norm{number}.shift"] = source[f"sincnet.norm1d.{number}.bias"]
    for layer in range(LAYERS):
        first = 783 + 43 * layer  # numbering of the exporter
        bias = source[f"onnx::LSTM_{first}"]
        inputs = source[f"onnx::LSTM_{first + 1}"]
        recurrent = source[f"onnx::LSTM_{first + 2}"]
        both = bias[:, : bias.shape[1] // 2] + bias[:, bias.shape[1] // 2 :]
        halves = np.repeat((0.5, 0.5, 0.5, 1.0), both.shape[1] // 4)
        weights[f"recurrent{layer}.bias"] = (both * halves)[:, None, :]
        weights[f"recurrent{layer}.inputs"] = inputs.transpose(0, 2, 1) * halves
        weights[f"recurrent{layer}.weight"] = recurrent.transpose(0, 2, 1) * halves
    for layer in range(2):
        weights[f"linear{layer}.weight"] = source[f"onnx::MatMul_{915 + layer}"]
        weights[f"linear{layer}.bias"] = source[f"linear.{layer}.bias"]
    weights["classes.weight"] = source["onnx::MatMul_917"]
    weights["classes.bias"] = source["ortshared_1_1_7_0_token_109"]
    return {name: array.astype(np.float32) for name, array in weights.items()}
