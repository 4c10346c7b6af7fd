"""Files that are either there or not: written aside, then renamed.

Whatever ends a program, a file is the old one or the new one, whole. Files that belong
together become new together (`replacing_all`), and what a killed run left aside is
recognised by its name, and by the lock that died with the run, and removed by the next
that writes there.

What is not a regular file, such as a device, a pipe or ``/dev/stdout``, is never
replaced: it receives the bytes once they are all there. A symbolic link stays one, and
its target becomes new. A file that is replaced keeps its mode and its owner. Files that
are read for a result are not replaced by it (`protecting`).
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sms_diar.errors import MissingFileError, OutputError, SmsDiarError

try:
    import fcntl
except ImportError:  # Windows: what killed runs left stays
    fcntl = None  # type: ignore[assignment]

PREFIX = ".sms-diar-"
"""How names of files begin that are not finished."""

FILE_NAMES = "surrogateescape"
"""Error handler of codecs for text with names of files, whose bytes may be any."""

_WINDOWS = os.name == "nt"
_DESCRIPTOR = re.compile(r"/dev/(std(?:in|out|err)|fd/[0-9]+)|/proc/self/fd/([0-9]+)")
_STANDARD = {"stdin": 0, "stdout": 1, "stderr": 2}
_MOST_LINKS = 40  # as many as Linux follows
_LONGEST_SUFFIX = 16  # longer ones are no format, and names have a limit
_swept: set[Path] = set()


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary name for `path`, renamed to it if all went well.

    The temporary name keeps the suffix, because writers such as matplotlib
    choose their format by it.

    Raises
    ------
    OutputError
        It cannot be written. What was there before still is.
    """
    with replacing_all([path]) as [temporary]:
        yield temporary


@contextmanager
def replacing_all(
    paths: Sequence[str | Path], *, index: str | Path | None = None
) -> Iterator[list[Path]]:
    """Give temporary names for files that belong together.

    They become new in their order, after all of them are whole and on the disk.

    Parameters
    ----------
    paths : sequence of str or Path
        The files.
    index : str or Path, optional
        One more that points into the others. The old one is removed before the
        first of the others becomes new, and the new one comes last: a program that
        is killed in between leaves none rather than one that points astray.
    """
    given = [Path(path) for path in paths]
    if index is not None:
        given.append(Path(index))
    asides: list[_Aside] = []
    with ExitStack() as stack:
        try:
            asides += [stack.enter_context(_aside(path)) for path in given]
            yield [aside.temporary for aside in asides]
            for aside in asides:
                aside.finish()
            if index is not None:
                asides[-1].clear()
            for aside in asides:
                aside.release()
        except OSError as error:
            if isinstance(error, SmsDiarError) or not _is_ours(error, asides):
                raise
            raise _refusal(error, given, asides) from error


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """Give a temporary folder that becomes `path`, which is new or empty.

    An empty folder in which others are mounted, or whose parent is protected, is
    filled instead, in the order of names, when all parts are whole.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = os.access(path.parent, os.W_OK | os.X_OK) and not path.is_mount()
        place = path.parent if beside else path
        _sweep(place)
        temporary = place / f"{PREFIX}{secrets.token_hex(4)}"
        temporary.mkdir()
    except OSError as error:
        raise _refusal(error, [path], []) from error
    lock = _lock_folder(temporary)
    try:
        yield temporary
        mode = path.stat().st_mode if path.is_dir() else None
        if beside:
            if mode is not None:
                temporary.chmod(stat.S_IMODE(mode))
                if _WINDOWS:  # which replaces no folder, not even an empty one
                    path.rmdir()
            temporary.replace(path)
        else:
            for part in sorted(temporary.iterdir()):
                part.replace(path / part.name)
        _sync_folder(place)
    finally:
        if lock is not None:
            os.close(lock)
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8, whole or not at all; names of files keep their bytes."""
    with replacing(path) as temporary:
        write_plain(temporary, text)


def write_plain(path: Path, text: str) -> None:
    """Write `text` in the same way to a file that is temporary."""
    path.write_text(text, encoding="utf-8", errors=FILE_NAMES, newline="\n")


