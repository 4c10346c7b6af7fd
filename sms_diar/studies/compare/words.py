"""How figures are written in the report: shares, signs, intervals, cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sms_diar.studies.compare.peers import ORACLES

MISSING = "-"
PART_WORDS = {
    "trained": "with a PLDA model",
    "untrained": "segments, no PLDA",
    "windows": "windows, no PLDA",
    "lengths": "lengths, no PLDA",
    "no PLDA": "all, no PLDA",
}
"""What tables call the parts of the conditions, and all but the first together."""


def share(value: float) -> str:
    """Three digits without the zero before the point; one is 1.00."""
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text[:4]


def signed(value: float) -> str:
    """The same with a sign."""
    return ("-" if round(value, 3) < 0 else "+") + share(abs(value))


def percent(value: float) -> str:
    """Whole per cent."""
    return f"{100 * value:.0f} %"


def interval(found: Mapping[str, float]) -> str:
    """An estimate and its interval, with signs."""
    return (
        f"{signed(found['estimate'])} [{signed(found['low'])}, {signed(found['high'])}]"
    )


def methods_of(summary: Mapping[str, Any]) -> list[str]:
    """All methods of a part, in the order in which they were run."""
    rows = summary["conditions"].values()
    each = sorted((list(row["methods"]) for row in rows), key=len, reverse=True)
    return list(dict.fromkeys(method for methods in each for method in methods))


def best(methods: Mapping[str, Mapping[str, float]], measure: str) -> Sequence[str]:
    """Methods with the highest figure as it is printed, oracles aside."""
    rated = {m: round(f[measure], 3) for m, f in methods.items() if m not in ORACLES}
    return [m for m, value in rated.items() if value == max(rated.values())]
