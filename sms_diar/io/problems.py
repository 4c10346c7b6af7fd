"""Raising and summarising the problems that a reader collected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sms_diar.errors import DataFormatError
from sms_diar.types import Problem


def refuse_errors(problems: Iterable[Problem]) -> None:
    """Raise the first error, if any."""
    for problem in problems:
        if problem.severity == "error":
            raise DataFormatError(
                problem.text,
                path=problem.path or "input",
                line=problem.line,
                text=problem.content,
            )


def summarised(problems: Sequence[Problem], most: int = 3) -> list[str]:
    """Describe the first `most` problems of each kind, and count the others."""
    shown: list[str] = []
    count: dict[tuple[str | None, str], int] = {}
    for problem in problems:
        key = (problem.path, problem.kind)
        count[key] = count.get(key, 0) + 1
        if count[key] <= most:
            shown.append(problem.with_severity())
    for (path, kind), total in count.items():
        if total > most:
            shown.append(f"{path}: {total - most} more of the kind: {kind}")
    return shown


def problem_records(problems: Sequence[Problem]) -> list[dict[str, str | None]]:
    """Convert problems to records with recording, segment and text."""
    return [
        {
            "recording": problem.recording,
            "segment": problem.segment,
            "text": problem.text,
        }
        for problem in problems
    ]
