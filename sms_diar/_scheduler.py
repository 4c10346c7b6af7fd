"""Execution on a Dask cluster, with the same results as on one machine.

`scheduler` connects to an existing cluster. While it is open, the maps of
:mod:`sms_diar._parallel` send their items there. A function is sent once, with its
model; items, which are paths or blocks of numbers, are sent with their tasks, or once
for several maps (`Shelf`). Only Dask tasks are used, so the work of a lost worker is
repeated by another one. The code that runs on workers is in :mod:`sms_diar._remote`.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import re
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import islice
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

from sms_diar import _remote
from sms_diar.errors import InvalidParameterError, MissingExtraError, SchedulerError

A = TypeVar("A")
R = TypeVar("R")

PATIENCE = 60.0
"""Seconds without any worker after which a run is aborted."""

_CONNECT = 10.0  # seconds for the scheduler to answer
_LOOK = 1.0  # seconds between two checks of a cluster without results
_SELDOM = 5.0  # seconds between two checks of a cluster with results
_CLOSE = 0.5  # seconds for closing the connection, also after Ctrl-C
_AHEAD = 2  # queued items per worker: keeps workers busy with bounded memory
_SHELF = 1 << 30  # maximum number of bytes kept by workers (and by the scheduler)

_ADDRESS = re.compile(r"([a-z]+://)?[^\s/]+:[0-9]{1,5}")
_INSTALL = "pip install 'sms-diar[dask]'"

_current: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


def current() -> Cluster | None:
    """Return the active cluster, if any."""
    return _current.get()


@contextmanager
def at_home() -> Iterator[None]:
    """Run the work of the block on this machine."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def scheduler(
    address: str,
    *,
    patience: float = PATIENCE,
    say: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Run the work of the block on a Dask cluster.

    Recordings, sessions, repetitions and blocks of statistics are sent to its workers,
    and the parameter `workers` of the called functions is ignored. Results are the same
    as on this machine if the workers have the same package versions, which is checked,
    and the same type of processor.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as ``tcp://10.0.0.1:8786``. With ``tls://``, the
        keys of Dask's configuration are used.
    patience : float, default=60.0
        Seconds to wait for a worker, at the start and whenever there is none.
    say : callable, optional
        Receiver of messages about the cluster.

    Examples
    --------
    >>> import sms_diar
    >>> with sms_diar.scheduler("tcp://10.0.0.1:8786"):  # doctest: +SKIP
    ...     result = sms_diar.diarize("data/calls")
    """
    with _connected(address) as client:
        cluster = Cluster(client, address, patience, say or (lambda _: None))
        cluster.inspect()
        token = _current.set(cluster)
        try:
            yield
        finally:
            _current.reset(token)


class Cluster:
    """Workers of a scheduler.

    Parameters
    ----------
    client : distributed.Client
        Open connection.
    address : str
        Address for messages.
    patience : float
        Seconds to wait for a worker.
    say : callable
        Receiver of messages about the cluster.
    """

    def __init__(
        self, client: Any, address: str, patience: float, say: Callable[[str], None]
    ) -> None:
        self._client = client
        self._address = address
        self._patience = patience
        self._say = say
        self._home = _remote.Home()
        self._shown: dict[Any, Any] = {}  # registry of warnings that were shown
        self._n_workers = 1
        self._looked = 0.0
        self._alone_since: float | None = None

    def inspect(self) -> None:
        """Wait for workers, and raise an error for those with other versions."""
        self._look()
        while self._alone_since is not None:
            time.sleep(min(_LOOK, self._patience))
            self._look()
        inspect = _remote.inspector(self._home.folder)
        answers = self._client.run(inspect, on_error="return")
        for worker, answer in sorted(answers.items()):
            if isinstance(answer, BaseException):
                problem: str | None = (
                    f"cannot load sms_diar ({answer}); install it there: {_INSTALL}"
                )
            else:
                versions, has_folder = answer
                problem = self._home.unlike(versions)
                if problem is None and not has_folder:
                    problem = self._home.unshared
            if problem:
                raise SchedulerError(f"worker {worker} {problem}")
        self._say(f"{len(answers)} worker(s) at {self._address}")

    def map(
        self,
        function: Callable[[A], R],
        items: Iterable[A],
        *,
        ordered: bool = True,
        shelf: Shelf | None = None,
    ) -> Iterator[R]:
        """Yield ``function(item)`` for every item, in order or as they finish.

        Items are consumed lazily, a few ahead for each worker.
        """
        sent = self.hold(function)
        source = enumerate(items if shelf is None else shelf.draw(items, self))
        arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
        pending: dict[int, Any] = {}
        done: set[int] = set()  # finished, but waiting for an earlier item
        expected = 0
        try:
            while True:
                room = (1 + _AHEAD) * self._n_workers - len(pending)
                for index, item in islice(source, max(room, 0)):
                    future = self._submit(_remote.apply, sent, item, self._home)
                    pending[index] = future
                    future.add_done_callback(_Arrival(arrived, index))
                if not pending:
                    return
                done.add(self._next(arrived))
                while done and (not ordered or expected in done):
                    index = expected if ordered else next(iter(done))
                    done.remove(index)
                    expected += 1
                    yield self._result(pending.pop(index))
        finally:  # cancel the remaining tasks
            for future in (*pending.values(), sent):
                with suppress(Exception):
                    future.release()

    def hold(self, value: object) -> Any:
        """Send a value once; the returned future represents it in later tasks."""
        # A task rather than scattered data, which could not be recomputed.
        return self._submit(_remote.hold, value)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        key = f"sms-diar-{function.__name__}-{uuid.uuid4().hex}"
        try:
            return self._client.submit(function, *arguments, key=key, pure=False)
        except Exception as error:
            self._check_connection(error)
            raise

    def _next(self, arrived: queue.SimpleQueue[int]) -> int:
        """Return the index of the next finished item."""
        while True:
            if time.monotonic() - self._looked > _SELDOM:
                self._look()  # for new workers
            try:
                return arrived.get(timeout=_LOOK)
            except queue.Empty:
                self._look()

    def _result(self, future: Any) -> Any:
        """Return the result of a finished task; a lost result is recomputed."""
        while True:
            try:
                result, caught = future.result(timeout=_LOOK)
                break
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # Dask's CancelledError is not an Exception
                if future.status == "error":
                    _raise_of_task(error)
                self._check_connection(error)
                if not isinstance(error, TimeoutError):
                    # Work is cancelled shortly before the connection counts as lost.
                    time.sleep(_LOOK)
                    self._check_connection(error)
                    raise SchedulerError(
                        f"the scheduler at {self._address} has dropped the work; run "
                        f"the command again"
                    ) from error
                self._look()
        for kind, message, path, line in caught:
            warnings.warn_explicit(message, kind, path, line, registry=self._shown)
        return _remote.aligned_copy(result)

    def _look(self) -> None:
        """Count the workers; raise an error if there are none for too long."""
        self._check_connection(None)
        try:
            n_workers = len(self._client.nthreads(callback_timeout=_CONNECT / 2))
        except (OSError, TimeoutError, RuntimeError):
            n_workers = 0
        self._looked = time.monotonic()
        if n_workers:
            if self._alone_since is not None:
                self._say(f"continuing with {n_workers} worker(s)")
            self._alone_since, self._n_workers = None, n_workers
        elif self._alone_since is None:
            self._alone_since = self._looked
            self._say(
                f"no worker at {self._address}; waiting {self._patience:g} s for one"
            )
        elif self._looked - self._alone_since >= self._patience:
            raise SchedulerError(
                f"the scheduler at {self._address} has had no worker for "
                f"{self._patience:g} s; start some (dask worker {self._address} "
                f"--nthreads 1) and run it again"
            )

    def _check_connection(self, error: BaseException | None) -> None:
        if self._client.status != "running":
            raise SchedulerError(
                f"the connection to the scheduler at {self._address} was lost; run the "
                f"command again when it is back"
            ) from error


class Shelf:
    """Items that workers keep between several maps.

    To map several functions over the same items, open one shelf and pass it to each
    map. Every item is then sent to the cluster once, up to a total of one gibibyte;
    further items are sent again in each map. Items must have an attribute `nbytes`, and
    must be the same, in the same order, in every map. On one machine a shelf has no
    effect.
    """

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._futures: list[Any] = []
        self._room = _SHELF
        self._is_complete = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._clear()

    def draw(self, items: Iterable[Any], cluster: Cluster) -> Iterator[Any]:
        """Yield the items in order, or the futures that represent them."""
        if cluster is not self._cluster:
            self._clear()
            self._cluster = cluster
        yield from tuple(self._futures)
        if self._is_complete:
            return
        for item in islice(items, len(self._futures), None):
            self._room -= item.nbytes  # stays negative: the first items are kept
            if self._room < 0:
                yield item
            else:
                self._futures.append(cluster.hold(item))
                yield self._futures[-1]
        self._is_complete = self._room >= 0

    def _clear(self) -> None:
        for future in self._futures:
            with suppress(Exception):
                future.release()
        self._futures, self._room, self._is_complete = [], _SHELF, False


class _Arrival:
    """Callback that reports the index of a finished item."""

    def __init__(self, arrived: queue.SimpleQueue[int], index: int) -> None:
        self._arrived = arrived
        self._index = index

    def __call__(self, _: object) -> None:
        self._arrived.put(self._index)


def _raise_of_task(error: BaseException) -> NoReturn:
    """Raise the error of a task, or an error about killed workers."""
    from distributed import KilledWorker  # noqa: PLC0415

    if isinstance(error, _remote.UnfitWorkerError):
        raise SchedulerError(str(error)) from None
    if isinstance(error, KilledWorker):
        raise SchedulerError(
            f"{error.allowed_failures + 1} workers were killed by the same item, "
            f"probably out of memory; give workers more memory, or start fewer on "
            f"a machine"
        ) from None
    raise error


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Yield a client that is closed quickly in any case."""
    try:
        import dask  # noqa: PLC0415
        import distributed  # noqa: PLC0415
        from distributed.versions import VersionMismatchWarning  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            f"work on a scheduler needs Dask: {_INSTALL}"
        ) from error
    settings = {
        # Models of some ten megabytes are sent once; Dask would warn about them.
        "distributed.admin.large-graph-warning-threshold": "1 TiB",
        "distributed.comm.timeouts.connect": _CONNECT,
    }
    with _silent("distributed"), dask.config.set(settings):
        _check_scheduler(address)
        with warnings.catch_warnings():
            # Version differences are reported later, in one line.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            client = distributed.Client(
                address, timeout=_CONNECT, set_as_default=False, name="sms-diar"
            )
        try:
            yield client
        finally:
            _close(client)


