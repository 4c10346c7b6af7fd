"""Work that a Dask cluster does, with the results that one machine would give.

`scheduler` connects to a cluster that somebody else started, and while it is open the
maps of :mod:`sms_diar._parallel` send their items there. A function goes out once, with
the model that it holds; items, which are paths or blocks of numbers, go with the tasks
that need them, or once for several maps (`Shelf`). Nothing but Dask's own tasks is
used, so what a lost worker had or was doing is done again by another one. What workers
do is in :mod:`sms_diar._remote`.
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
"""Seconds without any worker after which a run gives up."""

_CONNECT = 10.0  # seconds for the scheduler to answer
_LOOK = 1.0  # seconds between two looks at a cluster that sends nothing
_SELDOM = 5.0  # and at one that does
_CLOSE = 0.5  # seconds to say goodbye, after Ctrl-C as well
_AHEAD = 2  # items that wait for each worker: busy workers, bounded memory
_SHELF = 1 << 30  # bytes that workers keep, and the scheduler to make them again

_ADDRESS = re.compile(r"([a-z]+://)?[^\s/]+:[0-9]{1,5}")
_INSTALL = "pip install 'sms-diar[dask]'"

_current: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


def current() -> Cluster | None:
    """The cluster that is open here."""
    return _current.get()


@contextmanager
def at_home() -> Iterator[None]:
    """Keep the work of what is called within on this machine."""
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
    """Let a Dask cluster do the work of what is called within.

    Recordings, sessions, repetitions and blocks of statistics go to its workers, and
    the `workers` of the functions that are called do not matter. Results are those of
    this machine alone, if the workers have its versions, which is checked, and its
    kind of processor.

    Parameters
    ----------
    address : str
        Of the scheduler, such as ``tcp://10.0.0.1:8786``. With ``tls://``, keys are
        those of Dask's own configuration.
    patience : float, default=60.0
        Seconds to wait for a worker, at the start and whenever none is left.
    say : callable, optional
        Receives lines about the cluster.

    Examples
    --------
    >>> import sms_diar
    >>> with sms_diar.scheduler("tcp://10.0.0.1:8786"):  # doctest: +SKIP
    ...     found = sms_diar.diarize("data/calls")
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
    """Workers behind a scheduler.

    Parameters
    ----------
    client : distributed.Client
        A connection.
    address : str
        What messages call it.
    patience : float
        Seconds to wait for a worker.
    say : callable
        Receives lines about the cluster.
    """

    def __init__(
        self, client: Any, address: str, patience: float, say: Callable[[str], None]
    ) -> None:
        self._client = client
        self._address = address
        self._patience = patience
        self._say = say
        self._home = _remote.Home()
        self._shown: dict[Any, Any] = {}  # warnings, each once where once is enough
        self._n_workers = 1
        self._looked = 0.0
        self._alone_since: float | None = None

    def inspect(self) -> None:
        """Wait for workers, and refuse those that would give other results."""
        self._look()
        while self._alone_since is not None:
            time.sleep(min(_LOOK, self._patience))
            self._look()
        inspect = _remote.inspector(self._home.folder)
        found = self._client.run(inspect, on_error="return")
        for worker, told in sorted(found.items()):
            if isinstance(told, BaseException):
                problem: str | None = (
                    f"cannot load sms_diar ({told}); install it there: {_INSTALL}"
                )
            else:
                versions, has_folder = told
                problem = self._home.unlike(versions)
                if problem is None and not has_folder:
                    problem = self._home.unshared
            if problem:
                raise SchedulerError(f"worker {worker} {problem}")
        self._say(f"{len(found)} worker(s) at {self._address}")

    def map(
        self,
        function: Callable[[A], R],
        items: Iterable[A],
        *,
        ordered: bool = True,
        shelf: Shelf | None = None,
    ) -> Iterator[R]:
        """Yield ``function(item)`` for every item, in order or as they come.

        Items are drawn as they are needed, a few ahead for each worker.
        """
        sent = self.hold(function)
        source = enumerate(items if shelf is None else shelf.draw(items, self))
        arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
        pending: dict[int, Any] = {}
        done: set[int] = set()  # and waiting for an earlier one, where it was made
        wanted = 0
        try:
            while True:
                room = (1 + _AHEAD) * self._n_workers - len(pending)
                for place, item in islice(source, max(room, 0)):
                    future = self._submit(_remote.apply, sent, item, self._home)
                    pending[place] = future
                    future.add_done_callback(_Arrival(arrived, place))
                if not pending:
                    return
                done.add(self._next(arrived))
                while done and (not ordered or wanted in done):
                    place = wanted if ordered else next(iter(done))
                    done.remove(place)
                    wanted += 1
                    yield self._result(pending.pop(place))
        finally:  # what was sent is not wanted any more
            for future in (*pending.values(), sent):
                with suppress(Exception):
                    future.release()

    def hold(self, value: object) -> Any:
        """Send something once; what is handed out stands for it in later tasks."""
        # A task and not scattered data, which nobody could make again.
        return self._submit(_remote.hold, value)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        key = f"sms-diar-{function.__name__}-{uuid.uuid4().hex}"
        try:
            return self._client.submit(function, *arguments, key=key, pure=False)
        except Exception as error:
            self._check_connection(error)
            raise

    def _next(self, arrived: queue.SimpleQueue[int]) -> int:
        """Place of the next item that is done."""
        while True:
            if time.monotonic() - self._looked > _SELDOM:
                self._look()  # for workers that came
            try:
                return arrived.get(timeout=_LOOK)
            except queue.Empty:
                self._look()

    def _result(self, future: Any) -> Any:
        """Result of a task that is done; if it was lost since, it is done again."""
        while True:
            try:
                result, caught = future.result(timeout=_LOOK)
                break
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # Dask's cancellation is no Exception
                if future.status == "error":
                    _raise_of_task(error)
                self._check_connection(error)
                if not isinstance(error, TimeoutError):
                    # Work is cancelled a moment before the connection is known lost.
                    time.sleep(_LOOK)
                    self._check_connection(error)
                    raise SchedulerError(
                        f"the scheduler at {self._address} has dropped the work; run "
                        f"the command again"
                    ) from error
                self._look()
        for kind, message, path, line in caught:
            warnings.warn_explicit(message, kind, path, line, registry=self._shown)
        return _remote.own(result)

    def _look(self) -> None:
        """Count the workers; give up if there have been none for too long."""
        self._check_connection(None)
        try:
            n_workers = len(self._client.nthreads(callback_timeout=_CONNECT / 2))
        except (OSError, TimeoutError, RuntimeError):
            n_workers = 0
        self._looked = time.monotonic()
        if n_workers:
            if self._alone_since is not None:
                self._say(f"going on with {n_workers} worker(s)")
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
                f"--nthreads 1) and run the command again"
            )

    def _check_connection(self, error: BaseException | None) -> None:
        if self._client.status != "running":
            raise SchedulerError(
                f"the connection to the scheduler at {self._address} was lost; run the "
                f"command again when it is back"
            ) from error


