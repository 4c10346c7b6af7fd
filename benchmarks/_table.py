"""Markdown tables and the figures in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks._records import Measurement


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table: the first column to the left, the others to the right."""
    marks = [":--", *["--:"] * (len(heads) - 1)]
    lines = [heads, marks, *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def seconds(value: float) -> str:
    """Three digits, in the unit that needs no zeros."""
    if value < 0.9995e-3:
        return f"{_digits(value * 1e6)} µs"
    if value < 0.9995:
        return f"{_digits(value * 1e3)} ms"
    return f"{_digits(value)} s"


def _digits(value: float) -> str:
    """Three significant digits without an exponent."""
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def timing(found: Measurement | None) -> str:
    """Median and range of a measurement, or why there is none.

    Marks: a number in brackets is that of runs where they were fewer than five;
    ``~`` is an extrapolation.
    """
    if found is None:
        return ""
    if found.status == "beyond":
        return found.note
    if not found.cpu or found.median is None:
        return found.status
    text = seconds(found.median)
    low, high = min(found.cpu), max(found.cpu)
    if len(found.cpu) > 1:
        text += f" ({_range(low, high)})"
    if found.status == "extrapolated":
        return f"~{text}"
    return text if len(found.cpu) >= 5 else f"{text} [{len(found.cpu)}]"


def _range(low: float, high: float) -> str:
    """Both ends, the unit only once where it is the same."""
    first, second = seconds(low), seconds(high)
    if first.split()[1] == second.split()[1]:
        first = first.split()[0]
    return f"{first} to {second}"


def ratio(slow: Measurement | None, fast: Measurement | None) -> float | None:
    """Return the ratio of two medians."""
    if slow is None or fast is None or slow.median is None or fast.median is None:
        return None
    return slow.median / fast.median


def times(value: float | None, *, about: bool = False) -> str:
    """A ratio as text."""
    if value is None:
        return ""
    return f"{'~' if about else ''}{_digits(value)}x"


def count(n: int) -> str:
    """A whole number with commas."""
    return f"{n:,}"
