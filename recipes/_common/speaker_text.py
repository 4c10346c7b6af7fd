"""Tables and text of the report on the speaker experiment."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sms_diar.clustering.methods import METHODS
from sms_diar.report.provenance import describe
from sms_diar.report.tables import Table

from .paper import SPEAKER_METHODS, paper_name

HEADS = {
    "acp": "ACP",
    "alp": "ASP",
    "k": "K",
    "g": "G",
    "n_clusters": "ANDS",
    "n_solid": "≥5 seg.",
}
"""Column heads of the measures; the last counts clusters of at least 5 segments."""

RIVALS = ("sms-paper", "ms")
"""The paper's method and the one that it is compared with."""

COUNTS = ("n_clusters", "n_solid")
_OUTCOMES = (f"{RIVALS[0]} wins", "ties", f"{RIVALS[1]} wins")

Groups = Mapping[str, Mapping[str, Any]]
"""Runs, session, methods, printed and wins by number of speakers."""


def spread(measure: str, figure: Mapping[str, float]) -> str:
    """Format mean(std) as the paper does: ``.86(.08)``, ``6.9(3.1)``."""
    mean, std = figure["mean"], figure["std"]
    if measure in COUNTS:
        return f"{mean:.1f}({std:.1f})"
    return f"{_share(mean)}({_share(std)})"


def measured_table(groups: Groups) -> Table:
    """Return a row per number of speakers and method."""
    body = [
        (
            speakers,
            method,
            *(spread(name, figures[name]) for name in HEADS),
            f"{figures['seconds']['mean']:.2f}",
        )
        for speakers, group in groups.items()
        for method, figures in group["methods"].items()
    ]
    heads = ("speakers", "method", *HEADS.values(), "CPU s")
    return Table(heads, tuple(body), n_left=2)


def printed_table(groups: Groups) -> Table:
    """Return the paper's rows in the same layout, with the paper's names."""
    names = [name for name in HEADS if name not in ("g", "n_solid")]
    body = [
        (speakers, paper_name(method), *(spread(n, figures[n]) for n in names))
        for speakers, group in groups.items()
        for method, figures in group["printed"].items()
    ]
    heads = ("speakers", "method", *(HEADS[name] for name in names))
    return Table(heads, tuple(body), n_left=2)


def contests_table(groups: Groups, total: Mapping[str, Any]) -> Table:
    """Return the sessions won, tied and lost, with the sign test."""
    body = [
        (speakers, *_contest(group["wins"]))
        for speakers, group in groups.items()
        if group["wins"]
    ]
    body.append(("all", *_contest(total)))
    heads = ("speakers", *_OUTCOMES, "p", "paper: wins of 20")
    return Table(heads, tuple(body), n_left=1)


def sessions_table(groups: Groups) -> Table:
    """Return size and error rate of the sessions."""
    body = [
        (
            speakers,
            str(group["runs"]),
            f"{group['session']['n_segments']['mean']:.0f}",
            f"{100 * group['session']['eer']['mean']:.1f}"
            f"({100 * group['session']['eer']['std']:.1f})",
        )
        for speakers, group in groups.items()
    ]
    heads = ("speakers", "runs", "segments", "EER %")
    return Table(heads, tuple(body), n_left=0)


def trials_table(figures: Mapping[str, Any]) -> Table:
    """Return error rate and minimum costs of trials in one row."""
    heads = ["EER %", *(f"min DCF ({p:g})" for p in figures["p_target"]), "mean"]
    values = [f"{100 * figures['eer']:.2f}"]
    values += [f"{value:.4f}" for value in (*figures["min_dcf"], figures["min_cost"])]
    return Table(tuple(heads), (tuple(values),), n_left=0)


def thresholds_table(groups: Groups, values: Sequence[float]) -> Table:
    """Return K/G at other merging thresholds."""
    body = [
        (
            speakers,
            method,
            *(
                "/".join(_share(figures[f"{m}@{value:g}"]["mean"]) for m in "kg")
                for value in values
            ),
        )
        for speakers, group in groups.items()
        for method, figures in group["methods"].items()
        if all(f"k@{value:g}" in figures for value in values)  # has resting points
    ]
    heads = ("speakers", "method", *(f"{value:g}" for value in values))
    return Table(heads, tuple(body), n_left=2)


def contests_at_table(
    totals: Mapping[str, Mapping[str, Any]], values: Sequence[float]
) -> Table:
    """Return the sessions won, tied and lost at each merging threshold."""
    body = [
        (head, f"{value:g}", *_contest(totals[f"{measure}@{value:g}"])[:-1])
        for measure, head in (("k", "K"), ("g", "G"))
        for value in values
    ]
    heads = ("measure", "threshold", *_OUTCOMES, "p")
    return Table(heads, tuple(body), n_left=2)


