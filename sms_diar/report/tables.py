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

    @property
    def widths(self) -> list[int]:
        """Number of characters of each column."""
        columns = zip(self.columns, *self.rows, strict=True)
        return [max(len(cell) for cell in column) for column in columns]

    def select(self, indices: Sequence[int]) -> Table:
        """Select columns by their indices, in ascending order."""
        return Table(
            tuple(self.columns[index] for index in indices),
            tuple(tuple(row[index] for index in indices) for row in self.rows),
            sum(index < self.n_left for index in indices),
        )

    def shortened(self, length: int) -> Table:
        """Shorten cells of the first column by removing their middle."""
        rows = tuple((_shortened(row[0], length), *row[1:]) for row in self.rows)
        return Table(self.columns, rows, self.n_left)

    def folded(self, width: int, shortest: int) -> list[Table]:
        """Split into tables of at most `width` characters, to be printed in sequence.

        Each has the first column; names in it that leave no room are shortened, but not
        below `shortest` characters.
        """
        widths = self.widths
        room = max(width - 2 - max(widths[1:], default=0), shortest)
        if widths[0] > room:
            return self.shortened(room).folded(width, shortest)
        parts: list[list[int]] = [[0]]
        used = widths[0]
        for index in range(1, len(widths)):
            if len(parts[-1]) > 1 and used + 2 + widths[index] > width:
                parts.append([0])
                used = widths[0]
            parts[-1].append(index)
            used += 2 + widths[index]
        return [self.select(part) for part in parts]

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
        widths = self.widths
        lines = [self._plain_row(row, widths) for row in (self.columns, *self.rows)]
        return "\n".join(lines) + "\n"

    def _plain_row(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        return "  ".join(
            cell.ljust(width) if column < self.n_left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()


def _shortened(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(cell.translate(_LATEX) for cell in cells) + r" \\"
