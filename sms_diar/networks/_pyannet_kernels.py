"""Elementwise parts of the segmentation network, on 32-bit numbers.

The hyperbolic tangent is ``x P(x^2) / Q(x^2)`` with polynomials of degrees five and
four, fitted to the least greatest relative error on [-9, 9] (1e-9), beyond which it is
1 to 32 bits. Unlike the library's it has no branch, so loops over it are vectorised. It
is evaluated in 64 bits, since what cells round adds up over the frames: with 32 bits
the log-probabilities are off by 1e-4, and a window takes 33 in place of 34 ms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sms_diar._numba import inlined, kernel
from sms_diar.types import AnyArray

_END = np.float32(9.0)
_HALF = np.float32(0.5)


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
def tanh(x: AnyArray, out: AnyArray) -> None:
    """Hyperbolic tangent of a row of numbers, as the cells use it."""
    for i in range(len(x)):
        out[i] = _tanh(x[i])


@kernel
def step_cells(
    inputs: AnyArray,
    step: int,
    sums: AnyArray,
    cells: AnyArray,
    hidden: AnyArray,
    out: AnyArray,
) -> None:
    """One step of the cells of both directions.

    Gates are in the order input, output, forget, cell. The sums of the first three are
    halved (in the weights), since ``sigmoid(x) = tanh(x / 2) / 2 + 1 / 2``.

    Parameters
    ----------
    inputs : ndarray of shape (2, n_frames, n, 4 * size)
        What the layer below adds to the gates.
    step : int
        Number of the step: the frame of the first direction, and from the end that of
        the second.
    sums : ndarray of shape (2, n, 4 * size)
        What the state before adds to the gates; overwritten.
    cells, hidden : ndarray of shape (2, n, size)
        State, changed in place.
    out : ndarray of shape (n_frames, n, 2 * size)
        Receives the hidden state.
    """
    size = cells.shape[2]
    for way in range(2):
        frame = step if way == 0 else inputs.shape[1] - 1 - step
        for row in range(cells.shape[1]):
            below, gates = inputs[way, frame, row], sums[way, row]
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
    """Greatest of three frames each, of absolute values if `rectify`.

    Parameters
    ----------
    phases : ndarray of shape (p, m, c)
        Frame ``i`` is ``phases[i % p, i // p]``.
    rectify : int
        1 if absolute values are compared, else 0.
    out : ndarray of shape (n, c)
        Receives the pooled frames.
    """
    p = phases.shape[0]
    for i in range(out.shape[0]):
        at = 3 * i
        first = phases[at % p, at // p]
        second = phases[(at + 1) % p, (at + 1) // p]
        third = phases[(at + 2) % p, (at + 2) // p]
        row = out[i]
        if rectify:
            for j in range(out.shape[1]):
                row[j] = max(abs(first[j]), abs(second[j]), abs(third[j]))
        else:
            for j in range(out.shape[1]):
                row[j] = max(first[j], second[j], third[j])


@kernel
def normalise_leaky(
    x: AnyArray, scale: AnyArray, shift: AnyArray, slope: float, out: AnyArray
) -> None:
    """Instance normalisation over rows, then a leaky rectifier, (n, c) to (n, c)."""
    n, c = x.shape
    mean = np.zeros(c)
    for i in range(n):
        for j in range(c):
            mean[j] += x[i, j]
    for j in range(c):
        mean[j] /= n
    variance = np.zeros(c)
    for i in range(n):
        for j in range(c):
            away = x[i, j] - mean[j]
            variance[j] += away * away
    factor = np.empty(c, dtype=np.float32)
    summand = np.empty(c, dtype=np.float32)
    for j in range(c):
        a = scale[j] / np.sqrt(variance[j] / n + 1e-5)
        factor[j] = a
        summand[j] = shift[j] - a * mean[j]
    leak = np.float32(slope)
    for i in range(n):
        for j in range(c):
            value = factor[j] * x[i, j] + summand[j]
            out[i, j] = max(value, leak * value)