def components_table(choice: Mapping[str, Any]) -> Table:
    """Return cross-validated error rates; the chosen dimension is marked."""
    body = [
        (
            f"{q}{' *' if q == choice['best'] else ''}",
            f"{100 * mean:.2f}({100 * s:.2f})",
        )
        for q, mean, s in zip(
            choice["candidates"], choice["mean"], choice["std"], strict=True
        )
    ]
    return Table(("dimensions", "EER %"), tuple(body))


def tidy_table(groups: Groups) -> Table:
    """Return one line per figure, for further processing."""
    parts = ("mean", "std", "low", "median", "high")
    body = []
    for speakers, group in groups.items():
        for method, figures in group["methods"].items():
            for measure, figure in figures.items():
                paper = group["printed"].get(method, {}).get(measure, {})
                body.append(
                    (
                        speakers,
                        method,
                        measure,
                        *(repr(figure[part]) for part in parts),
                        str(group["runs"]),
                        str(paper.get("mean", "")),
                        str(paper.get("std", "")),
                    )
                )
    heads = ("speakers", "method", "measure", *parts, "runs", "printed", "printed_std")
    return Table(heads, tuple(body), n_left=3)


def _contest(wins: Mapping[str, Any]) -> tuple[str, ...]:
    p, paper = wins["p"], wins["printed"]
    return (
        *(str(wins[name]) for name in ("wins", "ties", "losses")),
        "-" if p is None else _probability(p),
        "" if paper is None else str(paper),
    )


