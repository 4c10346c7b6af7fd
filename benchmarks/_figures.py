"""Format the figures of the report, compare them, and judge them against targets.

Every target gets a verdict: "met", "missed", "within spread" (the medians miss the
target, but the slowest run of one side and the fastest of the other meet it) or "not
measured" with the reason. A mean over run seeds is "met on average" if it meets the
target but its standard error is larger than that, and "within spread" if it misses the
target by less than two standard errors.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from benchmarks._records import Measurement


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose first column is left-aligned."""
    marks = [":--", *["--:"] * (len(heads) - 1)]
    lines = [heads, marks, *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def seconds(value: float) -> str:
    """Format seconds with three digits, in s, ms or µs."""
    if value < 0.9995e-3:
        return f"{_digits(value * 1e6)} µs"
    if value < 0.9995:
        return f"{_digits(value * 1e3)} ms"
    return f"{_digits(value)} s"


def _digits(value: float) -> str:
    """Format with three significant digits and no exponent."""
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def timing(found: Measurement | None) -> str:
    """Format the median and range of a measurement, or why there is none.

    The number of runs is in brackets if it is below five; ``~`` marks an
    extrapolation.
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
    """Format a range; the unit is written once if both ends share it."""
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
    """Format a ratio."""
    if value is None:
        return ""
    return f"{'~' if about else ''}{_digits(value)}x"


def count(n: int) -> str:
    """Format an integer with commas."""
    return f"{n:,}"


def growth_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float | None:
    """Return the least-squares slope of log seconds against log size.

    All values must be positive. The result is None for fewer than two different sizes.

    Examples
    --------
    >>> growth_exponent([10, 100, 1000], [3.0, 300.0, 30000.0])
    2.0
    """
    x = [math.log(size) for size in sizes]
    y = [math.log(second) for second in seconds]
    if len(set(x)) < 2:
        return None
    middle = sum(x) / len(x)
    spread = sum((value - middle) ** 2 for value in x)
    along = sum((a - middle) * b for a, b in zip(x, y, strict=True))
    return round(along / spread, 12)


class Gap(NamedTuple):
    """Means of two competitors over run seeds, and their difference."""

    first: float
    second: float
    difference: float  # mean of `second` minus mean of `first`
    error: float  # standard error of the difference
    seeds: tuple[int, ...]


def mean_gap(
    first: Sequence[float], second: Sequence[float], seeds: Sequence[int]
) -> Gap:
    """Return the difference of two means over seeds, and its standard error.

    The error is computed from the differences seed by seed, so it is right
    whether or not a seed affects both sides alike. At least two seeds are needed.

    Examples
    --------
    >>> gap = mean_gap([0.5, 0.7, 0.6], [0.6, 0.7, 0.5], [0, 1, 2])
    >>> round(gap.first, 3), round(gap.difference, 3), round(gap.error, 4)
    (0.6, 0.0, 0.0577)
    """
    differences = [b - a for a, b in zip(first, second, strict=True)]
    error = statistics.stdev(differences) / math.sqrt(len(differences))
    means = statistics.fmean(first), statistics.fmean(second)
    return Gap(*means, statistics.fmean(differences), error, tuple(seeds))


def gap_of_g(first: Measurement | None, second: Measurement | None) -> Gap | None:
    """Return the difference of mean G, or None without runs of the same seeds."""
    if first is None or second is None:
        return None
    seeds = first.facts.get("seeds")
    if not seeds or second.facts.get("seeds") != seeds:
        return None
    return mean_gap(first.facts["g_of_seeds"], second.facts["g_of_seeds"], seeds)


def named(seeds: Sequence[int]) -> str:
    """Format seeds, as a range if they are consecutive."""
    if list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    return ", ".join(map(str, seeds))


FIT_FROM = 1500  # points below which overhead, not the method, sets the time

Suites = Mapping[str, Sequence[Measurement]]


class Verdict(NamedTuple):
    """One row of the table of targets."""

    what: str
    target: str
    measured: str
    verdict: str


class Figures:
    """Measurements of one suite, by competitor and case."""

    def __init__(self, found: Iterable[Measurement]) -> None:
        self._by_key = {(m.competitor, m.case): m for m in found}

    def get(self, competitor: str, case: str) -> Measurement | None:
        """Return a measurement, or None."""
        return self._by_key.get((competitor, case))

    def at(self, competitor: str, n: int) -> Measurement | None:
        """Return the measurement of `n` points, or None."""
        return self.get(competitor, _sized(n))

    def of(self, competitor: str) -> list[Measurement]:
        """Return all measurements of a competitor in the series of sizes."""
        return [
            m
            for (name, case), m in self._by_key.items()
            if name == competitor and case.startswith("n = ")
        ]

    def exponent(self, competitor: str, *, least: int = FIT_FROM) -> float | None:
        """Return the growth exponent from `least` points on; None below three sizes."""
        known = [
            (m.n, m.median)
            for m in self.of(competitor)
            if m.median is not None and m.n >= least
        ]
        if len(known) < 3:
            return None
        return growth_exponent([n for n, _ in known], [s for _, s in known])


def _sized(n: int) -> str:
    """Return the name of the case of `n` points."""
    return f"n = {count(n)}"


def verdicts(suites: Suites) -> list[Verdict]:
    """Judge the targets of the suites that were run."""
    points = Figures(suites.get("gaussians", ()))
    voices = Figures(suites.get("speakers", ()))
    rows: list[Verdict] = []
    if suites.get("gaussians"):
        for n, least in ((4500, 8.0), (30_000, 30.0), (300_000, 100.0)):
            case = _sized(n)
            rows.append(_faster(points, "SMS auto", "SMS plain", case, least))
        rows.append(_never_slower(points, "SMS auto", ["SMS plain"]))
        rows.append(_growth(points))
        rows += [
            _faster(points, "SMS auto", "mlpack", _sized(n), 1.0)
            for n in (750, 1500, 4500, 10_000, 30_000)
        ]
        rows.append(_never_slower(points, "SMS auto", ["sklearn", "sklearn, bins"]))
        rows += [
            _faster(points, f"{method} auto", f"{method} plain", case, 5.0)
            for method, case in (
                ("MS", _sized(30_000)),
                ("BMS", _sized(30_000)),
                ("BMS", "d = 3"),
            )
        ]
        rows.append(_grows(points, "BMS auto", 30_000, 100_000, 7.0))
        rows.append(_identical(points, ("SMS", "MS", "BMS"), suites["gaussians"]))
        rows.append(
            _under(
                "binned SMS, n = 1,000,000", points.at("binned SMS", 1_000_000), 10.0
            )
        )
        rows.append(_binned_deviation(suites["gaussians"]))
    if suites.get("speakers"):
        case = suites["speakers"][0].case
        for tol, most in (("1e-2", 1.5), ("1e-6", 3.0)):
            ours = voices.get(f"SMS, tol {tol}", case)
            loop = voices.get(f"NumPy loop, tol {tol}", case)
            rows.append(_labels_and_ratio(ours, loop, tol))
            rows.append(_under(f"kNN-PLDA SMS, tol {tol}, {case}", ours, most))
    if suites.get("scale"):
        rows += [Verdict(*row) for row in scale_rows(suites["scale"])]
    return rows


def _missing(what: str, target: str, *found: Measurement | None) -> Verdict:
    reasons = [
        f"{m.competitor}: {m.status}" + (f" ({m.note})" if m.note else "")
        for m in found
        if m is not None and m.median is None
    ]
    return Verdict(what, target, "; ".join(reasons) or "no run", "not measured")


def _verdict(value: float, least: float, slow: Measurement, fast: Measurement) -> str:
    if value >= least:
        return "met"
    if max(slow.cpu) / min(fast.cpu) >= least:
        return "within spread"
    return "missed"


def _faster(
    figures: Figures, ours: str, other: str, case: str, least: float
) -> Verdict:
    what = f"{ours} against {other}, {case}"
    target = f">= {least:g}x" if least > 1.0 else "faster"
    fast, slow = figures.get(ours, case), figures.get(other, case)
    value = ratio(slow, fast)
    if value is None or slow is None or fast is None:
        return _missing(what, target, fast, slow)
    measured = times(value, about=slow.status == "extrapolated")
    measured += f" ({seconds(slow.median or 0)} / {seconds(fast.median or 0)})"
    return Verdict(what, target, measured, _verdict(value, least, slow, fast))


def _never_slower(figures: Figures, ours: str, others: Sequence[str]) -> Verdict:
    """Judge the smallest ratio over all sizes and all others."""
    what = f"{ours} against {' and '.join(others)}, every n"
    target = ">= 1x"
    worst: tuple[float, Measurement, Measurement] | None = None
    compared = 0
    for other in others:
        for slow in figures.of(other):
            fast = figures.get(ours, slow.case)
            value = ratio(slow, fast)
            if value is None or fast is None:
                continue
            compared += 1
            if worst is None or value < worst[0]:
                worst = value, slow, fast
    if worst is None:
        return _missing(what, target, *(m for name in others for m in figures.of(name)))
    value, slow, fast = worst
    measured = (
        f"least {times(value)} ({slow.competitor}, {slow.case}; {compared} pairs)"
    )
    return Verdict(what, target, measured, _verdict(value, 1.0, slow, fast))


def _growth(figures: Figures) -> Verdict:
    what = f"SMS auto, growth exponent from {count(FIT_FROM)} to 300,000 points"
    exponent = figures.exponent("SMS auto")
    largest = max((m.n for m in figures.of("SMS auto") if m.cpu), default=0)
    if exponent is None or largest < 300_000:
        shown = "" if exponent is None else f"{exponent:.2f} up to {count(largest)}"
        return Verdict(what, "<= 1.6", shown, "not measured")
    verdict = "met" if exponent <= 1.6 else "missed"
    return Verdict(what, "<= 1.6", f"{exponent:.2f}", verdict)


def _grows(figures: Figures, ours: str, few: int, many: int, most: float) -> Verdict:
    """Judge the ratio of times between two sizes."""
    what = f"{ours}, from {count(few)} to {count(many)} points"
    target = f"<= {most:g}x"
    small, large = figures.at(ours, few), figures.at(ours, many)
    value = ratio(large, small)
    if value is None or small is None or large is None:
        return _missing(what, target, small, large)
    measured = times(value)
    measured += f" ({seconds(small.median or 0)} to {seconds(large.median or 0)})"
    is_met = value <= most
    is_near = min(large.cpu) / max(small.cpu) <= most
    verdict = "met" if is_met else "within spread" if is_near else "missed"
    return Verdict(what, target, measured, verdict)


def _identical(
    figures: Figures, methods: Sequence[str], found: Sequence[Measurement]
) -> Verdict:
    """Judge whether auto and plain end at identical points in all cases."""
    what = "auto and plain: resting points equal to the last bit"
    same, wrong = 0, []
    for method in methods:
        for plain in found:
            if plain.competitor != f"{method} plain":
                continue
            auto = figures.get(f"{method} auto", plain.case)
            if plain.status == "wrong":
                wrong.append(f"{method} {plain.case}")
            elif auto is not None and plain.status == "measured" and auto.cpu:
                same += plain.facts["states"] == auto.facts["states"]
    if wrong:
        return Verdict(what, "all", f"not for {', '.join(wrong)}", "missed")
    if not same:
        return Verdict(what, "all", "no pairs", "not measured")
    return Verdict(what, "all", f"all {same} pairs of runs", "met")


def _under(what: str, found: Measurement | None, most: float) -> Verdict:
    if found is None or found.median is None:
        return _missing(what, f"< {most:g} s", found)
    verdict = "met" if found.median < most else "missed"
    return Verdict(what, f"< {most:g} s", seconds(found.median), verdict)


def _binned_deviation(found: Sequence[Measurement]) -> Verdict:
    what = "binned SMS against exact, n = 30,000: difference of mean G"
    target, most = "<= 0.01", 0.01
    figures = Figures(found)
    exact, binned = figures.at("SMS auto", 30_000), figures.at("binned SMS", 30_000)
    if exact is None or binned is None or not exact.cpu or not binned.cpu:
        return _missing(what, target, exact, binned)
    gap = gap_of_g(exact, binned)
    if gap is None:
        return Verdict(what, target, "not run with several seeds", "not measured")
    measured = (
        f"{abs(gap.difference):.4f}, standard error {gap.error:.4f} "
        f"({gap.first:.4f} and {gap.second:.4f}, run seeds {named(gap.seeds)} of both)"
    )
    excess = abs(gap.difference) - most
    if excess <= 0.0:
        verdict = "met" if gap.error <= most else "met on average"
    else:
        verdict = "within spread" if excess < 2.0 * gap.error else "missed"
    return Verdict(what, target, measured, verdict)


def _labels_and_ratio(
    ours: Measurement | None, loop: Measurement | None, tol: str
) -> Verdict:
    what = f"kNN-PLDA SMS against the NumPy loop, tol {tol}, identical labels"
    value = ratio(loop, ours)
    if loop is not None and loop.status == "wrong":
        return Verdict(what, ">= 5x", loop.note, "missed")
    if value is None or ours is None or loop is None:
        return _missing(what, ">= 5x", ours, loop)
    return Verdict(what, ">= 5x", times(value), _verdict(value, 5.0, loop, ours))


ACROSS = "across"
SCALE_FIT_FROM = 10_000  # segments below which overhead sets the time
MOST_SECONDS, MOST_GIB = 3600.0, 8.0


def scale_rows(found: Sequence[Measurement]) -> list[tuple[str, str, str, str]]:
    """Judge time and memory for a million segments."""
    what = "1,000,000 embeddings across recordings"
    one = next((m for m in found if m.competitor == ACROSS and m.n == 1_000_000), None)
    if one is None or not one.wall:
        said = ("no run; scripts/bench --full scale", "not measured")
        return [
            (f"{what}, two threads, clock", "< 1 h", *said),
            (f"{what}, peak memory", "< 8 GiB", *said),
        ]
    wall, peak = one.wall[0], one.facts["peak"] / 1024
    return [
        (
            f"{what}, two threads, clock",
            "< 1 h",
            f"{wall / 60:.0f} min",
            "met" if wall < MOST_SECONDS else "missed",
        ),
        (
            f"{what}, peak memory",
            "< 8 GiB",
            f"{peak:.1f} GiB",
            "met" if peak < MOST_GIB else "missed",
        ),
    ]
