"""Reference implementations of the networks: one window, no batches, no fused weights.

Slow and in double precision, with the original weight names. Tests compare the fast
implementations with these, and these with the output of the original code.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from sms_diar.types import AnyArray, FloatArray

State = Mapping[str, AnyArray]


def campplus(state: State, frames: FloatArray) -> FloatArray:
    """Return the embedding of (n_frames, 80) frames, from the original tensors."""
    x = frames.T[None]
    x = _relu(_norm(state, "head.bn1", _plane(x, state["head.conv1.weight"])))
    for name, step in (
        ("head.layer1.0", 2),
        ("head.layer1.1", 1),
        ("head.layer2.0", 2),
        ("head.layer2.1", 1),
    ):
        inner = _plane(x, state[f"{name}.conv1.weight"], step)
        inner = _relu(_norm(state, f"{name}.bn1", inner))
        inner = _norm(
            state, f"{name}.bn2", _plane(inner, state[f"{name}.conv2.weight"])
        )
        if step > 1:
            weight = state[f"{name}.shortcut.0.weight"][:, :, 0, 0]
            x = np.einsum("oc,cft->oft", weight, x[:, ::step])
            x = _norm(state, f"{name}.shortcut.1", x)
        x = _relu(inner + x)
    x = _relu(_norm(state, "head.bn2", _plane(x, state["head.conv2.weight"], 2)))
    x = x.reshape(-1, x.shape[2])
    x = _line(x, state["xvector.tdnn.linear.weight"], step=2)
    x = _relu(_norm(state, "xvector.tdnn.nonlinear.batchnorm", x))
    for number, (n_layers, dilation) in enumerate(((12, 1), (24, 2), (16, 2)), 1):
        for layer in range(1, n_layers + 1):
            name = f"xvector.block{number}.tdnnd{layer}"
            x = np.concatenate((x, _masked_layer(state, name, x, dilation)))
        name = f"xvector.transit{number}"
        x = _relu(_norm(state, f"{name}.nonlinear.batchnorm", x))
        x = _line(x, state[f"{name}.linear.weight"])
    x = _relu(_norm(state, "xvector.out_nonlinear.batchnorm", x))
    pooled = np.concatenate((x.mean(axis=1), x.std(axis=1, ddof=1)))
    vector = state["xvector.dense.linear.weight"][:, :, 0] @ pooled
    return _norm(state, "xvector.dense.nonlinear.batchnorm", vector)


def _masked_layer(state: State, name: str, x: FloatArray, dilation: int) -> FloatArray:
    x = _relu(_norm(state, f"{name}.nonlinear1.batchnorm", x))
    x = _line(x, state[f"{name}.linear1.weight"])
    x = _relu(_norm(state, f"{name}.nonlinear2.batchnorm", x))
    y = _line(x, state[f"{name}.cam_layer.linear_local.weight"], dilation=dilation)
    context = np.empty_like(x)
    for first in range(0, x.shape[1], 100):
        part = x[:, first : first + 100].mean(axis=1, keepdims=True)
        context[:, first : first + 100] = x.mean(axis=1, keepdims=True) + part
    for i, squash in ((1, _relu), (2, _sigmoid)):
        gate = f"{name}.cam_layer.linear{i}"
        summed = _line(context, state[f"{gate}.weight"])
        context = squash(summed + state[f"{gate}.bias"][:, None])
    return y * context


def resnet34(weights: State, frames: FloatArray) -> FloatArray:
    """Return the embedding of (n_frames, 80) frames, from the ONNX weights."""
    number = 367

    def layer(x: FloatArray, step: int = 1) -> FloatArray:
        nonlocal number
        weight, bias = weights[f"{number}"], weights[f"{number + 1}"]
        number += 3
        if weight.shape[2] == 1:
            product = np.einsum("oc,cft->oft", weight[:, :, 0, 0], x[:, ::step, ::step])
        else:
            product = _plane(x, weight, step, step)
        total: FloatArray = product + bias[:, None, None]
        return total

    x = _relu(layer(frames.T[None]))
    for depth, n_blocks in enumerate((3, 4, 6, 3)):
        for block in range(n_blocks):
            step = 2 if depth > 0 and block == 0 else 1
            inner = layer(_relu(layer(x, step)))
            x = _relu(inner + (layer(x, step) if step > 1 else x))
    x = x.reshape(-1, x.shape[2])
    deviation = np.sqrt(x.var(axis=1, ddof=1) + 1e-8)
    pooled = np.concatenate((x.mean(axis=1), deviation))
    vector: FloatArray = weights["model.seg_1.weight"] @ pooled
    return vector + weights["model.seg_1.bias"] - weights["mean_vec"]


def pyannet(weights: State, samples: FloatArray) -> FloatArray:
    """Return log-probabilities (n_frames, 7) of a window, from the ONNX weights.

    With three independent outputs, return their logits (n_frames, 3).
    """
    scale = weights["ortshared_1_1_1_1_token_110"]
    x = _instance_norm(samples[None], scale, weights["ortshared_1_1_1_0_token_107"])
    x = np.abs(_valid(x, weights["/sincnet/conv1d.0/Concat_2_output_0"], 10))
    for number in range(3):
        if number:
            x = _valid(x, weights[f"sincnet.conv1d.{number}.weight"], 1)
            x = x + weights[f"sincnet.conv1d.{number}.bias"][:, None]
        n = x.shape[1] // 3
        x = x[:, : 3 * n].reshape(len(x), n, 3).max(axis=2)
        scale = weights[f"sincnet.norm1d.{number}.weight"]
        x = _leaky(_instance_norm(x, scale, weights[f"sincnet.norm1d.{number}.bias"]))
    x = x.T
    for bias, inputs, recurrent in (
        (783, 784, 785),
        (826, 827, 828),
        (869, 870, 871),
        (912, 913, 914),
    ):
        numbers = [weights[f"onnx::LSTM_{i}"] for i in (inputs, recurrent, bias)]
        ahead = _lstm(x, *(array[0] for array in numbers))
        back = _lstm(x[::-1], *(array[1] for array in numbers))[::-1]
        x = np.concatenate((ahead, back), axis=1)
    for layer in range(2):
        x = x @ weights[f"onnx::MatMul_{915 + layer}"] + weights[f"linear.{layer}.bias"]
        x = _leaky(x)
    x = x @ weights["onnx::MatMul_917"] + weights["ortshared_1_1_7_0_token_109"]
    if x.shape[1] == 3:
        return x
    x = x - x.max(axis=1, keepdims=True)
    values: FloatArray = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    return values


def _lstm(
    x: FloatArray, inputs: AnyArray, recurrent: AnyArray, bias: AnyArray
) -> FloatArray:
    size = recurrent.shape[1]
    hidden, cell = np.zeros(size), np.zeros(size)
    shown = []
    for row in x:
        sums = inputs @ row + bias[: 4 * size] + recurrent @ hidden + bias[4 * size :]
        enter, leave, keep = _sigmoid(sums[: 3 * size].reshape(3, size))
        cell = keep * cell + enter * np.tanh(sums[3 * size :])
        hidden = leave * np.tanh(cell)
        shown.append(hidden)
    return np.array(shown)


def _plane(
    x: FloatArray, weight: AnyArray, step: int = 1, time_step: int = 1
) -> FloatArray:
    """Apply a 3x3 convolution to (channels, frequency, time), with strides."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    views = sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::step, ::time_step]
    product: FloatArray = np.tensordot(weight, views, axes=((1, 2, 3), (0, 3, 4)))
    return product