class Shelf:
    """Items that workers keep from one map over them to the next.

    Whoever maps several functions over the same items opens one and hands it to each
    map. A cluster is then sent every item once, up to a gibibyte in all; what is beyond
    goes out again each time, as it would without a shelf. Items say their `nbytes`, and
    are the same, in the same order, in every map. One machine keeps nothing here.
    """

    def __init__(self) -> None:
        self._cluster: Cluster | None = None
        self._held: list[Any] = []
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
        """The items, in order, each as it is or as what stands for it there."""
        if cluster is not self._cluster:
            self._clear()
            self._cluster = cluster
        yield from tuple(self._held)
        if self._is_complete:
            return
        for item in islice(items, len(self._held), None):
            self._room -= item.nbytes  # below zero for good: what is kept comes first
            if self._room < 0:
                yield item
            else:
                self._held.append(cluster.hold(item))
                yield self._held[-1]
        self._is_complete = self._room >= 0

    def _clear(self) -> None:
        for future in self._held:
            with suppress(Exception):
                future.release()
        self._held, self._room, self._is_complete = [], _SHELF, False


class _Arrival:
    """Tells which item is done."""

    def __init__(self, arrived: queue.SimpleQueue[int], place: int) -> None:
        self._arrived = arrived
        self._place = place

    def __call__(self, _: object) -> None:
        self._arrived.put(self._place)


