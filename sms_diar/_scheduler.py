"""Execution on a Dask cluster, with the same results as on one machine.

`scheduler` connects to an existing cluster. While it is open, the maps of
:mod:`sms_diar._parallel` send their items there. A function is sent once, with its
model; items, which are paths or blocks of numbers, are sent with their tasks. Only Dask
tasks are used, so the work of a lost worker is repeated by another one.

A worker processes one item at a time, independent of its number of threads: the working
directory, warnings and BLAS threads are shared by the process, and results must not
depend on other tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
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
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar

from sms_diar.errors import InvalidParameterError, MissingExtraError, SchedulerError

A = TypeVar("A")
R = TypeVar("R")
Caught: TypeAlias = tuple[type[Warning], Warning | str, str, int]

PATIENCE = 60.0
"""Seconds without any worker after which a run is aborted."""

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "distributed")
"""Packages whose versions may change last digits or the serialisation."""

_CONNECT = 10.0  # seconds for the scheduler to answer
_LOOK = 1.0  # seconds between two checks of a cluster
_CLOSE = 0.5  # seconds for closing the connection, also after Ctrl-C
_AHEAD = 2  # queued items per worker: keeps workers busy with bounded memory

_ADDRESS = re.compile(r"([a-z]+://)?[^\s/]+:[0-9]{1,5}")
_INSTALL = "pip install 'sms-diar[dask]'"

_current: ContextVar[Cluster | None] = ContextVar("cluster", default=None)
_turn = threading.Lock()
_latest: list[Any] = [None, None]  # on a worker: the current function, and its copy


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
    """Workers of a scheduler; the parameters are as in `scheduler`."""

    def __init__(
        self, client: Any, address: str, patience: float, say: Callable[[str], None]
    ) -> None:
        self._client = client
        self._address = address
        self._patience = patience
        self._say = say
        self._home = Home()
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
        inspect = inspector(self._home.folder)
        answers = self._client.run(inspect, on_error="return")
        for worker, answer in sorted(answers.items()):
            if isinstance(answer, BaseException):
                raise SchedulerError(
                    f"worker {worker} cannot load sms_diar ({answer}); install it "
                    f"there: {_INSTALL}"
                )
            problem = self._home.problem(*answer)
            if problem:
                raise SchedulerError(f"worker {worker} {problem}")
        self._say(f"{len(answers)} worker(s) at {self._address}")

    def map(
        self, function: Callable[[A], R], items: Iterable[A], *, ordered: bool = True
    ) -> Iterator[R]:
        """Yield ``function(item)`` for every item, in order or as they finish.

        Items are consumed lazily, a few ahead for each worker.
        """
        # A task rather than scattered data, which could not be recomputed.
        sent = self._submit(hold, function)
        source = enumerate(items)
        arrived: queue.SimpleQueue[int] = queue.SimpleQueue()
        pending: dict[int, Any] = {}
        done: set[int] = set()  # finished, but waiting for an earlier item
        expected = 0
        try:
            while True:
                room = (1 + _AHEAD) * self._n_workers - len(pending)
                for index, item in islice(source, max(room, 0)):
                    pending[index] = self._submit(apply, sent, item, self._home)
                    pending[index].add_done_callback(
                        lambda _, index=index: arrived.put(index)
                    )
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
            if time.monotonic() - self._looked > _LOOK:
                self._look()  # for new workers, or none
            with suppress(queue.Empty):
                return arrived.get(timeout=_LOOK)

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
        return aligned_copy(result)

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


def _raise_of_task(error: BaseException) -> NoReturn:
    """Raise the error of a task, or an error about killed workers."""
    from distributed import KilledWorker  # noqa: PLC0415

    if isinstance(error, UnfitWorkerError):
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
    except ImportError as error:
        problem = f"work on a scheduler needs Dask: {_INSTALL}"
        raise MissingExtraError(problem) from error
    settings = {
        # Models of some ten megabytes are sent once; Dask would warn about them.
        "distributed.admin.large-graph-warning-threshold": "1 TiB",
        "distributed.comm.timeouts.connect": _CONNECT,
    }
    with _silent("distributed"), dask.config.set(settings):
        _check_scheduler(address)
        with warnings.catch_warnings():
            # Version differences are reported later, in one line.
            warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
            client = distributed.Client(
                address, timeout=_CONNECT, set_as_default=False, name="sms-diar"
            )
        try:
            yield client
        finally:
            _aside(lambda: client.close(timeout=_CLOSE), _CLOSE)


def _check_scheduler(address: str) -> None:
    """Check that a Dask scheduler answers, because the client would wait forever."""
    if not _ADDRESS.fullmatch(address):
        raise _no_address(repr(address))
    kind = _aside(lambda: asyncio.run(_kind_of(address)), 3 * _CONNECT)
    if kind != "Scheduler":
        if isinstance(kind, ValueError | TypeError | str):
            raise _no_address(f"{address!r} ({kind})")
        raise SchedulerError(
            f"no Dask scheduler answers at {address}; check that it is running (dask "
            f"scheduler) and that this machine can reach it"
        ) from kind


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


def _aside(work: Callable[[], Any], seconds: float) -> Any:
    """Run a function in a thread; return its result or exception, or None if late.

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
    with suppress(queue.Empty):
        return box.get(timeout=seconds)
    return None


