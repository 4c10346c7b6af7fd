"""Evaluation of Kaldi nnet3 networks for x-vectors.

The output is requested at time 0, as by Kaldi's ``nnet3-xvector-compute``, and each
node requests from its inputs the times it needs. The input has the times of its frames,
0 to T - 1, without padding: a value exists only if all its inputs do. Statistics
extraction and statistics pooling use the inputs that exist, and the operation IfDefined
replaces missing values by zero. Near the edges, layers with context therefore have
fewer frames, and statistics are taken over the remaining ones.

A plan of the times that nodes need depends only on the number of frames. Values are
then computed with a matrix product per layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from graphlib import CycleError, TopologicalSorter
from typing import NoReturn, TypeAlias

import numpy as np

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.kaldi.nnet3 import Nnet3, Node, Term
from sms_diar.limits import LARGEST_LAYER
from sms_diar.networks.nnet3_layers import Layer, Rows, Span, Times, make_layer
from sms_diar.types import AnyArray, BoolArray

_INPUT = "input"
_OUTPUT = "output"
_ANY_TIME: Span = (-math.inf, math.inf)
_KEPT_PLANS = 64
_LEAST_FRAMES = 1000  # a shorter input may use the memory of this many frames

_Values: TypeAlias = dict[str, tuple[Times, Rows]]
"""Times at which nodes exist, and their values."""


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
        self._nodes: list[Node] = []
        self._dims: dict[str, int] = {}
        self._layers: dict[str, Layer] = {}
        for name in self._order():
            self._add(model.nodes[name])
        # Nodes whose values are not needed after a node was computed.
        readers = {name: node.name for node in self._nodes for name in _names(node)}
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
        with np.errstate(all="ignore"):
            rows = self._compute(np.ascontiguousarray(frames, np.float32))
        if not len(rows):
            self._refuse(f"must exceed the context of the network, got {len(frames)}")
        if not np.isfinite(rows).all():
            self._refuse("give an output that is not finite")
        return np.asarray(rows[0])

    def _refuse(self, problem: str) -> NoReturn:
        owner = str(self._model.path)
        raise InvalidParameterError(problem, owner=owner, parameter="frames")

    def _fail(self, owner: str, problem: str) -> NoReturn:
        raise DataFormatError(f"{owner}: {problem}", path=self._model.path)

    def _order(self) -> list[str]:
        """Return the nodes that the output depends on, each after its inputs."""
        graph: dict[str, set[str]] = {}
        waiting = [("the network", _OUTPUT)]
        while waiting:
            reader, name = waiting.pop()
            node = self._model.nodes.get(name)
            if node is None:
                self._fail(reader, f"reads the node {name!r}, which is missing")
            owner = f"node {name!r}"
            if (node.kind == "input") != (name == _INPUT):
                self._fail(owner, f"the only input must be {_INPUT!r}")
            if (node.kind == "output") != (name == _OUTPUT):
                self._fail(owner, f"the only output must be {_OUTPUT!r}")
            graph[name] = _names(node)
            waiting += [(owner, other) for other in graph[name] - graph.keys()]
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError as error:
            names = " -> ".join(error.args[1][:8])
            self._fail(names, "form a cycle; recurrent networks are not supported")
        if _INPUT not in graph:
            self._fail("the output", f"it does not depend on the node {_INPUT!r}")
        return order

    def _add(self, node: Node) -> None:
        """Make the layer of a node, whose inputs were added before."""
        owner = f"node {node.name!r}"
        if node.kind == "input":
            self._layers[node.name] = Layer(node.dim, node.dim)
        else:
            self._layers[node.name] = layer = self._layer(node, owner)
            node = replace(node, terms=_shifted(node.terms, layer.offsets))
            dim = sum(self._dim(term, owner) for term in node.terms)
            if dim != layer.n_in:
                kind = f"component {node.component!r}"
                takes = f"{layer.n_in} dimensions, its input has {dim}"
                self._fail(owner, f"{kind} takes {takes}")
        self._nodes.append(node)
        self._dims[node.name] = self._layers[node.name].n_out

    def _layer(self, node: Node, owner: str) -> Layer:
        if node.kind == "component":
            component = self._model.components.get(node.component)
            if component is None:
                self._fail(owner, f"component {node.component!r} is missing")
            try:
                return make_layer(component)
            except ValueError as error:
                self._fail(owner, str(error))
        dim = sum(self._dim(term, owner) for term in node.terms)
        if dim > LARGEST_LAYER:
            self._fail(owner, f"reads {dim} dimensions, more than {LARGEST_LAYER}")
        if node.kind == "output":
            return Layer(dim, dim)
        last = node.first + node.dim
        if not 0 <= node.first < last <= dim:
            self._fail(owner, f"has columns {node.first} to {last} of {dim}")
        return Layer(dim, node.dim, lambda rows: rows[:, node.first : last])

    def _dim(self, term: Term, owner: str) -> int:
        if term.op == "node":
            return self._dims[term.name]
        if term.op == "const":
            return term.dim
        dims = [self._dim(part, owner) for part in term.parts]
        if len(set(dims)) > 1:
            self._fail(owner, f"{term.op} of {dims[0]} and {dims[-1]} dimensions")
        return dims[0]

    def _new_plan(self, n_frames: int) -> dict[str, tuple[Times, Times]]:
        """Find the times of the inputs and of the values that nodes need."""
        # Forwards: times at which values can exist.
        reads: dict[str, Span] = {_INPUT: (0, n_frames - 1)}
        spans: dict[str, Span] = {}
        for node in self._nodes:
            if node.terms:
                reads[node.name] = _common([_span(term, spans) for term in node.terms])
            window = self._layers[node.name].window
            read = reads[node.name]
            spans[node.name] = read if window is None else window.span(read)

        # Backwards: times that are needed.
        most = LARGEST_LAYER * max(n_frames, _LEAST_FRAMES)
        wanted = {node.name: np.empty(0, np.int64) for node in self._nodes}
        wanted[_OUTPUT] = np.zeros(1, np.int64)
        plan: dict[str, tuple[Times, Times]] = {}
        for node in reversed(self._nodes):
            first, last = spans[node.name]
            times = wanted[node.name]
            needed = times = times[(times >= first) & (times <= last)]
            layer = self._layers[node.name]
            if layer.window is not None:
                needed = layer.window.needs(times, reads[node.name])
            if max(len(needed) * layer.n_in, len(times) * layer.n_out) > most:
                self._fail(f"node {node.name!r}", f"needs more than {most} numbers")
            plan[node.name] = needed, times
            for term in node.terms:
                _request(term, needed, wanted)
        return plan

    def _compute(self, frames: Rows) -> Rows:
        plan = self._plan(len(frames))
        values: _Values = {_INPUT: (plan[_INPUT][0], frames[plan[_INPUT][0]])}
        for node in self._nodes:
            if node.kind == "input":
                continue
            needed, times = plan[node.name]
            parts = [self._read(term, needed, values) for term in node.terms]
            exists = _all([mask for mask, _ in parts])
            rows = np.hstack([part for _, part in parts]) if parts[1:] else parts[0][1]
            if not exists.all():
                needed, rows = needed[exists], rows[exists]
            layer = self._layers[node.name]
            rows = layer.function(rows)
            if layer.window is not None:
                needed, rows = layer.window.sums(times, needed, rows)
            values[node.name] = needed, layer.finish(rows)
            for name in self._done[node.name]:
                del values[name]
        return values[_OUTPUT][1]

    def _read(
        self, term: Term, times: Times, values: _Values
    ) -> tuple[BoolArray, Rows]:
        """Return where a term exists and its rows, any number where it does not."""
        if term.op == "node":
            return _select(*values[term.name], times)
        exists = np.ones(len(times), bool)
        if term.op == "const":
            return exists, np.full((len(times), term.dim), term.number, np.float32)
        moved = _moved(term, times)
        parts = [self._read(part, moved, values) for part in term.parts]
        rows = reduce(np.add, [part for _, part in parts])  # one, except for sums
        masks = _all([mask for mask, _ in parts])
        if term.op == "ifdefined":
            return exists, np.where(masks[:, None], rows, np.float32(0))
        if term.op == "scale":
            rows = rows * np.float32(term.number)
        return masks, rows


def _shifted(terms: tuple[Term, ...], offsets: tuple[int, ...]) -> tuple[Term, ...]:
    if offsets == (0,):
        return terms
    return tuple(
        Term("offset", (term,), number=offset) for offset in offsets for term in terms
    )


def _select(have: Times, rows: Rows, times: Times) -> tuple[BoolArray, Rows]:
    """Return which times are in `have`, and the rows at all times, perhaps a view."""
    first = int(np.searchsorted(have, times[0])) if len(times) else 0
    if np.array_equal(have[first : first + len(times)], times):
        return np.ones(len(times), bool), rows[first : first + len(times)]
    exists = np.isin(times, have)
    out = np.zeros((len(times), rows.shape[1]), np.float32)
    out[exists] = rows[np.searchsorted(have, times[exists])]
    return exists, out


def _all(masks: Sequence[BoolArray]) -> BoolArray:
    return reduce(np.logical_and, masks)


def _moved(term: Term, times: Times) -> Times:
    """Return the times at which the parts of a term are read, possibly repeated."""
    number = int(term.number)
    if term.op == "offset":
        return times + number
    if term.op == "round":
        return times - times % number
    return np.full_like(times, number) if term.op == "replaceindex" else times


def _names(node: Node) -> set[str]:
    return set().union(*(term.names() for term in node.terms))


def _span(term: Term, spans: dict[str, Span]) -> Span:
    """Return the times at which a term can exist; it need not exist at all of them."""
    if term.op == "node":
        return spans[term.name]
    if term.op in ("const", "ifdefined", "replaceindex"):
        return _ANY_TIME
    first, last = _common([_span(part, spans) for part in term.parts])
    if term.op == "offset":
        return first - term.number, last - term.number
    return first, last + (term.number - 1 if term.op == "round" else 0)


def _common(spans: Sequence[Span]) -> Span:
    return max(first for first, _ in spans), min(last for _, last in spans)


def _request(term: Term, times: Times, wanted: dict[str, Times]) -> None:
    """Add the times at which a term reads nodes to `wanted`."""
    if term.op == "node":
        wanted[term.name] = np.union1d(wanted[term.name], times)
    for part in term.parts:
        _request(part, _moved(term, times), wanted)
