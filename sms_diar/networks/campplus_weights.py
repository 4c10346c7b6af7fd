"""Conversion of the original CAM++ weights to the form used by `CampPlus`.

Batch normalisations that follow a product are fused into its weights.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sms_diar.types import AnyArray, FloatArray

BLOCKS = ((12, 1), (24, 2), (16, 2))
"""Dense blocks: number of layers, and dilation in frames."""

HEAD = (
    ("layer1.0", True, 2),
    ("layer1.1", False, 1),
    ("layer2.0", True, 2),
    ("layer2.1", False, 1),
)
"""Residual blocks: name, True if the shortcut has weights, stride in frequency."""

_EPS = 1e-5


def convert(tensors: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
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
        # (out, channel, frequency, time) to the memory order of the blocks
        weights[f"{name}.weight"] = weight.transpose(0, 2, 3, 1).reshape(
            len(weight), -1
        )
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
