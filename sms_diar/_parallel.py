"""Maps that keep every last bit of what they compute, whoever computes it.

`ordered_map` is for blocks of numbers: BLAS and NumPy let go of the interpreter lock,
so threads do. Results are handed out in the order of the input and summed by the caller
in that order; BLAS itself stays on one thread, since it may cut a product differently
on two. `process_map` is for whole recordings, sessions and repetitions. Within
:func:`sms_diar.scheduler` both send their items to its workers instead, where a `Shelf`
keeps those that are wanted again. Results are therefore the same for any number of
workers.
"""

from __future__ import annotations

import functools
import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from sms_diar import _scheduler
from sms_diar._scheduler import Shelf

__all__ = ["Shelf", "ordered_map", "process_map"]

A = TypeVar("A")
R = TypeVar("R")

_AHEAD = 2  # items that wait for each worker: busy threads, bounded memory


def ordered_map(
    function: Callable[[A], R],
    items: Iterable[A],
    *,
    workers: int = 1,
    shelf: Shelf | None = None,
) -> Iterator[R]:
    """Yield ``function(item)`` for every item, in order, on `workers` threads.

    Items are drawn as they are needed, so a source larger than memory will do.

    Parameters
    ----------
    function : callable
        Of an importable module, a method, or a `functools.partial` of one; must leave
        the item as it is.
    items : iterable
        Anything; with a shelf, values that say their `nbytes`.
    workers : int, default=1
        Threads.
    shelf : Shelf, optional
        Where a cluster keeps the items, if other maps over the same ones follow.
    """
    cluster = _scheduler.current()
    if cluster is not None:
        yield from cluster.map(function, items, shelf=shelf)
        return
    with threadpool_limits(limits=1, user_api="blas"):
        if workers == 1:
            yield from map(function, items)
            return
        source = iter(items)
        with ThreadPoolExecutor(max_workers=workers) as pool:
            pending: deque[Future[R]] = deque(
                pool.submit(function, item)
                for item in islice(source, workers * (1 + _AHEAD))
            )
            try:
                while pending:
                    result = pending.popleft().result()
                    pending.extend(
                        pool.submit(function, item) for item in islice(source, 1)
                    )
                    yield result
            finally:
                for future in pending:
                    future.cancel()


def process_map(
    function: Callable[[A], R],
    items: Sequence[A],
    *,
    workers: int = 1,
    ordered: bool = True,
    held: int | None = None,
) -> Iterator[R]:
    """Yield ``function(item)`` for every item, on `workers` processes.

    Parameters
    ----------
    function : callable
        Of an importable module, or a `functools.partial` of one.
    items : sequence
        Paths rather than what is in them.
    workers : int, default=1
        Processes; with one, or for a single item, this one does it.
    ordered : bool, default=True
        Whether results come in the order of the items, or each when it is there.
    held : int, optional
        Results per worker that may wait for the caller; by default any number.
    """
    cluster = _scheduler.current()
    if cluster is not None:
        yield from cluster.map(function, items, ordered=ordered)
        return
    if workers == 1 or len(items) < 2:
        yield from map(function, items)
        return
    _silence_the_pool()
    call = delayed(functools.partial(_in_process, function, os.getpid()))
    with Parallel(
        n_jobs=min(workers, len(items)),
        return_as="generator" if ordered else "generator_unordered",
        # A result that waits for its batch is lost in a crash, and takes memory.
        batch_size="auto" if ordered and held is None else 1,
    ) as pool:
        step = len(items) if held is None else held * workers
        for start in range(0, len(items), step):
            yield from pool(call(item) for item in items[start : start + step])


def _silence_the_pool() -> None:
    """Ignore warnings of the pool that users can do nothing about.

    A worker that has grown by 300 MB, as one with an hour of sound does, ends itself,
    and the thread that starts another one warns of that. Where warnings are errors, as
    in many test suites, that thread would end, and all would wait for it. A map that is
    interrupted warns about tasks that were cancelled.
    """
    for text in (
        "A worker stopped while some jobs",
        r"\d+ tasks (have been successfully executed|which were still being processed)",
    ):
        warnings.filterwarnings("ignore", text, UserWarning)


def _in_process(function: Callable[[A], R], parent: int, item: A) -> R:
    if os.getpid() != parent:
        _leave_with(parent)
    return function(item)


@functools.cache
def _leave_with(parent: int) -> None:
    """End this worker soon after the parent is gone.

    Left alone, a worker whose parent was killed waits for five minutes.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