@contextmanager
def protecting(inputs: Iterable[str | Path]) -> Iterator[None]:
    """Refuse, within the block, to write to files that are read for the result.

    Parameters
    ----------
    inputs : iterable of str or Path
        The files, compared by what they are: links to them, ``./`` before them and
        capitals, where these do not matter, make no difference. They are looked at
        when a file that exists is first about to be replaced.
    """
    before = _protected.get()
    protect(inputs)
    try:
        yield
    finally:
        _protected.set(before)


def protect(inputs: Iterable[str | Path]) -> None:
    """Protect inputs until the block of `protecting` around the call ends."""
    _protected.set((*_protected.get(), _Inputs(inputs)))


def refuse_input(path: str | Path) -> None:
    """Refuse a file that `protecting` protects.

    Raises
    ------
    OutputError
        It is one of the inputs, which the message names.
    """
    try:
        about = Path(path).stat()
    except (OSError, ValueError):
        return
    for inputs in _protected.get():
        same = inputs.by_identity.get((about.st_dev, about.st_ino))
        if same is not None:
            raise OutputError(
                f"{path}: is read as an input ({same}) and would be replaced; name "
                f"another file to write"
            )


def check_different(paths: Iterable[str | Path]) -> None:
    """Refuse outputs of which two are the same file under any name.

    Raises
    ------
    OutputError
        The later of the two would replace the earlier one.
    """
    seen: dict[tuple[int, int, str], str | Path] = {}
    for path in paths:
        target, _ = _followed(Path(path))
        if target is None or not target.parent.is_dir():
            continue
        is_there = target.exists()
        about = (target if is_there else target.parent).stat()
        name = "" if is_there else os.path.normcase(target.name)
        first = seen.setdefault((about.st_dev, about.st_ino, name), path)
        if first is not path:
            raise OutputError(
                f"{path}: is the same file as another output ({first}); name different "
                f"files"
            )


def check_writable(path: str | Path) -> None:
    """Find out before the work whether `path` can be written after it.

    Raises
    ------
    OutputError or MissingFileError
        It cannot, and why.
    """
    path = Path(path)
    try:
        with _aside(path):
            pass
    except OSError as error:
        if isinstance(error, SmsDiarError):
            raise
        raise _refusal(error, [path], []) from error


def native_name(path: Path) -> str | bytes:
    """Name of a file for libraries that encode it themselves, and only as UTF-8.

    Bytes pass unchanged in any encoding; names are text on Windows.
    """
    return str(path) if _WINDOWS else os.fsencode(path)


def is_unfinished(path: Path) -> bool:
    """Whether a name is one that only unfinished files have."""
    return path.name.startswith(PREFIX)


class _Inputs:
    """Files that are read, by device and number, collected at first use."""

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._paths = paths

    @cached_property
    def by_identity(self) -> dict[tuple[int, int], str | Path]:
        """Name of each regular file."""
        found: dict[tuple[int, int], str | Path] = {}
        for path in self._paths:
            with suppress(OSError, ValueError):  # missing, or no name of a file
                about = Path(path).stat()
                if stat.S_ISREG(about.st_mode):
                    found.setdefault((about.st_dev, about.st_ino), path)
        return found


_protected: ContextVar[tuple[_Inputs, ...]] = ContextVar("protected", default=())


