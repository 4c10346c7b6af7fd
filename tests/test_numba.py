"""Kernels kept on disk match their sources, and few functions are compiled."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from sms_diar._numba import sources_digest

KERNELS = """
from sms_diar._numba import kernel
from tiny.helpers import FACTOR, add

@kernel
def compute(x):
    return later(x)

@kernel
def later(x):
    return FACTOR * add(x, 1.0)
"""
HELPERS = """
from sms_diar._numba import inlined
import tiny.constants

FACTOR = 10.0

@inlined
def add(x, y):
    return x + tiny.constants.SIGN * y
"""


@pytest.fixture
def tiny(tmp_path):
    """A package of which one module has kernels, and others what these are made of."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    files = {"__init__": "", "kernels": KERNELS, "helpers": HELPERS}
    files["constants"] = "SIGN = 1.0\n"
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def run(folder, code):
    """Run code in a process of its own, with the disk cache."""
    paths = [str(folder.parent), *filter(None, sys.path)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",  # files change within a second
        "SMS_DIAR_NUMBA_CACHE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def compute(folder):
    """Result of the kernel, and how many signatures were found on disk."""
    code = (
        "from tiny.kernels import compute as f; value = f(2.0); "
        "print(value, sum(f.stats.cache_hits.values()))"
    )
    value, hits = run(folder, code).split()
    return float(value), int(hits)


def edit(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_kernels_follow_edits_of_what_they_are_made_of(tiny):
    assert compute(tiny) == (30.0, 0)
    assert compute(tiny) == (30.0, 1)  # from disk
    edit(tiny / "helpers.py", "x + tiny", "2.0 * x + tiny")
    edit(tiny / "helpers.py", "FACTOR = 10.0", "FACTOR = 20.0")
    assert compute(tiny) == (100.0, 0)  # 20 (2 * 2 + 1)
    edit(tiny / "constants.py", "1.0", "-1.0")
    assert compute(tiny) == (60.0, 0)


def test_modules_without_a_file_have_a_digest():
    assert len(sources_digest("builtins")) == 10


LISTEN = """
from numba.core import event
import numpy as np

class Listener(event.Listener):
    def on_start(self, event):
        pass

    def on_end(self, event):
        function = event.data["dispatcher"].py_func
        literal = any("Literal" in str(one) for one in event.data["args"])
        print("compiled", function.__module__, "literal" if literal else "plain")

event.register("numba:compile", Listener())
"""
CLUSTER = """
import sys
from sms_diar.cli.main import main
sys.argv = ["sms-diar", "cluster", {input!r}, "--output", {output!r}]
main()
"""
NETWORKS = """
from sms_diar.networks.planes import frames_of_tiles, tiles_of_frames
from sms_diar.networks.pyannet import normalise_leaky, step_cells
zeros = lambda *shape: np.zeros(shape, dtype=np.float32)
frames_of_tiles(zeros(6, 1, 1, 2), zeros(1), zeros(1, 4, 1, 2), 0, 8,
                zeros(1, 4, 1, 2))
tiles_of_frames(zeros(1, 4, 1, 2), -1, 8, zeros(6, 3, 1, 2), zeros(2, 2))
step_cells(zeros(2, 3, 1, 8), (0, 2, 0, 2), zeros(2, 1, 8), zeros(2, 1, 2),
           zeros(2, 1, 2), zeros(3, 1, 4))
normalise_leaky(zeros(2, 3), zeros(3), zeros(3), 0.1, np.zeros((2, 3)), zeros(2, 3))
"""


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("code", [CLUSTER, NETWORKS], ids=["cluster", "networks"])
def test_kernels_compile_no_text_no_sort_and_no_version_for_a_literal(
    tmp_path, monkeypatch, code
):
    # Assigning an array to a slice compiles the text of an error message, for 1.8 s;
    # sorting takes 0.9 s. A literal argument compiles one more version of a function.
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    rng = np.random.default_rng(0)
    X = 5.0 * rng.normal(size=(3, 8))[np.arange(90) % 3] + rng.normal(size=(90, 8))
    np.save(tmp_path / "session.npy", X)
    paths = {"input": str(tmp_path / "session.npy"), "output": str(tmp_path / "labels")}
    lines = run(tmp_path, LISTEN + code.format(**paths)).splitlines()
    compiled = [line.split()[1:] for line in lines if line.startswith("compiled")]
    modules = {module for module, _ in compiled}
    assert any(module.startswith("sms_diar.") for module in modules)
    assert not modules & {"numba.cpython.unicode", "numba.misc.quicksort"}
    assert [kind for module, kind in compiled if kind == "literal"] == []
