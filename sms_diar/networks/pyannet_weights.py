"""Conversion of the ONNX weights of PyanNet to the form used by `PyanNet`.

Biases of convolutions are dropped, because the following normalisation cancels them.
Sums of gates with a sigmoid are halved; see `_pyannet_kernels.step_cells`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sms_diar.types import AnyArray

LAYERS = 4
"""Number of recurrent layers."""

CONVOLUTIONS = ((251, 10), (5, 1), (5, 1))
"""Number of taps and stride of each convolution."""


def convert(initializers: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
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
