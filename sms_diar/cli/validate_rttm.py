"""``sms-diar validate-rttm``: list all problems in files of turns."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sms_diar.cli.convert import ReadFormatName
from sms_diar.cli.output import JsonOption, echo, echo_json, severity_counts

if TYPE_CHECKING:
    from sms_diar.types import Problem


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command("validate-rttm")(validate_rttm)


def validate_rttm(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="RTTM, CTM, CSV, UEM, JSON, Audacity label, TextGrid, EAF, SRT or "
            "WebVTT files, folders or patterns.",
        ),
    ],
    *,
    read_format: Annotated[
        ReadFormatName | None,
        typer.Option(
            "--format",
            help="Format of all files.",
            show_default="detected from content and suffix",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List all problems in files of turns; exit with code 1 if there are errors.

    Example: sms-diar validate-rttm ref/*.rttm all.uem
    """
    from sms_diar.io.turns.files import check_annotation
    from sms_diar.io.turns.uem import scan_uem

    problems: list[Problem] = []
    for name in files:
        if Path(name).suffix == ".uem":
            problems += scan_uem(name).problems
        else:
            problems += check_annotation(name, read_format and read_format.value)
    count = Counter(problem.severity for problem in problems)
    if as_json:
        rows = [
            {
                "path": problem.path,
                "line": problem.line,
                "severity": problem.severity,
                "kind": problem.kind,
                "text": problem.text,
            }
            for problem in problems
        ]
        echo_json(
            {
                "errors": count["error"],
                "warnings": count["warning"],
                "notes": count["note"],
                "problems": rows,
            }
        )
    else:
        for problem in problems:
            echo(problem.with_severity())
        echo(severity_counts(problems))
    if count["error"]:
        raise typer.Exit(1)
