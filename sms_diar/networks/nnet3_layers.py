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
Mask: TypeAlias = npt.NDArray[np.bool_]
Span: TypeAlias = tuple[float, float]
"""First and last time at which a value can exist, possibly infinite."""

_MOST_OFFSETS = 64
_NORM_FLOOR = 2.0**-66  # least mean square in NormalizeComponent
_LEAST_SCALE = 1e-4  # in ScaleAndOffsetComponent
_LEAST_PROBABILITY = 1e-20  # in SoftmaxComponent


class Layer:
    """Component whose output at a time depends on its input at the same time."""

    def __init__(self, n_in: int, n_out: int, rows: Callable[[Rows], Rows]) -> None:
        self.n_in = n_in
        self.n_out = n_out
        self._rows = rows

    def span(self, inputs: Span) -> Span:
        """Return the times at which an output can exist."""
        return inputs

    def needs(self, times: Times, inputs: Span) -> Times:
        """Return the times of the inputs that outputs at `times` may use."""
        return times

    def exists(self, times: Times, inputs: Times) -> Mask:
        """Return which outputs can be computed from inputs at some times."""
        return np.isin(times, inputs, assume_unique=True)

    def compute(self, times: Times, inputs: Times, rows: Rows) -> Rows:
        """Compute the outputs at `times` from rows at the times `inputs`."""
        return self._rows(select(rows, inputs, times))


class _Tdnn(Layer):
    """Affine transform of the inputs at several offsets."""

    def __init__(self, offsets: Times, weights: Rows, bias: Rows) -> None:
        self.n_in = weights.shape[1] // len(offsets)
        self.n_out = len(weights)
        self._offsets = offsets
        self._affine = _affine(weights, bias)

    def span(self, inputs: Span) -> Span:
        return inputs[0] - min(self._offsets), inputs[1] - max(self._offsets)

    def needs(self, times: Times, inputs: Span) -> Times:
        return np.unique(_within(times[:, None] + self._offsets, inputs))

    def exists(self, times: Times, inputs: Times) -> Mask:
        return np.asarray(np.isin(times[:, None] + self._offsets, inputs).all(axis=1))

    def compute(self, times: Times, inputs: Times, rows: Rows) -> Rows:
        parts = [select(rows, inputs, times + offset) for offset in self._offsets]
        return self._affine(np.concatenate(parts, axis=1))


@dataclass(eq=False)
class _Extraction(Layer):
    """Count, sum and sum of squares of the inputs in a period that exist."""

    n_in: int
    _step: int
    _period: int
    _squares: bool

    def __post_init__(self) -> None:
        self.n_out = 1 + self.n_in * (1 + self._squares)

    def span(self, inputs: Span) -> Span:
        return inputs[0] - self._period, inputs[1] + self._period

    def needs(self, times: Times, inputs: Span) -> Times:
        starts = np.unique(times - times % self._period)
        steps = np.arange(0, self._period, self._step)
        return _within((starts[:, None] + steps).ravel(), inputs)

    def exists(self, times: Times, inputs: Times) -> Mask:
        first, last = self._bounds(times, inputs)
        return first < last

    def compute(self, times: Times, inputs: Times, rows: Rows) -> Rows:
        first, last = self._bounds(times, inputs)
        out = np.empty((len(times), self.n_out), np.float32)
        out[:, 0] = last - first
        out[:, 1 : 1 + self.n_in] = _sums(rows, first, last)
        if self._squares:
            out[:, 1 + self.n_in :] = _sums(rows**2, first, last)
        return out

    def _bounds(self, times: Times, inputs: Times) -> tuple[Times, Times]:
        starts = times - times % self._period
        return _bounds(inputs, starts, starts + self._period - 1)


