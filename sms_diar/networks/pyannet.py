"""PyanNet, a speaker segmentation network: waveform to class log-probabilities.

Bredin, "pyannote.audio 2.1 speaker diarization pipeline: principle, benchmark, and
recipe", 2023, and Plaquet, Bredin, "Powerset multi-class cross entropy loss for neural
speaker diarization", 2023. Learned band-pass filters and two convolutions, each with
pooling and normalisation over the window, are followed by four bidirectional LSTM
layers and three linear layers. The classes are silence, each of three speakers, and
each pair. An earlier network has an independent output for each of three speakers; its
classes are all sets of them.

Filters and convolutions are matrix products without copies: every p-th of the
overlapping frames do not overlap, so they are the rows of a matrix that is already in
memory. The recurrence processes all windows of a batch, and both directions, at once.

The hyperbolic tangent is ``x P(x^2) / Q(x^2)`` with polynomials of degrees five and
four and minimax relative error on [-9, 9] (1e-9); outside it is 1 in single precision.
Unlike the library function it has no branches, so loops are vectorised. It is evaluated
in double precision, because rounding errors of the cells accumulate over frames: in
single precision the log-probabilities are off by 1e-4, and a window takes 33 instead of
34 ms.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from sms_diar._numba import inlined, kernel
from sms_diar.errors import InvalidParameterError
from sms_diar.networks.conversion import CONVOLUTIONS, LAYERS
from sms_diar.types import AnyArray, FloatArray

STEP, FIELD = 270, 991
"""Number of samples between frames, and in the receptive field of a frame."""

CLASSES: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
"""Active local speakers of each class, in the order of the output."""

SETS: tuple[tuple[int, ...], ...] = (*CLASSES, (0, 1, 2))
"""The same for three independent outputs."""

_SIGNS = np.array([[1.0 if i in active else -1.0 for i in range(3)] for active in SETS])

_BATCH = 8  # windows per batch; larger batches do not fit into the processor cache
_FRAMES = 128  # frames whose inputs of a recurrent layer are computed at a time
_SLOPE = 0.01
_EPS = 1e-5
_END = np.float32(9.0)  # beyond this the hyperbolic tangent is 1
_HALF = np.float32(0.5)

Single = npt.NDArray[np.float32]


class PyanNet:
    """PyanNet network with the weights that `conversion.convert_pyannet` returns."""

    def __init__(self, weights: Mapping[str, AnyArray]) -> None:
        self._weights = {
            name: np.ascontiguousarray(array, dtype=np.float32)
            for name, array in weights.items()
        }
        is_independent = len(self._weights["classes.bias"]) == _SIGNS.shape[1]
        self.classes = SETS if is_independent else CLASSES

    def log_probabilities(self, windows: AnyArray) -> FloatArray:
        """Compute log-probabilities of the classes, shape (n_windows, n_frames, c).

        `windows` has shape (n_windows, n_samples), with samples at 16 kHz, usually 10
        s, which give 589 frames; at least 991 samples.
        """
        if windows.ndim != 2 or windows.shape[1] < FIELD:
            problem = (
                f"must be of shape (n_windows, n_samples) with at least {FIELD} "
                f"samples, got {windows.shape}"
            )
            raise InvalidParameterError(problem, owner="PyanNet", parameter="windows")
        n_frames = (windows.shape[1] - FIELD) // STEP + 1
        values = np.empty((len(windows), n_frames, len(self.classes)))
        for first in range(0, len(windows), _BATCH):
            batch = windows[first : first + _BATCH]
            frames = np.stack([self._frames(samples) for samples in batch], axis=1)
            values[first : first + _BATCH] = self._classes(frames).transpose(1, 0, 2)
        return values

    def _frames(self, samples: AnyArray) -> Single:
        """Return the frames of one window, shape (n_frames, 60)."""
        weights = self._weights
        wave = samples.astype(np.float64)
        wave -= wave.mean()
        wave *= weights["wave.scale"] / np.sqrt(np.mean(wave * wave) + _EPS)
        wave += weights["wave.shift"]
        x: Single = wave.astype(np.float32)[:, None]  # shape: (n_samples, 1)
        for number in range(len(CONVOLUTIONS)):
            x = self._pooled(number, x)
        return x

    def _pooled(self, number: int, x: Single) -> Single:
        """Convolve, pool the maximum of three, normalise and rectify."""
        kernel = self._weights[f"convolution{number}.weight"]
        n, channels = x.shape
        taps, stride = CONVOLUTIONS[number]
        n_out = (n - taps) // stride + 1
        phases = len(kernel) // (stride * channels)
        rows = -(-n_out // phases)
        # One additional row of zeros for phases that begin late.
        padded = np.zeros(((rows + 1) * phases * stride, channels), dtype=np.float32)
        padded[:n] = x[: len(padded)]
        width = padded.itemsize * stride * channels
        views = as_strided(
            padded,
            (phases, rows, len(kernel)),
            (width, width * phases, padded.itemsize),
            writeable=False,
        )
        pooled = np.empty((n_out // 3, kernel.shape[1]), dtype=np.float32)
        pool_three(views @ kernel, int(number == 0), pooled)
        scale = self._weights[f"norm{number}.scale"]
        shift = self._weights[f"norm{number}.shift"]
        moments = np.zeros((2, len(scale)))
        affine = np.empty((2, len(scale)), dtype=np.float32)
        normalise_leaky(pooled, scale, shift, _SLOPE, moments, affine)
        return pooled

    def _classes(self, x: Single) -> AnyArray:
        """Map (n_frames, n_windows, 60) to (..., c): recurrent and linear layers."""
        weights = self._weights
        for layer in range(LAYERS):
            x = self._recurred(layer, x)
        for layer in range(2):
            x = x @ weights[f"linear{layer}.weight"]
            x += weights[f"linear{layer}.bias"]
            np.maximum(x, np.float32(_SLOPE) * x, out=x)
        x = x @ weights["classes.weight"]
        x += weights["classes.bias"]
        if self.classes == SETS:  # a copy in another process is not the same
            likely: AnyArray = -np.logaddexp(0.0, -x[..., None, :] * _SIGNS).sum(axis=3)
            return likely
        x -= x.max(axis=2, keepdims=True)
        x -= np.log(np.exp(x).sum(axis=2, keepdims=True))
        return x

    def _recurred(self, layer: int, x: Single) -> Single:
        """Apply one bidirectional layer."""
        weights = self._weights
        n_frames, n_windows, n_in = x.shape
        recurrent = weights[f"recurrent{layer}.weight"]
        hidden = np.zeros((2, n_windows, recurrent.shape[1]), dtype=np.float32)
        cells = np.zeros_like(hidden)
        sums = np.empty((2, n_windows, recurrent.shape[2]), dtype=np.float32)
        out = np.empty((n_frames, n_windows, 2 * hidden.shape[2]), dtype=np.float32)
        # Blocks of nearly equal length, and the same from the end.
        n_blocks = -(-n_frames // _FRAMES)
        edges = [n_frames * number // n_blocks for number in range(n_blocks + 1)]
        longest = -(-n_frames // n_blocks)
        inputs = np.empty((2, longest, *sums.shape[1:]), dtype=np.float32)
        for first, last in itertools.pairwise(edges):
            blocks = x[first:last], x[n_frames - last : n_frames - first]
            for way, block in enumerate(blocks):
                part = inputs[way, : last - first].reshape(-1, sums.shape[2])
                matrix = weights[f"recurrent{layer}.inputs"][way]
                np.matmul(block.reshape(-1, n_in), matrix, out=part)
                part += weights[f"recurrent{layer}.bias"][way]
            for step in range(first, last):
                np.matmul(hidden, recurrent, out=sums)
                places = step - first, last - 1 - step, step, n_frames - 1 - step
                step_cells(inputs, places, sums, cells, hidden, out)
        return out


@inlined
def _tanh(x: Any) -> Any:
    y = np.float64(min(max(x, -_END), _END))
    u = y * y
    top = (-1.2247720366856852e-11 * u + 3.064458709599307e-08) * u
    top = ((top + 2.8032190270643847e-05) * u + 0.003869552209758037) * u
    top = (top + 0.13680891885611282) * u + 0.9999999987305458
    low = (1.289095810349e-06 * u + 0.0003940790894455571) * u
    low = ((low + 0.027250318952888593) * u + 0.47014223978514047) * u + 1.0
    return np.float32(y * top / low)


@kernel
def step_cells(
    inputs: AnyArray,
    places: tuple[int, int, int, int],
    sums: AnyArray,
    cells: AnyArray,
    hidden: AnyArray,
    out: AnyArray,
) -> None:
    """Advance the cells of both directions by one step.

    The gates are in the order input, output, forget, cell. The weights halve the sums
    of the first three, because ``sigmoid(x) = tanh(x / 2) / 2 + 1 / 2``. The
    contributions to the gates are `inputs` of shape (2, n_steps, n, 4 * size) and
    `sums` of shape (2, n, 4 * size) of the previous state, which are overwritten.
    `cells` and `hidden` of shape (2, n, size) are updated in place, and `hidden` is
    written to `out`, of shape (n_frames, n, 2 * size). `places` are the step in
    `inputs` of both directions, and the frame in `out` of both.
    """
    size = cells.shape[2]
    for way in range(2):
        here, frame = places[way], places[2 + way]
        for row in range(cells.shape[1]):
            below, gates = inputs[way, here, row], sums[way, row]
            for j in range(4 * size):
                gates[j] = _tanh(below[j] + gates[j])
            enter, leave = gates[:size], gates[size : 2 * size]
            keep, new = gates[2 * size : 3 * size], gates[3 * size :]
            cell, shown = cells[way, row], hidden[way, row]
            for j in range(size):
                held = (_HALF * keep[j] + _HALF) * cell[j]
                cell[j] = held + (_HALF * enter[j] + _HALF) * new[j]
            shared = out[frame, row, way * size : (way + 1) * size]
            for j in range(size):
                shown[j] = (_HALF * leave[j] + _HALF) * _tanh(cell[j])
                shared[j] = shown[j]


@kernel
def pool_three(phases: AnyArray, rectify: int, out: AnyArray) -> None:
    """Pool the maximum of three frames each, of absolute values if `rectify` is 1.

    Frame ``i`` is ``phases[i % p, i // p]``, with `phases` of shape (p, m, c). `out`
    has shape (n, c).
    """
    p = phases.shape[0]
    for i in range(out.shape[0]):
        start = 3 * i
        first = phases[start % p, start // p]
        second = phases[(start + 1) % p, (start + 1) // p]
        third = phases[(start + 2) % p, (start + 2) // p]
        row = out[i]
        if rectify:
            for j in range(out.shape[1]):
                row[j] = max(abs(first[j]), abs(second[j]), abs(third[j]))
        else:
            for j in range(out.shape[1]):
                row[j] = max(first[j], second[j], third[j])


@kernel
def normalise_leaky(
    x: AnyArray,
    scale: AnyArray,
    shift: AnyArray,
    slope: float,
    moments: AnyArray,
    affine: AnyArray,
) -> None:
    """Apply instance normalisation over rows and a leaky rectifier, in place.

    `x` has shape (n, c). `moments`, zeros of shape (2, c) in double precision, receives
    mean and variance, and `affine` of shape (2, c) in single precision the factor and
    summand of each column.
    """
    n, c = x.shape
    for i in range(n):
        for j in range(c):
            moments[0, j] += x[i, j]
    for j in range(c):
        moments[0, j] /= n
    for i in range(n):
        for j in range(c):
            away = x[i, j] - moments[0, j]
            moments[1, j] += away * away
    for j in range(c):
        a = scale[j] / np.sqrt(moments[1, j] / n + 1e-5)
        affine[0, j] = a
        affine[1, j] = shift[j] - a * moments[0, j]
    leak = np.float32(slope)
    for i in range(n):
        for j in range(c):
            value = affine[0, j] * x[i, j] + affine[1, j]
            x[i, j] = max(value, leak * value)
