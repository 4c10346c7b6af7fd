"""Progress bars on terminals and progress lines in logs."""

import io
import threading

import pytest
from rich.console import Console

from sms_diar.cli.terminal import progress as progress_module
from sms_diar.cli.terminal.progress import Estimate, TerminalProgress


class Clock:
    def __init__(self):
        self.time = 1000.0

    def __call__(self):
        return self.time


@pytest.fixture
def unwatched(monkeypatch):
    """Disable the watcher, so that only the work checks the clock."""
    monkeypatch.setattr(progress_module, "_BEAT", 3600.0)


def shown(monkeypatch, *, terminal, patience):
    monkeypatch.setattr(progress_module, "_PATIENCE", patience)
    text = io.StringIO()
    progress = TerminalProgress(Console(file=text, force_terminal=terminal, width=100))
    progress.say("cluster: running")
    with progress.stage("loading"), progress.track("table", 3, 1) as advance:
        advance()
        advance()
    return text.getvalue()


@pytest.mark.parametrize(
    ("terminal", "patience", "visible"),
    [(True, -1, True), (True, 60, False), (False, -1, False)],
)
def test_a_bar_is_shown_for_long_work_on_a_terminal(
    monkeypatch, terminal, patience, visible
):
    assert progress_module._PATIENCE < 2.0  # something is seen within two seconds
    text = shown(monkeypatch, terminal=terminal, patience=patience)
    assert ("3/3" in text) == visible
    assert ("cluster: running" in text) == terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_labels_cannot_steer_the_terminal(monkeypatch, terminal, unwatched):
    monkeypatch.setattr(progress_module, "_PATIENCE", -1)
    text, clock = io.StringIO(), Clock()
    console = Console(file=text, force_terminal=terminal, width=200)
    progress = TerminalProgress(console, now=clock)
    name = "a\x1b]0;owned\x07\u202e.wav"
    progress.say(name)
    with progress.stage(name), progress.track(name, 2) as advance:
        clock.time += 40.0
        advance()
    assert r"a\x1b]0;owned\x07\u202e.wav" in text.getvalue()
    assert not any(
        letters in text.getvalue() for letters in ("\x1b]", "\x07", "\u202e")
    )


def test_a_stage_is_named_before_anything_is_done(monkeypatch):
    """Wait for the display, which a timer starts."""
    monkeypatch.setattr(progress_module, "_PATIENCE", 0.01)
    text = io.StringIO()
    progress = TerminalProgress(Console(file=text, force_terminal=True, width=100))
    with progress.stage("loading"), progress.track("audio", 3):
        display = progress._bar
        while not display.live.is_started:
            threading.Event().wait(0.005)
        display.refresh()
        shown = text.getvalue()
    assert "audio" in shown
    assert "0/3" in shown
    assert not display.live.is_started


@pytest.mark.usefixtures("unwatched")
def test_a_log_has_a_line_after_half_a_minute_and_then_ever_more_seldom():
    now, text = Clock(), io.StringIO()
    progress = TerminalProgress(Console(file=text, width=40), now=now)
    with progress.track("[i-vectors]", 1000) as advance:
        for _ in range(1000):
            now.time += 1.0
            advance()
    assert text.getvalue().splitlines() == [
        "sms-diar: [i-vectors]: 30 of 1000 after 0:00:30, about 0:16:10 left",
        "sms-diar: [i-vectors]: 60 of 1000 after 0:01:00, about 0:15:40 left",
        "sms-diar: [i-vectors]: 120 of 1000 after 0:02:00, about 0:14:40 left",
        "sms-diar: [i-vectors]: 240 of 1000 after 0:04:00, about 0:12:40 left",
        "sms-diar: [i-vectors]: 480 of 1000 after 0:08:00, about 0:08:40 left",
        "sms-diar: [i-vectors]: 960 of 1000 after 0:16:00, about 0:00:40 left",
    ]


def test_a_log_has_lines_of_work_that_finishes_nothing(monkeypatch):
    monkeypatch.setattr(progress_module, "_BEAT", 0.001)
    now, written, lines = Clock(), threading.Event(), []

    class Log(io.StringIO):
        def write(self, text):
            lines.append(text)
            written.set()
            return len(text)

    progress = TerminalProgress(Console(file=Log(), width=100), now=now)
    with progress.track("all", 100):
        now.time += 31.0
        assert written.wait(timeout=30)
    assert "all: 0 of 100 after 0:00:31, time left not known yet" in lines[0]


def test_the_time_left_follows_from_the_items_before():
    estimate = Estimate(100, 20, now=0.0)
    assert estimate.remaining(5.0) is None
    for second in range(1, 11):
        estimate.advance(2.0 * second)
    # Ten items in 20 s; 70 remain, and items of an earlier run are not timed.
    assert estimate.remaining(20.0) == 140.0


def test_the_time_left_does_not_fall_below_the_time_without_progress():
    estimate = Estimate(100, 0, now=0.0)
    for _ in range(99):
        estimate.advance(1.0)
    assert estimate.remaining(1.0) < 0.1
    assert estimate.remaining(121.0) == 120.0
