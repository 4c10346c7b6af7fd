"""``sms-diar validate-data``: check and repair Kaldi data directories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sms_diar.cli.output import JsonOption, echo, echo_json, severity_counts

if TYPE_CHECKING:
    from sms_diar.types import Problem


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command()(validate_data)


def validate_data(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Kaldi data directory.")
    ],
    *,
    fix: Annotated[
        Path | None,
        typer.Option(
            metavar="TARGET",
            help="Write a repaired copy to this new or empty folder; the exit code "
            "then refers to the copy.",
        ),
    ] = None,
    audio: Annotated[
        bool,
        typer.Option("--audio/--no-audio", help="Require wav.scp."),
    ] = True,
    speakers: Annotated[
        bool,
        typer.Option(
            "--speakers/--no-speakers",
            help="Require utt2spk and spk2utt.",
        ),
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """List all problems in a data directory; exit with code 1 if there are errors.

    Example: sms-diar validate-data data/train --fix data/train_fixed
    """
    from sms_diar.io.kaldi.validate import fix_data_dir, validate_data_dir

    require = ["wav.scp"] * audio + ["utt2spk", "spk2utt"] * speakers
    problems = validate_data_dir(directory, require=require)
    if not as_json:
        _show(problems)
    report: dict[str, Any] = _report(directory, problems)
    if fix is not None:
        dropped = fix_data_dir(directory, fix)
        problems = validate_data_dir(fix, require=require)
        if not as_json:
            _show_repair(fix, dropped, problems)
        report["fixed"] = _report(fix, problems)
        report["fixed"]["dropped"] = [_record(problem) for problem in dropped]
    if as_json:
        echo_json(report)
    if any(problem.severity == "error" for problem in problems):
        raise typer.Exit(1)


def _show(problems: Sequence[Problem]) -> None:
    for problem in problems:
        echo(problem.with_severity())
    echo(severity_counts(problems))


def _show_repair(
    target: Path, dropped: Sequence[Problem], left: Sequence[Problem]
) -> None:
    for problem in dropped:
        echo(problem.with_severity())
    lines = "line" if len(dropped) == 1 else "lines"
    echo(f"wrote {target}; {len(dropped)} {lines} dropped or changed")
    errors = [problem for problem in left if problem.severity == "error"]
    if errors:
        echo("remaining errors:")
        _show(errors)


def _report(directory: Path, problems: Sequence[Problem]) -> dict[str, Any]:
    count = Counter(problem.severity for problem in problems)
    return {
        "directory": str(directory),
        "errors": count["error"],
        "warnings": count["warning"],
        "notes": count["note"],
        "problems": [_record(problem) for problem in problems],
    }


def _record(problem: Problem) -> dict[str, Any]:
    return {
        "path": problem.path,
        "line": problem.line,
        "severity": problem.severity,
        "text": problem.text,
    }
