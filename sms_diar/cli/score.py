"""``sms-diar score``: score diarization or labels against a reference."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sms_diar.cli.output import check_outputs, echo, echo_json, note
from sms_diar.cli.scheduler import SchedulerOption, on_scheduler
from sms_diar.cli.score_files import ManyValues, refuse_labels, sides_of
from sms_diar.cli.score_options import (
    AsJson,
    Bootstrap,
    BootstrapSeed,
    Collar,
    CollarTotal,
    ConventionName,
    Details,
    ErrorFile,
    Everything,
    Explain,
    ExtentName,
    Files,
    IgnoreOverlap,
    IntervalChoice,
    IntervalKind,
    Layout,
    Level,
    Measure,
    OnlyOverall,
    ReferenceFiles,
    ResultFiles,
    Rules,
    ShowMapping,
    Strict,
    SystemFiles,
    TableFormat,
    UemFile,
    Wide,
)

if TYPE_CHECKING:
    from sms_diar.report.score_report import ScoreReport, SystemsReport


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command(cls=ManyValues)(score)


def score(
    files: Files = None,
    *,
    ref: ReferenceFiles = None,
    sys_files: SystemFiles = None,
    uem: UemFile = None,
    convention: ConventionName = Rules.sms_diar,
    collar: Collar = 0.0,
    collar_total: CollarTotal = None,
    ignore_overlap: IgnoreOverlap = False,
    extent: ExtentName = None,
    layout: TableFormat = Layout.table,
    wide: Wide = False,
    everything: Everything = False,
    only_overall: OnlyOverall = False,
    mapping: ShowMapping = False,
    details: Details = False,
    explain: Explain = False,
    output: ResultFiles = None,
    errors: ErrorFile = None,
    measure: Measure = "der",
    bootstrap: Bootstrap = None,
    method: IntervalKind = IntervalChoice.percentile,
    level: Level = 0.95,
    seed: BootstrapSeed = 0,
    scheduler: SchedulerOption = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Score diarization (turns) or clustering (labels) against a reference.

    Several systems are compared with the first in one table. With -r and -s, the
    files are parts of one reference and of one system.

    Example: sms-diar score ref.rttm sys.rttm --uem all.uem --collar 0.25
    """
    from sms_diar.cli.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar._files import write_text
        from sms_diar._json import json_text
        from sms_diar.io.detect import is_label_table
        from sms_diar.io.problems import summarised
        from sms_diar.io.turns.files import source_files
        from sms_diar.pipeline.score.api import score_systems
        from sms_diar.report.score_report import ReportStyle

        run = progress.during("reading", score_systems)
    reference, hypotheses = sides_of(files or [], ref or [], sys_files or [])
    inputs = [*reference, *(path for paths in hypotheses.values() for path in paths)]
    outputs = _forms_of(output or [])
    check_outputs(errors, *outputs, inputs=chain(source_files(inputs), [uem]))
    if len(reference) == 1 and is_label_table(reference[0]):
        _score_labels(reference[0], hypotheses, layout, outputs, as_json=as_json)
        return
    _check_usage(hypotheses, errors, collar, collar_total, measure)
    refuse_labels(reference, hypotheses)
    if bootstrap is None:
        bootstrap = 2000 if len(hypotheses) > 1 else 0
    with on_scheduler(scheduler):
        systems = run(
            reference,
            hypotheses,
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
            progress=progress,
        )
    report: ScoreReport | SystemsReport = systems
    if len(hypotheses) == 1:
        (report,) = systems.systems.values()
        if errors is not None:
            write_text(errors, report.error_rttm())
    style = ReportStyle(
        layout.value,
        everything=everything,
        only_overall=only_overall,
        mapping=mapping,
        details=details,
        explain=explain,
        width=_width(wide=wide),
    )
    for path, form in outputs.items():
        if form == "json":
            write_text(path, json_text(report.to_dict()) + "\n")
        else:
            write_text(path, report.text(replace(style, format=form, width=None)))
    if as_json:
        echo_json(report.to_dict())
    else:
        echo(report.text(style), nl=False)
    warnings = [remark for remark in report.remarks if remark.severity == "warning"]
    matched = [remark for remark in report.remarks if remark.kind == "only recording"]
    for line in summarised(list(dict.fromkeys([*warnings, *matched]))):
        note(line)
    if strict and warnings:
        raise typer.Exit(1)


def _width(*, wide: bool) -> int | None:
    """Return the maximum table width; files and pipes use a default width."""
    from sms_diar.report.score_report import TERMINAL_WIDTH

    if wide:
        return None
    if not sys.stdout.isatty():
        return TERMINAL_WIDTH
    return shutil.get_terminal_size((TERMINAL_WIDTH, 24)).columns


_FORMS = {
    ".csv": "csv",
    ".json": "json",
    ".tex": "latex",
    ".md": "markdown",
    ".txt": "table",
}
"""Format of a result by file suffix."""


def _forms_of(output: Sequence[Path]) -> dict[Path, str]:
    """Return the format of each output file according to its suffix."""
    for path in output:
        if path.suffix.lower() not in _FORMS:
            raise typer.BadParameter(
                f"{path}: the suffix must be one of {', '.join(_FORMS)}, got "
                f"{path.suffix!r}",
                param_hint="--output",
            )
    return {path: _FORMS[path.suffix.lower()] for path in output}


def _check_usage(
    hypotheses: Collection[str],
    errors: Path | None,
    collar: float,
    collar_total: float | None,
    measure: str,
) -> None:
    """Refuse conflicting options."""
    from sms_diar.metrics import RATES

    if errors is not None and len(hypotheses) > 1:
        raise typer.BadParameter("requires a single system", param_hint="--errors")
    if collar_total is not None and collar:
        raise typer.BadParameter(
            "cannot be combined with --collar", param_hint="--collar-total"
        )
    if measure not in RATES:
        raise typer.BadParameter(
            f"{measure!r} is not one of {', '.join(RATES)}", param_hint="--measure"
        )


def _score_labels(
    reference: str,
    hypotheses: Mapping[str, Sequence[str]],
    layout: Layout,
    outputs: Mapping[Path, str],
    *,
    as_json: bool,
) -> None:
    """Score label files, which are recognised by their content."""
    from sms_diar._files import write_text
    from sms_diar._json import json_line
    from sms_diar.errors import DataFormatError
    from sms_diar.io.detect import is_label_table
    from sms_diar.pipeline.score.api import score_labels
    from sms_diar.report.score_report import label_table

    reports = {}
    for name, paths in hypotheses.items():
        if len(paths) > 1:
            raise typer.BadParameter("labels must be in a single file", param_hint="-s")
        (path,) = paths
        if Path(path).is_file() and not is_label_table(path):
            raise DataFormatError(
                f"expected labels, because {reference} contains labels; turns are "
                f"scored against turns (RTTM and others)",
                path=path,
            )
        reports[name] = score_labels(reference, path)
        for problem in reports[name].problems:
            note(f"{problem.path}: warning: {problem.text}")
    records = {name: report.to_dict() for name, report in reports.items()}
    record = json_line(next(iter(records.values())) if len(records) == 1 else records)
    for target, form in outputs.items():
        table = label_table(reports, in_words=form != "csv")
        write_text(target, f"{record}\n" if form == "json" else table.text(form))
    if as_json:
        echo(record)
    else:
        table = label_table(reports, in_words=layout is not Layout.csv)
        echo(table.text(layout.value), nl=False)
