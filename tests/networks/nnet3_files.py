"""Small nnet3 networks, written as Kaldi writes them, and evaluated frame by frame.

`Net.text` and `Net.binary` are files; `Net.slow` computes the output from the
definitions of components and descriptors, one frame at a time and in double precision.
"""

import re
import struct
from dataclasses import dataclass, field

import numpy as np

_OPERATIONS = ("Append", "Offset", "Sum", "Scale", "Const", "IfDefined", "Round")


@dataclass
class Net:
    """Lines of the graph, and components as (type, fields) by name."""

    lines: list = field(default_factory=list)
    components: dict = field(default_factory=dict)
    optional_dim: int = 0  # of what IfDefined reads

    @property
    def graph(self):
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def text(self):
        parts = [f"<Nnet3> \n{self.graph}\n<NumComponents> {len(self.components)} \n"]
        for name, (kind, fields) in self.components.items():
            values = "".join(f"<{key}> {_text(value)}" for key, value in fields)
            parts.append(f"<ComponentName> {name} <{kind}> {values}</{kind}> \n")
        return "".join([*parts, "</Nnet3> "]).encode()

    @property
    def binary(self):
        count = struct.pack("<bi", 4, len(self.components))
        parts = [f"\0B<Nnet3> \n{self.graph}\n<NumComponents> ".encode() + count]
        for name, (kind, fields) in self.components.items():
            parts.append(f"<ComponentName> {name} <{kind}> ".encode())
            parts += [f"<{key}> ".encode() + _bytes(value) for key, value in fields]
            parts.append(f"</{kind}> ".encode())
        return b"".join([*parts, b"</Nnet3> "])

    def add(self, name, kind, source, **fields):
        """Add a component and the node that applies it."""
        self.components[name] = (kind, list(fields.items()))
        self.lines.append(f"component-node name={name} component={name} input={source}")
        return name

    def slow(self, frames, t=0):
        return _Slow(self, np.asarray(frames, np.float64)).node("output", t)


def _text(value):  # noqa: PLR0911
    if isinstance(value, bool):
        return "T " if value else "F "
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "".join(map(_text, value))
    if isinstance(value, list):
        return f"[ {''.join(f'{v} ' for v in value)}]\n"
    if isinstance(value, np.ndarray):
        if value.ndim == 1:
            return f" [ {''.join(f'{v:.9g} ' for v in value)}]\n"
        rows = ("".join(f"{v:.9g} " for v in row) for row in value)
        return " [" + "".join(f"\n  {row}" for row in rows) + "]\n"
    return f"{value} "


def _bytes(value):  # noqa: PLR0911
    if isinstance(value, bool):
        return b"T" if value else b"F"
    if value is None:
        return b""
    if isinstance(value, tuple):
        return b"".join(map(_bytes, value))
    if isinstance(value, int):
        return struct.pack("<bi", 4, value)
    if isinstance(value, float):
        return struct.pack("<bf", 4, value)
    if isinstance(value, list):
        return struct.pack(f"<bi{len(value)}i", 4, len(value), *value)
    sizes = b"".join(struct.pack("<bi", 4, size) for size in value.shape)
    kind = b"FV " if value.ndim == 1 else b"FM "
    return kind + sizes + value.astype("<f4").tobytes()


