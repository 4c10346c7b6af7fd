"""Options of ``sms-diar score`` and other commands with scoring rules."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Rules(StrEnum):
    """Names of scoring conventions."""

    sms_diar = "sms-diar"
    nist = "nist"
    dscore = "dscore"
    pyannote = "pyannote"


class Layout(StrEnum):
    """Formats of a table."""

    table = "table"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


class ExtentChoice(StrEnum):
    """Scored extent without a UEM."""

    reference = "reference"
    joint = "joint"


class IntervalChoice(StrEnum):
    """Types of bootstrap intervals."""

    bca = "bca"
    percentile = "percentile"


_RULES, _SHOWN, _DRAWN = "Scoring", "Output", "Intervals"

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="REF HYP",
        help="Reference turns: RTTM, CTM, CSV, JSON, Audacity labels, TextGrid, EAF, "
        "SRT or WebVTT file, optionally with .gz, - for standard input, a folder, "
        "quoted pattern or list (.lst, .scp); or reference labels: utt2spk, CSV or "
        "JSON. Then the turns or labels of one or more systems.",
        show_default=False,
    ),
]
ReferenceFiles = Annotated[
    list[str] | None,
    typer.Option(
        "-r",
        "--ref",
        metavar="REF...",
        help="Files of the reference, as in dscore and md-eval.",
    ),
]
SystemFiles = Annotated[
    list[str] | None,
    typer.Option("-s", "--sys", metavar="SYS...", help="Files of one system."),
]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide",
        help="Do not wrap tables to the terminal width.",
        rich_help_panel=_SHOWN,
    ),
]
UemFile = Annotated[
    Path | None,
    typer.Option(
        "-u",
        "--uem",
        metavar="FILE",
        help="Regions to score.",
        rich_help_panel=_RULES,
    ),
]
ConventionName = Annotated[
    Rules,
    typer.Option(
        help="Scoring convention for rules that differ between tools.",
        rich_help_panel=_RULES,
    ),
]
Collar = Annotated[
    float,
    typer.Option(
        "-c",
        "--collar",
        min=0.0,
        metavar="SECONDS",
        rich_help_panel=_RULES,
        help="Unscored time on each side of a reference boundary (md-eval -c).",
    ),
]
CollarTotal = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="SECONDS",
        rich_help_panel=_RULES,
        help="Total width of the collar on both sides (pyannote's collar).",
    ),
]
IgnoreOverlap = Annotated[
    bool,
    typer.Option(
        "--ignore-overlap/--score-overlap",
        "-1/ ",
        rich_help_panel=_RULES,
        help="Do not score overlapped reference speech (md-eval -1).",
    ),
]
ExtentName = Annotated[
    ExtentChoice | None,
    typer.Option(
        help="Scored extent without a UEM: the extent of the reference, or of "
        "reference and hypothesis together.",
        show_default="by convention",
        rich_help_panel=_RULES,
    ),
]
TableFormat = Annotated[
    Layout,
    typer.Option(
        "--format",
        help="Format of the printed tables; CSV is a single table.",
        rich_help_panel=_SHOWN,
    ),
]
Everything = Annotated[
    bool,
    typer.Option(
        "--all",
        help="Show all measures, not only the main ones.",
        rich_help_panel=_SHOWN,
    ),
]
OnlyOverall = Annotated[
    bool,
    typer.Option(
        "--overall", help="Show only overall results.", rich_help_panel=_SHOWN
    ),
]
ShowMapping = Annotated[
    bool,
    typer.Option(
        "--mapping", help="Show the mapping of speakers.", rich_help_panel=_SHOWN
    ),
]
Details = Annotated[
    bool,
    typer.Option(
        "--details",
        help="Show results per recording for each system.",
        rich_help_panel=_SHOWN,
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="List all scoring rules below the table.",
        rich_help_panel=_SHOWN,
    ),
]
ResultFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Also write the result with comparisons; the suffix selects the format "
        "(.csv, .json, .tex, .md, .txt). Repeatable.",
        rich_help_panel=_SHOWN,
    ),
]
ErrorFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the errors as RTTM.",
        rich_help_panel=_SHOWN,
    ),
]
Measure = Annotated[
    str,
    typer.Option(help="Measure for intervals and comparisons.", rich_help_panel=_DRAWN),
]
Bootstrap = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="SAMPLES",
        help="Number of bootstrap samples for intervals; 0 for none.",
        show_default="2000 for several systems, otherwise 0",
        rich_help_panel=_DRAWN,
    ),
]
IntervalKind = Annotated[
    IntervalChoice, typer.Option(help="Type of interval.", rich_help_panel=_DRAWN)
]
Level = Annotated[
    float,
    typer.Option(
        min=0.5,
        max=0.999,
        help="Nominal coverage of intervals.",
        rich_help_panel=_DRAWN,
    ),
]
BootstrapSeed = Annotated[
    int,
    typer.Option(min=0, help="Random seed of the bootstrap.", rich_help_panel=_DRAWN),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with code 1 on any warning.")
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print JSON.", rich_help_panel=_SHOWN),
]
