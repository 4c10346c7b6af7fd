"""What ``sms-diar score`` tells about labels: a table for people, values for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sms_diar.report.tables import Table
from sms_diar.types import Problem


@dataclass(frozen=True)
class LabelReport:
    """Labels scored against the truth.

    Parameters
    ----------
    figures : mapping from str to float
        Every measure, by its name.
    problems : tuple of Problem
        Ids that only one side has.
    """

    figures: Mapping[str, float]
    problems: tuple[Problem, ...] = ()

    def __str__(self) -> str:
        return label_table({"value": self}).plain().rstrip("\n")

    def to_dict(self) -> dict[str, float]:
        """The figures, for machines."""
        return dict(self.figures)


def label_table(reports: Mapping[str, LabelReport]) -> Table:
    """A row for each measure, a column for each system."""
    measures = dict.fromkeys(key for one in reports.values() for key in one.figures)
    rows = tuple(
        (measure, *(f"{one.figures[measure]:.6g}" for one in reports.values()))
        for measure in measures
    )
    return Table(("measure", *reports), rows)