def _raise_of_task(error: BaseException) -> NoReturn:
    """Raise what a task raised, or what became of those who tried it."""
    from distributed import KilledWorker  # noqa: PLC0415

    if isinstance(error, _remote.UnfitWorkerError):
        raise SchedulerError(str(error)) from None
    if isinstance(error, KilledWorker):
        raise SchedulerError(
            f"{error.allowed_failures + 1} workers ended at the same piece of work, "
            f"for lack of memory as a rule; give workers more of it (--memory-limit), "
            f"or start fewer on a machine"
        ) from None
    raise error


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """A client, which is closed in a moment whatever happens."""
    try:
        import dask  # noqa: PLC0415
        import distributed  # noqa: PLC0415
        from distributed.versions import VersionMismatchWarning  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            f"work on a scheduler needs Dask: {_INSTALL}"
        ) from error
    settings = {
        # Models of some ten megabytes are sent once; Dask would advise against it.
        "distributed.admin.large-graph-warning-threshold": "1 TiB",
        "distributed.comm.timeouts.connect": _CONNECT,
    }
    with _silent("distributed"), dask.config.set(settings):
        _check_scheduler(address)
        with warnings.catch_warnings():
            # Other versions are refused later, in one line.
            warnings.simplefilter("ignore", VersionMismatchWarning)
            client = distributed.Client(
                address, timeout=_CONNECT, set_as_default=False, name="sms-diar"
            )
        try:
            yield client
        finally:
            _close(client)


def _check_scheduler(address: str) -> None:
    """Find out who answers at an address, which a client would wait for without end."""
    rule = "scheduler must be the address of a Dask scheduler, such as"
    if not _ADDRESS.fullmatch(address):
        raise InvalidParameterError(f"{rule} tcp://10.0.0.1:8786, got {address!r}")
    kind: object = None
    with suppress(queue.Empty):
        kind = _aside(lambda: asyncio.run(_kind_of(address)), 3 * _CONNECT)
    if isinstance(kind, ValueError | TypeError):
        raise InvalidParameterError(
            f"{rule} tcp://10.0.0.1:8786, got {address!r} ({kind})"
        ) from kind
    if not isinstance(kind, str):
        raise SchedulerError(
            f"no Dask scheduler answers at {address}; is it running (dask scheduler), "
            f"and can this machine reach it?"
        ) from (kind if isinstance(kind, Exception) else None)
    if kind != "Scheduler":
        raise InvalidParameterError(f"{rule} tcp://10.0.0.1:8786, got that of a {kind}")


async def _kind_of(address: str) -> str:
    """What Dask calls the server at an address."""
    from distributed import Security  # noqa: PLC0415
    from distributed.core import rpc  # noqa: PLC0415

    keys = Security().get_connection_args("client")
    async with rpc(address, timeout=_CONNECT, connection_args=keys) as server:
        told = await asyncio.wait_for(server.identity(), _CONNECT)
    return str(told["type"])


def _close(client: Any) -> None:
    """Say goodbye, but do not wait for an answer that does not come."""
    with suppress(queue.Empty):
        _aside(lambda: client.close(timeout=_CLOSE), _CLOSE)


def _aside(work: Callable[[], object], seconds: float) -> object:
    """Result or exception of what a thread does, if it does it in time.

    Ctrl-C is heard meanwhile, and notebooks, which have a loop in this thread, may
    run another one.
    """
    box: queue.SimpleQueue[object] = queue.SimpleQueue()

    def run() -> None:
        try:
            box.put(work())
        except Exception as error:  # noqa: BLE001 - for the one who waits
            box.put(error)

    threading.Thread(target=run, daemon=True, name="aside").start()
    return box.get(timeout=seconds)


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """Keep the log of a library to itself: what matters is raised."""
    names = [one for one in logging.root.manager.loggerDict if one.startswith(name)]
    levels = {one: logging.getLogger(one).level for one in names}
    for one in names:
        logging.getLogger(one).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for one, level in levels.items():
            logging.getLogger(one).setLevel(level)
