"""Maps on processes of this machine; tests/machines has those on a cluster."""

import warnings
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sms_diar import _scheduler
from sms_diar._parallel import Shelf, ordered_map, process_map


def test_workers_that_grow_are_replaced_even_where_warnings_are_errors():
    def grow(number):  # or so the pool is made to believe, after each piece of work
        from joblib.externals.loky import process_executor

        process_executor._MEMORY_LEAK_CHECK_DELAY = 0.0
        process_executor._MAX_MEMORY_LEAK_SIZE = -float("inf")
        return number

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ordered in (True, False):
            found = process_map(grow, range(12), workers=2, ordered=ordered, held=2)
            assert sorted(found) == list(range(12))


# --- what workers keep ----------------------------------------------------------


class Held:
    """Stands for a block, as a future of Dask does."""

    def __init__(self, block):
        self.block = block
        self.is_released = False

    def release(self):
        self.is_released = True


class Cluster:
    """Counts what it is sent to keep."""

    def __init__(self):
        self.sent = []

    def hold(self, block):
        self.sent.append(Held(block))
        return self.sent[-1]

    def draw(self, shelf, blocks, number=None):
        """Numbers of the blocks that workers would see in a map."""
        drawn = islice(shelf.draw(iter(blocks), self), number)
        seen = [one.block if isinstance(one, Held) else one for one in drawn]
        return [int(block[0]) for block in seen]


def numbered(count):
    """Blocks of eight bytes each."""
    return [np.array([number], dtype=np.int64) for number in range(count)]


@given(st.integers(0, 6), st.lists(st.none() | st.integers(0, 7), max_size=5))
def test_every_map_sees_all_blocks_and_each_is_sent_once(count, lengths):
    cluster, blocks = Cluster(), numbered(count)
    with Shelf() as shelf:
        for length in lengths:  # maps that end early, too
            assert cluster.draw(shelf, blocks, length) == [*range(count)][:length]
        reached = max([count if n is None else min(n, count) for n in lengths] or [0])
        assert [int(held.block[0]) for held in cluster.sent] == [*range(reached)]


def test_what_is_kept_whole_is_not_drawn_again():
    cluster = Cluster()
    with Shelf() as shelf:
        assert cluster.draw(shelf, numbered(3)) == [0, 1, 2]

        def never():
            raise AssertionError("drawn again")
            yield

        assert cluster.draw(shelf, never()) == [0, 1, 2]


def test_blocks_beyond_the_bound_go_out_with_every_map(monkeypatch):
    monkeypatch.setattr(_scheduler, "_SHELF", 20)  # two blocks of eight bytes
    cluster = Cluster()
    with Shelf() as shelf:
        for _ in range(3):
            assert cluster.draw(shelf, numbered(5)) == [0, 1, 2, 3, 4]
    assert [int(held.block[0]) for held in cluster.sent] == [0, 1]


def test_what_was_kept_is_let_go_at_the_end_and_after_an_error():
    cluster = Cluster()

    def train():
        with Shelf() as shelf:
            cluster.draw(shelf, numbered(3))
            assert not any(held.is_released for held in cluster.sent)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    assert [held.is_released for held in cluster.sent] == [True] * 3


def test_another_cluster_is_sent_the_blocks_anew():
    first, second = Cluster(), Cluster()
    with Shelf() as shelf:
        first.draw(shelf, numbered(2))
        assert second.draw(shelf, numbered(2)) == [0, 1]
        assert [held.is_released for held in first.sent] == [True, True]
        assert len(second.sent) == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_one_machine_draws_blocks_anew_and_keeps_none(workers):
    with Shelf() as shelf:
        for offset in (0, 5):
            found = ordered_map(
                lambda block, offset=offset: int(block[0]) + offset,
                iter(numbered(4)),
                workers=workers,
                shelf=shelf,
            )
            assert list(found) == [offset, offset + 1, offset + 2, offset + 3]
    assert shelf._futures == []
