"""Report of ``sms-diar score`` on labels, as a table and as values for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sms_diar.report.tables import Table
from sms_diar.types import Problem

MEANINGS = {
    "acp": "average cluster purity",
    "alp": "average label purity (of speakers: ASP)",
    "k": "geometric mean of the two",
    "weighted_acp": "cluster purity, weighted by size (B-cubed precision)",
    "weighted_alp": "label purity, weighted by size (B-cubed recall)",
    "weighted_k": "geometric mean of the two",
    "pur_cd": "share in the majority speaker of their cluster",
    "pur_dc": "share in the majority cluster of their speaker",
    "g": "geometric mean of the two",
    "n_clusters": "clusters found",
    "n_major": "clusters of at least 5 % of the segments",
    "n_singletons": "clusters of one segment",
    "smallest": "segments of the smallest cluster",
    "median_size": "segments of the median cluster",
    "largest": "segments of the largest cluster",
    "n_segments": "segments scored",
    "n_labels": "true speakers",
    "ari": "adjusted Rand index",
    "nmi": "normalised mutual information",
    "homogeneity": "clusters hold one speaker each (1 is best)",
    "completeness": "speakers are in one cluster each (1 is best)",
    "v_measure": "harmonic mean of the two",
}
"""Description of each metric."""


@dataclass(frozen=True)
class LabelReport:
    """Report on labels that were scored against true labels.

    Parameters
    ----------
    figures : mapping from str to float
        Metrics by name.
    problems : tuple of Problem
        Warnings about ids that only one side has.
    """

    figures: Mapping[str, float]
    problems: tuple[Problem, ...] = ()

    def __str__(self) -> str:
        return label_table({"value": self}, in_words=True).plain().rstrip("\n")

    def to_dict(self) -> dict[str, float]:
        """Convert to plain values."""
        return dict(self.figures)


def label_table(reports: Mapping[str, LabelReport], *, in_words: bool = False) -> Table:
    """Make a table with a row for each metric and a column for each system.

    Parameters
    ----------
    reports : mapping from str to LabelReport
        Report of each system.
    in_words : bool, default=False
        Add a column with descriptions of the metrics.
    """
    measures = dict.fromkeys(key for r in reports.values() for key in r.figures)
    rows = tuple(
        (
            *((MEANINGS.get(measure, measure.replace("_", " ")),) if in_words else ()),
            measure,
            *(f"{report.figures[measure]:.6g}" for report in reports.values()),
        )
        for measure in measures
    )
    if in_words:
        return Table(("what", "measure", *reports), rows, n_left=2)
    return Table(("measure", *reports), rows)
