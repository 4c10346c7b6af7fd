"""Shared fixtures and switches of the test suite."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import numpy as np
import pytest

# The one knob for drawn examples: --hypothesis-profile chooses. Compiling inside an
# example would trip the deadline, and CI must draw the same examples every time.
for profile, examples in (("test", 25), ("interpreted", 4), ("soak", 500)):
    hypothesis.settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=profile != "soak",
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("test")

JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") == "1"
ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="run tests marked soak, too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--soak") and not JIT_OFF:
        return
    reason = "interpreted loops" if JIT_OFF else "scripts/soak long runs it"
    for item in items:
        if "soak" in item.keywords:
            item.add_marker(pytest.mark.skip(reason=f"long test: {reason}"))


@pytest.fixture
def root() -> Path:
    """Top of the checkout."""
    return ROOT


@pytest.fixture
def three_gaussians():
    """Forty points per cluster around three means, and their labels."""
    rng = np.random.default_rng(5)
    truth = np.repeat(np.arange(3), 40)
    means = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    return means[truth] + 0.25 * rng.standard_normal((120, 2)), truth


@pytest.fixture(scope="session")
def corpus_data() -> Path:
    """Folder with the real speech and embeddings, or skip."""
    folder = Path(os.environ.get("SMS_DIAR_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no speech data at {folder}; point SMS_DIAR_DATA to it")
    return folder


@dataclass(frozen=True)
class CliResult:
    """What a command left on its streams, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run_cli(monkeypatch):
    """Run the command line within this process: quick, and seen by coverage."""
    from sms_diar.cli.main import main

    def run(*arguments, stdin: bytes | None = None) -> CliResult:
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["sms-diar", *map(str, arguments)])
            if stdin is not None:
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            with redirect_stdout(out), redirect_stderr(err):
                try:
                    main()
                except SystemExit as end:
                    code = int(end.code or 0)
        return CliResult(code, out.getvalue(), err.getvalue())

    return run
