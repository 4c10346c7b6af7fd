"""Settings frozen before the test corpus is touched, and the proof of it.

Frozen is whatever can change a figure of the test: parameters of all methods, the
constants in their modules, the program itself, versions of the libraries, back ends,
conditions and seed. The program is its syntax tree without docstrings: words may be
improved, code may not.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import importlib
import json
import pkgutil
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import sms_diar
from benchmarks.compare.peers import module_of, settings_of
from sms_diar._json import read_json, write_json
from sms_diar.clustering import speakers
from sms_diar.errors import ExperimentError
from sms_diar.report.provenance import git_revision

SETTINGS = "settings.json"
RUNS = "test-runs.json"
PROGRAM = (
    "sms_diar/clustering",
    "sms_diar/scoring",
    "sms_diar/preprocessing",
    "sms_diar/metrics/labels/scores.py",
    "sms_diar/metrics/labels/purity.py",
    "sms_diar/metrics/labels/contingency.py",
    "sms_diar/synthetic/plda_world.py",
    "benchmarks/compare/conditions.py",
    "benchmarks/compare/conversations.py",
    "benchmarks/compare/lengths.py",
    "benchmarks/compare/meeting.py",
    "benchmarks/compare/peers.py",
    "benchmarks/compare/reliability.py",
    "benchmarks/compare/sources.py",
    "benchmarks/compare/sessions.py",
    "benchmarks/compare/timed.py",
    "benchmarks/compare/vectors.py",
    "recipes/_common/components.py",
    "recipes/_common/corpora.py",
    "recipes/_common/sessions.py",
    "recipes/_common/threads.py",
)
"""What the figures follow from, within the checkout."""

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
_SHOWN = 12


def program_digests() -> dict[str, str]:
    """Digest of every module that figures follow from, by its path."""
    package = Path(__file__).resolve().parents[2]
    digests = {}
    for part in PROGRAM:
        path = package / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            text = file.read_text(encoding="utf-8")
            digests[file.relative_to(package).as_posix()] = program_digest(text)
    return digests


def program_digest(text: str) -> str:
    """Digest of a Python program, whatever its comments and docstrings say."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_words(one)]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def constants_of(methods: Sequence[str]) -> dict[str, Any]:
    """Numbers and texts in capitals in the modules of the methods."""
    # Whatever the default method is made of; references are for tests.
    names = {
        f"{speakers.__name__}.{module.name}"
        for module in pkgutil.iter_modules(speakers.__path__)
        if module.name != "_reference"
    }
    names |= {"sms_diar.scoring.session_model"}
    names |= {module_of(method) for method in methods}
    found = {}
    for name in sorted(names):
        for key, value in vars(importlib.import_module(name)).items():
            if key.isupper() and _is_plain(value):
                found[f"{name}.{key}"] = value
    return found


def settings_to_freeze(
    methods: Sequence[str], files: Mapping[str, str], test: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything that the figures of the test depend on, as plain values.

    Parameters
    ----------
    methods : sequence of str
        All methods.
    files : mapping from str to str
        Digests of back ends and training data.
    test : mapping
        Conditions, seed and limits of the test.
    """
    collected = {
        "methods": {name: settings_of(name) for name in methods},
        "constants": constants_of(methods),
        "program": program_digests(),
        "files": dict(files),
        "test": dict(test),
        "versions": {
            "python": platform.python_version(),
            "sms_diar": sms_diar.__version__,
            **{name: version(name) for name in LIBRARIES},
        },
    }
    plain: dict[str, Any] = json.loads(json.dumps(collected))
    return plain


def fingerprint(settings: Mapping[str, Any]) -> str:
    """Digest of plain values, whatever the order of their keys."""
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def freeze(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings; those frozen before stay, and must be the same."""
    path = folder / SETTINGS
    if path.exists():
        check_frozen(path, settings)
        return
    record = {
        "fingerprint": fingerprint(settings),
        "date": _now(),
        "git": git_revision(),
        "settings": settings,
    }
    write_json(path, record)


def read_frozen(path: Path) -> dict[str, Any]:
    """Read what `freeze` wrote: "fingerprint", "date", "git" and "settings"."""
    try:
        record: dict[str, Any] = read_json(path)
        known = record["fingerprint"] == fingerprint(record["settings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExperimentError(
            f"{path}: no frozen settings ({error}); run with --from freeze"
        ) from error
    if not known:
        raise ExperimentError(
            f"{path}: does not have the fingerprint it says, so it was edited; freeze "
            f"anew with --from freeze"
        )
    return record


def check_frozen(path: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse to go on unless these are the settings that were frozen.

    Returns
    -------
    record : dict
        The frozen ones.
    """
    record = read_frozen(path)
    if record["fingerprint"] == fingerprint(settings):
        return record
    changed = list(differences(record["settings"], settings))
    listed = "\n".join(f"  {line}" for line in changed[:_SHOWN])
    more = len(changed) - _SHOWN
    listed += f"\n  and {more} more" if more > 0 else ""
    raise ExperimentError(
        f"{path}: settings were frozen on {record['date']} and have changed since:\n"
        f"{listed}\nundo that, or freeze anew with --from freeze, after which the "
        f"test counts as run once more"
    )


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = ""
) -> Iterator[str]:
    """Say for every value that differs what it was and what it is."""
    for key in sorted({*old, *new}):
        name = f"{prefix}{key}"
        if key not in new:
            yield f"{name}: was {old[key]!r}, is gone"
        elif key not in old:
            yield f"{name}: is new, {new[key]!r}"
        elif isinstance(old[key], Mapping) and isinstance(new[key], Mapping):
            yield from differences(old[key], new[key], f"{name} / ")
        elif old[key] != new[key]:
            yield f"{name}: was {old[key]!r}, is {new[key]!r}"


def read_runs(root: Path) -> list[dict[str, Any]]:
    """Runs of the test so far, in this folder."""
    path = root / RUNS
    if not path.exists():
        return []
    runs: list[dict[str, Any]] = read_json(path)
    return runs


def start_test(root: Path, frozen: str, corpus: str) -> int:
    """Take down that the test begins, or goes on; the number of its run.

    The file is beside the folders of the stages, where repeating a stage does not
    reach it.
    """
    runs = read_runs(root)
    goes_on = (
        runs
        and not runs[-1]["finished"]
        and (runs[-1]["fingerprint"], runs[-1]["corpus"]) == (frozen, corpus)
    )
    if goes_on:
        runs[-1]["continued"] += 1
    else:
        runs.append(
            {
                "fingerprint": frozen,
                "corpus": corpus,
                "git": git_revision(),
                "started": _now(),
                "continued": 0,
                "finished": "",
            }
        )
    write_json(root / RUNS, runs)
    return len(runs)


def finish_test(root: Path) -> None:
    """Take down that the last run of the test came to its end."""
    runs = read_runs(root)
    runs[-1]["finished"] = _now()
    write_json(root / RUNS, runs)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _is_words(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_plain(one) for one in value)
    return isinstance(value, bool | int | float | str)
