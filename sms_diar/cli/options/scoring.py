"""Options of ``sms-diar score`` and other commands with scoring rules."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Option

Rules = StrEnum(
    "Rules",
    {
        "sms_diar": "sms-diar",
        "nist": "nist",
        "dscore": "dscore",
        "pyannote": "pyannote",
    },
)
"""Names of scoring conventions."""

rule_option = partial(Option, rich_help_panel="Scoring")

UemFile = Annotated[
    Path | None, rule_option("-u", "--uem", metavar="FILE", help="Regions to score.")
]
ConventionName = Annotated[
    Rules, rule_option(help="Scoring convention for rules that differ between tools.")
]
Collar = Annotated[
    float,
    rule_option(
        "-c",
        "--collar",
        min=0.0,
        metavar="SECONDS",
        help="Unscored time on each side of a reference boundary (md-eval -c).",
    ),
]
IgnoreOverlap = Annotated[
    bool,
    rule_option(
        "--ignore-overlap/--score-overlap",
        "-1/ ",
        help="Do not score overlapped reference speech (md-eval -1).",
    ),
]
