"""Digests of the program, so that methods that have changed are run again.

A digest is of the syntax tree without docstrings: words may be improved without a new
run, code may not.
"""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

PROGRAM = (
    "sms_diar/clustering",
    "sms_diar/scoring",
    "sms_diar/preprocessing",
    "sms_diar/metrics/labels.py",
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
"""Return the files of the checkout that the figures depend on."""


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
    """Return the digest of a Python program without comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not _is_words(one)]  # type: ignore[attr-defined]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def _is_words(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
