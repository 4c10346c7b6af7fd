"""Vector instructions of the functions in ``_lanes``, written for the compiler.

Each function here writes, into a function that is being compiled, what its namesake
there says in Python. numba calls them when it compiles a call of the namesake.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

LANE_BITS = 2
LANES = 1 << LANE_BITS
ALL = (1 << LANES) - 1  # all places of a block
AHEAD = 8  # entries that are listed at once, without asking how many there are
STRETCH_BITS = 4  # stretches of a strip are of 16 cells

_DOUBLE = ir.DoubleType()
_WHOLE = ir.IntType(64)
_DOUBLES = ir.VectorType(_DOUBLE, LANES)
_WHOLES = ir.VectorType(_WHOLE, LANES)
_FLAGS = ir.VectorType(ir.IntType(1), LANES)


class _Writer:
    """Writes vector instructions into a function that is being compiled."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context = context
        self.builder = builder
        self.types = signature.args
        self.args = args

    def data(self, k: int) -> Any:
        """Where the entries of the array argument `k` begin."""
        array = self.context.make_array(self.types[k])(
            self.context, self.builder, value=self.args[k]
        )
        return array.data

    def length(self, k: int, axis: int) -> Any:
        """Length of the array argument `k` along an axis."""
        array = self.context.make_array(self.types[k])(
            self.context, self.builder, value=self.args[k]
        )
        return self.builder.extract_value(array.shape, axis)

    def load(self, base: Any, at: Any, kind: Any = _DOUBLES) -> Any:
        """LANES neighbouring numbers."""
        where = self.builder.gep(base, [at])
        where = self.builder.bitcast(where, kind.as_pointer())
        return self.builder.load(where, align=8)

    def spread(self, value: Any, kind: Any = _DOUBLES) -> Any:
        """One number in all lanes."""
        one = self.builder.insert_element(
            ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
        )
        order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, one, order)

    def zero(self, kind: Any) -> Any:
        return ir.Constant(kind, [0] * LANES)

    def variable(self, kind: Any) -> Any:
        """A variable that begins at nought."""
        room = cgutils.alloca_once(self.builder, kind)
        start = ir.Constant(kind, 0 if kind is _WHOLE else [0] * LANES)
        self.builder.store(start, room)
        return room

    def add_to(self, variable: Any, value: Any, kind: Any) -> None:
        old = self.builder.load(variable)
        add = self.builder.fadd if kind is _DOUBLES else self.builder.add
        self.builder.store(add(old, value), variable)

    def greater(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def smaller(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def lanes(self, value: Any) -> list[Any]:
        index = ir.IntType(32)
        return [
            self.builder.extract_element(value, ir.Constant(index, lane))
            for lane in range(LANES)
        ]

    def add_lanes(self, variable: Any, base: Any, k: int, kind: Any) -> None:
        """Add all lanes of a variable to entry `k` of an array of whole numbers."""
        first, second, third, fourth = self.lanes(self.builder.load(variable))
        if kind is _DOUBLES:
            pairs = [self.builder.fadd(first, third), self.builder.fadd(second, fourth)]
            whole = self.builder.fptosi(self.builder.fadd(*pairs), _WHOLE)
        else:
            pairs = [self.builder.add(first, third), self.builder.add(second, fourth)]
            whole = self.builder.add(*pairs)
        where = self.builder.gep(base, [ir.Constant(_WHOLE, k)])
        self.builder.store(self.builder.add(self.builder.load(where), whole), where)

    def number(self, base: Any, at: Any) -> Any:
        return self.builder.load(self.builder.gep(base, [at]))


def _whole(value: int) -> Any:
    return ir.Constant(_WHOLE, value)


def write_add_blocks(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    write = _Writer(context, builder, signature, args)
    n_dims = len(signature.args[0])
    store, listed, x, total = (write.data(k) for k in (1, 2, 4, 6))
    here = [write.spread(write.number(x, _whole(d))) for d in range(n_dims)]
    limit = write.spread(args[5])
    count = write.variable(_WHOLES)
    along = [write.variable(_DOUBLES) for _ in range(n_dims)]
    width = _whole(n_dims * LANES)
    bits = ir.Constant(_WHOLES, [1 << lane for lane in range(LANES)])
    with cgutils.for_range(builder, args[3]) as loop:
        entry = write.number(listed, loop.index)
        begin = builder.mul(builder.lshr(entry, _whole(LANES)), width)
        lane_bits = builder.and_(write.spread(entry, _WHOLES), bits)
        counts = builder.icmp_unsigned("!=", lane_bits, write.zero(_WHOLES))
        gaps = []
        for d in range(n_dims):
            row = write.load(store, builder.add(begin, _whole(d * LANES)))
            gaps.append(builder.fsub(row, here[d]))
        squared = builder.fmul(gaps[0], gaps[0])
        for gap in gaps[1:]:
            squared = builder.fadd(squared, builder.fmul(gap, gap))
        inside = builder.and_(builder.fcmp_ordered("<", squared, limit), counts)
        write.add_to(count, builder.zext(inside, _WHOLES), _WHOLES)
        for d in range(n_dims):
            part = builder.select(inside, gaps[d], write.zero(_DOUBLES))
            write.add_to(along[d], part, _DOUBLES)
    write.add_lanes(count, total, 0, _WHOLES)
    for d in range(n_dims):
        write.add_lanes(along[d], total, 1 + d, _DOUBLES)
    return context.get_dummy_value()


def _write_run(write: _Writer, listed: Any, n_listed: Any, first: Any, end: Any) -> Any:
    """List the places from `first` to `end`, as ``list_run`` does."""
    builder = write.builder
    begin = builder.shl(builder.ashr(first, _whole(LANE_BITS)), _whole(LANES))
    stop = builder.ashr(builder.add(end, _whole(LANES - 1)), _whole(LANE_BITS))
    size = builder.sub(stop, builder.ashr(first, _whole(LANE_BITS)))
    size = builder.select(builder.icmp_signed(">", end, first), size, _whole(0))
    place = builder.load(n_listed)
    entries = [ALL + (lane << LANES) for lane in range(LANES)]
    entries = builder.add(write.spread(begin, _WHOLES), ir.Constant(_WHOLES, entries))
    stride = ir.Constant(_WHOLES, [LANES << LANES] * LANES)

    def put(at: Any, values: Any) -> None:
        where = builder.gep(listed, [builder.add(place, at)])
        builder.store(values, builder.bitcast(where, _WHOLES.as_pointer()), align=8)

    for k in range(AHEAD // LANES):
        put(_whole(k * LANES), entries)
        entries = builder.add(entries, stride)
    is_long = builder.icmp_signed(">", size, _whole(AHEAD))
    with builder.if_then(is_long, likely=False):
        more = cgutils.alloca_once_value(builder, entries)
        with cgutils.for_range_slice(
            builder, _whole(AHEAD), size, _whole(LANES), intp=_WHOLE
        ) as (at, _):
            put(at, builder.load(more))
            builder.store(builder.add(builder.load(more), stride), more)
    # Places of the first and the last block that do not belong to the run.
    before = builder.and_(first, _whole(LANES - 1))
    mask = builder.and_(builder.shl(_whole(ALL), before), _whole(ALL))
    builder.store(builder.or_(begin, mask), builder.gep(listed, [place]))
    is_empty = builder.zext(builder.icmp_signed("==", size, _whole(0)), _WHOLE)
    last = builder.add(builder.add(place, size), builder.sub(is_empty, _whole(1)))
    after = builder.and_(builder.neg(end), _whole(LANES - 1))
    mask = builder.or_(builder.lshr(_whole(ALL), after), _whole(-LANES * LANES))
    where = builder.gep(listed, [last])
    builder.store(builder.and_(builder.load(where), mask), where)
    builder.store(builder.add(place, size), n_listed)
    return size


def write_list_run(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    write = _Writer(context, builder, signature, args)
    n_listed = cgutils.alloca_once_value(builder, args[1])
    _write_run(write, write.data(0), n_listed, args[2], args[3])
    return builder.load(n_listed)


def write_list_strips(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    write = _Writer(context, builder, signature, args)
    stencil, left, stretches, in_strip = (write.data(k) for k in range(4))
    strip, column, n_columns = args[4:7]
    listed, total = write.data(7), write.data(8)
    n_listed = write.variable(_WHOLE)
    sums = write.variable(_WHOLES)
    four = _whole(LANES)

    def row_of(table: Any, at: Any) -> Any:
        return write.load(table, builder.mul(at, four), _WHOLES)

    with cgutils.for_range(builder, write.length(0, 0)) as loop:
        row = builder.add(strip, loop.index)
        is_taken = builder.icmp_signed("!=", write.number(in_strip, row), _whole(0))
        with builder.if_then(is_taken, likely=True):
            centre = builder.add(builder.mul(row, n_columns), column)
            cells = row_of(stencil, loop.index)
            cells = builder.add(cells, write.spread(centre, _WHOLES))
            begin, inner, inner_end, end = write.lanes(cells)
            near, far = row_of(left, inner), row_of(left, inner_end)
            bits = _whole(STRETCH_BITS)
            near_stretch = row_of(stretches, builder.ashr(inner, bits))
            far_stretch = row_of(stretches, builder.ashr(inner_end, bits))
            part = builder.sub(far, near)
            part = builder.add(part, builder.sub(far_stretch, near_stretch))
            write.add_to(sums, part, _WHOLES)
            first = write.number(left, builder.add(builder.mul(begin, four), _whole(3)))
            stop = write.number(left, builder.add(builder.mul(end, four), _whole(3)))
            _write_run(write, listed, n_listed, first, write.lanes(near)[3])
            _write_run(write, listed, n_listed, write.lanes(far)[3], stop)
    where = builder.bitcast(total, _WHOLES.as_pointer())
    old = builder.load(where, align=8)
    builder.store(builder.add(old, builder.load(sums)), where, align=8)
    return builder.load(n_listed)


def write_add_right(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    write = _Writer(context, builder, signature, args)
    left, stretches = write.data(0), write.data(1)
    cell, end = args[2], args[3]
    change = write.zero(_WHOLES)
    for k in range(3):
        index = ir.Constant(ir.IntType(32), k)
        change = builder.insert_element(change, args[4 + k], index)
    stretch = builder.ashr(cell, _whole(STRETCH_BITS))
    begin = builder.shl(stretch, _whole(STRETCH_BITS))

    def add(table: Any, at: Any, value: Any) -> None:
        where = builder.gep(table, [builder.mul(at, _whole(LANES))])
        where = builder.bitcast(where, _WHOLES.as_pointer())
        old = builder.load(where, align=8)
        builder.store(builder.add(old, value), where, align=8)

    # All cells of the stretch, those to the left by nothing: no branch, no guess.
    for k in range(1 << STRETCH_BITS):
        at = builder.add(begin, _whole(k))
        is_right = write.spread(builder.icmp_signed(">", at, cell), _FLAGS)
        add(left, at, builder.select(is_right, change, write.zero(_WHOLES)))
    first = builder.add(stretch, _whole(1))
    size = builder.sub(builder.ashr(end, _whole(STRETCH_BITS)), first)
    with cgutils.for_range(builder, size) as loop:
        add(stretches, builder.add(first, loop.index), change)
    return context.get_dummy_value()


def write_tighten(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    write = _Writer(context, builder, signature, args)
    n_dims = len(signature.args[0])
    corners, width, store = write.data(1), write.length(1, 1), write.data(3)
    first, end = args[4], args[5]
    least = [write.variable(_DOUBLES) for _ in range(n_dims)]
    most = [write.variable(_DOUBLES) for _ in range(n_dims)]
    for d in range(n_dims):
        builder.store(ir.Constant(_DOUBLES, [float("inf")] * LANES), least[d])
        builder.store(ir.Constant(_DOUBLES, [float("-inf")] * LANES), most[d])
    with cgutils.for_range(builder, builder.sub(end, first)) as loop:
        block = builder.add(first, loop.index)
        begin = builder.mul(block, _whole(n_dims * LANES))
        for d in range(n_dims):
            row = write.load(store, builder.add(begin, _whole(d * LANES)))
            # Of a number and NaN, the second is taken: that must be the number.
            builder.store(write.smaller(row, builder.load(least[d])), least[d])
            builder.store(write.greater(row, builder.load(most[d])), most[d])
    for d in range(n_dims):
        for edge, found, pick in (
            (d, least[d], write.smaller),
            (n_dims + d, most[d], write.greater),
        ):
            first_lane, *others = write.lanes(builder.load(found))
            for other in others:
                first_lane = pick(first_lane, other)
            at = builder.add(builder.mul(_whole(edge), width), args[2])
            builder.store(first_lane, builder.gep(corners, [at]))
    return context.get_dummy_value()


def _write_gaps(write: _Writer, k: int, n_dims: int, at: Any, x: Any) -> Any:
    """Squared distances of LANES boxes: to their nearest and farthest points."""
    builder = write.builder
    corners, width = write.data(k), write.length(k, 1)
    near = far = None
    for d in range(n_dims):
        low = write.load(corners, builder.add(at, builder.mul(_whole(d), width)))
        row = builder.mul(_whole(n_dims + d), width)
        high = write.load(corners, builder.add(at, row))
        below = builder.fsub(low, x[d])
        above = builder.fsub(x[d], high)
        to_near = write.greater(write.greater(below, above), write.zero(_DOUBLES))
        to_far = write.smaller(below, above)
        near_part = builder.fmul(to_near, to_near)
        far_part = builder.fmul(to_far, to_far)
        near = near_part if near is None else builder.fadd(near, near_part)
        far = far_part if far is None else builder.fadd(far, far_part)
    return near, far


def write_look(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    write = _Writer(context, builder, signature, args)
    n_dims = len(signature.args[0])
    begin, end = args[3], args[4]
    x, listed, total = (write.data(k) for k in (5, 8, 9))
    tally, width = write.data(2), write.length(2, 1)
    here = [write.spread(write.number(x, _whole(d))) for d in range(n_dims)]
    within, beyond = write.spread(args[6]), write.spread(args[7])
    sums = [write.variable(_WHOLES) for _ in range(1 + n_dims)]
    n_listed = write.variable(_WHOLE)
    n_turns = builder.add(builder.sub(end, begin), _whole(LANES - 1))
    n_turns = builder.sdiv(n_turns, _whole(LANES))
    with cgutils.for_range(builder, n_turns) as loop:
        at = builder.add(begin, builder.mul(loop.index, _whole(LANES)))
        near, far = _write_gaps(write, 1, n_dims, at, here)
        inside = builder.fcmp_ordered("<", far, within)
        for c in range(1 + n_dims):
            where = builder.add(at, builder.mul(_whole(c), width))
            row = write.load(tally, where, _WHOLES)
            part = builder.select(inside, row, write.zero(_WHOLES))
            write.add_to(sums[c], part, _WHOLES)
        meets = builder.fcmp_ordered("<=", near, beyond)
        crossed = builder.and_(builder.not_(inside), meets)
        flags = builder.zext(builder.bitcast(crossed, ir.IntType(LANES)), _WHOLE)
        with builder.if_then(builder.icmp_unsigned("!=", flags, _whole(0))):
            for lane in range(LANES):
                m = builder.load(n_listed)
                spot = builder.gep(listed, [m])
                builder.store(builder.add(at, _whole(lane)), spot)
                flag = builder.and_(builder.lshr(flags, _whole(lane)), _whole(1))
                builder.store(builder.add(m, flag), n_listed)
    for c in range(1 + n_dims):
        write.add_lanes(sums[c], total, c, _WHOLES)
    return builder.load(n_listed)


def write_nearest(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    write = _Writer(context, builder, signature, args)
    n_dims = len(signature.args[0])
    y = write.data(3)
    here = [write.spread(write.number(y, _whole(d))) for d in range(n_dims)]
    least, best = write.variable(_DOUBLES), write.variable(_WHOLES)
    builder.store(ir.Constant(_DOUBLES, [float("inf")] * LANES), least)
    n_turns = builder.sdiv(builder.add(args[2], _whole(LANES - 1)), _whole(LANES))
    order = ir.Constant(_WHOLES, list(range(LANES)))
    with cgutils.for_range(builder, n_turns) as loop:
        at = builder.mul(loop.index, _whole(LANES))
        near, _ = _write_gaps(write, 1, n_dims, at, here)
        numbers = builder.add(write.spread(at, _WHOLES), order)
        is_less = builder.fcmp_ordered("<", near, builder.load(least))
        chosen = builder.select(is_less, numbers, builder.load(best))
        builder.store(chosen, best)
        builder.store(builder.select(is_less, near, builder.load(least)), least)
    gaps = write.lanes(builder.load(least))
    numbers = write.lanes(builder.load(best))
    gap, number = gaps[0], numbers[0]
    for other_gap, other in zip(gaps[1:], numbers[1:], strict=True):
        is_less = builder.fcmp_ordered("<", other_gap, gap)
        is_tie = builder.fcmp_ordered("==", other_gap, gap)
        is_first = builder.icmp_signed("<", other, number)
        is_better = builder.or_(is_less, builder.and_(is_tie, is_first))
        gap = builder.select(is_better, other_gap, gap)
        number = builder.select(is_better, other, number)
    return number


def write_fetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    write = _Writer(context, builder, signature, args)
    byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    call = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    at = args[1]
    if signature.args[0].ndim > 1:
        at = builder.mul(at, write.length(0, 1))
    where = builder.bitcast(builder.gep(write.data(0), [at]), byte)
    builder.call(call, [where, *(ir.Constant(flag, value) for value in (0, 3, 1))])
    return context.get_dummy_value()
