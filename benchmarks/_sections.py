"""The tables of each suite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks._figures import (
    ACROSS,
    SCALE_FIT_FROM,
    Figures,
    count,
    gap_of_g,
    growth_exponent,
    named,
    ratio,
    seconds,
    table,
    times,
    timing,
)
from benchmarks._records import Measurement

Found = Sequence[Measurement]


def gaussians(found: Found) -> str:
    """Tables of our methods, of peers, of their results, and of compile time."""
    figures = Figures(found)
    parts = [
        "Three Gaussian clusters of covariance 0.64 (the paper's means), h = 1, "
        "tolerance 1e-6; data seed 1, run seed 0. `auto` is what users get, `plain` "
        "the naive compiled loop. `plain` was timed only where it came "
        "to rest at the same points as `auto`, to the last bit.\n",
        "![ours](figures/gaussians-ours.png)\n",
        "### Stochastic mean shift\n",
        _pairs(figures, ("SMS",)),
        _proof(figures),
        "### Mean shift and blurring mean shift\n",
        _pairs(figures, ("MS", "BMS")),
        "### Other dimensions and kernels\n",
        _others(found),
        "### Beside others\n",
        "scikit-learn: `MeanShift(bandwidth=1, cluster_all=True)`, without and with "
        "`bin_seeding`. mlpack: `mean_shift(radius=1, max_iterations=1000)`, "
        "`force_convergence` off, as it comes. hdbscan and fast_hdbscan (clusters of "
        "at least n / 50 points) answer another question and are here for context; "
        "so does the binned mode, which is approximate.\n",
        "![peers](figures/gaussians-peers.png)\n",
        _peers(figures),
        "### What they found\n",
        "Clusters, and the adjusted Rand index with the truth / with `SMS auto`.\n",
        _findings(figures),
        _exact_and_binned(figures),
        "### Compiling\n",
        "Processor seconds that first calls take longer than warm ones, summed over "
        "all cases. The cache is empty at the start, and methods further down use what "
        "those above have compiled. The last column is the first call of a process "
        "that finds everything in the cache.\n",
        _compiling(found),
    ]
    return "\n".join(part for part in parts if part)


def speakers(found: Found) -> str:
    """Table with a row for each competitor."""
    rows = []
    for m in found:
        facts = m.facts
        steps = facts.get("steps")
        rows.append(
            [
                m.competitor,
                timing(m),
                "" if steps is None else count(steps),
                "" if not steps or not m.median else seconds(m.median / steps),
                _number(facts.get("clusters"), "d"),
                _number(facts.get("k"), ".4f"),
                _number(facts.get("ari"), ".4f"),
                _number(facts.get("ari_base"), ".4f"),
            ]
        )
    heads = ["", "CPU", "steps", "per step", "clusters", "K", "ARI", "ARI with SMS"]
    case = found[0].case if found else ""
    text = (
        f"A simulated session: {case} of 60 speakers in 100 dimensions, k = 17, PLDA "
        f"trained on 300 other speakers. The loops in NumPy (one matrix-vector "
        f"product and one `argpartition` for each step) were timed after their labels "
        f"had been found identical to ours. Methods that need the matrix of all "
        f"scores are timed with it; AHC is average linkage, cut at a score of 0.\n"
    )
    return text + "\n" + table(heads, rows) + _reasons(found)


def features(found: Found) -> str:
    """Table of time and memory of each case."""
    rows = []
    for m in found:
        factors = _number(m.facts.get("factor"), ".5f")
        peak = _number(m.facts.get("peak"), ".0f")
        user = _seconds(m.facts.get("user"))
        system = _seconds(m.facts.get("system"))
        rows.append([m.competitor, m.case, timing(m), user, system, factors, peak])
    heads = ["", "audio", "CPU", "user", "system", "real-time factor", "peak, MiB"]
    text = (
        "Each run is a process of its own, start-up and imports included; the "
        "real-time factor counts user time only, because system time depends on what "
        "ran before. An earlier run with five hours of audio is in "
        "[RESULTS-features.md](RESULTS-features.md).\n"
    )
    return text + "\n" + table(heads, rows) + _reasons(found)


def scoring(found: Found) -> str:
    """Table of time and error rate of each scorer, by corpus."""
    parts = [
        "Each run is a process of its own, start-up and imports included. Ours "
        "compute every measure for every recording; spyder, md-eval and "
        "pyannote.metrics only DER. An earlier run, with dscore and md-eval, is in "
        "[RESULTS-scoring.md](RESULTS-scoring.md).\n"
    ]
    for case in dict.fromkeys(m.case for m in found):
        mine = [m for m in found if m.case == case]
        rows = [
            [
                m.competitor,
                timing(m),
                times(ratio(m, mine[0])),
                _number(m.facts.get("der"), ".4f"),
            ]
            for m in mine
        ]
        parts.append(table([case, "CPU", "times ours", "DER %"], rows))
    return "\n".join(parts) + _reasons(found)


def conversations(found: Found) -> str:
    """Table of errors and cost of each system."""
    facts = ("der", "missed", "false_alarm", "confusion", "der0")
    rows = [
        [
            m.competitor,
            *(_number(m.facts.get(fact), ".1f") for fact in facts),
            _number(m.facts.get("factor"), ".3f"),
            _number(m.facts.get("peak"), ".0f"),
        ]
        for m in found
    ]
    parts = ["missed", "false alarm", "confusion"]
    cost = ["CPU s per s", "peak, MiB"]
    text = (
        f"AMI meetings ({found[0].case}); DER in per cent, overlap scored, the collar "
        "on each side of a boundary. Each system as it comes, in a process and a "
        "thread of its own, warmed up by a clip; one run. `sherpa-onnx` has the "
        "same two networks as ours; the best of its thresholds is an oracle.\n"
    )
    heads = ["", "DER, collar 0.25 s", *parts, "DER, no collar", *cost]
    return text + "\n" + table(heads, rows) + _reasons(found)


def first_use(found: Found) -> str:
    """Table of the first and later runs of each case."""
    rows = []
    for name in dict.fromkeys(m.competitor for m in found):
        first, later = (m for m in found if m.competitor == name)
        rows.append([name, timing(first), timing(later), times(ratio(first, later))])
    text = (
        "Processor seconds of whole processes, start-up and imports included: with an "
        "empty folder for compiled kernels, as after installation, and with the folder "
        "that this run has filled.\n"
    )
    heads = ["", "empty", "filled", "times"]
    return text + "\n" + table(heads, rows) + _reasons(found)


def scale(found: Sequence[Measurement]) -> str:
    """Tables of time, memory and quality by size, and of indexes."""
    clustering = [m for m in found if not m.competitor.startswith("index: ")]
    indexes = [m for m in found if m.competitor.startswith("index: ")]
    parts = [
        "Segments of simulated speakers, drawn from the PLDA model of the back end for "
        "CAM++ vectors: 192 dimensions, 5 to 500 segments each, in random order; data "
        "seed 0, run seed 0, one run, two threads. `across` finds neighbours by the "
        "index, `all distances` without it. Time and memory include reading an npz of "
        "single precision. Recall is the share of the ten nearest neighbours of a "
        "thousand rows that were found; ARI compares the labels with `across`. "
        "Measured with the method before the default worked in blocks.\n",
        _clustering(clustering),
        _growth(clustering),
    ]
    if indexes:
        parts += [
            "### Indexes\n",
            "Sixteen neighbours of every row proposed with two threads; recall of the "
            "ten of highest score. Memory is the growth of the process while the index "
            "is built; 74 MiB of it are the vectors themselves.\n",
            _indexes(indexes),
        ]
    return "\n".join(part for part in parts if part)


def _clustering(found: Sequence[Measurement]) -> str:
    heads = ["", "segments", "speakers", "found", "alone", "ACP", "ASP", "K", "G"]
    heads += ["clock", "CPU", "peak, MiB", "recall", "ARI"]
    rows = []
    for m in found:
        if m.status != "measured":
            rows.append([m.competitor, count(m.n), m.status, *[""] * 11])
            continue
        facts = m.facts
        rows.append(
            [
                m.competitor,
                count(m.n),
                count(facts["speakers"]),
                count(round(facts["n_clusters"])),
                count(round(facts["n_singletons"])),
                *(f"{facts[name]:.4f}" for name in ("acp", "alp", "k", "g")),
                seconds(m.wall[0]),
                seconds(m.cpu[0]),
                count(round(facts["peak"])),
                "" if facts.get("recall") is None else f"{facts['recall']:.4f}",
                f"{facts['ari_across']:.4f}" if "ari_across" in facts else "",
            ]
        )
    return table(heads, rows)


def _growth(found: Sequence[Measurement]) -> str:
    known = [
        m for m in found if m.competitor == ACROSS and m.cpu and m.n >= SCALE_FIT_FROM
    ]
    sizes = [m.n for m in known]
    time = growth_exponent(sizes, [m.cpu[0] for m in known])
    memory = growth_exponent(sizes, [m.facts["peak"] for m in known])
    if time is None or memory is None:
        return ""
    return (
        f"From {count(min(sizes))} to {count(max(sizes))} segments processor time "
        f"grows with the power {time:.2f} of their number, memory with {memory:.2f}.\n"
    )


def _indexes(found: Sequence[Measurement]) -> str:
    heads = ["", "segments", "build", "search", "CPU", "memory, MiB", "recall"]
    rows = []
    for m in found:
        name, n = m.competitor.removeprefix("index: "), count(m.n)
        if m.status != "measured":
            rows.append([name, n, m.status, m.note, "", "", ""])
            continue
        facts = m.facts
        memory = count(round(facts["held"]))
        build, search = seconds(facts["build"]), seconds(facts["search"])
        cpu, recall = seconds(m.cpu[0]), f"{facts['recall']:.4f}"
        rows.append([name, n, build, search, cpu, memory, recall])
    return table(heads, rows)


SECTIONS: dict[str, Callable[[Found], str]] = {
    "gaussians": gaussians,
    "speakers": speakers,
    "features": features,
    "scoring": scoring,
    "conversations": conversations,
    "scale": scale,
    "first-use": first_use,
}
"""Sections by the names of their suites."""


def _sizes(figures: Figures, rivals: Sequence[str]) -> list[tuple[int, str]]:
    found = {(m.n, m.case) for rival in rivals for m in figures.of(rival)}
    return sorted(found)


def _pairs(figures: Figures, methods: Sequence[str]) -> str:
    """Table of auto and plain, with the ratio of their medians."""
    heads = ["n"]
    for method in methods:
        heads += [f"{method} auto", f"{method} plain", "ratio", "steps / n"]
    rows = []
    for n, case in _sizes(figures, [f"{method} auto" for method in methods]):
        row = [count(n)]
        for method in methods:
            fast = figures.get(f"{method} auto", case)
            slow = figures.get(f"{method} plain", case)
            about = slow is not None and slow.status == "extrapolated"
            steps = fast.facts.get("steps") if fast is not None else None
            row += [
                timing(fast),
                timing(slow),
                times(ratio(slow, fast), about=about),
                "" if steps is None else f"{steps / n:.1f}",
            ]
        rows.append(row)
    return table(heads, rows)


def _proof(figures: Figures) -> str:
    """Say what was extrapolated, and how far off it is where it can be checked."""
    lines = []
    for m in figures.of("SMS plain"):
        if m.status == "extrapolated":
            lines.append(f"~ n = {count(m.n)}: not run; {m.note}.")
        elif "estimate" in m.facts and m.median:
            guess = m.facts["estimate"][1]
            gap = 100.0 * (guess / m.median - 1.0)
            lines.append(
                f"The same way to extrapolate gives {seconds(guess)} for "
                f"n = {count(m.n)}, where {seconds(m.median)} were measured "
                f"({gap:+.0f} %)."
            )
    return "".join(f"- {line}\n" for line in lines)


def _others(found: Found) -> str:
    """Table of the cases with another dimension or kernel."""
    figures = Figures(found)
    names = [m.case for m in found if not m.case.startswith("n = ")]
    sizes = {m.case: m.n for m in found}
    rows = []
    for case in dict.fromkeys(names):
        row = [case, count(sizes[case])]
        for method in ("SMS", "MS", "BMS"):
            fast = figures.get(f"{method} auto", case)
            slow = figures.get(f"{method} plain", case)
            row += [_brief(fast), _brief(slow), times(ratio(slow, fast))]
        rows.append(row)
    heads = ["", "n"]
    for method in ("SMS", "MS", "BMS"):
        heads += [f"{method} auto", "plain", "ratio"]
    return table(heads, rows)


PEERS = (
    "SMS auto",
    "binned SMS",
    "sklearn",
    "sklearn, bins",
    "mlpack",
    "hdbscan",
    "fast_hdbscan",
    "MeanShift++",
    "GridShift",
)


def _peers(figures: Figures) -> str:
    shown = [rival for rival in PEERS if figures.of(rival)]
    rows = [
        [count(n), *(timing(figures.get(rival, case)) for rival in shown)]
        for n, case in _sizes(figures, shown)
    ]
    fitted = [figures.exponent(rival) for rival in shown]
    rows.append(["growth", *("" if e is None else f"n^{e:.2f}" for e in fitted)])
    missing = [m for rival in shown for m in figures.of(rival)]
    return table(["n", *shown], rows) + _reasons(missing)


def _findings(figures: Figures) -> str:
    everyone = ("SMS auto", "MS auto", "BMS auto", *PEERS[1:])
    shown = [rival for rival in everyone if any(m.facts for m in figures.of(rival))]
    rows = []
    for n, case in _sizes(figures, shown):
        row = [count(n)]
        for rival in shown:
            m = figures.get(rival, case)
            if m is None or "clusters" not in m.facts:
                row.append("")
                continue
            base = m.facts.get("ari_base")
            text = f"{m.facts['clusters']}: {m.facts['ari']:.2f}"
            row.append(text if base is None else f"{text} / {base:.2f}")
        rows.append(row)
    return table(["n", *shown], rows)


def _exact_and_binned(figures: Figures) -> str:
    """Table of the quality of the binned and the exact mode over run seeds."""
    rows = []
    for n, case in _sizes(figures, ["SMS auto"]):
        exact, binned = (figures.get(name, case) for name in ("SMS auto", "binned SMS"))
        gap = gap_of_g(exact, binned)
        if gap is None or exact is None or binned is None:
            continue
        values = exact.facts["g_of_seeds"], binned.facts["g_of_seeds"]
        spans = [f"({min(g):.4f} to {max(g):.4f})" for g in values]
        rows.append(
            [
                count(n),
                named(gap.seeds),
                f"{gap.first:.4f} {spans[0]}",
                f"{gap.second:.4f} {spans[1]}",
                f"{round(gap.difference, 4) + 0.0:+.4f}",  # no negative zero
                f"{gap.error:.4f}",
            ]
        )
    if not rows:
        return ""
    heads = ["n", "run seeds", "SMS auto", "binned SMS", "difference"]
    return (
        "### Exact and binned\n\n"
        "G, the geometric mean of both purities: mean over run seeds (least to most), "
        "the same seeds and the same data for both. At this bandwidth the run "
        "seed also decides which clusters merge, so that one run says little. The "
        "standard error is computed from the differences seed by seed.\n\n"
        + table([*heads, "standard error"], rows)
    )


def _compiling(found: Found) -> str:
    rows = []
    for rival in dict.fromkeys(m.competitor for m in found):
        mine = [m for m in found if m.competitor == rival and m.facts.get("load")]
        total = sum(m.facts["compile"] for m in mine)
        if total:
            rows.append([rival, seconds(total), seconds(mine[0].facts["load"])])
    return table(["", "from nothing", "from the cache"], rows) if rows else ""


def _brief(found: Measurement | None) -> str:
    if found is None or found.median is None:
        return "" if found is None else found.status
    return seconds(found.median)


def _reasons(found: Found) -> str:
    """List why cells are empty, each reason once."""
    reasons = {
        f"{m.competitor}: {m.status}, {m.note}"
        for m in found
        if m.status in ("absent", "failed", "wrong")
    }
    lines = "".join(f"- {reason}\n" for reason in sorted(reasons))
    return f"\n{lines}" if lines else ""


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _seconds(value: float | None) -> str:
    return "" if value is None else seconds(value)
