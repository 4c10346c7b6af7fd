"""Threads that keep the order, and so every last bit, of what they compute.

The work here is BLAS and NumPy on whole blocks, which let go of the interpreter
lock. Results are handed out in the order of the input and summed by the caller in
that order; BLAS itself stays on one thread, since it may cut a product differently
on two. Sums are therefore the same for any number of workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

from threadpoolctl import threadpool_limits

A = TypeVar("A")
R = TypeVar("R")

_AHEAD = 2  # items that wait for each worker: busy threads, bounded memory


def ordered_map(
    function: Callable[[A], R], items: Iterable[A], *, workers: int = 1
) -> Iterator[R]:
    """Yield ``function(item)`` for every item, in order, on `workers` threads.

    Items are drawn as they are needed, so a source larger than memory will do.
    """
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
