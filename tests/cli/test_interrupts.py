"""Ctrl-C and SIGTERM at any point of a command."""

import subprocess
import sys

import pytest

CODE = """
import os, signal, typer
signal.signal(signal.SIGINT, signal.{before})
from sms_diar.cli import main
from sms_diar.cli.terminal import interrupts
def work():
    {work}
main.app.registered_commands.clear()
main.app.command()(work)
main.main()
"""
KILL = "os.kill(os.getpid(), signal.SIGINT)"


def run(work, before="default_int_handler"):
    code = CODE.format(before=before, work=work)
    return subprocess.run(
        [sys.executable, "-c", code, "work"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("work", "code", "word"),
    [
        (KILL, 130, "interrupted"),
        # A library that converts every exception to its own error.
        (
            f"\n    try: {KILL}\n    except BaseException: raise ValueError('x')",
            130,
            "interrupted",
        ),
        (KILL.replace("SIGINT", "SIGTERM"), 143, "terminated"),
    ],
    ids=["plain", "disguised", "sigterm"],
)
def test_a_signal_is_one_line_and_its_exit_code(work, code, word):
    result = run(work)
    assert result.returncode == code
    assert result.stderr == f"sms-diar: {word}; run it again\n"


def test_sigterm_ends_worker_processes_without_complaints():
    """The tracker of a pool without a parent prints the leaked semaphores."""
    code = """
import os, signal, time
from sms_diar._parallel import process_map
from sms_diar.cli import main
def nap(number):
    time.sleep(300 if number else 0.2)
def work():
    for _ in process_map(nap, range(8), workers=2, held=4):
        os.kill(os.getpid(), signal.SIGTERM)
main.app.registered_commands.clear()
main.app.command()(work)
main.main()
"""
    result = subprocess.run(
        [sys.executable, "-c", code, "work"],
        capture_output=True,  # waits until the tracker closes the pipe
        text=True,
        check=False,
        timeout=120,
    )
    said = "sms-diar: terminated; run it again\n"
    assert (result.returncode, result.stderr) == (143, said)


def test_advice_stands_behind_the_interruption():
    work = f"\n    with interrupts.interruptible('do it again'): {KILL}"
    result = run(work)
    assert result.returncode == 130
    assert result.stderr == "sms-diar: interrupted; do it again\n"


def test_an_interruption_begins_on_a_clean_line_of_a_terminal():
    bar = "sys.stderr.isatty = lambda: True; sys.stderr.write('50 % left')"
    work = f"\n    import sys; {bar}\n    with interrupts.interruptible('go'): {KILL}"
    result = run(work)
    # "\r", which is "\n" in text mode, then the rest of the line is erased.
    assert result.stderr == "50 % left\n\x1b[K\x1b[?25hsms-diar: interrupted; go\n"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_is_ignored_stays_ignored(name):
    work = f"{KILL.replace('SIGINT', name)}; print('done')"
    ignored = f"SIG_IGN); signal.signal(signal.{name}, signal.SIG_IGN"
    assert run(work, before=ignored).stdout == "done\n"


def test_work_that_was_done_in_spite_of_it_is_done():
    work = f"\n    try: {KILL}\n    except BaseException: print('done')"
    result = run(work)
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


@pytest.mark.parametrize(("then", "said"), [(KILL, "True\n"), ("pass", "False\n")])
def test_after_ctrl_c_nothing_is_searched_for_garbage(then, said):
    look = "atexit.register(lambda: print(gc.get_freeze_count() > 0))"
    assert run(f"import atexit, gc; {look}; {then}").stdout == said
