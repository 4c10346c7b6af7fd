"""Promises of the package as a whole."""

import importlib
import pkgutil
import re
import subprocess
import sys
import types

import pytest

import sms_diar
from sms_diar._files import replacing, write_text


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, sms_diar; "
        "print(sorted({'numba', 'sklearn', 'numpy'} & set(sys.modules)))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "[]"


@pytest.mark.parametrize(
    "name", ["clustering", "metrics", "preprocessing", "scoring", "synthetic"]
)
def test_public_names_are_those_listed(name):
    module = importlib.import_module(f"sms_diar.{name}")
    for listed in module.__all__:  # some are loaded when they are first used
        assert listed in dir(module)
        assert getattr(module, listed) is not None
    public = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public == set(module.__all__)


def test_every_module_can_be_imported_and_has_a_docstring():
    for info in pkgutil.walk_packages(sms_diar.__path__, "sms_diar."):
        module = importlib.import_module(info.name)
        assert module.__doc__, info.name


def test_readme_example_runs(root, capsys):
    text = (root / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    clusters, k, g = capsys.readouterr().out.split()[:3]
    assert int(clusters) >= 3
    assert float(k) > 0.9
    assert float(g) > 0.9


def test_version_is_the_same_everywhere(root):
    citation = (root / "CITATION.cff").read_text()
    assert f"version: {sms_diar.__version__}" in citation


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x.txt"
    write_text(path, "old")
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_text(f"half {1 / 0}")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_text(path, "new")
    assert path.read_text() == "new"
