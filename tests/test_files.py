import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sms_diar import _files
from sms_diar._files import (
    PREFIX,
    check_different,
    check_writable,
    protecting,
    replacing,
    replacing_all,
    replacing_folder,
    write_text,
)
from sms_diar.errors import MissingFileError, OutputError, SmsDiarError


@pytest.fixture(autouse=True)
def _every_folder_is_new(monkeypatch):
    monkeypatch.setattr(_files, "_swept", set())


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_device_is_written_to_and_stays_one(tmp_path, null_device):
    write_text(null_device, "gone\n")
    assert stat.S_ISCHR(null_device.lstat().st_mode)
    assert left_in(tmp_path) in ([], [null_device.name])


def test_a_pipe_receives_all_bytes(tmp_path):
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "a line\n" * 20_000)
    reader.join(timeout=10)
    assert received == ["a line\n" * 20_000]
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_nothing_reaches_a_pipe_if_the_work_fails(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ZeroDivisionError), replacing(pipe) as temporary:
        temporary.write_text(f"half {1 // 0}")
    assert left_in(tmp_path) == ["pipe"]


CODE = "from sms_diar._files import write_text; print('before'); write_text({!r}, 'x')"


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_is_a_place_to_write_to(tmp_path, name):
    command = [sys.executable, "-c", CODE.format(name)]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert piped.stdout == b"before\nx"
    # Into a file, too: it is neither replaced nor begun anew.
    with (tmp_path / "log").open("w") as log:
        log.write("old\n")
        log.flush()
        subprocess.run(command, stdout=log, check=True)
    assert (tmp_path / "log").read_text() == "old\nbefore\nx"


def test_a_symbolic_link_stays_one_and_its_target_is_new(tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.txt"
    target.write_text("old")
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.symlink_to("real/a.txt")
    second.symlink_to(first)
    write_text(second, "new")
    assert second.is_symlink()
    assert first.is_symlink()
    assert target.read_text() == "new"
    assert left_in(tmp_path / "real") == ["a.txt"]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "link").symlink_to("made")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "made").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OutputError, match="too many symbolic links"):
        write_text(tmp_path / "a", "x")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert mode_of(path) == mode


def test_a_file_keeps_its_owner(tmp_path):
    if os.geteuid():
        pytest.skip("only root gives files away")
    path = tmp_path / "a"
    path.write_text("old")
    os.chown(path, 12345, 23456)
    path.chmod(0o640)
    write_text(path, "new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode_of(path)) == (12345, 23456, 0o640)


def test_rights_of_a_group_do_not_pass_to_another(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o664)

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    monkeypatch.setattr(_files, "_chown", lambda *_: False)
    write_text(path, "new")
    assert mode_of(path) == 0o644  # what others may, the new group may


def test_a_new_file_has_the_mode_that_the_mask_leaves(tmp_path):
    old = os.umask(0o027)
    try:
        write_text(tmp_path / "a", "x")
    finally:
        os.umask(old)
    assert mode_of(tmp_path / "a") == 0o640


def test_a_full_disk_is_our_error_and_the_old_file_stays(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(OutputError) as caught, replacing(path):
        raise OSError(28, "No space left on device")
    assert str(caught.value) == (
        f"{path}: cannot be written (No space left on device); what was there before "
        f"is untouched"
    )
    assert isinstance(caught.value, OSError)
    assert path.read_text() == "old"
    assert left_in(tmp_path) == ["a"]


def test_an_error_about_another_file_is_not_blamed_on_the_output(tmp_path):
    with pytest.raises(OSError, match="other") as caught, replacing(tmp_path / "a"):
        raise OSError(5, "Input/output error", "other")
    assert not isinstance(caught.value, SmsDiarError)


def test_what_cannot_be_written_is_known_before(tmp_path):
    with pytest.raises(MissingFileError, match="no such folder"):
        check_writable(tmp_path / "no" / "a")
    with pytest.raises(OutputError, match="is a folder; name a file"):
        check_writable(tmp_path)
    with pytest.raises(OutputError, match="File name too long"):
        check_writable(tmp_path / ("x" * 300))
    (tmp_path / "file").write_text("x")
    with pytest.raises((OutputError, MissingFileError)):
        check_writable(tmp_path / "file" / "a")
    check_writable(tmp_path / "fine")
    check_writable(tmp_path / ("x" * 255))
    assert left_in(tmp_path) == ["file"]


def test_a_protected_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o444)
    if not os.geteuid():  # for whom nothing is protected
        monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OutputError, match="is write-protected"):
        write_text(path, "new")
    assert path.read_text() == "old"


KILLED = """
import os, signal, sys
from pathlib import Path
from sms_diar import _files

calls = 0
def watched(function):
    def call(*arguments, **names):
        global calls
        if calls == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        calls += 1
        return function(*arguments, **names)
    return call

for name in ("replace", "fsync", "unlink", "rename"):
    setattr(os, name, watched(getattr(os, name)))
folder = Path(sys.argv[1])
with _files.replacing_all([folder / "a.ark"], index=folder / "a.scp") as (ark, scp):
    ark.write_text("new ark")
    scp.write_text("new scp")
"""