def _probability(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else f"{p:.0e}"


def _share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


OURS, OTHER = RIVALS

NOT_COMPARABLE = (
    "The paper's corpus is NIST SRE 2008, which is licensed and not used here. Its "
    "printed rows are shown for orientation only: other speakers, "
    "other recordings and other embeddings make them incomparable."
)
NO_KINSHIP = "for orientation only"


def _source_words(record: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    if "words" in record:  # the source has a text of its own
        return str(record["words"])
    if record["source"] == "simulated":
        world = record["world"]
        return (
            f"Simulated i-vectors of {world['dim']} dimensions, drawn from a PLDA "
            f"model whose own all-pairs EER is {100 * world['eer']:g} %; segments of "
            f"0.7 s + Exp(1.8 s), N({world['mean_segments']:g}, "
            f"{world['std_segments']:g}^2) of them per speaker. The back end is not "
            f"the true model but one trained on {record['training_speakers']} other "
            f"simulated speakers with {record['training_segments']} segments."
        )
    drawn = (
        "a Gaussian number of segments of each drawn speaker is taken"
        if settings["draw_segments"]
        else "all segments of a drawn speaker are taken"
    )
    corpus = (
        f"{record['corpus_speakers']} speakers, {record['corpus_segments']} segments; "
        f"{drawn}"
    )
    if record["source"] == "data":
        extractor = (
            f" Extractor: {record['extractor']}." if "extractor" in record else ""
        )
        return (
            f"{settings['embeddings']}: {corpus}.{extractor} Back end: "
            f"{record['backend']}."
        )
    return (
        f"Neural embeddings (GE2E, 256 dimensions) of spoken digits, audiomnist8k: "
        f"{corpus}. The back end is trained on {' and '.join(record['training'])} "
        f"({record['training_speakers']} speakers, {record['training_segments']} "
        f"segments), and its dimensions were chosen there."
    )


def _trial_words(figures: Mapping[str, Any]) -> str:
    skipped = f" ({figures['skipped']} skipped)" if figures["skipped"] else ""
    return (
        f"NIST's trials: {figures['trials']}{skipped}, {figures['targets']} of them "
        f"targets; {figures['models']} models, {figures['sides']} whole sides, "
        f"{figures['backend']} scores. A cost is divided by the cost of the better "
        f"constant decision; in brackets is the probability of a target. Trials have "
        f"equal weight: NIST's weights of known impostors (2012) and of partitions "
        f"(since 2016) are not applied."
    )


def _repeated_words(groups: Mapping[str, Any]) -> str:
    sizes = [n for n, g in groups.items() if g["wins"] and g["wins"]["p"] is None]
    if not sizes:
        return ""
    return (
        f" With {sizes[0]} speakers every session is the whole corpus: repetitions "
        f"differ in the draws of the stochastic methods only, so no p-value is given "
        f"and the total excludes these sessions."
    )


def _unrested(groups: Mapping[str, Any]) -> str:
    rows = [
        f"{method} with {speakers} speakers {1.0 - entry['converged']['mean']:.0%}"
        for speakers, group in groups.items()
        for method, entry in group["methods"].items()
        if entry["converged"]["mean"] < 1.0
    ]
    return (
        f"Sessions in which not all segments came to rest: {', '.join(rows) or 'none'}."
    )


def markdown(results: Mapping[str, Any]) -> str:
    """Return the text of report.md."""
    groups, record = results["sessions"], results["prepare"]
    settings = results["stamp"]["settings"]
    parts = [
        f"# {record.get('title', 'Speakers: ' + record['source'])}\n",
        f"{describe(results['stamp'])}.\n",
        f"{_source_words(record, settings)}\n",
        f"Mean(std) over {settings['runs']} sessions at each number of speakers; all "
        f"methods see the same sessions. {_neighbours(settings)} ANDS is the number of "
        f"clusters found, and ≥5 seg. the number of clusters with at least 5 segments: "
        f"K alone is too kind to clusterings with many tiny clusters. CPU seconds are "
        f"per session on one core.\n",
        measured_table(groups).markdown(),
        f"{_unrested(groups)}\n",
    ]
    if any(group["wins"] for group in groups.values()):
        parts += [
            f"## {OURS} against {OTHER}\n",
            f"Sessions in which {OURS} has a higher K than {OTHER}, with the p-value "
            f"of a two-sided sign test without the ties.{_repeated_words(groups)}\n",
            contests_table(groups, results["total"]).markdown(),
        ]
    if "trials" in results:
        parts += [
            "## Trials\n",
            f"{_trial_words(results['trials'])}\n",
            trials_table(results["trials"]).markdown(),
        ]
    parts += [
        "## The paper's rows\n",
        f"{record.get('comparison', NOT_COMPARABLE)} {_names()}\n",
    ]
    parts.append(printed_table(groups).markdown())
    parts += [
        "## The sessions\n",
        "Equal error rate of all pairs of a session under the back end:\n",
        sessions_table(groups).markdown(),
    ]
    thresholds = settings["merge_thresholds"]
    if thresholds:
        parts += [
            "## Merging threshold\n",
            f"The paper does not say how close resting points must be to count as one "
            f"cluster. The table above uses {_threshold_words(settings)}; this one has "
            f"K/G at other distances, from the same resting points. K gives all "
            f"clusters the same weight, so it may rise although most speakers are "
            f"merged into one cluster; G falls then.\n",
            thresholds_table(groups, thresholds).markdown(),
        ]
    if results["total_at"]:
        parts += [
            f"{OURS} against {OTHER} over all sessions, both merged at that "
            f"distance:\n",
            contests_at_table(results["total_at"], thresholds).markdown(),
        ]
    if "choice" in record:
        parts += [
            "## Dimensions of the back end\n",
            f"Chosen (*) by cross-validation over the training speakers, "
            f"{settings['training']['folds']} folds in each of "
            f"{settings['training']['rounds']} random splits; EER of the speakers held "
            f"out, mean(std) over folds:\n",
            components_table(record["choice"]).markdown(),
        ]
    return "\n".join(parts)


def _names() -> str:
    """Say how the paper calls the two methods."""
    printed = {name: paper for paper, name in SPEAKER_METHODS.items()}
    return f"Its {printed[OTHER]} is {OTHER} here, its {printed[OURS]} is {OURS}."


def _neighbours(settings: Mapping[str, Any]) -> str:
    text = f"k = {settings['k']}"
    if "dsms" in settings["methods"]:
        low, high = METHODS["dsms"].around(settings["k"])
        text += (
            f"; dsms, which is not in the paper's table, draws k from {low} to {high}"
        )
    return f"{text}."


def _threshold_words(settings: Mapping[str, Any]) -> str:
    value = settings["merge_threshold"]
    return f"{value:g}" if value else "0.2, for vectors of unit length"


def terminal(results: Mapping[str, Any], folder: Path) -> str:
    """Return the text of summary.txt."""
    groups, total = results["sessions"], results["total"]
    settings = results["stamp"]["settings"]
    kinship = results["prepare"].get("kinship", NO_KINSHIP)
    lines = [
        *textwrap.wrap(_source_words(results["prepare"], settings), 88),
        "",
        measured_table(groups).plain(),
        f"Printed in the paper (NIST SRE 2008, {kinship}):",
        "",
        printed_table(groups).plain(),
    ]
    if any(group["wins"] for group in groups.values()):
        lines += [f"K of {OURS} against {OTHER}, session by session:", ""]
        lines.append(contests_table(groups, total).plain())
    if "trials" in results:
        lines += [*textwrap.wrap(_trial_words(results["trials"]), 88), ""]
        lines.append(trials_table(results["trials"]).plain())
    lines.append(f"Tables and curves: {folder}")
    if settings["figures"]:
        lines.append(f"Picture: {folder.parent / 'view' / 'view.png'}")
    return "\n".join(lines) + "\n"
