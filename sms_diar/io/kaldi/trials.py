"""Kaldi trial lists: pairs to score, optionally with their true classes."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sms_diar.errors import DataFormatError
from sms_diar.io._lines import check_fields, check_is_file, split_fields, strict_lines
from sms_diar.types import BoolArray, IntArray


class Trials(NamedTuple):
    """Pairs to score, and whether each is a target, if known.

    Lists can have 10^8 lines, so a trial is stored as two indices, not two names.
    """

    enrolled: tuple[str, ...]
    tested: tuple[str, ...]
    rows: IntArray
    columns: IntArray
    is_target: BoolArray | None


def count_trials(path: Path) -> int:
    """Count the lines of a list without loading it."""
    check_is_file(path)
    with path.open("rb") as file:
        blocks = iter(lambda: file.read(1 << 20), b"")
        return 1 + sum(block.count(b"\n") for block in blocks)


def read_trials(
    path: Path, enrolled: tuple[str, ...], tested: tuple[str, ...]
) -> Trials:
    """Read a list of trials, and look up its ids among those of the two sides.

    Lines are ``enrol test`` or ``enrol test target|nontarget``.
    """
    left = {name: row for row, name in enumerate(enrolled)}
    right = {name: row for row, name in enumerate(tested)}
    keys = {"target": True, "nontarget": False}
    rows, columns, truth = array("q"), array("q"), array("b")
    for line in strict_lines(path):
        fields = split_fields(line.text)
        problem = ""
        try:
            check_fields(fields)
        except ValueError as error:
            problem = str(error)
        if len(fields) not in (2, 3):
            problem = f"a trial has 2 or 3 fields, this line has {len(fields)}"
        elif len(fields) == 3 and fields[2] not in keys:
            problem = f"the third field must be target or nontarget, got {fields[2]!r}"
        elif rows and (len(fields) == 3) != bool(truth):
            problem = "target or nontarget must be given on all lines or on none"
        elif fields[0] not in left:
            problem = f"{fields[0]!r} is not enrolled"
        elif fields[1] not in right:
            problem = f"{fields[1]!r} is not among the test embeddings"
        if problem:
            raise DataFormatError(problem, path=path, line=line.number, text=line.text)
        rows.append(left[fields[0]])
        columns.append(right[fields[1]])
        truth.extend(keys[key] for key in fields[2:])
    if not rows:
        raise DataFormatError("contains no trials", path=path)
    return Trials(
        enrolled,
        tested,
        np.frombuffer(rows, dtype=np.int64),
        np.frombuffer(columns, dtype=np.int64),
        np.frombuffer(truth, dtype=np.bool_) if truth else None,
    )