def test_a_kill_at_any_call_leaves_no_index_into_another_file(tmp_path):
    seen, moment, ended = set(), 0, False
    while not ended:
        folder = tmp_path / str(moment)
        folder.mkdir()
        (folder / "a.ark").write_text("old ark")
        (folder / "a.scp").write_text("old scp")
        command = [sys.executable, "-c", KILLED, str(folder), str(moment)]
        ended = subprocess.run(command, check=False).returncode != -signal.SIGKILL
        index = folder / "a.scp"
        state = (
            (folder / "a.ark").read_text(),
            index.read_text() if index.exists() else None,
        )
        seen.add(state)
        # The next that writes there clears up.
        write_text(folder / "other", "x")
        assert set(left_in(folder)) <= {"a.ark", "a.scp", "other"}
        moment += 1
    assert moment > 6  # two files, each flushed; one removed; two renamed
    assert seen == {
        ("old ark", "old scp"),
        ("old ark", None),
        ("new ark", None),
        ("new ark", "new scp"),
    }


def test_a_file_that_is_being_written_is_not_cleared_up(tmp_path):
    with replacing(tmp_path / "a") as temporary:
        _files._swept.clear()
        write_text(tmp_path / "b", "x")
        assert temporary.exists()
        temporary.write_text("y")
    assert left_in(tmp_path) == ["a", "b"]


def test_only_files_of_ours_are_cleared_up(tmp_path):
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / f"{PREFIX}dead.txt").write_text("x")
    (tmp_path / f"{PREFIX}folder").mkdir()
    (tmp_path / f"{PREFIX}folder" / "part").write_text("x")
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / ".hidden")
    write_text(tmp_path / "a", "x")
    assert left_in(tmp_path) == [".hidden", f"{PREFIX}link", "a"]


def test_all_of_several_files_are_kept_if_one_cannot_be_written(tmp_path):
    (tmp_path / "a").write_text("old")
    both = [tmp_path / "a", tmp_path / "no" / "b"]
    with pytest.raises(MissingFileError), replacing_all(both):
        raise AssertionError
    assert left_in(tmp_path) == ["a"]


def test_a_folder_appears_at_once(tmp_path):
    with replacing_folder(tmp_path / "new") as folder:
        (folder / "part").write_text("x")
        assert not (tmp_path / "new").exists()
    assert left_in(tmp_path) == ["new"]
    assert left_in(tmp_path / "new") == ["part"]


def test_an_empty_folder_keeps_its_mode(tmp_path):
    (tmp_path / "here").mkdir(mode=0o750)
    with replacing_folder(tmp_path / "here") as folder:
        (folder / "part").write_text("x")
    assert left_in(tmp_path / "here") == ["part"]
    assert mode_of(tmp_path / "here") == 0o750


def test_a_folder_that_cannot_be_replaced_is_filled(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.setattr(Path, "is_mount", lambda _: True)
    with replacing_folder(tmp_path / "here") as folder:
        (folder / "part").write_text("x")
    assert left_in(tmp_path / "here") == ["part"]


def test_nothing_of_a_failed_folder_is_left(tmp_path):
    with pytest.raises(ZeroDivisionError), replacing_folder(tmp_path / "new") as folder:
        (folder / "part").write_text(f"half {1 // 0}")
    assert left_in(tmp_path) == []


# --- systems without fcntl ------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="looks for open files in /proc")
def test_without_locks_no_file_is_open_when_it_is_renamed(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "fcntl", None)
    path = tmp_path / "x.txt"
    with replacing(path) as temporary:
        temporary.write_text("new")
        open_files = {
            os.path.realpath(entry.path) for entry in os.scandir("/proc/self/fd")
        }
        assert os.path.realpath(temporary) not in open_files
    assert path.read_text() == "new"
    assert left_in(tmp_path) == ["x.txt"]


def test_an_empty_folder_is_removed_where_none_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "_WINDOWS", True)
    real = Path.replace

    def picky(self, target):
        if self.is_dir() and Path(target).is_dir():
            raise PermissionError(13, "Access is denied", str(target))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", picky)
    folder = tmp_path / "made"
    folder.mkdir()
    with replacing_folder(folder) as temporary:
        (temporary / "a").write_text("a")
    assert left_in(tmp_path) == ["made"]
    assert left_in(folder) == ["a"]


@pytest.mark.parametrize("write", [write_text, lambda path, _: check_writable(path)])
def test_a_file_that_is_read_is_not_replaced(tmp_path, write):
    read, link = tmp_path / "read", tmp_path / "link"
    read.write_text("input")
    link.symlink_to(read)
    with protecting([tmp_path / "missing", "\0", read]):
        for path in (read, link):
            with pytest.raises(OutputError) as caught:
                write(path, "result")
            assert str(caught.value) == (
                f"{path}: is read as an input ({read}) and would be replaced; name "
                f"another file to write"
            )
        write_text(tmp_path / "new", "result")
        write_text(tmp_path / "new", "again")
    assert read.read_text() == "input"
    write_text(read, "result")
    assert read.read_text() == "result"


def test_inputs_are_not_looked_at_where_nothing_is_replaced(tmp_path):
    def inputs():
        raise AssertionError("looked at")
        yield

    with protecting(inputs()):
        write_text(tmp_path / "new", "result")
        with pytest.raises(AssertionError):
            write_text(tmp_path / "new", "again")


def test_a_device_may_be_several_outputs(null_device):
    with protecting([null_device]):
        check_different([null_device, null_device, "/dev/stdout", "/dev/stdout"])
        write_text(null_device, "gone\n")
