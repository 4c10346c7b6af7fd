r"""Kaldi nnet3 networks ("raw" models such as ``final.raw``), binary or text.

A file has lines that describe a graph of nodes, a blank line, and the components that
the nodes apply::

    <Nnet3>
    input-node name=input dim=20
    component-node name=tdnn1 component=tdnn1 input=Append(Offset(input, -1), input)
    output-node name=output input=tdnn1

    <NumComponents> 1
    <ComponentName> tdnn1 <AffineComponent> <LinearParams> [ ... ] </AffineComponent>
    </Nnet3>

`sms_diar.networks.nnet3` evaluates the graph. Components of any type are read as named
fields; only fields that supported components have can be read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import Readable, open_source
from sms_diar.io.kaldi.ark import BLANK
from sms_diar.io.kaldi.model_reader import DAMAGED, ModelReader
from sms_diar.limits import (
    DEEPEST_DESCRIPTOR,
    LARGEST_LAYER,
    LONGEST_NUMBER,
    LONGEST_OFFSET,
)
from sms_diar.types import AnyArray

Value: TypeAlias = float | bool | AnyArray

_NEWLINE = re.compile(rb"\n")
_KEY = re.compile(r"(?:^|\s)([A-Za-z][\w-]*)=")
_DESCRIPTOR_WORD = re.compile(r"[(),]|[^\s(),]+")
_LONGEST_LINE = 1 << 16

# Types of the values of a field: integer, float, boolean, array or list of integers.
# Many fields belong to training and are read only to get past them.
_FIELDS = {
    name: kind
    for kind, names in {
        "i": "Dim InputDim OutputDim BlockDim RankIn RankOut Rank UpdatePeriod "
        "InputPeriod OutputPeriod LeftContext RightContext NumLogCountFeatures "
        "TimePeriod SpecAugmentMaxRegions TimeMaskMaxFrames",
        "f": "LearningRate LearningRateFactor MaxChange L2Regularize Count Alpha "
        "NumSamplesHistory OrthonormalConstraint MaxChangePerSample UpdateCount "
        "ActiveScalingCount MaxChangeScaleStats OderivCount NumDimsSelfRepaired "
        "NumDimsProcessed SelfRepairLowerThreshold SelfRepairUpperThreshold "
        "SelfRepairScale Epsilon TargetRms VarianceFloor DropoutProportion "
        "SpecAugmentMaxProportion ZeroedProportion BackpropScale Scale",
        "b": "IsGradient TestMode IncludeVarinance OutputStddevs UseNaturalGradient "
        "DropoutPerFrame Continuous AddLogStddev IsUpdatable",
        "a": "LinearParams BiasParams Params Scales Offsets Bias Output ValueAvg "
        "DerivAvg OderivRms StatsMean StatsVar",
        "l": "TimeOffsets",
        "ii": "RankInOut",
        "ff": "AlphaInOut",
    }.items()
    for name in names.split()
}


@dataclass(frozen=True, slots=True)
class Term:
    """Part of a descriptor, which says what a node reads at a time.

    `op` is the lower-case name of the operation in Kaldi. A ``node`` has a `name`, the
    others `parts`; `number` is the offset, modulus, time, scale or constant, and `dim`
    the dimension of a constant.
    """

    op: str
    parts: tuple[Term, ...] = ()
    name: str = ""
    number: float = 0
    dim: int = 0

    def names(self) -> set[str]:
        """Return the nodes that are read."""
        if self.op == "node":
            return {self.name}
        return set().union(*(part.names() for part in self.parts))


@dataclass(frozen=True, slots=True)
class Node:
    """Node of the graph.

    `kind` is input, component, dim-range or output. What it reads is the concatenation
    of `terms`. An input has a `dim`; a dim-range has `dim` columns from `first`.
    """

    name: str
    kind: str
    terms: tuple[Term, ...] = ()
    component: str = ""
    dim: int = 0
    first: int = 0


@dataclass(frozen=True, slots=True)
class Component:
    """Component with the fields of the file, named as in it without brackets."""

    name: str
    type: str
    fields: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Nnet3:
    """Graph and components of a network; `path` is for messages."""

    path: str | Path
    nodes: Mapping[str, Node]
    components: Mapping[str, Component]

    def with_config(self, path: str | Path) -> Nnet3:
        """Return the network with the nodes of a file such as ``extract.config``.

        They replace nodes of the same name.
        """
        with open_source(path) as source:
            lines = source.rest().decode("utf-8", "replace").split("\n")
        nodes = _read_nodes(path, enumerate(lines, start=1))
        return replace(self, nodes={**self.nodes, **nodes})

    def with_output(self, name: str) -> Nnet3:
        """Return the network with another node as its output."""
        node = Node("output", "output", (Term("node", name=name),))
        return replace(self, nodes={**self.nodes, "output": node})


def read_nnet3(source: Readable) -> Nnet3:
    """Read a network.

    Parameters
    ----------
    source : str, Path or binary stream
        File such as ``final.raw`` or ``final.ext.raw``, binary or text.

    Raises
    ------
    DataFormatError
        If the file is damaged or not an nnet3 network, or has a component that is not
        supported.
    """
    with open_source(source) as opened:
        return _Reader(opened).network()


class _Reader(ModelReader):
    def network(self) -> Nnet3:
        start = self.word("the network")
        if start == "<TransitionModel>":
            raise self.fault(
                "is an acoustic model with transitions (.mdl); extract the network "
                "with Kaldi's nnet3-am-copy --raw=true"
            )
        if start != "<Nnet3>":
            problem = f"not a Kaldi nnet3 network: expected <Nnet3>, got {start!r}"
            raise self.fault(problem)
        nodes = _read_nodes(self.source.name, self._config_lines())
        self.token("<NumComponents>")
        count = int(self.number("the number of components", "i"))
        node_of = {node.component: name for name, node in nodes.items()}
        components: dict[str, Component] = {}
        for number in range(1, count + 1):
            self.token("<ComponentName>")
            name = self.word(f"the name of component {number} of {count}")
            if name in components:
                raise self.fault(f"component {name!r} occurs a second time")
            components[name] = self._component(name, node_of.get(name))
        self.token("</Nnet3>")
        return Nnet3(self.source.name, nodes, components)

    def _config_lines(self) -> Iterator[tuple[int | None, str]]:
        """Yield the lines up to the first blank one after the line of <Nnet3>."""
        blank_lines = 0
        while blank_lines < 2:
            line = None if self.binary else self.source.line
            raw = self.source.until(_NEWLINE, limit=_LONGEST_LINE)
            if not self.source.peek(1) or len(raw) > _LONGEST_LINE:
                raise self.fault(f"the graph after <Nnet3> has no end; {DAMAGED}")
            self.source.read(1)
            self.source.line += 1
            text = raw.decode("utf-8", "replace").strip()
            blank_lines += not text
            yield line, text

    def _component(self, name: str, node: str | None) -> Component:
        opening = self.word(f"the type of component {name!r}")
        kind = opening[1:-1]
        if not re.fullmatch(r"<\w+>", opening):
            raise self.fault(f"component {name!r}: expected its type, got {opening!r}")
        owner = f"component {name!r} ({kind})"
        if node is not None:
            owner += f" of node {node!r}"
        fields: dict[str, Value] = {}
        while True:
            word = self.word(owner)
            # Old versions of Kaldi close some components with the opening token.
            if word in (f"</{kind}>", opening):
                return Component(name, kind, fields)
            field = word[1:-1]
            if word != f"<{field}>" or field not in _FIELDS:
                raise self.fault(
                    f"{owner}: unknown field {word!r}; this type of component is not "
                    f"supported, or the file is damaged"
                )
            for value_kind in _FIELDS[field]:
                fields[field] = self._value(value_kind, f"<{field}> of {owner}")

    def _value(self, kind: str, owner: str) -> Value:
        if kind in "if":
            return self.number(owner, kind)
        if kind == "b":
            return self._flag(owner)
        if kind == "l" and self.binary:
            return self._integers(owner)
        return self.array(owner)

    def _flag(self, owner: str) -> bool:
        if not self.binary:
            self.source.skip(BLANK)
        letter = self.source.peek(1)
        if letter == b"<":  # some components write a field only if it is true
            return True
        if letter not in (b"T", b"F"):
            raise self.fault(f"{owner} must be T or F, got {letter!r}")
        self.source.read(1)
        return letter == b"T"

    def _integers(self, owner: str) -> AnyArray:
        header = self.source.read(5)
        count = struct.unpack("<i", header[1:])[0] if len(header) == 5 else -1
        raw = self.source.read(4 * max(count, 0))
        if header[:1] != b"\4" or count < 0 or len(raw) < 4 * count:
            raise self.fault(f"{owner} is not a list of integers; {DAMAGED}")
        return np.frombuffer(raw, "<i4")


def _read_nodes(
    path: str | Path, lines: Iterable[tuple[int | None, str]]
) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    for line, full in lines:
        text = full.partition("#")[0].strip()
        if not text:
            continue
        try:
            node = _parse_node(text)
            if node.name in nodes:
                raise ValueError(f"node {node.name!r} occurs a second time")
        except ValueError as error:
            raise DataFormatError(str(error), path=path, line=line, text=full) from None
        nodes[node.name] = node
    return nodes


def _parse_node(text: str) -> Node:
    kind, _, rest = text.partition(" ")
    if kind not in ("input-node", "component-node", "output-node", "dim-range-node"):
        raise ValueError(f"expected a node such as component-node, got {kind!r}")
    kind = kind.removesuffix("-node")
    first, *pairs = _KEY.split(rest)
    values = {
        key: value.strip().strip("\"'")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True)
    }
    if first.strip():
        raise ValueError(f"expected name=value after {kind}-node, got {first!r}")

    def value(key: str) -> str:
        if not values.get(key):
            raise ValueError(f"{kind}-node has no {key}=...")
        return values[key]

    name = value("name")
    if kind == "input":
        return Node(name, kind, dim=_dimension(value("dim")))
    if kind == "dim-range":
        source = Term("node", name=value("input-node"))
        first_column = _whole(value("dim-offset"))
        dim = _dimension(value("dim"))
        return Node(name, kind, (source,), dim=dim, first=first_column)
    terms = parse_descriptor(value("input"))
    component = value("component") if kind == "component" else ""
    return Node(name, kind, terms, component=component)


def parse_descriptor(text: str) -> tuple[Term, ...]:
    """Parse a descriptor; the result is the concatenation of terms without Append.

    As in Kaldi, other operations apply to each appended part: ``Offset(Append(a, b),
    1)`` is ``Append(Offset(a, 1), Offset(b, 1))``. The ValueError of a bad descriptor
    does not name the file.
    """
    words = _DESCRIPTOR_WORD.findall(text)
    n_words = len(words)
    words += ["the end"] * 3  # the parser looks ahead
    terms, after = _parse_terms(words, 0, depth=0)
    if after != n_words:
        raise ValueError(f"descriptor has {words[after]!r} after its end")
    return terms


def _parse_terms(
    words: list[str], at: int, *, depth: int
) -> tuple[tuple[Term, ...], int]:
    """Return the terms that begin at a word, and the index of the word after them."""
    if depth > DEEPEST_DESCRIPTOR:
        raise ValueError(f"descriptor is nested more than {DEEPEST_DESCRIPTOR} deep")
    op = words[at]
    if op not in _ARGUMENTS:
        if op in ("(", ")", ",", "the end"):
            raise ValueError(f"expected the name of a node in a descriptor, got {op!r}")
        if words[at + 1] == "(":
            raise ValueError(f"operation {op!r} of descriptors is not supported")
        return (Term("node", name=op),), at + 1
    if words[at + 1] != "(":
        raise ValueError(f"expected '(' after {op} in a descriptor")
    pattern = _ARGUMENTS[op]
    numbers: list[str] = []
    parts: list[tuple[Term, ...]] = []
    at += 1
    while words[at] != ")":
        index = len(numbers) + len(parts)
        if words[at] != ("," if index else "("):
            raise ValueError(f"expected ',' or ')' in {op}, got {words[at]!r}")
        if pattern is None or pattern[index : index + 1] == "d":
            terms, at = _parse_terms(words, at + 1, depth=depth + 1)
            parts.append(terms)
        else:
            numbers.append(words[at + 1])
            at += 2
    if op == "Offset" and numbers[1:] == ["0"]:
        numbers.pop()  # offset of an index that is always 0
    if len(numbers) + len(parts) != (
        len(parts) or 1 if pattern is None else len(pattern)
    ):
        raise ValueError(f"{op} in a descriptor has the wrong number of arguments")
    return _make_terms(op, numbers, parts), at + 1


# Arguments of operations: descriptors or numbers; None is any number of descriptors.
_ARGUMENTS = {
    "Append": None, "Sum": None, "IfDefined": "d", "Offset": "dn", "Round": "dn",
    "ReplaceIndex": "dnn", "Scale": "nd", "Const": "nn",
}  # fmt: skip


def _make_terms(
    op: str, numbers: list[str], parts: list[tuple[Term, ...]]
) -> tuple[Term, ...]:
    if op == "Append":
        return tuple(term for terms in parts for term in terms)
    number: float = 0
    if op in ("Scale", "Const"):
        number = _real(numbers[0])
    elif numbers:  # times
        if op == "ReplaceIndex" and numbers[0] != "t":
            raise ValueError(f"ReplaceIndex replaces only t, got {numbers[0]!r}")
        number = _whole(numbers[-1])
        if abs(number) > LONGEST_OFFSET or (op == "Round" and number < 1):
            raise ValueError(f"{op} has the number {number}, which is not possible")
    if op == "Const":
        return (Term("const", number=number, dim=_dimension(numbers[1])),)
    sizes = {len(terms) for terms in parts}
    if len(sizes) > 1:
        raise ValueError(f"{op} in a descriptor has parts of different size")
    return tuple(
        Term(op.lower(), terms, number=number) for terms in zip(*parts, strict=True)
    )


def _whole(word: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,10}", word):
        raise ValueError(f"expected a whole number, got {word[:80]!r}")
    return int(word)


def _real(word: str) -> float:
    """Parse a number; infinity and NaN are left to the checks of the values."""
    try:
        if "_" in word or len(word) > LONGEST_NUMBER:
            raise ValueError
        return float(word)
    except ValueError:
        raise ValueError(f"expected a number, got {word[:80]!r}") from None


def _dimension(word: str) -> int:
    dim = _whole(word)
    if not 0 < dim <= LARGEST_LAYER:
        raise ValueError(f"a dimension is from 1 to {LARGEST_LAYER}, got {dim}")
    return dim