@dataclass(frozen=True)
class _Aside:
    """A file that is being written, and what it is to become."""

    path: Path
    temporary: Path
    target: Path | None  # a regular file, or nothing yet
    descriptor: int | None = None

    def finish(self) -> None:
        """Bring all bytes to the disk, and make it look like the old file."""
        if self.target is None:
            return
        try:
            old = self.target.stat()
        except FileNotFoundError:
            umask = os.umask(0)
            os.umask(umask)
            mode = 0o666 & ~umask  # mkstemp's 0600 would surprise colleagues
        else:
            mode = stat.S_IMODE(old.st_mode)
            if not _chown(self.temporary, old):
                # The rights of one group are not those of another.
                mode = mode & ~0o7070 | (mode & 0o007) << 3
        self.temporary.chmod(mode)
        # Windows flushes what it may write only; elsewhere the mode may forbid that.
        handle = os.open(self.temporary, os.O_RDWR if _WINDOWS else os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def clear(self) -> None:
        """Remove the old file."""
        if self.target is not None:
            self.target.unlink(missing_ok=True)

    def release(self) -> None:
        """Make it what it is to become."""
        if self.target is not None:
            self.temporary.replace(self.target)
            _sync_folder(self.target.parent)
            return
        sys.stdout.flush()  # what was printed before comes before
        flags = os.O_WRONLY | getattr(os, "O_NOCTTY", 0)
        handle = (
            os.open(self.path, flags)
            if self.descriptor is None
            else os.dup(self.descriptor)
        )
        with self.temporary.open("rb") as source, os.fdopen(handle, "wb") as out:
            shutil.copyfileobj(source, out)


@contextmanager
def _aside(path: Path) -> Iterator[_Aside]:
    target, descriptor = _followed(path)
    if target is None:
        if descriptor is None and not os.access(path, os.W_OK):
            raise OutputError(f"{path}: is write-protected")
        folder = Path(tempfile.gettempdir())
    else:
        folder = target.parent
        if not folder.is_dir():
            raise MissingFileError(f"{path}: no such folder {folder}; make it first")
        if target.is_dir():
            raise OutputError(f"{path}: is a folder; name a file to write")
        refuse_input(path)
        if target.exists() and not os.access(target, os.W_OK):
            raise OutputError(f"{path}: is write-protected")
    _sweep(folder)
    temporary, lock = _locked_file(folder, path.suffix)
    try:
        yield _Aside(path, temporary, target, descriptor)
    finally:
        with suppress(OSError):  # a disk that fails must not hide why
            temporary.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _followed(path: Path) -> tuple[Path | None, int | None]:
    """The regular file that a path means, if any; else perhaps a descriptor."""
    for _ in range(_MOST_LINKS):
        open_file = _DESCRIPTOR.fullmatch(os.path.normpath(path.absolute()))
        if open_file:
            name = open_file[2] or open_file[1].removeprefix("fd/")
            return None, _STANDARD[name] if name in _STANDARD else int(name)
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return path, None
        if stat.S_ISLNK(mode):
            path = path.parent / path.readlink()
        else:
            is_file = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
            return (path if is_file else None), None
    raise OutputError(f"{path}: too many symbolic links")


def _locked_file(folder: Path, suffix: str) -> tuple[Path, int | None]:
    """Make a file whose lock, where there are locks, says that it is being written."""
    suffix = suffix if len(suffix.encode(errors="ignore")) <= _LONGEST_SUFFIX else ""
    while True:
        handle, name = tempfile.mkstemp(prefix=PREFIX, suffix=suffix, dir=folder)
        if fcntl is None:  # Windows, which does not rename a file that is open
            os.close(handle)
            return Path(name), None
        if _lock(handle) is not False and os.fstat(handle).st_nlink:
            return Path(name), handle
        os.close(handle)  # swept away by another run before it was locked


def _lock(handle: int) -> bool | None:
    """Lock a file; False if somebody else has it, None if locks are unknown here."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _lock_folder(folder: Path) -> int | None:
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    _lock(handle)
    return handle


def _sweep(folder: Path) -> None:
    """Remove what killed runs left in a folder; looked for once by each process."""
    if folder in _swept or fcntl is None:
        return
    _swept.add(folder)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(PREFIX) or entry.is_symlink():
                continue
            with suppress(OSError):
                handle = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK)
                try:
                    if not _lock(handle):
                        continue
                    if entry.is_dir():
                        shutil.rmtree(entry.path, ignore_errors=True)
                    else:
                        Path(entry.path).unlink()
                finally:
                    os.close(handle)


def _chown(temporary: Path, old: os.stat_result) -> bool:
    """Give a file the owner of another; whether at least its group is the same."""
    own = temporary.stat()
    if (own.st_uid, own.st_gid) == (old.st_uid, old.st_gid):
        return True
    for owner in (old.st_uid, -1):
        with suppress(OSError):
            os.chown(temporary, owner, old.st_gid)
            return True
    return False


def _sync_folder(folder: Path) -> None:
    """Bring a rename to the disk, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_ours(error: OSError, asides: list[_Aside]) -> bool:
    """Whether an error came from writing, as far as it says."""
    if error.filename is None or not asides:
        return True
    names = {str(p) for a in asides for p in (a.path, a.temporary, a.target)}
    return str(error.filename) in names


def _refusal(
    error: OSError, given: Sequence[Path], asides: Sequence[_Aside]
) -> OutputError:
    named = [
        a.path for a in asides if str(error.filename) in (str(a.temporary), str(a.path))
    ]
    path = (named or list(given))[0]
    return OutputError(
        f"{path}: cannot be written ({error.strerror or error}); what was there "
        f"before is untouched"
    )
