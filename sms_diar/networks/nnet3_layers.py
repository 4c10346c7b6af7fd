"""Components of Kaldi nnet3 networks, in test mode.

`make_layer` checks the fields of a component and returns a `Layer`. Dimensions and
formulas are as in Kaldi's ``nnet3`` classes of the same name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax, softmax

from sms_diar.io.kaldi.nnet3 import Component
from sms_diar.limits import LARGEST_LAYER, LONGEST_OFFSET

Times: TypeAlias = npt.NDArray[np.int64]
"""Sorted times in frames without repetitions."""
Rows: TypeAlias = npt.NDArray[np.float32]
"""Values at some times, shape (n_times, dim)."""
Span: TypeAlias = tuple[float, float]
"""First and last time at which a value can exist, possibly infinite."""
Function: TypeAlias = Callable[[Rows], Rows]

_MOST_OFFSETS = 64
_LEAST_SCALE = 1e-4  # in ScaleAndOffsetComponent
_LEAST_PROBABILITY = 1e-20  # in SoftmaxComponent
_LEAST_SQUARE = 2.0**-66  # minimum mean square in NormalizeComponent


def _same(rows: Rows) -> Rows:
    return rows


@dataclass(frozen=True, slots=True)
class Window:
    """Sums of the inputs that exist in a window.

    The window of time t has times from ``t - t % period - left``, which must be a
    multiple of `step`, to `length` frames later, in steps.
    """

    step: int = 1
    period: int = 1
    left: int = 0
    length: int = 0

    def _starts(self, times: Times) -> tuple[Times, Times]:
        """Return the times that have a window, and the starts of the windows."""
        starts = times - times % self.period - self.left
        has_window = starts % self.step == 0
        return times[has_window], starts[has_window]

    def span(self, inputs: Span) -> Span:
        """Return the times at which a sum can exist."""
        first = inputs[0] - self.length + self.left
        return first, inputs[1] + self.left + self.period - 1

    def needs(self, times: Times, inputs: Span) -> Times:
        """Return the times of the inputs that sums at `times` may use."""
        _, starts = self._starts(times)
        if not len(starts):
            return starts
        first = max(starts[0], inputs[0])
        last = min(starts[-1] + self.length, inputs[1])
        steps = np.arange(math.ceil(first / self.step), last // self.step + 1)
        candidates = steps.astype(np.int64) * self.step
        # The last window that does not start after a candidate.
        near = np.searchsorted(starts, candidates, side="right") - 1
        return candidates[candidates <= starts[near] + self.length]

    def sums(self, times: Times, inputs: Times, rows: Rows) -> tuple[Times, Rows]:
        """Return the times of sums that exist, and the sums of rows at `inputs`.

        Rows are added one after another in single precision, as in Kaldi, whose
        rounding errors are visible in the standard deviations of constant columns.
        """
        times, starts = self._starts(times)
        first = np.searchsorted(inputs, starts)
        last = np.searchsorted(inputs, starts + self.length, side="right")
        exists = first < last
        first, last = first[exists], last[exists]
        if np.all(last - first == 1):
            return times[exists], rows[first]
        ranges = zip(first, last, strict=True)
        sums = np.stack([rows[begin:end].sum(axis=0) for begin, end in ranges])
        return times[exists], sums


@dataclass(frozen=True, slots=True)
class Layer:
    """Function of the inputs of each time, perhaps summed over a window.

    The input is the concatenation of what a node reads at times shifted by `offsets`;
    `finish` is applied to the sums of a `window`.
    """

    n_in: int
    n_out: int
    function: Function = _same
    offsets: tuple[int, ...] = (0,)
    window: Window | None = None
    finish: Function = _same


class _Fields:
    """Checked access to the fields of a component."""

    def __init__(self, component: Component, owner: str) -> None:
        self._fields = component.fields
        self._owner = owner

    def require(self, condition: object, problem: str) -> None:
        if not condition:
            raise ValueError(f"{self._owner} {problem}")

    def real(self, name: str, least: float = -math.inf) -> float:
        value = self._fields.get(name)
        if isinstance(value, int | float) and least < value < math.inf:
            return float(value)
        rule = "a number" if least == -math.inf else f"a number above {least:g}"
        raise ValueError(f"{self._owner} needs {rule} in <{name}>, got {value!r}")

    def whole(
        self, name: str = "Dim", *, least: int = 1, most: int = LARGEST_LAYER
    ) -> int:
        value = self.real(name)
        rule = f"needs a <{name}> from {least} to {most}, got {value:g}"
        self.require(least <= value <= most, rule)
        return int(value)

    def has(self, name: str) -> bool:
        return name in self._fields

    def flag(self, name: str) -> bool:
        return bool(self._fields.get(name, False))

    def array(self, name: str, ndim: int = 1) -> Rows:
        """Return a vector, which may be empty, or a matrix."""
        value = np.asarray(self._fields.get(name, ()), np.float32)
        if not value.size and ndim == 1:
            return np.empty(0, np.float32)
        is_valid = value.ndim == ndim and 0 < max(value.shape) <= LARGEST_LAYER
        kind = "a vector" if ndim == 1 else "a matrix"
        self.require(is_valid, f"needs {kind} in <{name}>, got {value.shape} numbers")
        self.require(np.isfinite(value).all(), f"has NaN or infinity in <{name}>")
        return value


def _affine(f: _Fields, name: str = "LinearParams") -> Layer:
    weights, bias = f.array(name, 2), f.array("BiasParams")
    problem = f"has {len(weights)} rows of weights and a bias of {len(bias)}"
    f.require(len(bias) in (0, len(weights)), problem)
    transposed = np.ascontiguousarray(weights.T)

    def apply(rows: Rows) -> Rows:
        out = rows @ transposed
        if len(bias):
            out += bias
        return out

    offsets = f.array("TimeOffsets")  # only of TdnnComponent
    times = tuple(int(offset) for offset in offsets) or (0,)
    is_valid = len(times) <= _MOST_OFFSETS and max(map(abs, times)) <= LONGEST_OFFSET
    f.require(is_valid, "has too many or too large numbers in <TimeOffsets>")
    return Layer(weights.shape[1], len(weights), apply, offsets=times)


def _scaling(f: _Fields, scale: Rows, offset: Rows) -> Layer:
    """Make a layer that scales and shifts each block of the columns."""
    dim, block = f.whole(), len(scale)
    problem = f"has {block} scales and {len(offset)} offsets for {dim} dimensions"
    f.require(block and dim % block == 0 and block == len(offset), problem)
    scale, offset = (np.tile(part, dim // block) for part in (scale, offset))
    return Layer(dim, dim, lambda rows: rows * scale + offset)


def _batch_norm(f: _Fields) -> Layer:
    f.require(f.real("Count") > 0, "has no statistics; the network was not trained")
    mean = f.array("StatsMean").astype(np.float64)
    variance = f.array("StatsVar").astype(np.float64)
    f.require(len(mean) == len(variance), "has unequal numbers of means and variances")
    deviation = np.sqrt(np.maximum(variance, 0.0) + f.real("Epsilon", least=0.0))
    scale = f.real("TargetRms") / deviation
    return _scaling(f, scale.astype(np.float32), (-mean * scale).astype(np.float32))


def _scale_and_offset(f: _Fields) -> Layer:
    scales = f.array("Scales")
    floored = np.maximum(np.abs(scales), np.float32(_LEAST_SCALE))
    return _scaling(f, np.where(scales < 0, -floored, floored), f.array("Offsets"))


def _normalize(f: _Fields) -> Layer:
    """Scale blocks of columns to a root mean square, and perhaps append its log."""
    dim = f.whole("InputDim" if f.has("InputDim") else "Dim")
    block = f.whole("BlockDim") if f.has("BlockDim") else dim
    f.require(dim % block == 0, f"has no blocks of {block} in {dim} dimensions")
    target, adds_log = f.real("TargetRms", least=0.0), f.flag("AddLogStddev")

    def apply(rows: Rows) -> Rows:
        blocks = rows.reshape(-1, block)
        square = np.mean(blocks**2, axis=1, keepdims=True) / np.float32(target**2)
        square = np.maximum(square, np.float32(_LEAST_SQUARE))
        parts = [blocks / np.sqrt(square)]
        if adds_log:
            parts.append((0.5 * np.log(square) + math.log(target)).astype(np.float32))
        return np.hstack(parts).reshape(len(rows), -1)

    return Layer(dim, dim + adds_log * dim // block, apply)


def _dropout(f: _Fields) -> Layer:
    is_off = f.real("DropoutProportion") == 0
    f.require(is_off, "is active; set it to zero with Kaldi's nnet3-copy --edits")
    return Layer(f.whole(), f.whole())


def _extraction(f: _Fields) -> Layer:
    """Count, sum and sum of squares of the inputs in a period."""
    n_in, step = f.whole("InputDim"), f.whole("InputPeriod", most=LONGEST_OFFSET)
    period = f.whole("OutputPeriod", most=LONGEST_OFFSET)
    f.require(period % step == 0, "needs an <OutputPeriod> of whole <InputPeriod>s")
    squares = f.flag("IncludeVarinance")  # the spelling of the format

    def terms(rows: Rows) -> Rows:
        counts = np.ones((len(rows), 1), np.float32)
        return np.hstack([counts, rows, rows**2] if squares else [counts, rows])

    window = Window(step, period, length=period - 1)
    return Layer(n_in, 1 + n_in * (1 + squares), terms, window=window)


def _pooling(f: _Fields) -> Layer:
    """Mean and standard deviation from the statistics in a context."""
    n_in, step = f.whole("InputDim", least=2), f.whole("InputPeriod")
    left = f.whole("LeftContext", least=0, most=LONGEST_OFFSET)
    right = f.whole("RightContext", least=0, most=LONGEST_OFFSET)
    f.require(left % step == right % step == 0, "needs contexts of whole periods")
    n_counts = f.whole("NumLogCountFeatures", least=0)
    deviations, half = f.flag("OutputStddevs"), n_in // 2
    if deviations:
        floor = f.real("VarianceFloor", least=0.0)
        f.require(n_in % 2 == 1, "needs sums and sums of squares as its input")

    def finish(sums: Rows) -> Rows:
        counts = sums[:, :1]
        moments = sums[:, 1:] * (1 / counts)
        if deviations:
            variance = moments[:, half:] - moments[:, :half] ** 2
            moments[:, half:] = np.sqrt(np.maximum(variance, floor))
        return np.hstack([np.repeat(np.log(counts), n_counts, axis=1), moments])

    window = Window(step, left=left, length=left + right)
    return Layer(n_in, n_in - 1 + n_counts, window=window, finish=finish)


def _each(function: Function = _same) -> Callable[[_Fields], Layer]:
    return lambda f: Layer(f.whole(), f.whole(), function)


def _softmax(rows: Rows) -> Rows:
    probabilities: Rows = softmax(rows, axis=1)
    return np.maximum(probabilities, np.float32(_LEAST_PROBABILITY))


# Kaldi sets networks to test mode before it computes x-vectors.
_LAYERS: dict[str, Callable[[_Fields], Layer]] = {
    "AffineComponent": _affine,
    "NaturalGradientAffineComponent": _affine,
    "FixedAffineComponent": _affine,
    "LinearComponent": lambda f: _affine(f, "Params"),
    "TdnnComponent": _affine,
    "RectifiedLinearComponent": _each(lambda rows: np.maximum(rows, 0)),
    "SigmoidComponent": _each(expit),
    "TanhComponent": _each(np.tanh),
    "SoftmaxComponent": _each(_softmax),
    "LogSoftmaxComponent": _each(lambda rows: log_softmax(rows, axis=1)),
    "NoOpComponent": _each(),
    "GeneralDropoutComponent": _each(),
    "SpecAugmentTimeMaskComponent": _each(),
    "DropoutComponent": _dropout,
    "BatchNormComponent": _batch_norm,
    "NormalizeComponent": _normalize,
    "ScaleAndOffsetComponent": _scale_and_offset,
    "StatisticsExtractionComponent": _extraction,
    "StatisticsPoolingComponent": _pooling,
}


def make_layer(component: Component) -> Layer:
    """Check a component and return its layer; the ValueError does not name the file."""
    owner = f"component {component.name!r} ({component.type})"
    if component.type not in _LAYERS:
        raise ValueError(f"{owner} is not supported in x-vector networks")
    with np.errstate(all="ignore"):  # an output that is not finite is refused
        return _LAYERS[component.type](_Fields(component, owner))
