"""What becomes of the problems that a reader collected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sms_diar.errors import DataFormatError
from sms_diar.types import Problem


def refuse_errors(problems: Iterable[Problem]) -> None:
    """Raise the first error, if there is one."""
    for problem in problems:
        if problem.severity == "error":
            raise DataFormatError(
                problem.text,
                path=problem.path or "input",
                line=problem.line,
                text=problem.content,
            )


def summarised(problems: Sequence[Problem], most: int = 3) -> list[str]:
    """Lines for people: the first few of each kind, and how many more."""
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
    """Plain values of problems: which recording, which segment, and what."""
    return [
        {
            "recording": problem.recording,
            "segment": problem.segment,
            "text": problem.text,
        }
        for problem in problems
    ]
