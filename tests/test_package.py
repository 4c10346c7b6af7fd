"""Promises of the package as a whole."""

import importlib
import pkgutil
import subprocess
import sys
import types

import pytest

import sms_diar


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
    assert public - {"TYPE_CHECKING"} == set(module.__all__)


def run_python(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_importing_the_package_loads_next_to_nothing():
    code = (
        "import sys; before = set(sys.modules); import sms_diar; "
        "print(sorted(set(sys.modules) - before))"
    )
    # Even typing would take most of the 50 ms that an import may take.
    assert "'typing'" not in run_python(code)
    assert run_python(code).count("'sms_diar") == 2  # itself and _lazy


def test_listing_methods_does_not_load_compiled_code():
    code = "import sys, sms_diar.clustering; print('numba' in sys.modules)"
    assert run_python(code) == "False"


def test_clustering_loads_neither_baselines_nor_filters():
    code = (
        "import sys, sms_diar.pipeline.cluster; "
        "print(sorted({'sklearn.cluster', 'scipy.signal'} & set(sys.modules)))"
    )
    assert run_python(code) == "[]"


def test_names_of_the_package_load_when_they_are_used():
    # Each name meets a package of which nothing is loaded; libraries may stay.
    code = """
import sys

names = sys.argv[1].split()
for name in names:
    for module in [m for m in sys.modules if m.partition(".")[0] == "sms_diar"]:
        del sys.modules[module]
    import sms_diar

    listed = name in dir(sms_diar)
    before = name in vars(sms_diar)
    first = getattr(sms_diar, name)
    same = first is getattr(sms_diar, name) and name in vars(sms_diar)
    print(name, listed, before, same)
"""
    printed = run_python(code, " ".join(sms_diar.__all__))
    assert printed.splitlines() == [f"{n} True False True" for n in sms_diar.__all__]


def test_a_name_that_the_package_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError) as caught:
        _ = sms_diar.diarise
    assert str(caught.value) == "module 'sms_diar' has no attribute 'diarise'"
    assert "__version__" in dir(sms_diar)


def test_every_module_can_be_imported_and_has_a_docstring():
    for info in pkgutil.walk_packages(sms_diar.__path__, "sms_diar."):
        module = importlib.import_module(info.name)
        assert module.__doc__, info.name


def test_version_is_the_same_everywhere(root):
    citation = (root / "CITATION.cff").read_text()
    assert f"version: {sms_diar.__version__}" in citation
