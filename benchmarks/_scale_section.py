"""The tables of the suite `scale`, and its targets."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks._growth import growth_exponent
from benchmarks._records import Measurement
from benchmarks._table import count, seconds, table

ACROSS = "across"
FIT_FROM = 10_000  # segments below which overhead sets the time
MOST_SECONDS, MOST_GIB = 3600.0, 8.0


def scale(found: Sequence[Measurement]) -> str:
    """Growth of time, quality, and comparison of indexes."""
    clustering = [m for m in found if not m.competitor.startswith("index: ")]
    indexes = [m for m in found if m.competitor.startswith("index: ")]
    parts = [
        "Segments of simulated speakers by the PLDA law of the back end for CAM++ "
        "vectors: 192 dimensions, 5 to 500 segments each, in random order; data seed "
        "0, run seed 0, one run, two threads. `across` finds neighbours by the index, "
        "whatever the number of segments; `all distances` without it. Time and memory "
        "include reading an npz of single precision. Recall is that of ten "
        "neighbours, over a thousand rows; ARI is that of the labels with those of "
        "`across`.\n",
        _clustering(clustering),
        _growth(clustering),
    ]
    if indexes:
        parts += [
            "### Indexes\n",
            "Sixteen neighbours of every row proposed with two threads; recall of the "
            "ten of highest score. Memory is what the process holds more when the "
            "index is built; 74 MiB of it are the places themselves.\n",
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
    known = [m for m in found if m.competitor == ACROSS and m.cpu and m.n >= FIT_FROM]
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


def scale_rows(found: Sequence[Measurement]) -> list[tuple[str, str, str, str]]:
    """Targets and measurements for a million segments."""
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