def _line(
    x: FloatArray, weight: AnyArray, *, step: int = 1, dilation: int = 1
) -> FloatArray:
    """Apply a convolution over time with padding, every `step` frames."""
    reach = weight.shape[2] // 2 * dilation
    padded = np.pad(x, ((0, 0), (reach, reach)))
    views = sliding_window_view(padded, 2 * reach + 1, axis=1)[:, ::step, ::dilation]
    product: FloatArray = np.tensordot(weight, views, axes=((1, 2), (0, 2)))
    return product


def _valid(x: FloatArray, weight: AnyArray, step: int) -> FloatArray:
    views = sliding_window_view(x, weight.shape[2], axis=1)[:, ::step]
    product: FloatArray = np.tensordot(weight, views, axes=((1, 2), (0, 2)))
    return product


def _norm(state: State, name: str, x: FloatArray) -> FloatArray:
    """Apply batch normalisation with the statistics of the training."""

    def column(word: str, default: float) -> FloatArray:
        values = state.get(f"{name}.{word}", np.full(len(x), default))
        return np.asarray(values, dtype=np.float64).reshape(-1, *(1,) * (x.ndim - 1))

    x = (x - column("running_mean", 0.0)) / np.sqrt(column("running_var", 1.0) + 1e-5)
    return x * column("weight", 1.0) + column("bias", 0.0)


def _instance_norm(x: FloatArray, scale: AnyArray, shift: AnyArray) -> FloatArray:
    away = x - x.mean(axis=1, keepdims=True)
    normalised: FloatArray = away / np.sqrt(
        (away**2).mean(axis=1, keepdims=True) + 1e-5
    )
    return normalised * scale[:, None] + shift[:, None]


def _relu(x: FloatArray) -> FloatArray:
    return np.maximum(x, 0.0)


def _leaky(x: FloatArray) -> FloatArray:
    return np.maximum(x, 0.01 * x)


def _sigmoid(x: FloatArray) -> FloatArray:
    value: FloatArray = 1.0 / (1.0 + np.exp(-x))
    return value
