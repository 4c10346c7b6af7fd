"""Vector instructions compute what their plain namesakes say."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sms_diar._numba import borrowing
from sms_diar.clustering.points._index import lanes as _lanes
from sms_diar.clustering.points._index.lane_code import AHEAD, LANES, STRETCH_BITS

pytestmark = pytest.mark.skipif(
    numba.config.DISABLE_JIT, reason="there are no vector instructions without numba"
)
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
n_dims = st.sampled_from([1, 2, 3, 6])


@borrowing
def call_list_run(listed, n_listed, first, end):
    return _lanes.list_run(listed, n_listed, first, end)


@borrowing
def call_add_blocks(dims, store, listed, n_listed, x, limit, total):
    _lanes.add_blocks(dims, store, listed, n_listed, x, limit, total)


@borrowing
def call_list_strips(
    stencil, left, stretches, in_strip, strip, column, n_columns, listed, total
):
    return _lanes.list_strips(
        stencil, left, stretches, in_strip, strip, column, n_columns, listed, total
    )


@borrowing
def call_add_right(left, stretches, cell, end, count, along_x, along_y):
    _lanes.add_right(left, stretches, cell, end, count, along_x, along_y)


@borrowing
def call_tighten(dims, corners, b, store, first, end):
    _lanes.tighten(dims, corners, b, store, first, end)


@borrowing
def call_look(dims, corners, tally, begin, end, x, within, beyond, listed, total):
    return _lanes.look(
        dims, corners, tally, begin, end, x, within, beyond, listed, total
    )


@borrowing
def call_nearest(dims, corners, end, y):
    return _lanes.nearest(dims, corners, end, y)


def draw_blocks(rng, d, n_blocks):
    """Whole numbers in blocks, some places free."""
    store = rng.integers(-50, 50, size=(n_blocks, d, LANES)).astype(float)
    is_free = rng.random((n_blocks, LANES)) < 0.2
    store.transpose(0, 2, 1)[is_free] = np.nan
    return store.ravel()


def draw_boxes(rng, d, n_boxes):
    """Corners and sums of boxes, some empty, with empty ones behind them."""
    n_all = -(-n_boxes // LANES) * LANES
    low = rng.integers(-50, 50, size=(d, n_all)).astype(float)
    corners = np.concatenate([low, low + rng.integers(0, 30, size=(d, n_all))])
    tally = rng.integers(0, 100, size=(1 + d, n_all))
    is_empty = (rng.random(n_all) < 0.2) | (np.arange(n_all) >= n_boxes)
    corners[:d, is_empty] = np.inf
    corners[d:, is_empty] = -np.inf
    tally[:, is_empty] = 0
    return corners, tally


@given(st.integers(0, 200), st.integers(0, 90), st.integers(0, 5))
def test_runs_are_listed(first, length, n_listed):
    found = np.full(64, 7)
    expected = found.copy()
    end = first + length
    n = call_list_run(found, n_listed, first, end)
    assert n == _lanes.list_run.plain(expected, n_listed, first, end)
    assert found[:n].tolist() == expected[:n].tolist()
    assert (found[n + AHEAD + LANES :] == 7).all()
    places = [
        LANES * (entry >> LANES) + lane
        for entry in found[n_listed:n]
        for lane in range(LANES)
        if entry >> lane & 1
    ]
    assert places == list(range(first, end))


@settings(deadline=None)
@given(generators, n_dims, st.integers(0, 30))
def test_listed_points_are_added(rng, d, n_listed):
    store = draw_blocks(rng, d, 40)
    listed = (rng.integers(40, size=30) << LANES) | rng.integers(1 << LANES, size=30)
    x = rng.integers(-50, 50, size=d).astype(float)
    limit = float(rng.integers(1, 5000))
    found = rng.integers(100, size=1 + d)
    expected = found.copy()
    dims = tuple(range(d))
    call_add_blocks(dims, store, listed, n_listed, x, limit, found)
    _lanes.add_blocks.plain(dims, store, listed, n_listed, x, limit, expected)
    assert found.tolist() == expected.tolist()


@settings(deadline=None)
@given(generators)
def test_strips_are_listed_and_added(rng):
    n_columns, n_strips = 3 << STRETCH_BITS, 7
    n_cells = n_columns * n_strips
    left = rng.integers(1000, size=(n_cells + 1, 4))
    left[:, 3] = np.cumsum(rng.integers(4, size=n_cells + 1))
    stretches = rng.integers(1000, size=((n_cells >> STRETCH_BITS) + 1, 4))
    stretches[:, 3] = 0
    in_strip = rng.integers(2, size=n_strips)
    stencil = np.sort(rng.integers(-15, 15, size=(5, 4)), axis=1)
    found, expected = np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    listed, listed_plainly = np.zeros((2, 400), dtype=np.int64)
    given_ = (stencil, left, stretches, in_strip, 1, 20, n_columns)
    n = call_list_strips(*given_, listed, found)
    assert n == _lanes.list_strips.plain(*given_, listed_plainly, expected)
    assert listed[:n].tolist() == listed_plainly[:n].tolist()
    assert found.tolist() == expected.tolist()


@settings(deadline=None)
@given(generators, st.integers(0, 95))
def test_changes_are_told_to_the_right(rng, cell):
    end = 48 * (cell // 48 + 1)
    left = rng.integers(1000, size=(97, 4))
    stretches = rng.integers(1000, size=(7, 4))
    expected = left.copy(), stretches.copy()
    change = [int(value) for value in rng.integers(-1000, 1000, size=3)]
    call_add_right(left, stretches, cell, end, *change)
    _lanes.add_right.plain(*expected, cell, end, *change)
    assert left.tolist() == expected[0].tolist()
    assert stretches.tolist() == expected[1].tolist()


@settings(deadline=None)
@given(generators, n_dims, st.integers(1, 9))
def test_boxes_are_fitted(rng, d, n_blocks):
    store = draw_blocks(rng, d, 12)
    store.reshape(12, d, LANES)[:, :, 0] = 3.0  # no block is empty
    found, _ = draw_boxes(rng, d, 8)
    expected = found.copy()
    dims = tuple(range(d))
    call_tighten(dims, found, 5, store, 2, 2 + n_blocks)
    _lanes.tighten.plain(dims, expected, 5, store, 2, 2 + n_blocks)
    assert found.tolist() == expected.tolist()


@settings(deadline=None)
@given(generators, n_dims, st.integers(1, 30), st.integers(0, 2))
def test_boxes_are_looked_at(rng, d, n_boxes, n_before):
    corners, tally = draw_boxes(rng, d, LANES * n_before + n_boxes)
    begin, end = LANES * n_before, LANES * n_before + n_boxes
    x = rng.integers(-50, 50, size=d).astype(float)
    limit = float(rng.integers(1, 20_000))
    found, expected = np.zeros((2, 1 + d), dtype=np.int64)
    listed, listed_plainly = np.zeros((2, n_boxes + LANES), dtype=np.int64)
    given_ = (tuple(range(d)), corners, tally, begin, end, x, limit, limit)
    n = call_look(*given_, listed, found)
    assert n == _lanes.look.plain(*given_, listed_plainly, expected)
    assert listed[:n].tolist() == listed_plainly[:n].tolist()
    assert found.tolist() == expected.tolist()


@settings(deadline=None)
@given(generators, n_dims, st.integers(1, 30))
def test_the_nearest_box_is_found(rng, d, n_boxes):
    corners, _ = draw_boxes(rng, d, n_boxes)
    corners[:, 0] = 5.0
    y = rng.integers(-50, 50, size=d).astype(float)
    found = call_nearest(tuple(range(d)), corners, n_boxes, y)
    assert found == _lanes.nearest.plain(tuple(range(d)), corners, n_boxes, y)
