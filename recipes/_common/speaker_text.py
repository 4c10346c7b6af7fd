"""Text of the report of the speaker experiment, in Markdown and on a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sms_diar.clustering.methods import METHODS
from sms_diar.report.provenance import describe

from . import speaker_tables
from .paper import SPEAKER_METHODS
from .speaker_tables import RIVALS

OURS, OTHER = RIVALS

NOT_COMPARABLE = (
    "The paper's corpus is NIST SRE 2008, which is licensed and not used here. Its "
    "printed rows stand beside these figures for orientation only: other speakers, "
    "other recordings and other embeddings make them incomparable."
)
NO_KINSHIP = "for orientation only"


def _source_words(record: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    if "words" in record:  # a source that speaks for itself
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


def _repeated_words(groups: Mapping[str, Any]) -> str:
    sizes = [n for n, g in groups.items() if g["wins"] and g["wins"]["p"] is None]
    if not sizes:
        return ""
    return (
        f" With {sizes[0]} speakers every session is the whole corpus: repetitions "
        f"differ in the draws of the stochastic methods only, so no p-value is given "
        f"and these sessions are left out of the total."
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
    """Text of report.md."""
    groups, record = results["sessions"], results["prepare"]
    settings = results["stamp"]["settings"]
    parts = [
        f"# {record.get('title', 'Speakers: ' + record['source'])}\n",
        f"{describe(results['stamp'])}.\n",
        f"{_source_words(record, settings)}\n",
        f"Mean(std) over {settings['runs']} sessions at each number of speakers; all "
        f"methods see the same sessions. {_neighbours(settings)} ANDS is the number of "
        f"clusters found; the column "
        f"≥5 seg. counts those of at least 5 segments: K alone flatters clusterings "
        f"with many crumbs. CPU seconds are per session on one core.\n",
        speaker_tables.measured(groups).markdown(),
        f"{_unrested(groups)}\n",
    ]
    if any(group["wins"] for group in groups.values()):
        parts += [
            f"## {OURS} against {OTHER}\n",
            f"Sessions in which K of {OURS} is above that of {OTHER}; p is that of a "
            f"two-sided sign test without the ties.{_repeated_words(groups)}\n",
            speaker_tables.contests(groups, results["total"]).markdown(),
        ]
    parts += [
        "## The paper's rows\n",
        f"{record.get('comparison', NOT_COMPARABLE)} {_names()}\n",
    ]
    parts.append(speaker_tables.printed(groups).markdown())
    parts += [
        "## The sessions\n",
        "Equal error rate of all pairs of a session under the back end:\n",
        speaker_tables.sessions(groups).markdown(),
    ]
    thresholds = settings["merge_thresholds"]
    if thresholds:
        parts += [
            "## Merging threshold\n",
            f"The paper does not say how close resting points must be to count as one "
            f"cluster. The table above takes {_threshold_words(settings)}; K/G at "
            f"other distances, from the same resting points. K weighs all clusters "
            f"alike, so it may rise while most speakers flow together in one cluster; "
            f"G falls then.\n",
            speaker_tables.thresholds(groups, thresholds).markdown(),
        ]
    if results["total_at"]:
        parts += [
            f"{OURS} against {OTHER} over all sessions, both merged at that "
            f"distance:\n",
            speaker_tables.contests_at(results["total_at"], thresholds).markdown(),
        ]
    if "choice" in record:
        parts += [
            "## Dimensions of the back end\n",
            f"Chosen (*) by cross-validation over the training speakers, "
            f"{settings['training']['folds']} folds in each of "
            f"{settings['training']['rounds']} random splits; EER of the speakers held "
            f"out, mean(std) over folds:\n",
            speaker_tables.components(record["choice"]).markdown(),
        ]
    return "\n".join(parts)


def _names() -> str:
    """Names of the measures in the paper."""
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
    """Text of summary.txt, narrow enough for a terminal."""
    groups, total = results["sessions"], results["total"]
    settings = results["stamp"]["settings"]
    kinship = results["prepare"].get("kinship", NO_KINSHIP)
    lines = [
        *textwrap.wrap(_source_words(results["prepare"], settings), 88),
        "",
        speaker_tables.measured(groups).plain(),
        f"Printed in the paper (NIST SRE 2008, {kinship}):",
        "",
        speaker_tables.printed(groups).plain(),
    ]
    if any(group["wins"] for group in groups.values()):
        lines += [f"K of {OURS} against {OTHER}, session by session:", ""]
        lines.append(speaker_tables.contests(groups, total).plain())
    lines.append(f"Tables and curves: {folder}")
    if settings["figures"]:
        lines.append(f"Picture: {folder.parent / 'view' / 'view.png'}")
    return "\n".join(lines) + "\n"
