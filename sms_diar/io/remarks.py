"""What a reader has to say about a file without giving up on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sms_diar.errors import DataFormatError

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know about a file of turns or regions.

    Parameters
    ----------
    path : str
        The file.
    line : int or None
        1-based line; None where it concerns the whole file.
    severity : {"error", "warning", "note"}
        With an error the file cannot be scored; a warning may change a figure or
        is treated differently by different tools; a note only informs.
    kind : str
        Short name of what it is, the same for all remarks of a kind.
    text : str
        What it is, in a sentence.
    content : str, optional
        The offending line.
    """

    path: str
    line: int | None
    severity: Severity
    kind: str
    text: str
    content: str | None = None

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.severity}: {self.text}"


def refuse_errors(remarks: Iterable[Remark]) -> None:
    """Raise the first error, if there is one."""
    for remark in remarks:
        if remark.severity == "error":
            raise DataFormatError(
                remark.text, path=remark.path, line=remark.line, text=remark.content
            )


def summarised(remarks: Sequence[Remark], most: int = 3) -> list[str]:
    """Lines for a reader: the first few of each kind, and how many more."""
    shown: list[str] = []
    count: dict[tuple[str, str], int] = {}
    for remark in remarks:
        key = (remark.path, remark.kind)
        count[key] = count.get(key, 0) + 1
        if count[key] <= most:
            shown.append(str(remark))
    for (path, kind), total in count.items():
        if total > most:
            shown.append(f"{path}: {total - most} more of the kind: {kind}")
    return shown