class _Slow:
    """Values at single times; None where a value does not exist."""

    def __init__(self, net, frames):
        self.net = net
        self.frames = frames
        self.memo = {}
        self.nodes = {}
        for line in net.lines:
            kind, rest = line.split(" ", 1)
            keys = dict(re.findall(r"([\w-]+)=(.*?)(?= [\w-]+=|$)", rest))
            self.nodes[keys["name"]] = (kind, keys)

    def node(self, name, t):
        if (name, t) not in self.memo:
            self.memo[name, t] = self.compute(name, t)
        return self.memo[name, t]

    def compute(self, name, t):
        kind, keys = self.nodes[name]
        if kind == "input-node":
            return self.frames[t] if 0 <= t < len(self.frames) else None
        if kind == "dim-range-node":
            value = self.node(keys["input-node"], t)
            first = int(keys["dim-offset"])
            return None if value is None else value[first : first + int(keys["dim"])]

        def read(time):
            parts = [part(time) for part in self.parts(keys["input"])]
            return None if any(p is None for p in parts) else np.concatenate(parts)

        if kind == "output-node":
            return read(t)
        component, fields = self.net.components[keys["component"]]
        return apply(component, dict(fields), read, t)

    def parts(self, text):
        """A descriptor as functions of time, one for each appended part."""

        def quoted(match):
            word = match[0]
            is_name = word not in (*_OPERATIONS, "ReplaceIndex", "t") and not re.match(
                r"-?[0-9]", word
            )
            return f"Node({word!r})" if is_name else repr(word) if word == "t" else word

        def each(function):
            def op(*arguments):
                lists = [a for a in arguments if isinstance(a, list)]
                others = [a for a in arguments if not isinstance(a, list)]
                return [function(group, *others) for group in zip(*lists, strict=True)]

            return op

        def total(group):
            def at(t):
                values = [part(t) for part in group]
                return None if any(v is None for v in values) else sum(values)

            return at

        def scaled(group, factor):
            return lambda t: None if group[0](t) is None else factor * group[0](t)

        def optional(group):
            def at(t):
                value = group[0](t)
                return np.zeros(self.net.optional_dim) if value is None else value

            return at

        names = {
            "Node": lambda name: [lambda t: self.node(name, t)],
            "Append": lambda *lists: [part for parts in lists for part in parts],
            "Sum": each(total),
            "Scale": lambda factor, parts: each(scaled)(parts, factor),
            "IfDefined": each(optional),
            "Const": lambda value, dim: [lambda t: np.full(dim, float(value))],
            "Offset": each(lambda group, k: lambda t: group[0](t + k)),
            "Round": each(lambda group, k: lambda t: group[0](t // k * k)),
            "ReplaceIndex": each(lambda group, _, value: lambda t: group[0](value)),
        }
        return eval(re.sub(r"[\w.-]+", quoted, text), names)


def apply(kind, f, read, t):  # noqa: PLR0911, PLR0912
    """Value of a component at a time, from a function that reads its input."""
    if kind == "TdnnComponent":
        inputs = [read(t + offset) for offset in f["TimeOffsets"]]
        if any(value is None for value in inputs):
            return None
        out = f["LinearParams"].astype(float) @ np.concatenate(inputs)
        return out + f["BiasParams"] if len(f["BiasParams"]) else out
    if kind == "StatisticsExtractionComponent":
        start = t // f["OutputPeriod"] * f["OutputPeriod"]
        times = range(start, start + f["OutputPeriod"], f["InputPeriod"])
        there = [v for v in map(read, times) if v is not None]
        if not there:
            return None
        squares = [sum(v**2 for v in there)] if f["IncludeVarinance"] else []
        return np.concatenate([[len(there)], sum(there), *squares])
    if kind == "StatisticsPoolingComponent":
        if t % f["InputPeriod"]:
            return None
        reach = range(t - f["LeftContext"], t + f["RightContext"] + 1, f["InputPeriod"])
        there = [v for v in map(read, reach) if v is not None]
        if not there:
            return None
        count, *sums = sum(there)
        mean = np.array(sums) / count
        if f["OutputStddevs"]:
            half = len(mean) // 2
            variance = mean[half:] - mean[:half] ** 2
            mean[half:] = np.sqrt(np.maximum(variance, f["VarianceFloor"]))
        return np.concatenate([[np.log(count)] * f["NumLogCountFeatures"], mean])
    x = read(t)
    if x is None:
        return None
    if kind in ("NaturalGradientAffineComponent", "FixedAffineComponent"):
        return f["LinearParams"].astype(float) @ x + f["BiasParams"]
    if kind == "LinearComponent":
        return f["Params"].astype(float) @ x
    if kind == "BlockAffineComponent":
        blocks = np.split(f["LinearParams"].astype(float), f["NumBlocks"])
        inputs = np.split(x, f["NumBlocks"])
        parts = [w @ v for w, v in zip(blocks, inputs, strict=True)]
        return np.concatenate(parts) + f["BiasParams"]
    if kind == "RectifiedLinearComponent":
        return np.where(x > 0, x, 0)
    if kind == "SigmoidComponent":
        return 1 / (1 + np.exp(-x))
    if kind == "TanhComponent":
        return np.tanh(x)
    if kind == "SoftmaxComponent":
        return np.exp(x) / np.exp(x).sum()
    if kind == "LogSoftmaxComponent":
        return x - np.log(np.exp(x).sum())
    if kind in ("NoOpComponent", "GeneralDropoutComponent"):
        return x
    if kind == "DropoutComponent":
        return x * (1 - f["DropoutProportion"])
    if kind == "BatchNormComponent":
        blocks = x.reshape(-1, f["BlockDim"]) - f["StatsMean"]
        scale = f["TargetRms"] / np.sqrt(f["StatsVar"] + f["Epsilon"])
        return (blocks * scale).ravel()
    if kind == "NormalizeComponent":
        blocks = x.reshape(-1, f["BlockDim"])
        rms = np.sqrt((blocks**2).mean(axis=1, keepdims=True))
        parts = [f["TargetRms"] * blocks / rms]
        return np.hstack([*parts, np.log(rms)] if f["AddLogStddev"] else parts).ravel()
    if kind == "ScaleAndOffsetComponent":
        return (x.reshape(-1, len(f["Scales"])) * f["Scales"] + f["Offsets"]).ravel()
    if kind == "FixedScaleComponent":
        return x * f["Scales"]
    if kind == "SumBlockComponent":
        return f["Scale"] * sum(np.split(x, f["InputDim"] // f["OutputDim"]))
    assert kind == "PermuteComponent"
    return np.array([x[column] for column in f["ColumnMap"]])
