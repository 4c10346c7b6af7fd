"""Tables as Markdown, LaTeX, CSV and plain text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from sms_diar._text import as_cell
from sms_diar._validation import check_choice

TABLE_FORMATS = ("table", "markdown", "latex", "csv")
"""Formats of a table; the first is for a terminal."""

_LATEX = str.maketrans(
    {
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "≥": r"$\geq$",
        "±": r"$\pm$",
    }
)


@dataclass(frozen=True)
class Table:
    """Table of text, with one cell per column in each row.

    The first `n_left` columns are left-aligned; the other columns contain numbers.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_left: int = 1

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(row)} cells under {len(self.columns)} heads")

    def text(self, format: str = "table") -> str:
        """Format the table in one of `TABLE_FORMATS`."""
        check_choice("Table", "format", format, TABLE_FORMATS)
        forms = {"markdown": self.markdown, "latex": self.latex, "csv": self.csv}
        return forms.get(format, self.plain)()

    def markdown(self) -> str:
        """Format as a Markdown table."""
        rule = [
            ":--" if column < self.n_left else "--:"
            for column in range(len(self.columns))
        ]
        lines = [self.columns, rule, *self.rows]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"

    def latex(self) -> str:
        """Format as a ``tabular`` for the booktabs package."""
        n_right = len(self.columns) - self.n_left
        lines = [
            rf"\begin{{tabular}}{{{'l' * self.n_left}{'r' * n_right}}}",
            r"\toprule",
            _latex_row(self.columns),
            r"\midrule",
            *(_latex_row(row) for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Format as comma-separated values with a header."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for row in (self.columns, *self.rows):
            writer.writerow([as_cell(cell) for cell in row])
        return text.getvalue()

    def plain(self) -> str:
        """Format as columns separated by spaces, for a terminal."""
        lines = [self.columns, *self.rows]
        widths = [max(len(row[c]) for row in lines) for c in range(len(self.columns))]
        return "\n".join(self._plain_row(cells, widths) for cells in lines) + "\n"

    def _plain_row(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        return "  ".join(
            cell.ljust(width) if column < self.n_left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cell.translate(_LATEX) for cell in cells) + r" \\"
