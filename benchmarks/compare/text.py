"""What the report of ``recipes/compare`` says, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.compare import goal_text, sections
from benchmarks.compare.peers import OURS, head
from benchmarks.compare.words import (
    MISSING,
    best,
    interval,
    methods_of,
    share,
    signed,
)
from sms_diar._json import json_text
from sms_diar.report.provenance import describe
from sms_diar.report.tables import Table

TITLES = {
    "test": "Test: {corpus}",
    "development": "Development",
}
RIVAL = "nme-sc"
_MANY = 30  # speakers up to whom the number is expected to be exact


def overview(summary: Mapping[str, Any]) -> Table:
    """A row for each condition, and K / G / speakers found of each method."""
    methods = methods_of(summary)
    rows = []
    for name, row in summary["conditions"].items():
        cells = [_cell(row["methods"].get(method)) for method in methods]
        leading = best(row["methods"], "g")
        cells = [
            f"**{cell}**" if method in leading else cell
            for method, cell in zip(methods, cells, strict=True)
        ]
        rows.append((name, f"{100 * row['session']['eer']:.0f}", *cells))
    for name, row in summary["averages"].items():
        cells = [
            _mean_cell(row["methods"].get(method), row["conditions"])
            for method in methods
        ]
        rows.append((f"*mean, {name}*", "", *cells))
    return Table(("condition", "EER %", *map(head, methods)), tuple(rows))


def differences(summary: Mapping[str, Any], measure: str) -> Table:
    """Ours minus each peer with its interval; rows are conditions and averages."""
    averages = {f"*mean, {name}*": row for name, row in summary["averages"].items()}
    peers = [method for method in methods_of(summary) if method != OURS]
    rows = []
    for name, row in {**summary["conditions"], **averages}.items():
        cells = []
        for peer in peers:
            found = row["paired"].get(peer)
            cells.append(MISSING if found is None else interval(found[measure]))
        rows.append((name, *cells))
    return Table(("condition", *map(head, peers)), tuple(rows))


def counts(summary: Mapping[str, Any]) -> Table:
    """How often the number of speakers is right, and how far off it is."""
    methods = methods_of(summary)
    rows = []
    for name, row in summary["averages"].items():
        for words, measure in (
            ("right", "exact"),
            ("off by", "relative_error"),
        ):
            cells = [
                f"{100 * row['methods'][m][measure]:.0f} %"
                if m in row["methods"]
                else MISSING
                for m in methods
            ]
            rows.append((name, words, *cells))
    return Table(("conditions", "", *map(head, methods)), tuple(rows), n_left=2)


def seconds(summary: Mapping[str, Any]) -> Table:
    """CPU seconds of a session."""
    methods = methods_of(summary)
    rows = []
    for name, row in summary["conditions"].items():
        cells = [
            f"{row['methods'][m]['seconds']:.2f}" if m in row["methods"] else MISSING
            for m in methods
        ]
        rows.append((name, f"{row['session']['n_segments']:.0f}", *cells))
    return Table(("condition", "segments", *map(head, methods)), tuple(rows))


def meeting(rows: Mapping[str, Any]) -> Table:
    """DER and speakers found of the meeting; a row for each method."""
    methods = dict.fromkeys(m for row in rows.values() for m in row["methods"])
    cells = [
        (method, *(_der_cell(row["methods"].get(method)) for row in rows.values()))
        for method in methods
    ]
    return Table(("DER % / speakers", *rows), tuple(cells))


def headlines(summary: Mapping[str, Any]) -> list[str]:
    """What a reader asks first, one sentence each."""
    rows = summary["conditions"]
    ours = {
        n: row["methods"][OURS] for n, row in rows.items() if OURS in row["methods"]
    }
    lines = []
    average = list(summary["averages"].values())[-1]
    for peer, found in average["paired"].items():
        if peer != RIVAL:
            continue
        for measure in ("k", "g"):
            gaps = {
                name: row["paired"][peer][measure]["estimate"]
                for name, row in rows.items()
                if peer in row["paired"]
            }
            least = min(gaps, key=lambda name: gaps[name])
            lines.append(
                f"{measure.upper()} of {OURS} minus that of {peer}: "
                f"{interval(found[measure])} on average over {len(gaps)} conditions; "
                f"at least {signed(gaps[least])} ({least})."
            )
    even = [
        (row["runs"], ours[name]["exact"])
        for name, row in rows.items()
        if name in ours and row["law"] == "all" and 1 < row["speakers"] <= _MANY
    ]
    single = [
        (row["runs"], ours[name]["exact"])
        for name, row in rows.items()
        if name in ours and row["speakers"] == 1
    ]
    for words, found in (
        (f"balanced sessions of 2 to {_MANY} speakers with the right number", even),
        ("sessions of one speaker found as one", single),
    ):
        if found:
            total = sum(runs for runs, _ in found)
            right = round(sum(runs * exact for runs, exact in found))
            percent = 100 * right / total
            lines.append(f"{OURS}: {right} of {total} {words} ({percent:.0f} %).")
    return lines


def sources(catalogue: Mapping[str, Any]) -> Table:
    """Error rates of all pairs of the sources."""
    rows = tuple(
        (
            f"{name} ({source['label']})" if "label" in source else name,
            source["words"],
            str(source["speakers"] or MISSING),
            str(source["segments"] or MISSING),
            f"{100 * source['eer']:.1f}",
        )
        for name, source in catalogue.items()
    )
    return Table(("source", "back end", "speakers", "segments", "EER %"), rows, 2)


def markdown(results: Mapping[str, Any]) -> str:
    """Text of report.md."""
    return "\n".join(_markdown(results))


def _markdown(results: Mapping[str, Any]) -> Iterator[str]:
    settings = results["stamp"]["settings"]
    yield "# Methods compared\n"
    yield f"{describe(results['stamp'])}.\n"
    yield f"{introduction(settings)}\n"
    for note in results["left_out"]:
        yield f"- {note}\n"
    for part, title in TITLES.items():
        summary = results[part]
        if not summary or not summary["conditions"]:
            continue
        yield f"## {title.format(corpus=settings['test_corpus'])}\n"
        if part == "test":
            yield f"{proof(results)}\n"
        yield "\n".join(f"- {line}" for line in headlines(summary)) + "\n"
        yield overview(summary).markdown()
        yield "### Number of speakers\n"
        yield counts(summary).markdown()
        if part == "development" and results["meeting"]:
            yield "### Meeting\n"
            yield f"{_meeting_words(results['meeting'])}\n"
            yield meeting(results["meeting"]).markdown()
        for measure in ("g", "k"):
            yield f"### Paired differences in {measure.upper()}\n"
            yield (
                f"{measure.upper()} of {OURS} minus that of each peer, mean over the "
                f"sessions, and its 95 % interval (bootstrap of the sessions of each "
                f"condition, on which both ran):\n"
            )
            yield differences(summary, measure).markdown()
        yield "### CPU seconds per session\n"
        yield seconds(summary).markdown()
        if part == "test":
            yield from sections.untrained_section(
                results.get("test_untrained"), "Test without a PLDA model"
            )
            yield from goal_text.goal_section(
                results["test_goals"], results["test_drift"], "Goals on the test"
            )
    yield from goal_text.goal_section(results["goals"], results["drift"], "Goals")
    yield from sections.untrained_section(results["untrained"], "Without a PLDA model")
    yield from sections.windows_section(results["windows"])
    yield from sections.lengths_section(
        results["lengths"], results["drift"], settings["timed"]["repeats"]
    )
    yield from sections.reliability_section(results["reliability"])
    yield "## Sources\n"
    yield "Equal error rates of all pairs of segments under the back end:\n"
    yield sources(results["sources"]).markdown()
    yield "## Settings\n"
    if results["frozen"]:
        frozen = results["frozen"]
        yield (
            f"Frozen {frozen['date']} at git {frozen['git']}, fingerprint "
            f"`{frozen['fingerprint']}`.\n"
        )
    yield "Parameters of the methods; the back end and the seed come on top:\n"
    lines = (
        f"- {name}: {_parameters(params)}"
        for name, params in results["methods"].items()
    )
    yield "\n".join(lines) + "\n"
    yield "Settings of the recipe:\n"
    yield f"```json\n{json_text(settings)}\n```\n"


def introduction(settings: Mapping[str, Any]) -> str:
    """How to read the tables of sessions with a PLDA model."""
    limited = ", ".join(settings["limited"])
    return (
        f"All methods see the same sessions, with the defaults of `sms-diar`. K / G / "
        f"speakers found, means over {settings['runs']} sessions "
        f"({settings['runs_simulated']} of simulated ones, {settings['runs_large']} "
        f"from {settings['large']} speakers on). EER is that of all pairs of a "
        f"session. `uneven`: 6 to all segments per speaker; `zipf`: 1/r of those of "
        f"the r-th speaker; `x 5`: five each. Where a session has all speakers of a "
        f"corpus, 90 % of the segments are drawn. `paper` is plain stochastic mean "
        f"shift with k = 17. `ahc*` is an oracle: the threshold of highest G, session "
        f"by session. {limited} are left out above {settings['limit']} segments (-); "
        f"a mean marked + is over the conditions in which the method ran. Means give "
        f"how far the number of speakers is off, in %. Bold: the highest G of all but "
        f"the oracle."
    )


def proof(results: Mapping[str, Any]) -> str:
    """That the test was run on frozen settings, and how often."""
    frozen, runs = results["frozen"], results["test_runs"]
    times = "once" if len(runs) == 1 else f"{len(runs)} times"
    return (
        f"Settings were frozen on {frozen['date']} and found unchanged when the test "
        f"began (fingerprint {frozen['fingerprint'][:16]}). The test has been run "
        f"{times} in this folder."
    )


def _meeting_words(rows: Mapping[str, Any]) -> str:
    row = next(iter(rows.values()))
    return (
        f"X-vectors of one AMI meeting, {row['n_segments']} windows of "
        f"{row['n_speakers']} speakers. DER with 0.25 s left out on each side of a "
        f"boundary, overlap scored; mean of {row['runs']} seeds. With times known, "
        f"sms has them and VBx its authors' settings for such windows (its own answer, "
        f"vbx.rttm, has {100 * row['vbx_rttm']:.2f} %); the others cannot use them. "
        f"Without PLDA there is no transform either: raw vectors of the network."
    )


def _parameters(params: Mapping[str, Any]) -> str:
    words = [f"{name} = {value}" for name, value in params.items() if name != "class"]
    return f"`{params['class'].rpartition('.')[2]}`, {', '.join(words)}"


def _cell(found: Mapping[str, float] | None) -> str:
    if found is None:
        return MISSING
    return f"{share(found['k'])} / {share(found['g'])} / {found['found']:.1f}"


def _mean_cell(found: Mapping[str, float] | None, conditions: int) -> str:
    if found is None:
        return MISSING
    partly = "+" if found["conditions"] < conditions else ""
    off = 100 * found["relative_error"]
    return f"{share(found['k'])} / {share(found['g'])} / {off:.0f} %{partly}"


def _der_cell(found: Mapping[str, float] | None) -> str:
    if found is None:
        return MISSING
    return f"{100 * found['der']:.2f} / {found['found']:.1f}"
