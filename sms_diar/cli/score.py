"""``sms-diar score``: diarization or labels against a reference."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sms_diar.cli.output import check_outputs

if TYPE_CHECKING:
    from sms_diar.report.score_report import ScoreReport, SystemsReport


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


class Resampling(StrEnum):
    """Kinds of bootstrap interval."""

    bca = "bca"
    percentile = "percentile"


Reference = Annotated[
    str,
    typer.Argument(
        metavar="REF",
        help="True turns: RTTM, CTM or CSV file, folder, quoted pattern or list "
        "(.lst, .scp); or true labels: utt2spk, CSV or JSON.",
    ),
]
Hypotheses = Annotated[
    list[str],
    typer.Argument(metavar="HYP...", help="Turns or labels of one or more systems."),
]
UemFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Regions that are scored.")
]
ConventionName = Annotated[
    Rules, typer.Option(help="Whose rules apply where tools disagree.")
]
Collar = Annotated[
    float,
    typer.Option(
        min=0.0,
        metavar="SECONDS",
        help="Left unscored on each side of a reference boundary (md-eval -c).",
    ),
]
CollarTotal = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="SECONDS",
        help="The same as the width of both sides together (pyannote's collar).",
    ),
]
IgnoreOverlap = Annotated[
    bool,
    typer.Option(
        "--ignore-overlap/--score-overlap",
        help="Leave time with several reference speakers unscored (md-eval -1).",
    ),
]
ExtentName = Annotated[
    ExtentChoice | None,
    typer.Option(
        help="What is scored without a UEM: the extent of the reference, or of "
        "reference and hypothesis.",
        show_default="by convention",
    ),
]
TableFormat = Annotated[Layout, typer.Option("--format", help="Form of the tables.")]
Everything = Annotated[
    bool, typer.Option("--all", help="Show all measures, not only the main ones.")
]
OnlyOverall = Annotated[
    bool, typer.Option("--overall", help="Show no single recordings.")
]
ShowMapping = Annotated[
    bool, typer.Option("--mapping", help="Show which speaker stands for whom.")
]
ErrorFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write RTTM of where the errors are."),
]
Measure = Annotated[str, typer.Option(help="Measure of intervals and comparisons.")]
Bootstrap = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="SAMPLES",
        help="Samples of recordings for intervals; 0 for none.",
        show_default="2000 to compare systems, else 0",
    ),
]
IntervalKind = Annotated[Resampling, typer.Option(help="Kind of interval.")]
Level = Annotated[
    float, typer.Option(min=0.5, max=0.999, help="Nominal coverage of intervals.")
]
BootstrapSeed = Annotated[int, typer.Option(help="Seed of the bootstrap.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with code 1 on any warning.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print an object for machines.")]


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command()(score)


def score(
    reference: Reference,
    hypotheses: Hypotheses,
    *,
    uem: UemFile = None,
    convention: ConventionName = Rules.sms_diar,
    collar: Collar = 0.0,
    collar_total: CollarTotal = None,
    ignore_overlap: IgnoreOverlap = False,
    extent: ExtentName = None,
    layout: TableFormat = Layout.table,
    everything: Everything = False,
    only_overall: OnlyOverall = False,
    mapping: ShowMapping = False,
    errors: ErrorFile = None,
    measure: Measure = "der",
    bootstrap: Bootstrap = None,
    method: IntervalKind = Resampling.percentile,
    level: Level = 0.95,
    seed: BootstrapSeed = 0,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Score diarization (turns) or clustering (labels) against a reference.

    Example: sms-diar score ref.rttm sys.rttm --uem all.uem --collar 0.25
    """
    from sms_diar._files import write_text
    from sms_diar._json import json_text
    from sms_diar.io.problems import summarised
    from sms_diar.io.sniff import is_label_table
    from sms_diar.pipeline.score import score_systems
    from sms_diar.report.score_report import ReportStyle

    if is_label_table(reference):
        _score_labels(reference, hypotheses, layout, as_json=as_json)
        return
    _check_usage(hypotheses, errors, collar, collar_total, measure)
    check_outputs(errors)
    if bootstrap is None:
        bootstrap = 2000 if len(hypotheses) > 1 else 0
    found = score_systems(
        reference,
        dict(zip(_short_names(hypotheses), hypotheses, strict=True)),
        uem=uem,
        convention=convention.value,
        collar=collar,
        collar_total=collar_total,
        ignore_overlap=ignore_overlap,
        extent=None if extent is None else extent.value,
        measure=measure,
        bootstrap=bootstrap,
        method=method.value,
        level=level,
        seed=seed,
    )
    report: ScoreReport | SystemsReport = found
    if len(hypotheses) == 1:
        (report,) = found.systems.values()
        if errors is not None:
            write_text(errors, report.error_rttm())
    if as_json:
        typer.echo(json_text(report.to_dict()))
    else:
        style = ReportStyle(
            layout.value,
            everything=everything,
            only_overall=only_overall,
            mapping=mapping,
            width=shutil.get_terminal_size().columns if sys.stdout.isatty() else None,
        )
        typer.echo(report.text(style), nl=False)
    warnings = [remark for remark in report.remarks if remark.severity == "warning"]
    for line in summarised(warnings):
        typer.echo(f"sms-diar: {line}", err=True)
    if strict and warnings:
        raise typer.Exit(1)


def _check_usage(
    hypotheses: Sequence[str],
    errors: Path | None,
    collar: float,
    collar_total: float | None,
    measure: str,
) -> None:
    from sms_diar.metrics import RATES

    if errors is not None and len(hypotheses) > 1:
        raise typer.BadParameter("takes one system at a time", param_hint="--errors")
    if collar_total is not None and collar:
        raise typer.BadParameter(
            "and --collar exclude each other", param_hint="--collar-total"
        )
    if measure not in RATES:
        raise typer.BadParameter(
            f"{measure!r} is not one of {', '.join(RATES)}", param_hint="--measure"
        )


def _short_names(paths: Sequence[str]) -> list[str]:
    """Names of systems: file names, or whole paths where these are not unique."""
    stems = [Path(path).stem or path for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    if len(set(paths)) < len(paths):
        raise typer.BadParameter("a system is given twice", param_hint="HYP")
    return list(paths)


def _score_labels(
    reference: str, hypotheses: Sequence[str], layout: Layout, *, as_json: bool
) -> None:
    from sms_diar._json import json_line
    from sms_diar.pipeline.score import score_labels
    from sms_diar.report.label_report import label_table

    reports = {}
    for name, path in zip(_short_names(hypotheses), hypotheses, strict=True):
        reports[name] = score_labels(reference, path)
        for problem in reports[name].problems:
            typer.echo(f"sms-diar: {problem.path}: warning: {problem.text}", err=True)
    if as_json:
        records = {name: report.to_dict() for name, report in reports.items()}
        typer.echo(
            json_line(next(iter(records.values())) if len(records) == 1 else records)
        )
    else:
        typer.echo(label_table(reports).text(layout.value), nl=False)
