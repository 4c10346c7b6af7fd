"""Scp files: places, ranges, commands, and lines that lead nowhere."""

import shlex
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from sms_diar.errors import MissingFileError
from sms_diar.io.kaldi.ark import BINARY, object_bytes, write_ark
from sms_diar.io.kaldi.scp import ScpEntry, parse_entry, read_scp

PYTHON = shlex.quote(sys.executable)
ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to stand in, with an ark and its scp."""
    monkeypatch.chdir(tmp_path)
    write_ark("x.ark", ["a", "b"], ROWS, scp="x.scp")
    return tmp_path


def write(text, path="list.scp"):
    Path(path).write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("a x.ark", ScpEntry("a", "x.ark")),
        ("a\tx.ark:12", ScpEntry("a", "x.ark", 12)),
        ("a x.ark:12[3:4]", ScpEntry("a", "x.ark", 12, (3, 4))),
        ("a x.ark:12[:]", ScpEntry("a", "x.ark", 12)),
        ("a x.ark[0:0]", ScpEntry("a", "x.ark", span=(0, 0))),
        ("a my data/x.ark:7", ScpEntry("a", "my data/x.ark", 7)),
        ("a C:/x.ark:7", ScpEntry("a", "C:/x.ark", 7)),
        ("a C:/x.ark", ScpEntry("a", "C:/x.ark")),
        ("a cat x.vec |", ScpEntry("a", command="cat x.vec")),
    ],
)
def test_lines_by_hand(line, entry):
    assert parse_entry(line) == entry


def test_offsets_point_to_the_header_as_in_kaldi(here):
    # "a " is two bytes; its object takes 2 + 3 + 5 + 24 = 34, then comes "b "
    assert (here / "x.scp").read_text() == "a x.ark:2\nb x.ark:38\n"
    assert (here / "x.ark").read_bytes()[38:40] == BINARY


@pytest.mark.parametrize("text", [False, True])
def test_vectors_come_in_the_order_of_the_list(here, text):
    write_ark("t.ark", ["a", "b"], ROWS, text=text, scp="t.scp")
    lines = (here / "t.scp").read_text().splitlines()
    path = write("\n".join(reversed(lines)))
    got = [(name, vector.tolist()) for name, vector in read_scp(path)]
    assert got == [("b", [4.0, 5.0, 6.0]), ("a", [1.0, 2.0, 3.0])]


def test_ranges_are_inclusive(here):
    got = dict(read_scp(write("a x.ark:2[0:1]\nb x.ark:38[1:2]\n")))
    assert {name: v.tolist() for name, v in got.items()} == {"a": [1, 2], "b": [5, 6]}


def test_a_path_without_offset_is_a_whole_file(here):
    (here / "one.vec").write_bytes(BINARY + object_bytes([7.0], owner="w"))
    (here / "two.vec").write_text(" [ 8 ]\n")
    got = dict(read_scp(write("a one.vec\n\nb two.vec\r\n")))
    assert {name: v.tolist() for name, v in got.items()} == {"a": [7.0], "b": [8.0]}


def test_paths_start_at_the_current_folder_then_at_the_list(here, monkeypatch):
    (here / "else").mkdir()
    monkeypatch.chdir(here / "else")
    assert [name for name, _ in read_scp(here / "x.scp")] == ["a", "b"]
    write_ark("x.ark", ["a", "b"], -ROWS)  # the nearer one wins
    assert next(read_scp(here / "x.scp"))[1].tolist() == [-1.0, -2.0, -3.0]


def test_files_that_are_nowhere_are_named(here):
    (here / "sub").mkdir()
    for path, names in (("l.scp", "no.ark"), ("sub/l.scp", "no.ark nor sub/no.ark")):
        write("a x.ark:2\nb no.ark:3\n", path)
        with pytest.raises(MissingFileError) as caught:
            list(read_scp(path))
        assert str(caught.value) == f"{path}:2: no such file: {names}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a", "a line is 'id path'"),
        ("a x.ark:2[2:1]", "got [2:1]"),
        ("a x.ark:2[0:1,0:1]", "got [0:1,0:1]"),
        ("a x.ark:2[1:3]", "range [1:3] exceeds the 3 dimensions"),
        ("a x.ark:37", "x.ark:1: vector of 'a' must be in brackets"),
        ("a x.ark:9999", "got the end"),
        ("a x.ark", "x.ark:1: vector of 'a' must be in brackets"),
        ("b x.ark:2", "id 'b' occurs a second time"),
        ("a x.ark:2[0:1]", "'a' has 2 dimensions, previous vectors have 3"),
    ],
)
def test_lines_that_lead_nowhere_are_refused(here, refused, text, problem):
    refused(read_scp, f"b x.ark:38\n{text}\n", problem, line=2)


def test_a_list_that_is_not_utf8_is_refused(here, refused):
    refused(read_scp, b"a x.ark:2\nb\xff x.ark:38\n", "not UTF-8", line=2)


def test_commands_do_not_run_unless_allowed(here, refused):
    refused(read_scp, "a touch ran |", "allow_commands=True", line=1)
    assert not (here / "ran").exists()


def test_allowed_commands_give_vectors(here):
    (here / "my vec").write_text(" [ 1 2 ]\n")
    path = write(f"a cat 'my vec' |\nb {PYTHON} -c 'print(\"[ 3 4 ]\")' |\n")
    got = dict(read_scp(path, allow_commands=True))
    assert {name: v.tolist() for name, v in got.items()} == {"a": [1, 2], "b": [3, 4]}


@pytest.mark.parametrize(
    ("command", "special"),
    [
        ("cat x | cat", "|"),
        ("cat < x", "<"),
        ("cat x; touch ran", ";"),
        ("touch ran && cat x", "&&"),
        ("cat $HOME/x", "$"),
        ('cat "$(touch ran)"', '"$(touch ran)"'),
        ("cat `touch ran`", "`"),
    ],
)
def test_what_needs_a_shell_is_refused(here, refused, command, special):
    read = partial(read_scp, allow_commands=True)
    refused(read, f"a {command} |", f"without a shell, which {special!r} needs", line=1)
    assert not (here / "ran").exists()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("no-such-program", "cannot run 'no-such-program' (No such file or directory)"),
        ("cat 'x", "cannot be split (No closing quotation)"),
        (f"{PYTHON} -c 'import sys; sys.exit(\"no luck\")'", "with status 1: no luck"),
        ("false", "ended with status 1"),
        ("true", "got the end"),
        ("", "expected a command before '|'"),
    ],
)
def test_commands_that_fail_say_why(here, refused, command, problem):
    read = partial(read_scp, allow_commands=True)
    refused(read, f"a {command} |", problem, line=1)