@contextmanager
def _silent(name: str) -> Iterator[None]:
    """Silence the log of a library; relevant problems are raised as errors."""
    names = [key for key in logging.root.manager.loggerDict if key.startswith(name)]
    levels = {logging.getLogger(key): logging.getLogger(key).level for key in names}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


class UnfitWorkerError(Exception):
    """A worker does not match the machine that sent the work."""


def inspector(folder: str) -> Callable[[], tuple[dict[str, str], bool]]:
    """Return a function that reports versions, and whether `folder` exists.

    It is a nested function and is therefore sent as code, so that a worker with another
    version of this package, or without it, can also run it.
    """
    packages = PACKAGES

    def inspect() -> tuple[dict[str, str], bool]:
        import importlib.metadata  # noqa: PLC0415
        import pathlib  # noqa: PLC0415
        import platform  # noqa: PLC0415

        import sms_diar  # noqa: PLC0415

        versions = {"sms_diar": sms_diar.__version__}
        versions["Python"] = ".".join(platform.python_version_tuple()[:2])
        for name in packages:
            versions[name] = importlib.metadata.version(name)
        return versions, pathlib.Path(folder).is_dir()

    return inspect


@functools.cache
def versions() -> dict[str, str]:
    """Return the local versions of all packages that results depend on."""
    return inspector(".")()[0]


@dataclass(frozen=True)
class Home:
    """Working directory and package versions of the caller."""

    folder: str = field(default_factory=lambda: str(Path.cwd()))
    versions: dict[str, str] = field(default_factory=versions)

    def problem(self, versions: dict[str, str], has_folder: object) -> str | None:
        """Describe why a worker cannot be used, or return None."""
        for name, version in self.versions.items():
            if versions.get(name) != version:
                return (
                    f"has {name} {versions.get(name)} where this machine has "
                    f"{version}; install the same versions everywhere, because results "
                    f"depend on them"
                )
        if has_folder:
            return None
        return (
            f"has no folder {self.folder}; workers must see the files of this machine "
            f"under the same names (a shared file system)"
        )


def aligned_copy(value: A) -> A:
    """Copy a value so that its arrays are aligned as on the local machine.

    A message of Dask is one buffer, and its arrays are views that may begin at any
    byte. NumPy does not pass such arrays to BLAS but multiplies them in its own loops,
    whose sums differ in the last bit. Arrays in objects, methods and
    `functools.partial` are copied; arrays in closures are not.
    """
    return copy.deepcopy(value)


def hold(value: A) -> A:
    """Return a function; as a task it can be recomputed if it is lost."""
    return value


def apply(
    function: Callable[[A], R], item: A, home: Home
) -> tuple[R, tuple[Caught, ...]]:
    """Return the result of an item, and the warnings, which the caller shows."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - loads NumPy

    problem = home.problem(versions(), Path(home.folder).is_dir())
    if problem:
        raise UnfitWorkerError(f"a worker {problem}")
    with (
        _turn,
        contextlib.chdir(home.folder),
        threadpool_limits(limits=1, user_api="blas"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        if _latest[0] is not function:
            _latest[:] = function, aligned_copy(function)
        result = _latest[1](aligned_copy(item))
    return result, tuple(
        (warning.category, warning.message, warning.filename, warning.lineno)
        for warning in caught
    )
