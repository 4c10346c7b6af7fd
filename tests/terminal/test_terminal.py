"""One long command on a terminal; scripts/soak terminal looks at all, with a clock."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.types import EmbeddingSet

pytest.importorskip("pty", reason="no terminals of this kind on this system")


def _load():
    """The harness is a program too, so it is loaded by its path."""
    path = Path(__file__).resolve().parent / "harness.py"
    spec = importlib.util.spec_from_file_location("terminal_harness", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["terminal_harness"] = module
    spec.loader.exec_module(module)
    return module


harness = _load()


def test_a_long_command_shows_its_stage_and_ends_with_advice(tmp_path):
    rows = 20_000  # for many seconds
    X = np.random.default_rng(2).standard_normal((rows, 16))
    ids = tuple(f"u{row}" for row in range(rows))
    write_embeddings(tmp_path / "x.npz", EmbeddingSet(ids, X))
    out = tmp_path / "labels.txt"
    words = ["cluster", str(tmp_path / "x.npz"), "-o", str(out)]
    seen = harness.look_at(words, {}, longest=60.0, later=2.0)
    assert seen.label in ("loading", "reading", "clustering")
    assert (seen.code, seen.last) == (
        130, "sms-diar: interrupted; run it again",
    )  # fmt: skip
    assert not out.exists()


@pytest.mark.parametrize(
    ("seen", "faults"),
    [
        ((0.5, "x", 0.5, 130, "sms-diar: interrupted; again"), []),
        ((2.5, "x", 0.5, 130, "sms-diar: interrupted; again"), ["late"]),
        ((0.5, "x", 2.5, 130, "sms-diar: interrupted; again"), ["slow to end"]),
        ((0.5, "x", 0.5, 0, "sms-diar: interrupted; again"), ["exit code 0"]),
        ((0.5, "x", 0.5, 130, "bye"), ["does not say how to go on"]),
    ],
)
def test_promises_that_are_not_kept_are_named(seen, faults):
    assert harness.Seen(*seen).faults == faults
