"""Command line: output, exit codes and one-line errors."""

import json
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sms_diar import __version__
from sms_diar.cli import main as main_module
from sms_diar.cli.errors import error_text, problem_text
from sms_diar.cli.main import app
from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.types import Problem

runner = CliRunner()


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from sms_diar.cli.main import app; "
        "print(sorted({'numba', 'sklearn', 'numpy', 'scipy', 'pandas', 'joblib'} "
        "& set(sys.modules)))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "[]"


def test_recipes_are_listed_for_people_and_machines():
    result = runner.invoke(app, ["recipes"])
    assert result.exit_code == 0
    names = [line.split()[0] for line in result.stdout.splitlines()]
    expected = ["callhome", "conversations", "digits"]
    assert names == [*expected, "speakers", "sre", "synthetic", "telephone"]
    rows = json.loads(runner.invoke(app, ["recipes", "--json"]).stdout)
    assert "synthetic" in {row["name"] for row in rows}


def test_settings_of_a_recipe_are_shown_for_people_and_machines():
    shown = runner.invoke(app, ["recipes", "synthetic"]).stdout
    assert "runs = 200  (whole number)\n    Repetitions per row" in shown
    assert "sweeps.ratios = [0.1, 0.2, 0.35, 0.6, 1, 1.7, 3, 5.5, 10]" in shown
    assert max(map(len, shown.splitlines())) <= 88
    record = json.loads(runner.invoke(app, ["recipes", "synthetic", "--json"]).stdout)
    assert record["name"] == "synthetic"
    first = record["settings"][0]
    assert (first["key"], first["kind"], first["default"], first["meaning"]) == (
        "seed",
        "whole number",
        1,
        "Random seed.",
    )
    for setting in record["settings"]:
        assert f"{setting['key']} = " in shown


@pytest.mark.parametrize("command", ["run", "recipes"])
def test_our_errors_are_one_line_and_exit_code_1(run_cli, command):
    result = run_cli(command, "nonsense")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("sms-diar: no recipe named 'nonsense'")
    assert result.stderr.count("\n") == 1


def test_a_wrong_setting_writes_nothing(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run_cli("run", "synthetic", "--set", "rnus=3")
    assert result.returncode == 1
    assert "unknown key 'rnus'; did you mean 'runs'?" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_bugs_keep_their_traceback(monkeypatch):
    def bug():
        raise ZeroDivisionError

    monkeypatch.setattr(main_module, "app", bug)
    with pytest.raises(ZeroDivisionError):
        main_module.main()


def test_the_package_can_be_run():
    printed = subprocess.run(
        [sys.executable, "-m", "sms_diar", "--version"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed == f"sms-diar {__version__}\n"


@pytest.mark.parametrize(
    "words", ["recipes", "score one.rttm one.rttm", "validate-rttm many.rttm"]
)
def test_a_reader_that_goes_away_is_no_error(tmp_path, words):
    """The last output exceeds the buffer of a pipe that is closed early."""
    turn = "SPEAKER r 1 0 1 <NA> <NA> s <NA> <NA>\n"
    (tmp_path / "one.rttm").write_text(turn)
    (tmp_path / "many.rttm").write_text(turn * 3000)
    code = (
        "import sys\n"
        "from sms_diar.cli import main as module\n"
        f"sys.argv = ['sms-diar', *{words.split()!r}]\n"
        "module.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    process.stdout.close()
    said = process.stderr.read()
    assert (process.wait(), said) == (main_module.BROKEN_PIPE, b"")
    process.stderr.close()


def test_the_shell_completes_commands_and_methods():
    for words, wanted in (
        ("sms-diar clu", "cluster"),
        ("sms-diar cluster --method nm", "nme-sc"),
    ):
        found = runner.invoke(
            app,
            [],
            prog_name="sms-diar",
            env={
                "_SMS_DIAR_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(len(words.split()) - 1),
            },
        )
        assert found.stdout.split() == [wanted]


def test_errors_speak_of_options():
    options = {"k": "-k", "force": "--force", "names": "names"}
    wrong = partial(InvalidParameterError, owner="Foo")
    for error, expected in (
        (wrong("must be 3", parameter="k"), "-k must be 3"),
        (wrong("must be 3", parameter="names"), "names must be 3"),
        (wrong("must be 3", parameter="other"), "Foo: other must be 3"),
        (wrong("must be 3", owner="x.ark", parameter="k"), "x.ark: -k must be 3"),
        (MissingFileError("k: no such file"), "k: no such file"),
        (
            DataFormatError(
                "needs k=3, force=True", path="k", mentions=("k=3", "force=True")
            ),
            "k: needs -k 3, --force",
        ),
        (
            MissingFileError("k=3/x; use force=False", mentions=("force=False", "a=1")),
            "k=3/x; use --no-force",
        ),
        (wrong("k=3/x, use k=3", mentions=("k=3",)), "Foo: k=3/x, use -k 3"),
    ):
        assert error_text(error, options) == expected
    problem = Problem.of(wrong("must be 3", parameter="k"), recording="call")
    assert problem_text(problem, options) == "call: -k must be 3"


def test_a_missing_extra_is_found_before_the_work(run_cli, tmp_path, monkeypatch):
    monkeypatch.setattr("sms_diar.report.figures.find_spec", lambda name: None)
    exp = tmp_path / "exp"
    result = run_cli("run", "synthetic", "--exp", exp)
    assert result.returncode == 1
    assert "drawing needs matplotlib: pip install 'sms-diar[plot]'" in result.stderr
    assert not exp.exists()


@pytest.mark.parametrize("command", ["validate-rttm", "score", "report"])
def test_names_of_files_cannot_steer_the_terminal(run_cli, tmp_path, command):
    path = tmp_path / "a\x1b]0;owned\x07\u202e.rttm"
    path.write_text("SPEAKER r 1 0 x\x1b[2J <NA> <NA> a <NA> <NA>\n")
    result = run_cli(command, *([path] * (2 if command == "score" else 1)))
    printed = result.stdout + result.stderr
    assert result.returncode == 1
    assert r"a\x1b]0;owned\x07\u202e.rttm" in printed
    assert not {"\x1b", "\x07", "\u202e"} & {*printed}


def test_usage_errors_cannot_steer_the_terminal(run_cli, tmp_path):
    path = tmp_path / "a\x1b]0;owned\x07"
    path.touch()
    result = run_cli("diarize", path, "--split", path)
    assert result.returncode == 2
    assert not {"\x1b", "\x07"} & {*result.stderr}
    assert r"a\x1b]0;owned\x07" in "".join(re.split(r"[\s│]+", result.stderr))


def test_all_commands_print_through_the_function_that_escapes():
    folder = Path(main_module.__file__).parent
    direct = [
        path.name
        for path in sorted(folder.rglob("*.py"))
        if re.search(r"typer\.echo\(|click\.echo\(|\bprint\(", path.read_text())
        and path.name not in ("output.py", "progress.py")
    ]
    assert direct == []


@pytest.mark.parametrize(
    ("words", "closed"),
    [
        ("--version", ">&-"),
        ("--version", ">&- 2>&-"),
        ("recipes", "<&- >&-"),
        ("score x.rttm x.rttm", ">&-"),
    ],
)
def test_closed_standard_streams_are_no_traceback(tmp_path, words, closed):
    line = "SPEAKER r 1 0 1 <NA> <NA> s <NA> <NA>\n"
    (tmp_path / "x.rttm").write_text(line)
    program = shlex.join([sys.executable, "-m", "sms_diar", *words.split()])
    done = subprocess.run(
        ["sh", "-c", f"{program} {closed}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "x.rttm").read_text() == line
