"""Weights of PyanNet, from those of the ONNX file to those that are computed with.

Convolutions lose their biases, since the normalisation that follows takes them away.
The sums of gates that a sigmoid squashes are halved, see `_pyannet_kernels.step_cells`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sms_diar.types import AnyArray

LAYERS = 4
"""Recurrent layers."""

CONVOLUTIONS = ((251, 10), (5, 1), (5, 1))
"""Taps, and inputs from one output to the next."""


def convert(initializers: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Weights of `PyanNet` from those of the ONNX file."""
    source = initializers
    made: dict[str, AnyArray] = {
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
        kernel = source[name].transpose(2, 1, 0)  # (taps, channels in, channels out)
        missing = -len(kernel) % stride
        padded = np.pad(kernel, ((0, missing), (0, 0), (0, 0)))
        made[f"convolution{number}.weight"] = padded.reshape(-1, kernel.shape[2])
        made[f"norm{number}.scale"] = source[f"sincnet.norm1d.{number}.weight"]
        made[f"norm{number}.shift"] = source[f"sincnet.norm1d.{number}.bias"]
    for layer in range(LAYERS):
        first = 783 + 43 * layer  # as the exporter happened to count
        bias = source[f"onnx::LSTM_{first}"]
        inputs = source[f"onnx::LSTM_{first + 1}"]
        recurrent = source[f"onnx::LSTM_{first + 2}"]
        both = bias[:, : bias.shape[1] // 2] + bias[:, bias.shape[1] // 2 :]
        halves = np.repeat((0.5, 0.5, 0.5, 1.0), both.shape[1] // 4)
        made[f"recurrent{layer}.bias"] = (both * halves)[:, None, :]
        made[f"recurrent{layer}.inputs"] = inputs.transpose(0, 2, 1) * halves
        made[f"recurrent{layer}.weight"] = recurrent.transpose(0, 2, 1) * halves
    for layer in range(2):
        made[f"linear{layer}.weight"] = source[f"onnx::MatMul_{915 + layer}"]
        made[f"linear{layer}.bias"] = source[f"linear.{layer}.bias"]
    made["classes.weight"] = source["onnx::MatMul_917"]
    made["classes.bias"] = source["ortshared_1_1_7_0_token_109"]
    return {name: array.astype(np.float32) for name, array in made.items()}
