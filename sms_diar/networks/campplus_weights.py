"""Weights of CAM++, from the tensors of the original to those that are computed with.

Batch normalisations that follow a product become part of it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sms_diar.types import AnyArray, FloatArray

BLOCKS = ((12, 1), (24, 2), (16, 2))
"""Dense blocks: layers, and frames between taps."""

HEAD = (
    ("layer1.0", True, 2),
    ("layer1.1", False, 1),
    ("layer2.0", True, 2),
    ("layer2.1", False, 1),
)
"""Residual blocks: name, whether the shortcut has weights, step in frequency."""

_EPS = 1e-5


def convert(tensors: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Weights of `CampPlus` from the tensors of the original."""
    state = {name: array.astype(np.float64) for name, array in tensors.items()}
    made: dict[str, AnyArray] = {}
    planes = [("conv1", "head.conv1", "head.bn1"), ("conv2", "head.conv2", "head.bn2")]
    for name, has_shortcut, _ in HEAD:
        source = f"head.{name}"
        planes += [
            (f"{name}.conv{i}", f"{source}.conv{i}", f"{source}.bn{i}") for i in (1, 2)
        ]
        if has_shortcut:
            scale, shift = _affine(state, f"{source}.shortcut.1")
            weight = state[f"{source}.shortcut.0.weight"][:, :, 0, 0]
            made[f"{name}.shortcut.weight"] = weight * scale[:, None]
            made[f"{name}.shortcut.bias"] = shift
    for name, convolution, norm in planes:
        scale, shift = _affine(state, norm)
        weight = state[f"{convolution}.weight"] * scale[:, None, None, None]
        # (out, channel, frequency, time) to the order of the blocks
        made[f"{name}.weight"] = weight.transpose(0, 2, 3, 1).reshape(len(weight), -1)
        made[f"{name}.bias"] = shift
    _convert_dense(state, made)
    return {name: array.astype(np.float32) for name, array in made.items()}


def _convert_dense(state: Mapping[str, FloatArray], made: dict[str, AnyArray]) -> None:
    scale, shift = _affine(state, "xvector.tdnn.nonlinear.batchnorm")
    weight = state["xvector.tdnn.linear.weight"] * scale[:, None, None]
    n_out, n_in, width = weight.shape
    channels = len(state["head.bn2.weight"])
    # The original's inputs are (channel, frequency), those of `CampPlus` the reverse.
    weight = weight.reshape(n_out, channels, n_in // channels, width)
    made["tdnn.weight"] = weight.transpose(0, 3, 2, 1).reshape(n_out, -1)
    made["tdnn.bias"] = shift
    for number, (n_layers, _) in enumerate(BLOCKS, 1):
        for layer in range(1, n_layers + 1):
            source = f"xvector.block{number}.tdnnd{layer}"
            name = f"block{number}.{layer}"
            made[f"{name}.scale"], made[f"{name}.shift"] = _affine(
                state, f"{source}.nonlinear1.batchnorm"
            )
            scale, shift = _affine(state, f"{source}.nonlinear2.batchnorm")
            narrow = state[f"{source}.linear1.weight"][:, :, 0]
            made[f"{name}.narrow.weight"] = narrow * scale[:, None]
            made[f"{name}.narrow.bias"] = shift
            taps = state[f"{source}.cam_layer.linear_local.weight"]
            taps = taps.transpose(2, 0, 1).reshape(-1, taps.shape[1])
            made[f"{name}.taps.weight"] = taps
            for i in (1, 2):
                gate = f"{source}.cam_layer.linear{i}"
                made[f"{name}.gate{i}.weight"] = state[f"{gate}.weight"][:, :, 0]
                made[f"{name}.gate{i}.bias"] = state[f"{gate}.bias"]
        name, source = f"transit{number}", f"xvector.transit{number}"
        made[f"{name}.scale"], made[f"{name}.shift"] = _affine(
            state, f"{source}.nonlinear.batchnorm"
        )
        made[f"{name}.weight"] = state[f"{source}.linear.weight"][:, :, 0]
    made["last.scale"], made["last.shift"] = _affine(
        state, "xvector.out_nonlinear.batchnorm"
    )
    scale, shift = _affine(state, "xvector.dense.nonlinear.batchnorm")
    out = state["xvector.dense.linear.weight"][:, :, 0]
    made["out.weight"] = out * scale[:, None]
    made["out.bias"] = shift


def _affine(
    state: Mapping[str, FloatArray], name: str
) -> tuple[FloatArray, FloatArray]:
    """Factor and summand of a batch normalisation."""
    scale = 1.0 / np.sqrt(state[f"{name}.running_var"] + _EPS)
    if f"{name}.weight" in state:
        scale = scale * state[f"{name}.weight"]
    shift = -state[f"{name}.running_mean"] * scale
    if f"{name}.bias" in state:
        shift = shift + state[f"{name}.bias"]
    return scale, shift
