"""Figures printed in the paper, and how far measured ones are from them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sms_diar.errors import DataFormatError

from .._common.paper import POINT_METHODS

MEASURES = ("acp", "alp", "k", "pur_cd", "pur_dc", "g", "n_clusters")
"""Columns of the printed table."""

PURITIES = MEASURES[:-1]

Printed = dict[tuple[str, str], dict[str, float]]
"""From (set, method of the registry) to the printed figures."""


def read_printed(path: Path) -> Printed:
    """Read a CSV file with the columns set, method (the paper's) and `MEASURES`."""
    printed: Printed = {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        for row in rows:
            try:
                figures = {measure: float(row[measure]) for measure in MEASURES}
                printed[row["set"], POINT_METHODS[row["method"]]] = figures
            except (KeyError, TypeError, ValueError) as error:
                raise DataFormatError(
                    f"expected the columns set, method, {', '.join(MEASURES)} with "
                    f"numbers ({error})",
                    path=path,
                    line=rows.line_num,
                ) from error
    return printed


def deviations(
    summary: Mapping[str, Any], printed: Mapping[str, float]
) -> dict[str, float]:
    """Measured mean minus printed value, measure by measure."""
    return {
        measure: summary[measure]["mean"] - printed[measure] for measure in MEASURES
    }


def worst_deviation(difference: Mapping[str, float]) -> float:
    """Largest distance of a purity from print; the number of clusters is apart."""
    return max(abs(difference[measure]) for measure in PURITIES)
