"""Nothing but what is guarded asks for a particular operating system."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sms_diar

PACKAGE = Path(sms_diar.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
# What Windows' Python lacks; macOS has all of it.
POSIX_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"}
POSIX_NAMES = {
    "os": {"fork", "geteuid", "getuid", "killpg", "nice", "setsid", "uname"},
    "signal": {"SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "alarm"},
}


def imported(node):
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]}
    return set()


def guarded(tree):
    """Nodes within a ``try`` that catches failed imports."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.Try)
        and any("ImportError" in ast.dump(one) for one in node.handlers)
        for step in node.body
        for inner in ast.walk(step)
    }


def complaints(text):
    tree = ast.parse(text)
    safe = guarded(tree)
    found = []
    for node in ast.walk(tree):
        if node in safe:
            continue
        found += sorted(imported(node) & POSIX_MODULES)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = node.value.id
            found += [f"{owner}.{node.attr}"] * (
                node.attr in POSIX_NAMES.get(owner, ())
            )
        # A text file without an encoding is another one on Windows.
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method, given = node.func.attr, {word.arg for word in node.keywords}
            if method in ("read_text", "write_text") and (
                "encoding" not in given and isinstance(node.func.value, ast.Name)
            ):
                found.append(f"{method} without encoding")
            if ast.unparse(node.func) == "os.rename":
                found.append("os.rename, which does not replace on Windows")
    return found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import fcntl", ["fcntl"]),
        ("try:\n    import fcntl\nexcept ImportError:\n    fcntl = None", []),
        ("import os\nos.fork()", ["os.fork"]),
        ("path.read_text()", ["read_text without encoding"]),
        (
            "import os\nos.rename(a, b)",
            ["os.rename, which does not replace on Windows"],
        ),
    ],
)
def test_what_only_one_system_has_is_recognised(text, found):
    assert complaints(text) == found


def test_the_package_asks_for_no_system_without_a_way_around():
    assert len(SOURCES) > 0
    wrong = {
        path.relative_to(PACKAGE).as_posix(): found
        for path in SOURCES
        if (found := complaints(path.read_text(encoding="utf-8")))
    }
    assert wrong == {}


def test_without_the_modules_of_posix_files_are_written_and_commands_exist(tmp_path):
    code = (
        "import sys\n"
        f"for name in {sorted(POSIX_MODULES)}: sys.modules[name] = None\n"
        "from sms_diar._files import write_text\n"
        "import sms_diar.cli.main, sms_diar.experiment.stages\n"
        "write_text(sys.argv[1], 'old')\n"
        "write_text(sys.argv[1], 'new')\n"
    )
    path = tmp_path / "x.txt"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert path.read_text(encoding="utf-8") == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["x.txt"]


def test_the_matrix_names_three_systems_and_begins_with_the_oldest_python():
    root = Path(__file__).resolve().parent.parent
    if not (root / ".ci").is_dir():
        pytest.skip("not a checkout")
    text = (root / ".ci" / "matrix.yml").read_text(encoding="utf-8")
    for system in ("ubuntu-latest", "macos-latest", "windows-latest"):
        assert system in text
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    oldest = project["project"]["requires-python"].removeprefix(">=")
    assert f'python: ["{oldest}", "3.12", "3.13", "3.14"]' in text