@dataclass(eq=False)
class _Pooling(Layer):
    """Mean and standard deviation from the statistics in a context that exist."""

    n_in: int
    _step: int
    _left: int
    _right: int
    _n_counts: int
    _variance_floor: float | None

    def __post_init__(self) -> None:
        self.n_out = self.n_in - 1 + self._n_counts

    def span(self, inputs: Span) -> Span:
        return inputs[0] - self._right, inputs[1] + self._left

    def needs(self, times: Times, inputs: Span) -> Times:
        times = times[times % self._step == 0]
        if not len(times):
            return times
        first = max(times[0] - self._left, inputs[0])
        last = min(times[-1] + self._right, inputs[1])
        steps = np.arange(math.ceil(first / self._step), last // self._step + 1)
        candidates = steps.astype(np.int64) * self._step
        # The first time whose context does not end before a candidate.
        near = np.searchsorted(times, candidates - self._right)
        near = np.minimum(near, len(times) - 1)
        return candidates[times[near] - self._left <= candidates]

    def exists(self, times: Times, inputs: Times) -> Mask:
        first, last = _bounds(inputs, times - self._left, times + self._right)
        return np.asarray((first < last) & (times % self._step == 0))

    def compute(self, times: Times, inputs: Times, rows: Rows) -> Rows:
        first, last = _bounds(inputs, times - self._left, times + self._right)
        sums = _sums(rows, first, last)
        counts = sums[:, :1]
        moments = sums[:, 1:] * (1 / counts)
        if self._variance_floor is not None:
            half = moments.shape[1] // 2
            variance = moments[:, half:] - moments[:, :half] ** 2
            moments[:, half:] = np.sqrt(np.maximum(variance, self._variance_floor))
        return np.hstack([np.repeat(np.log(counts), self._n_counts, axis=1), moments])


def _affine(weights: Rows, bias: Rows) -> Callable[[Rows], Rows]:
    transposed = np.ascontiguousarray(weights.T)

    def apply(rows: Rows) -> Rows:
        out = rows @ transposed
        if len(bias):
            out += bias
        return out

    return apply


def select(rows: Rows, times: Times, wanted: Times) -> Rows:
    """Return the rows at the times `wanted`, which must exist; a view if possible."""
    if not len(wanted):
        return rows[:0]
    first = int(np.searchsorted(times, wanted[0]))
    if np.array_equal(times[first : first + len(wanted)], wanted):
        return rows[first : first + len(wanted)]
    return rows[np.searchsorted(times, wanted)]


def _within(times: Times, span: Span) -> Times:
    return times[(times >= span[0]) & (times <= span[1])]


def _bounds(times: Times, first: Times, last: Times) -> tuple[Times, Times]:
    """Return the half-open index ranges of the times from `first` to `last`."""
    return np.searchsorted(times, first), np.searchsorted(times, last, side="right")


def _sums(rows: Rows, first: Times, last: Times) -> Rows:
    """Sum the rows in index ranges, shape (n_ranges, dim).

    Rows are added one after another in single precision, as in Kaldi, whose rounding
    errors are visible in the standard deviations of constant columns.
    """
    if np.all(last - first == 1):
        return rows[first]
    ranges = zip(first, last, strict=True)
    return np.stack([rows[begin:end].sum(axis=0) for begin, end in ranges])


class _Fields:
    """Checked access to the fields of a component; errors name its node."""

    def __init__(self, component: Component, owner: str, gain: float) -> None:
        self._fields = component.fields
        self._owner = owner
        self._gain = np.float32(gain)

    def require(self, condition: object, problem: str) -> None:
        if not condition:
            raise ValueError(f"{self._owner} {problem}")

    def real(self, name: str, default: float | None = None) -> float:
        value = self._fields.get(name, default)
        if isinstance(value, int | float) and math.isfinite(value):
            return float(value)
        raise ValueError(f"{self._owner} needs a number in <{name}>, got {value!r}")

    def whole(
        self, name: str = "Dim", default: int | None = None, *,
        least: int = 1, most: int = LARGEST_LAYER,
    ) -> int:  # fmt: skip
        value = self.real(name, default)
        rule = f"needs a <{name}> from {least} to {most}, got {value:g}"
        self.require(least <= value <= most, rule)
        return int(value)

    def flag(self, name: str) -> bool:
        return bool(self._fields.get(name, False))

    def array(self, name: str, ndim: int = 1) -> Rows:
        value = np.asarray(self._fields.get(name, ()))
        if not value.size and ndim == 1:
            return np.empty(0, np.float32)
        is_valid = value.ndim == ndim and 0 < max(value.shape) <= LARGEST_LAYER
        kind = "a vector" if ndim == 1 else "a matrix"
        self.require(is_valid, f"needs {kind} in <{name}>, got {value.shape} numbers")
        single = np.ascontiguousarray(value, np.float32)
        self.require(np.isfinite(single).all(), f"has NaN or infinity in <{name}>")
        return single

    def integers(self, name: str) -> Times:
        value = np.asarray(self._fields.get(name, ()))
        self.require(len(value), f"has no <{name}>")
        return value.astype(np.int64)

    def weights(self, name: str = "LinearParams") -> tuple[Rows, Rows]:
        """Return weights, (n_out, n_in), and bias, (n_out,) or empty."""
        weights, bias = self.array(name, 2) * self._gain, self.array("BiasParams")
        problem = f"has {len(weights)} rows of weights and a bias of {len(bias)}"
        self.require(len(bias) in (0, len(weights)), problem)
        return weights, bias

    def scaling(self, scale: Rows, offset: Rows) -> Layer:
        """Make a layer that scales and shifts each block of the columns."""
        dim, block = self.whole(default=len(scale)), len(scale)
        problem = f"has {block} scales and {len(offset)} offsets for {dim} dimensions"
        self.require(block and dim % block == 0 and block == len(offset), problem)
        scale, offset = (np.tile(part, dim // block) for part in (scale, offset))
        return Layer(dim, dim, lambda rows: rows * scale + offset)


def _affine_layer(f: _Fields, name: str = "LinearParams") -> Layer:
    weights, bias = f.weights(name)
    return Layer(weights.shape[1], len(weights), _affine(weights, bias))


def _tdnn(f: _Fields) -> Layer:
    offsets = f.integers("TimeOffsets")
    weights, bias = f.weights()
    f.require(len(offsets) <= _MOST_OFFSETS, f"has more than {_MOST_OFFSETS} offsets")
    f.require(
        np.abs(offsets).max() <= LONGEST_OFFSET, "has an offset that is too large"
    )
    f.require(weights.shape[1] % len(offsets) == 0, "has no weights for each offset")
    return _Tdnn(offsets, weights, bias)


def _block_affine(f: _Fields) -> Layer:
    n_blocks = f.whole("NumBlocks")
    weights, bias = f.weights()
    f.require(len(weights) % n_blocks == 0, f"has no {n_blocks} equal blocks of rows")
    n_in = weights.shape[1]
    blocks = weights.reshape(n_blocks, -1, n_in)  # (n_blocks, n_out of a block, n_in)

    def apply(rows: Rows) -> Rows:
        parts = np.einsum("tbi,boi->tbo", rows.reshape(-1, n_blocks, n_in), blocks)
        out = parts.reshape(len(rows), len(weights))
        return np.asarray(out + bias if len(bias) else out)

    return Layer(n_blocks * n_in, len(weights), apply)


def _dropout(f: _Fields) -> Layer:
    proportion = f.real("DropoutProportion")
    f.require(0 <= proportion < 1, "needs a <DropoutProportion> from 0 to below 1")
    keep = np.full(1, 1 - proportion, np.float32)
    return f.scaling(keep, np.zeros_like(keep))


def _batch_norm(f: _Fields) -> Layer:
    f.require(f.real("Count") > 0, "has no statistics; the network was not trained")
    mean = f.array("StatsMean").astype(np.float64)
    variance = f.array("StatsVar").astype(np.float64)
    epsilon = f.real("Epsilon")
    f.require(epsilon > 0, "needs a positive <Epsilon>")
    f.require(len(mean) == len(variance), "has unequal numbers of means and variances")
    scale = f.real("TargetRms") / np.sqrt(np.maximum(variance, 0.0) + epsilon)
    return f.scaling(scale.astype(np.float32), (-mean * scale).astype(np.float32))


def _scale_and_offset(f: _Fields) -> Layer:
    scales = f.array("Scales")
    floored = np.maximum(np.abs(scales), np.float32(_LEAST_SCALE))
    return f.scaling(np.where(scales < 0, -floored, floored), f.array("Offsets"))


def _normalize(f: _Fields) -> Layer:
    dim = f.whole("InputDim", f.whole("Dim", 1))
    block, rms = f.whole("BlockDim", dim), f.real("TargetRms", 1.0)
    f.require(dim % block == 0, f"has no blocks of {block} in {dim} dimensions")
    f.require(rms > 0, "needs a positive <TargetRms>")
    log_stddev = f.flag("AddLogStddev")

    def apply(rows: Rows) -> Rows:
        blocks = rows.reshape(-1, block)
        square = np.mean(blocks**2, axis=1, keepdims=True) / np.float32(rms**2)
        square = np.maximum(square, np.float32(_NORM_FLOOR))
        parts = [blocks / np.sqrt(square)]
        if log_stddev:
            parts.append((0.5 * np.log(square) + math.log(rms)).astype(np.float32))
        return np.hstack(parts).reshape(len(rows), -1)

    return Layer(dim, dim + (dim // block if log_stddev else 0), apply)


def _sum_block(f: _Fields) -> Layer:
    n_in, n_out = f.whole("InputDim"), f.whole("OutputDim")
    scale = np.float32(f.real("Scale"))
    f.require(n_in % n_out == 0, f"cannot divide {n_in} dimensions by {n_out}")

    def apply(rows: Rows) -> Rows:
        return np.asarray(scale * rows.reshape(len(rows), -1, n_out).sum(axis=1))

    return Layer(n_in, n_out, apply)


def _permute(f: _Fields) -> Layer:
    columns = f.integers("ColumnMap")
    is_permutation = np.array_equal(np.sort(columns), np.arange(len(columns)))
    f.require(is_permutation, "needs a permutation in <ColumnMap>")
    return Layer(len(columns), len(columns), lambda rows: rows[:, columns])


def _extraction(f: _Fields) -> Layer:
    step = f.whole("InputPeriod", most=LONGEST_OFFSET)
    period = f.whole("OutputPeriod", most=LONGEST_OFFSET)
    f.require(period % step == 0, "needs an <OutputPeriod> of whole <InputPeriod>s")
    squares = f.flag("IncludeVarinance")  # the spelling of the format
    return _Extraction(f.whole("InputDim"), step, period, squares)


def _pooling(f: _Fields) -> Layer:
    n_in, step = f.whole("InputDim", least=2), f.whole("InputPeriod")
    left = f.whole("LeftContext", least=0, most=LONGEST_OFFSET)
    right = f.whole("RightContext", least=0, most=LONGEST_OFFSET)
    f.require(left % step == right % step == 0, "needs contexts of whole periods")
    floor = None
    if f.flag("OutputStddevs"):
        floor = f.real("VarianceFloor")
        f.require(0 < floor < 1, "needs a <VarianceFloor> between 0 and 1")
        f.require(n_in % 2 == 1, "needs sums and sums of squares as its input")
    n_counts = f.whole("NumLogCountFeatures", least=0)
    return _Pooling(n_in, step, left, right, n_counts, floor)


def _each(function: Callable[[Rows], Rows]) -> Callable[[_Fields], Layer]:
    return lambda f: Layer(f.whole(), f.whole(), function)


def _softmax(rows: Rows) -> Rows:
    probabilities: Rows = softmax(rows, axis=1)
    return np.maximum(probabilities, np.float32(_LEAST_PROBABILITY))


# Kaldi sets networks to test mode before it computes x-vectors.
_LAYERS: dict[str, Callable[[_Fields], Layer]] = {
    "AffineComponent": _affine_layer,
    "NaturalGradientAffineComponent": _affine_layer,
    "FixedAffineComponent": _affine_layer,
    "LinearComponent": lambda f: _affine_layer(f, "Params"),
    "TdnnComponent": _tdnn,
    "BlockAffineComponent": _block_affine,
    "RectifiedLinearComponent": _each(lambda rows: np.maximum(rows, 0)),
    "SigmoidComponent": _each(expit),
    "TanhComponent": _each(np.tanh),
    "SoftmaxComponent": _each(_softmax),
    "LogSoftmaxComponent": _each(lambda rows: log_softmax(rows, axis=1)),
    "NoOpComponent": _each(lambda rows: rows),
    "GeneralDropoutComponent": _each(lambda rows: rows),
    "SpecAugmentTimeMaskComponent": _each(lambda rows: rows),
    "DropoutComponent": _dropout,
    "BatchNormComponent": _batch_norm,
    "NormalizeComponent": _normalize,
    "ScaleAndOffsetComponent": _scale_and_offset,
    "SumBlockComponent": _sum_block,
    "PermuteComponent": _permute,
    "StatisticsExtractionComponent": _extraction,
    "StatisticsPoolingComponent": _pooling,
}


def make_layer(component: Component, *, before: Component | None = None) -> Layer:
    """Check a component and return its layer; the ValueError does not name the file.

    `before` is the only component whose output this one reads, if there is one.
    """
    owner = f"component {component.name!r} ({component.type})"
    if component.type not in _LAYERS:
        raise ValueError(f"{owner} is not supported in x-vector networks")
    fields = _Fields(component, owner, _gain(component, before))
    with np.errstate(all="ignore"):  # an output that is not finite is refused
        return _LAYERS[component.type](fields)


def _gain(component: Component, before: Component | None) -> float:
    """Return the factor of the weights that corrects a DropoutComponent.

    Test mode multiplies by 1 - p. Before these components, nnet3-xvector-compute
    removes the DropoutComponent and divides the weights by 1 - p instead.
    """
    types = ("Affine", "NaturalGradientAffine", "Linear", "Tdnn")
    if before is None or before.type != "DropoutComponent":
        return 1.0
    if component.type.removesuffix("Component") not in types:
        return 1.0
    proportion = before.fields.get("DropoutProportion", 0.0)
    return (1.0 - float(proportion)) ** -2  # checked before
