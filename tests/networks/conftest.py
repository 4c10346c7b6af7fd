"""A network of three numbers, and programs that pretend to be pip and uv."""

from __future__ import annotations

import hashlib
import sys
import zipfile

import numpy as np
import pytest

from sms_diar.io.model import ModelFile
from sms_diar.networks import store
from sms_diar.networks.catalogue import NETWORKS, Network

CONTENT = b"one two three"
ENTRY = "package/tiny.txt"


def convert(path):
    assert path.read_bytes() == CONTENT
    return {"numbers": np.array([1.0, 2.0, 3.0], dtype=np.float32)}


@pytest.fixture
def models(tmp_path, monkeypatch):
    """An empty folder for networks."""
    folder = tmp_path / "cache" / "models"
    monkeypatch.setenv("SMS_DIAR_MODELS", str(folder))
    return folder


@pytest.fixture
def tiny(models, monkeypatch):
    """A network in the catalogue."""
    arrays = {"numbers": np.array([1.0, 2.0, 3.0], dtype=np.float32)}
    network = Network(
        name="tiny",
        what="three numbers",
        kind="embedder",
        package="tiny-package",
        version="1.2",
        python="3.11",
        platforms=("first_x86_64", "second_x86_64"),
        entry=ENTRY,
        digest=hashlib.sha256(CONTENT).hexdigest(),
        size=len(CONTENT),
        fingerprint=ModelFile(store.KIND, arrays, {}).fingerprint,
        licence="MIT",
        attribution="nobody",
        convert=convert,
    )
    monkeypatch.setitem(NETWORKS, "tiny", network)
    return network


@pytest.fixture
def wheel(tmp_path):
    """Write a wheel with the given entries."""

    def write(**entries):
        path = tmp_path / "tiny_package-1.2-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("package/__init__.py", "raise RuntimeError('was run')")
            for name, content in (entries or {"tiny": CONTENT}).items():
                file.writestr(f"package/{name}.txt", content)
        return path

    return write


@pytest.fixture
def program(tmp_path, write_program):
    """Write a program that notes its arguments and then does what it is told."""

    def write(name, body):
        notes = tmp_path / f"{name}.arguments"
        lines = [
            "import shutil, sys, pathlib, zipfile",
            f"pathlib.Path({str(notes)!r}).write_text('\\n'.join(sys.argv[1:]))",
            "def after(option): return sys.argv[sys.argv.index(option) + 1]",
            body,
        ]
        return write_program(tmp_path / name, "\n".join(lines)), notes

    return write


@pytest.fixture
def fake_pip(program, monkeypatch):
    """Stand in for ``python -m pip`` by a program with the given body."""

    def install(body):
        path, notes = program("python", body)
        monkeypatch.setattr(sys, "executable", str(path))
        return notes

    return install
