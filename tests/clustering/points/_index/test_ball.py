"""Sums over balls are those of comparing every point, whatever the boxes are like."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sms_diar.clustering.points._index.ball import nearest_group, sum_ball
from sms_diar.clustering.points._index.boxes import (
    FAR,
    FIRST,
    GROUP,
    LEVELS,
    PARENT,
    PART,
    group_points,
)
from sms_diar.clustering.points._index.buffers import Buffers
from sms_diar.clustering.points._index.records import BOX, PLACE, records

pytestmark = pytest.mark.compiled

H = 2.0**20  # bandwidth, in lattice units
N = 30 if numba.config.DISABLE_JIT else 4000  # interpreted loops are slow
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)
n_dims = st.sampled_from([1, 2, 3])
sides = st.sampled_from([0.02, 0.2, 1.0])
shares = st.sampled_from([0.0, 0.5, 1.0])


def draw_points(rng, d, share_near, n=None):
    """Points around the origin, some of them near it, and ever denser there."""
    n = n or int(rng.integers(1, N))
    is_near = rng.random(n) < share_near
    spread = np.where(is_near, 10.0 ** rng.uniform(-5.0, -1.0, n), 2.0)
    return np.rint(H * spread * rng.uniform(-1.0, 1.0, size=(d, n)))


def group(coords, side):
    points = records(coords)
    boxes, _ = group_points(points, side * H, H, H, Buffers())
    return points, boxes


@settings(deadline=None, max_examples=30)
@given(generators, n_dims, sides, shares)
def test_sums_are_those_of_comparing_every_point(rng, d, side, share_near):
    coords = draw_points(rng, d, share_near)
    _, boxes = group(coords, side)
    total = np.empty(1 + d, dtype=np.int64)
    work = np.zeros(4, dtype=np.int64)
    for _ in range(5):
        x = np.rint(H * rng.uniform(-2.0, 2.0, size=d))
        sum_ball(
            boxes.dims,
            boxes.n_groups,
            boxes.corners,
            boxes.tally,
            boxes.layout,
            boxes.store,
            boxes.listed,
            boxes.squared,
            x,
            H * H,
            total,
            work,
        )
        gaps = coords - x[:, None]
        inside = np.sum(gaps * gaps, axis=0) < H * H
        assert total[0] == np.count_nonzero(inside)
        assert total[1:].tolist() == np.sum(gaps[:, inside], axis=1).tolist()


@settings(deadline=None, max_examples=30)
@given(generators, n_dims, sides, shares)
def test_every_point_has_a_place_in_a_box_that_holds_it(rng, d, side, share_near):
    coords = draw_points(rng, d, share_near)
    points, boxes = group(coords, side)
    n = coords.shape[1]
    place, box = points[:, PLACE].astype(int), points[:, BOX].astype(int)
    assert len(set(place)) == n
    assert boxes.owner[place].tolist() == list(range(n))
    np.testing.assert_array_equal(boxes.store[:, place], coords)
    assert np.all(boxes.layout[box, PART] < 0)
    for b in set(box):
        inside = coords[:, box == b]
        size = inside.shape[1]
        assert boxes.tally[:, b].tolist() == [size, *np.sum(inside, axis=1)]
        assert boxes.corners[:d, b].tolist() == np.min(inside, axis=1).tolist()
        assert boxes.corners[d:, b].tolist() == np.max(inside, axis=1).tolist()
        first = boxes.layout[b, FIRST]
        is_free = boxes.store[0, first : first + -(-size // 8) * 8] == FAR
        assert is_free.tolist() == [False] * size + [True] * (-size % 8)
    for g in range(boxes.n_groups):
        members = coords[:, boxes.layout[box, GROUP] == g]
        assert boxes.tally[:, g].tolist() == [members.shape[1], *members.sum(axis=1)]


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="interpreted loops are slow")
@pytest.mark.parametrize("d", [1, 2, 3])
def test_dense_places_are_cut_as_often_as_may_be(d):
    coords = draw_points(np.random.default_rng(d), d, 1.0, n=N)
    coords[0, 0] = H  # sees some of the others, so that their group is not closed
    coords[1:, 0] = 0.0
    points, boxes = group(coords, 0.2)
    box = points[:, BOX].astype(int)
    for _ in range(LEVELS):
        box = boxes.layout[box, PARENT]
        box = box[box >= 0]
    assert len(box) > 0
    assert np.all(boxes.layout[box, PARENT] == -1)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_nearest_group_is_found(d):
    rng = np.random.default_rng(d)
    coords = draw_points(rng, d, 0.0)
    _, boxes = group(coords, 0.2)
    low = boxes.corners[:d, : boxes.n_groups]
    high = boxes.corners[d:, : boxes.n_groups]
    for _ in range(20):
        y = np.rint(H * rng.uniform(-3.0, 3.0, size=d))
        gaps = np.maximum(np.maximum(low - y[:, None], y[:, None] - high), 0.0)
        found = nearest_group(
            boxes.dims, boxes.n_groups, boxes.corners, y, boxes.squared
        )
        assert found == np.argmin(np.sum(gaps * gaps, axis=0))
