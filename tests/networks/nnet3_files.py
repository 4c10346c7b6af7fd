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
    if kind in ("NoOpComponent", "GeneralDropoutComponent", "DropoutComponent"):
        return x
    if kind == "BatchNormComponent":
        blocks = x.reshape(-1, f["BlockDim"]) - f["StatsMean"]
        scale = f["TargetRms"] / np.sqrt(f["StatsVar"] + f["Epsilon"])
        return (blocks * scale).ravel()
    if kind == "NormalizeComponent":
        blocks = x.reshape(-1, f["BlockDim"])
        rms = np.sqrt((blocks**2).mean(axis=1, keepdims=True))
        parts = [f["TargetRms"] * blocks / rms]
        return np.hstack([*parts, np.log(rms)] if f["AddLogStddev"] else parts).ravel()
    assert kind == "ScaleAndOffsetComponent"
    return (x.reshape(-1, len(f["Scales"])) * f["Scales"] + f["Offsets"]).ravel()


class Builder(Net):
    """Layers with random weights."""

    def __init__(self, seed=0):
        super().__init__(["input-node name=input dim=4"])
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def affine(self, name, source, n_in, n_out, kind="NaturalGradientAffineComponent"):
        weights = self.normal(n_out, n_in) / np.float32(np.sqrt(n_in))
        return self.add(
            name, kind, source, LinearParams=weights, BiasParams=self.normal(n_out)
        )

    def tdnn(self, name, source, n_in, n_out, offsets, bias=True):
        return self.add(
            name,
            "TdnnComponent",
            source,
            MaxChange=0.75,
            LearningRate=0.001,
            TimeOffsets=offsets,
            LinearParams=self.normal(n_out, n_in * len(offsets)) / 2,
            BiasParams=self.normal(n_out if bias else 0),
            OrthonormalConstraint=-1.0,
            UseNaturalGradient=True,
            NumSamplesHistory=2000.0,
            AlphaInOut=(4.0, 2.0),
            RankInOut=(20, 80),
        )

    def relu(self, name, source, dim):
        return self.add(name, "RectifiedLinearComponent", source, Dim=dim)

    def batch_norm(self, name, source, dim, block=None):
        block = block or dim
        return self.add(
            name,
            "BatchNormComponent",
            source,
            Dim=dim,
            BlockDim=block,
            Epsilon=0.001,
            TargetRms=1.0,
            TestMode=False,
            Count=100.0,
            StatsMean=self.normal(block) / 4,
            StatsVar=self.normal(block) ** 2 + np.float32(0.1),
        )

    def extraction(self, name, source, dim, step=1, period=1, squares=True):
        return self.add(
            name,
            "StatisticsExtractionComponent",
            source,
            InputDim=dim,
            InputPeriod=step,
            OutputPeriod=period,
            IncludeVarinance=squares,
        )

    def pooling(self, name, source, dim, left=0, right=60, step=1, counts=0, std=True):
        return self.add(
            name,
            "StatisticsPoolingComponent",
            source,
            InputDim=dim,
            InputPeriod=step,
            LeftContext=left,
            RightContext=right,
            NumLogCountFeatures=counts,
            OutputStddevs=std,
            VarianceFloor=1e-10,
        )

    def output(self, source):
        self.lines.append(f"output-node name=output input={source} objective=linear")
        return self


def spliced(name, *offsets):
    parts = (f"Offset({name}, {k})" if k else name for k in offsets)
    return f"Append({', '.join(parts)})"


def plain_tdnn():
    """Layers as in the recipes sre16 and voxceleb."""
    net = Builder()
    net.affine("tdnn1.affine", spliced("input", -2, -1, 0, 1, 2), 20, 6)
    net.relu("tdnn1.relu", "tdnn1.affine", 6)
    net.batch_norm("tdnn1.batchnorm", "tdnn1.relu", 6)
    net.affine("tdnn2.affine", spliced("tdnn1.batchnorm", -3, 0, 3), 18, 5)
    net.relu("tdnn2.relu", "tdnn2.affine", 5)
    net.batch_norm("tdnn2.batchnorm", "tdnn2.relu", 5)
    net.extraction("extract", "tdnn2.batchnorm", 5)
    net.pooling("pool", "extract", 11)
    net.affine("tdnn6.affine", "Round(pool, 1)", 10, 3)
    return net.output("tdnn6.affine")