def _check_scheduler(address: str) -> None:
    """Check that a Dask scheduler answers, because the client would wait forever."""
    if not _ADDRESS.fullmatch(address):
        raise _no_address(repr(address))
    kind: object = None
    with suppress(queue.Empty):
        kind = _aside(lambda: asyncio.run(_kind_of(address)), 3 * _CONNECT)
    if isinstance(kind, ValueError | TypeError):
        raise _no_address(f"{address!r} ({kind})") from kind
    if not isinstance(kind, str):
        raise SchedulerError(
            f"no Dask scheduler answers at {address}; check that it is running (dask "
            f"scheduler) and that this machine can reach it"
        ) from (kind if isinstance(kind, Exception) else None)
    if kind != "Scheduler":
        raise _no_address(f"the address of a {kind}")


def _no_address(value: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"must be the address of a Dask scheduler, such as tcp://10.0.0.1:8786, got "
        f"{value}",
        parameter="scheduler",
    )


async def _kind_of(address: str) -> str:
    """Return the server type that Dask reports for an address."""
    from distributed import Security  # noqa: PLC0415
    from distributed.core import rpc  # noqa: PLC0415

    keys = Security().get_connection_args("client")
    async with rpc(address, timeout=_CONNECT, connection_args=keys) as server:
        identity = await asyncio.wait_for(server.identity(), _CONNECT)
    return str(identity["type"])


def _close(client: Any) -> None:
    """Close the connection without waiting for an answer."""
    with suppress(queue.Empty):
        _aside(lambda: client.close(timeout=_CLOSE), _CLOSE)


def _aside(work: Callable[[], object], seconds: float) -> object:
    """Run a function in a thread, and return its result or exception in time.

    Ctrl-C works in the meantime, and notebooks, which have an event loop in this
    thread, can run another one.
    """
    box: queue.SimpleQueue[object] = queue.SimpleQueue()

    def run() -> None:
        try:
            box.put(work())
        except Exception as error:  # noqa: BLE001 - passed on to the caller
            box.put(error)

    threading.Thread(target=run, daemon=True, name="aside").start()
    return box.get(timeout=seconds)


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """Silence the log of a library; relevant problems are raised as errors."""
    names = [
        logger for logger in logging.root.manager.loggerDict if logger.startswith(name)
    ]
    levels = {logger: logging.getLogger(logger).level for logger in names}
    for logger in names:
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logging.getLogger(logger).setLevel(level)
