"""Options of ``sms-diar score``; those of its rules are options of others, too."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Rules(StrEnum):
    """Names of conventions."""

    sms_diar = "sms-diar"
    nist = "nist"
    dscore = "dscore"
    pyannote = "pyannote"


class Layout(StrEnum):
    """Forms of a table."""

    table = "table"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"


class ExtentChoice(StrEnum):
    """What is scored without a UEM."""

    reference = "reference"
    joint = "joint"


class IntervalChoice(StrEnum):
    """Kinds of bootstrap interval."""

    bca = "bca"
    percentile = "percentile"


_RULES, _SHOWN, _DRAWN = "What is scored", "What is shown", "Intervals"

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="REF HYP",
        help="True turns: RTTM, CTM, CSV, JSON, Audacity labels, TextGrid, EAF, SRT or "
        "WebVTT file, any of them with .gz, - for standard input, a folder, quoted "
        "pattern or list (.lst, .scp); or true labels: utt2spk, CSV or JSON. Then the "
        "turns or labels of one or more systems.",
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
    typer.Option(
        "-s", "--sys", metavar="SYS...", help="Files of one system, in the same way."
    ),
]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide", help="Do not fit tables to the width.", rich_help_panel=_SHOWN
    ),
]
UemFile = Annotated[
    Path | None,
    typer.Option(
        "-u",
        "--uem",
        metavar="FILE",
        help="Regions that are scored.",
        rich_help_panel=_RULES,
    ),
]
ConventionName = Annotated[
    Rules,
    typer.Option(
        help="Whose rules apply where tools disagree.", rich_help_panel=_RULES
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
        help="Left unscored on each side of a reference boundary (md-eval -c).",
    ),
]
CollarTotal = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="SECONDS",
        rich_help_panel=_RULES,
        help="The same as the width of both sides together (pyannote's collar).",
    ),
]
IgnoreOverlap = Annotated[
    bool,
    typer.Option(
        "--ignore-overlap/--score-overlap",
        "-1/ ",
        rich_help_panel=_RULES,
        help="Leave time with several reference speakers unscored (md-eval -1).",
    ),
]
ExtentName = Annotated[
    ExtentChoice | None,
    typer.Option(
        help="What is scored without a UEM: the extent of the reference, or of "
        "reference and hypothesis.",
        show_default="by convention",
        rich_help_panel=_RULES,
    ),
]
TableFormat = Annotated[
    Layout,
    typer.Option(
        "--format",
        help="Form of the printed tables; CSV is one table.",
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
        "--overall", help="Show no single recordings.", rich_help_panel=_SHOWN
    ),
]
ShowMapping = Annotated[
    bool,
    typer.Option(
        "--mapping", help="Show which speaker stands for whom.", rich_help_panel=_SHOWN
    ),
]
Details = Annotated[
    bool,
    typer.Option(
        "--details",
        help="Show tables of recordings for each of several systems.",
        rich_help_panel=_SHOWN,
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="List all rules of scoring below the table.",
        rich_help_panel=_SHOWN,
    ),
]
ResultFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Also write the result, comparisons included; the suffix is the form "
        "(.csv, .json, .tex, .md, .txt). May be repeated.",
        rich_help_panel=_SHOWN,
    ),
]
ErrorFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write RTTM of where the errors are.",
        rich_help_panel=_SHOWN,
    ),
]
Measure = Annotated[
    str,
    typer.Option(help="Measure of intervals and comparisons.", rich_help_panel=_DRAWN),
]
Bootstrap = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="SAMPLES",
        help="Samples of recordings for intervals; 0 for none.",
        show_default="2000 to compare systems, else 0",
        rich_help_panel=_DRAWN,
    ),
]
IntervalKind = Annotated[
    IntervalChoice, typer.Option(help="Kind of interval.", rich_help_panel=_DRAWN)
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
    int, typer.Option(min=0, help="Seed of the bootstrap.", rich_help_panel=_DRAWN)
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with code 1 on any warning.")
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print an object for machines.", rich_help_panel=_SHOWN
    ),
]
