"""Progress is for eyes only."""

import io
import threading

from rich.console import Console

from sms_diar.cli import progress as progress_module
from sms_diar.cli.progress import TerminalProgress


def shown(monkeypatch, *, terminal, patience):
    monkeypatch.setattr(progress_module, "_PATIENCE", patience)
    text = io.StringIO()
    progress = TerminalProgress(Console(file=text, force_terminal=terminal, width=100))
    progress.say("cluster: running")
    with progress.stage("loading"), progress.track("table", 3, 1) as advance:
        advance()
        advance()
    return text.getvalue()


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    assert shown(monkeypatch, terminal=False, patience=-1) == ""


def test_a_bar_is_shown_for_long_work(monkeypatch):
    text = shown(monkeypatch, terminal=True, patience=-1)
    assert "cluster: running" in text
    assert "3/3" in text


def test_short_work_needs_no_bar(monkeypatch):
    text = shown(monkeypatch, terminal=True, patience=60)
    assert "3/3" not in text


def test_a_stage_is_named_before_anything_is_done(monkeypatch):
    """The display starts by a clock of its own; here it is waited for."""
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


def test_something_is_to_be_seen_within_two_seconds():
    assert progress_module._PATIENCE < 2.0