def factored_tdnn():
    """Layers as made by tdnnf-layer, with bypass, dropout and a fixed first layer."""
    net = Builder(1)
    net.affine("lda", spliced("input", -1, 0, 1), 12, 8, kind="FixedAffineComponent")
    previous = net.batch_norm("first", "lda", 8, block=4)
    for number, stride in ((2, 1), (3, 3), (4, 0)):
        layer = f"tdnnf{number}"
        back, forth = ([-stride, 0], [0, stride]) if stride else ([0], [0])
        net.tdnn(f"{layer}.linear", previous, 8, 3, back, bias=False)
        net.tdnn(f"{layer}.affine", f"{layer}.linear", 3, 8, forth)
        net.relu(f"{layer}.relu", f"{layer}.affine", 8)
        net.batch_norm(f"{layer}.batchnorm", f"{layer}.relu", 8)
        net.add(
            f"{layer}.dropout",
            "GeneralDropoutComponent",
            f"{layer}.batchnorm",
            Dim=8,
            BlockDim=8,
            TimePeriod=0,
            DropoutProportion=0.25,
            Continuous=None,
        )
        total = f"Sum(Scale(0.66, {previous}), {layer}.dropout)"
        kind = "NoOpComponent"
        previous = net.add(f"{layer}.noop", kind, total, Dim=8, BackpropScale=1.0)
    net.add(
        "prefinal-l",
        "LinearComponent",
        previous,
        LearningRate=0.001,
        Params=net.normal(6, 8),
        OrthonormalConstraint=-1.0,
        UseNaturalGradient=True,
        RankInOut=(3, 4),
    )
    net.extraction("extract", "prefinal-l", 6)
    net.pooling("pool", "extract", 13, counts=2)
    net.affine("embedding", "pool", 14, 5)
    return net.output("embedding")


def periods():
    """Statistics of every third frame in periods of six, over a limited context."""
    net = Builder(2)
    net.extraction("extract", "input", 4, step=3, period=6)
    net.pooling("pool", "extract", 9, left=12, right=18, step=6)
    return net.output("Offset(Round(pool, 6), 7)")


def means_only():
    net = Builder(3)
    net.extraction("extract", "input", 4, squares=False)
    net.pooling("pool", "extract", 5, left=3, right=4, std=False, counts=1)
    # Sliding statistics of many frames, and again their statistics.
    net.extraction("again", "pool", 5)
    net.pooling("all", "again", 11)
    return net.output("all")


def descriptors():
    net = Builder(4)
    net.optional_dim = 4
    net.add("copy", "NoOpComponent", "Offset(input, 2)", Dim=4)
    net.lines.append("dim-range-node name=some input-node=copy dim=2 dim-offset=1")
    mixed = (
        "Append(IfDefined(Offset(input, -3)), Sum(input, Const(0.5, 4)), some, "
        "ReplaceIndex(input, t, 3), Offset(Append(copy, Scale(-2.5, input)), 1), "
        "Round(input, 4))"
    )
    net.affine("mixed", mixed, 26, 5)
    net.extraction("extract", "mixed", 5)
    net.pooling("pool", "extract", 11)
    return net.output("Append(pool, ReplaceIndex(mixed, t, 1))")


def activations():
    net = Builder(5)
    each = {"Dim": 4}
    net.add("sigmoid", "SigmoidComponent", "input", **each)
    net.add("tanh", "TanhComponent", "input", **each)
    net.add(
        "renorm", "NormalizeComponent", "input", InputDim=4, BlockDim=2,
        TargetRms=0.5, AddLogStddev=True,
    )  # fmt: skip
    net.add("softmax", "SoftmaxComponent", "input", **each)
    net.add("log", "LogSoftmaxComponent", "input", **each)
    net.add("drop", "DropoutComponent", "input", **each, DropoutProportion=0.0)
    scales, offsets = net.normal(2), net.normal(2)
    net.add(
        "blocks", "ScaleAndOffsetComponent", "input", Dim=4, Scales=scales,
        Offsets=offsets, UseNaturalGradient=True, Rank=2,
    )  # fmt: skip
    names = [line.split()[1][5:] for line in net.lines[1:]]
    return net.output(f"Append({', '.join(names)})")


NETS = [plain_tdnn, factored_tdnn, periods, means_only, descriptors, activations]
