"""Parallel maps with results that do not depend on the number of workers.

`ordered_map` is for blocks of numbers and uses threads, because BLAS and NumPy release
the interpreter lock. Results are yielded, and summed by the caller, in the order of the
input. BLAS itself runs on one thread, because it may split a product differently on
two. `process_map` is for whole recordings, sessions and repetitions. Inside a
:func:`sms_diar.scheduler` block both send their items to the workers of the cluster.
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

A = TypeVar("A")
R = TypeVar("R")

_AHEAD = 2  # queued items per worker: keeps threads busy with bounded memory


def ordered_map(
    function: Callable[[A], R], items: Iterable[A], *, workers: int = 1
) -> Iterator[R]:
    """Yield ``function(item)`` for every item, in order, on `workers` threads.

    Items are consumed lazily, so the source may be larger than memory. The function
    must be importable, a method, or a `functools.partial` of one, and must not modify
    the item.
    """
    cluster = _scheduler.current()
    if cluster is not None:
        yield from cluster.map(function, items)
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

    The function must be importable, or a `functools.partial` of such a function; items
    should be paths rather than their content. With one worker or one item, the current
    process is used. Results are in the order of the items or, unless `ordered`, as they
    finish. At most `held` results per worker wait for the caller (None: unlimited).
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
        # A result that waits for its batch takes memory and is lost in a crash.
        batch_size="auto" if ordered and held is None else 1,
    ) as pool:
        step = len(items) if held is None else held * workers
        for start in range(0, len(items), step):
            yield from pool(call(item) for item in items[start : start + step])


def end_workers() -> None:
    """End idle worker processes, which do not see a later change of ``sys.path``."""
    from joblib.externals.loky import get_reusable_executor  # noqa: PLC0415 slow

    get_reusable_executor().shutdown(wait=True)


def _silence_the_pool() -> None:
    """Ignore warnings of joblib's pool that users cannot act on.

    A worker that has grown by 300 MB, e.g. with an hour of audio, ends itself, and the
    thread that starts a new one warns about it. If warnings are errors, as in many test
    suites, that thread would end and everything would deadlock. A map that is
    interrupted warns about cancelled tasks.
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
    """End this worker soon after its parent is gone.

    Otherwise a worker whose parent was killed waits for five minutes.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
