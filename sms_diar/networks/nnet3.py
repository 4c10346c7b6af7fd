"""Evaluation of Kaldi nnet3 networks for x-vectors.

The output is requested at time 0, as by Kaldi's ``nnet3-xvector-compute``, and each
node requests from its inputs the times it needs. The input has the times of its frames,
0 to T - 1, without padding: a value exists only if all its inputs do. Statistics
extraction and statistics pooling use the inputs that exist, and the operation IfDefined
replaces missing values by zero. Near the edges, layers with context therefore have
fewer frames, and statistics are taken over the remaining ones.

Three passes over the graph find the times of all nodes (`_Plan`), which depend only on
the number of frames. A fourth one computes values, with a matrix product per layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from graphlib import CycleError, TopologicalSorter
from typing import NoReturn

import numpy as np

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.kaldi.nnet3 import Component, Nnet3, Node, Term
from sms_diar.limits import LARGEST_LAYER
from sms_diar.networks.nnet3_layers import (
    Layer,
    Mask,
    Rows,
    Span,
    Times,
    make_layer,
    select,
)
from sms_diar.types import AnyArray

_INPUT = "input"
_OUTPUT = "output"
_ANY_TIME: Span = (-math.inf, math.inf)
_KEPT_PLANS = 64
_LEAST_FRAMES = 1000  # a shorter input may use the memory of this many frames


@dataclass(frozen=True, slots=True)
class _Plan:
    """Times of all nodes for inputs of one length.

    `inputs` are the times at which the terms of a node exist and are read, `outputs`
    the times of its values.
    """

    inputs: dict[str, Times]
    outputs: dict[str, Times]


class Nnet3Network:
    """Network that maps the frames of a segment to one vector.

    Parameters
    ----------
    model : Nnet3
        Network with the nodes ``input`` and ``output``; only nodes that the output
        depends on are used and checked.

    Raises
    ------
    DataFormatError
        If the output depends on a missing node, on itself, on an unsupported
        component, or on dimensions that do not match.
    """

    def __init__(self, model: Nnet3) -> None:
        self._model = model
        self._nodes = [model.nodes[name] for name in self._order()]
        self._dims: dict[str, int] = {}
        self._layers: dict[str, Layer] = {}
        for node in self._nodes:
            self._dims[node.name] = self._add(node)
        readers = {name: node.name for node in self._nodes for name in _names(node)}
        # Nodes whose values are not needed after a node was computed.
        self._done: dict[str, list[str]] = {node.name: [] for node in self._nodes}
        for name, last_reader in readers.items():
            self._done[last_reader].append(name)
        self._plan = lru_cache(maxsize=_KEPT_PLANS)(self._new_plan)

    @property
    def frame_dim(self) -> int:
        """Dimension of the frames."""
        return self._dims[_INPUT]

    @property
    def dim(self) -> int:
        """Dimension of the output."""
        return self._dims[_OUTPUT]

    def accepts(self, n_frames: int) -> bool:
        """Return true if there is an output for this number of frames."""
        return bool(len(self._plan(n_frames).outputs[_OUTPUT]))

    def output(self, frames: AnyArray) -> Rows:
        """Compute the output at time 0, shape (dim,), from (n_frames, frame_dim).

        Raises
        ------
        InvalidParameterError
            If there are too few frames for the context of the network, or if the
            output is not finite.
        """
        if frames.ndim != 2 or frames.shape[1] != self.frame_dim:
            shape = " x ".join(map(str, frames.shape))
            self._refuse(f"must have {self.frame_dim} dimensions, got {shape} numbers")
        if not self.accepts(len(frames)):
            self._refuse(f"must exceed the context of the network, got {len(frames)}")
        with np.errstate(all="ignore"):
            rows = np.ascontiguousarray(frames, np.float32)
            values = self._values(rows, self._plan(len(frames)))
        if not np.isfinite(values).all():
            self._refuse("give an output that is not finite")
        return values

    def _refuse(self, problem: str) -> NoReturn:
        owner = str(self._model.path)
        raise InvalidParameterError(problem, owner=owner, parameter="frames")

    def _order(self) -> list[str]:
        """Return the nodes that the output depends on, each after its inputs."""
        graph: dict[str, set[str]] = {}
        reader = {_OUTPUT: "the network"}
        waiting = [_OUTPUT]
        while waiting:
            name = waiting.pop()
            if name in graph:
                continue
            node = self._model.nodes.get(name)
            if node is None:
                self._fail(reader[name], f"reads the node {name!r}, which is missing")
            if node.kind == "input" and name != _INPUT:
                self._fail(name, "only the input 'input' is available")
            if node.kind == "output" and name != _OUTPUT:
                self._fail(name, "an output cannot be read by other nodes")
            graph[name] = _names(node)
            reader |= dict.fromkeys(graph[name] - graph.keys(), f"node {name!r}")
            waiting += graph[name]
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            names = " -> ".join(error.args[1][:8])
            problem = (
                f"nodes {names} form a cycle; recurrent networks are not supported"
            )
            raise DataFormatError(problem, path=self._model.path) from None
        if _INPUT not in graph:
            self._fail(_OUTPUT, f"it does not depend on the node {_INPUT!r}")
        return order

    def _fail(self, name: str, problem: str) -> NoReturn:
        owner = name if " " in name else f"node {name!r}"
        raise DataFormatError(f"{owner}: {problem}", path=self._model.path)

    def _add(self, node: Node) -> int:
        """Make the layer of a node and return the dimension of its values."""
        if node.kind == "input":
            return node.dim
        dim = sum(self._dim(term, node.name) for term in node.terms)
        if dim > LARGEST_LAYER:
            self._fail(node.name, f"reads {dim} dimensions, more than {LARGEST_LAYER}")
        if node.kind == "dim-range":
            if not 0 <= node.first <= dim - node.dim:
                last = node.first + node.dim
                self._fail(node.name, f"has columns {node.first} to {last} of {dim}")
            return node.dim
        if node.kind == "output":
            return dim
        component = self._model.components.get(node.component)
        if component is None:
            self._fail(node.name, f"component {node.component!r} is missing")
        try:
            layer = make_layer(component, before=self._only_input(node))
        except ValueError as error:
            self._fail(node.name, str(error))
        if layer.n_in != dim:
            kind = f"component {component.name!r} ({component.type})"
            self._fail(
                node.name, f"{kind} takes {layer.n_in} dimensions, its input has {dim}"
            )
        if layer.n_out > LARGEST_LAYER:
            self._fail(node.name, f"has more than {LARGEST_LAYER} dimensions")
        self._layers[node.name] = layer
        return layer.n_out

    def _only_input(self, node: Node) -> Component | None:
        """Return the component of the only node that is read, perhaps at offsets."""
        names = _names(node)
        direct = all(
            term.op == "node" or (term.op == "offset" and term.parts[0].op == "node")
            for term in node.terms
        )
        if not direct or len(names) != 1:
            return None
        return self._model.components.get(self._model.nodes[names.pop()].component)

    def _dim(self, term: Term, owner: str) -> int:
        if term.op == "node":
            return self._dims[term.name]
        if term.op == "const":
            return term.dim
        dims = [self._dim(part, owner) for part in term.parts]
        if len(set(dims)) > 1:
            self._fail(owner, f"{term.op} of {dims[0]} and {dims[-1]} dimensions")
        return dims[0]

    def _new_plan(self, n_frames: int) -> _Plan:
        """Find the times of all nodes."""
        # Forwards: times at which values can exist.
        read_spans: dict[str, Span] = {}
        spans: dict[str, Span] = {}
        for node in self._nodes:
            read = (0.0, n_frames - 1.0)
            if node.kind != "input":
                read = _common([_span(term, spans) for term in node.terms])
            read_spans[node.name] = read
            layer = self._layers.get(node.name)
            spans[node.name] = read if layer is None else layer.span(read)

        # Backwards: times that are needed.
        most = LARGEST_LAYER * max(n_frames, _LEAST_FRAMES)
        wanted = {node.name: np.empty(0, np.int64) for node in self._nodes}
        wanted[_OUTPUT] = np.zeros(1, np.int64)
        inputs: dict[str, Times] = {}
        for node in reversed(self._nodes):
            first, last = spans[node.name]
            times = wanted[node.name]
            times = times[(times >= first) & (times <= last)]
            layer = self._layers.get(node.name)
            needed = times
            if layer is not None and len(times):
                needed = layer.needs(times, read_spans[node.name])
                if max(len(needed) * layer.n_in, len(times) * layer.n_out) > most:
                    self._fail(node.name, f"needs more than {most} numbers")
            wanted[node.name], inputs[node.name] = times, needed
            for term in node.terms:
                _request(term, needed, wanted)

        # Forwards: needed times that exist.
        outputs: dict[str, Times] = {}
        for node in self._nodes:
            exist = np.ones(len(inputs[node.name]), bool)
            for term in node.terms:
                exist &= _exists(term, inputs[node.name], outputs)
            inputs[node.name] = inputs[node.name][exist]
            layer = self._layers.get(node.name)
            outputs[node.name] = inputs[node.name]
            if layer is not None:
                times = wanted[node.name]
                outputs[node.name] = times[layer.exists(times, inputs[node.name])]
        return _Plan(inputs, outputs)

    def _values(self, frames: Rows, plan: _Plan) -> Rows:
        values: dict[str, Rows] = {}
        for node in self._nodes:
            times = plan.inputs[node.name]
            if node.kind == "input":
                values[node.name] = frames[times]
                continue
            parts = [self._value(term, times, plan, values) for term in node.terms]
            rows = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
            layer = self._layers.get(node.name)
            if layer is not None:
                rows = layer.compute(plan.outputs[node.name], times, rows)
            elif node.kind == "dim-range":
                rows = rows[:, node.first : node.first + node.dim]
            values[node.name] = rows
            for name in self._done[node.name]:
                del values[name]
        return np.asarray(values[_OUTPUT][0])

    def _value(
        self, term: Term, times: Times, plan: _Plan, values: dict[str, Rows]
    ) -> Rows:
        """Compute a term at times at which it exists, shape (n_times, dim)."""
        if term.op == "node":
            return select(values[term.name], plan.outputs[term.name], times)
        if term.op == "const":
            return np.full((len(times), term.dim), term.number, np.float32)
        if term.op == "sum":
            parts = [self._value(part, times, plan, values) for part in term.parts]
            return np.asarray(reduce(np.add, parts))
        if term.op == "scale":
            part = self._value(term.parts[0], times, plan, values)
            return np.asarray(part * np.float32(term.number))
        if term.op in _MOVES:
            return self._value(term.parts[0], _moved(term, times), plan, values)
        out = np.zeros((len(times), self._dim(term, "")), np.float32)
        exists = _exists(term.parts[0], times, plan.outputs)  # ifdefined
        out[exists] = self._value(term.parts[0], times[exists], plan, values)
        return out


_MOVES = ("offset", "round", "replaceindex")
"""Operations that read another time."""


def _moved(term: Term, times: Times) -> Times:
    """Return the times that an operation of `_MOVES` reads, possibly repeated."""
    number = int(term.number)
    if term.op == "offset":
        return times + number
    if term.op == "round":
        return times - times % number
    return np.full_like(times, number)


def _names(node: Node) -> set[str]:
    return set().union(*(term.names() for term in node.terms))


def _span(term: Term, spans: dict[str, Span]) -> Span:
    """Return the times at which a term can exist; it need not exist at all of them."""
    if term.op == "node":
        return spans[term.name]
    if term.op in ("const", "ifdefined", "replaceindex"):
        return _ANY_TIME
    parts = [_span(part, spans) for part in term.parts]
    first, last = _common(parts)
    if term.op == "offset":
        return first - term.number, last - term.number
    return first, last + (term.number - 1 if term.op == "round" else 0)


def _common(spans: Sequence[Span]) -> Span:
    return max(first for first, _ in spans), min(last for _, last in spans)


def _request(term: Term, times: Times, wanted: dict[str, Times]) -> None:
    """Add the times at which a term reads nodes to `wanted`."""
    if term.op == "node":
        wanted[term.name] = np.union1d(wanted[term.name], times)
    moved = _moved(term, times) if term.op in _MOVES else times
    for part in term.parts:
        _request(part, moved, wanted)


def _exists(term: Term, times: Times, outputs: dict[str, Times]) -> Mask:
    """Return at which times a term exists."""
    if term.op == "node":
        return np.isin(times, outputs[term.name])
    if term.op in ("const", "ifdefined"):
        return np.ones(len(times), bool)
    if term.op in _MOVES:
        return _exists(term.parts[0], _moved(term, times), outputs)
    parts = [_exists(part, times, outputs) for part in term.parts]
    return reduce(np.logical_and, parts)
