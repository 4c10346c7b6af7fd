"""Progress is for eyes only."""

import io

from rich.console import Console

from sms_diar.cli import progress as progress_module
from sms_diar.cli.progress import TerminalProgress


def shown(monkeypatch, *, terminal, patience):
    monkeypatch.setattr(progress_module, "_PATIENCE", patience)
    text = io.StringIO()
    progress = TerminalProgress(Console(file=text, force_terminal=terminal, width=100))
    progress.say("cluster: running")
    with progress.track("table", 3, 1) as advance:
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
