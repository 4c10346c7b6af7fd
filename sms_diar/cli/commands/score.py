"""``sms-diar score``: score diarization or labels against a reference."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, BadParameter, Option
from typer.core import TyperCommand

from sms_diar.cli.options import output_option, scoring
from sms_diar.cli.options.recordings import SchedulerOption, on_scheduler
from sms_diar.cli.terminal.output import check_outputs, echo, echo_json, note

if TYPE_CHECKING:
    from sms_diar.report.score_report import (
        ReportStyle,
        ScoreReport,
        SystemsReport,
        WordReport,
    )

Layout = StrEnum("Layout", ["table", "markdown", "latex", "csv"])
"""Formats of a table."""

ExtentChoice = StrEnum("ExtentChoice", ["reference", "joint"])
"""Scored extent without a UEM."""

IntervalChoice = StrEnum("IntervalChoice", ["bca", "percentile"])
"""Types of bootstrap intervals."""

_interval = partial(Option, rich_help_panel="Intervals")


NormaliseChoice = StrEnum("NormaliseChoice", ["simple", "none"])
"""Normalisations of words."""

_RULES_OF_TURNS = ("uem", "convention", "collar_total", "ignore_overlap", "extent")
_OF_TURNS = (*_RULES_OF_TURNS, "everything", "explain", "errors", "scheduler")


def score(
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        Argument(
            metavar="REF HYP",
            help="Reference turns: RTTM, CTM, CSV, JSON, Audacity labels, TextGrid, "
            "EAF, SRT or WebVTT file, optionally with .gz, - for standard input, a "
            "folder, quoted pattern or list (.lst, .scp); or reference labels: "
            "utt2spk, CSV or JSON; or, with --words, a reference transcript. Then the "
            "turns, labels or transcripts of one or more systems.",
            show_default=False,
        ),
    ] = None,
    *,
    ref: Annotated[
        list[str] | None,
        Option(
            "-r",
            "--ref",
            metavar="REF...",
            help="Files of the reference, as in dscore and md-eval.",
        ),
    ] = None,
    sys_files: Annotated[
        list[str] | None,
        Option("-s", "--sys", metavar="SYS...", help="Files of one system."),
    ] = None,
    words: Annotated[
        bool,
        Option(
            "--words",
            help="Score the words of transcripts: WER, cpWER, tcpWER (--collar, 5 by "
            "default), ORC-WER and DI-cpWER by meeteval, and WDER.",
        ),
    ] = False,
    uem: scoring.UemFile = None,
    convention: scoring.ConventionName = scoring.Rules.sms_diar,
    collar: scoring.Collar = 0.0,
    collar_total: Annotated[
        float | None,
        scoring.rule_option(
            min=0.0,
            metavar="SECONDS",
            help="Total width of the collar on both sides (pyannote's collar).",
        ),
    ] = None,
    ignore_overlap: scoring.IgnoreOverlap = False,
    extent: Annotated[
        ExtentChoice | None,
        scoring.rule_option(
            help="Scored extent without a UEM: the extent of the reference, or of "
            "reference and hypothesis together.",
            show_default="by convention",
        ),
    ] = None,
    normalise: Annotated[
        NormaliseChoice,
        scoring.rule_option(
            help="With --words, compare words in lower case and without punctuation "
            "(simple), or as they are written (none)."
        ),
    ] = NormaliseChoice.simple,
    layout: Annotated[
        Layout,
        output_option(
            "--format", help="Format of the printed tables; CSV is a single table."
        ),
    ] = Layout.table,
    wide: Annotated[
        bool, output_option("--wide", help="Do not wrap tables to the terminal width.")
    ] = False,
    everything: Annotated[
        bool, output_option("--all", help="Show all measures, not only the main ones.")
    ] = False,
    only_overall: Annotated[
        bool, output_option("--overall", help="Show only overall results.")
    ] = False,
    mapping: Annotated[
        bool, output_option("--mapping", help="Show the mapping of speakers.")
    ] = False,
    details: Annotated[
        bool,
        output_option("--details", help="Show results per recording for each system."),
    ] = False,
    explain: Annotated[
        bool, output_option("--explain", help="List all scoring rules below the table.")
    ] = False,
    output: Annotated[
        list[Path] | None,
        output_option(
            "-o",
            "--output",
            metavar="FILE",
            help="Also write the result with comparisons; the suffix selects the "
            "format (.csv, .json, .tex, .md, .txt). Repeatable.",
        ),
    ] = None,
    errors: Annotated[
        Path | None, output_option(metavar="FILE", help="Write the errors as RTTM.")
    ] = None,
    measure: Annotated[
        str | None,
        _interval(
            help="Measure for intervals and comparisons.",
            show_default="der, or cpwer with --words",
        ),
    ] = None,
    bootstrap: Annotated[
        int | None,
        _interval(
            min=0,
            metavar="SAMPLES",
            help="Number of bootstrap samples for intervals; 0 for none.",
            show_default="2000 for several systems, otherwise 0",
        ),
    ] = None,
    method: Annotated[
        IntervalChoice, _interval(help="Type of interval.")
    ] = IntervalChoice.percentile,
    level: Annotated[
        float, _interval(min=0.5, max=0.999, help="Nominal coverage of intervals.")
    ] = 0.95,
    seed: Annotated[int, _interval(min=0, help="Random seed of the bootstrap.")] = 0,
    scheduler: SchedulerOption = None,
    strict: Annotated[
        bool, Option("--strict", help="Exit with code 1 on any warning.")
    ] = False,
    as_json: Annotated[bool, output_option("--json", help="Print JSON.")] = False,
) -> None:
    """Score diarization (turns), clustering (labels) or words against a reference.

    Several systems are compared with the first in one table. With -r and -s, the
    files are parts of one reference and of one system.

    Example: sms-diar score ref.rttm sys.rttm --uem all.uem --collar 0.25
    """
    from sms_diar.cli.terminal.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar._files import write_text
        from sms_diar.io.detect import is_label_table
        from sms_diar.io.turns.files import source_files
        from sms_diar.pipeline.score.api import score_systems, score_words
        from sms_diar.report.score_report import ReportStyle

        run = progress.during("reading", score_systems)
        run_words = progress.during("reading", score_words)
    reference, hypotheses = sides_of(files or [], ref or [], sys_files or [])
    inputs = [*reference, *(path for paths in hypotheses.values() for path in paths)]
    outputs = _forms_of(output or [])
    check_outputs(errors, *outputs, inputs=chain(source_files(inputs), [uem]))
    style = ReportStyle(
        layout.value,
        everything=everything,
        only_overall=only_overall,
        mapping=mapping,
        details=details,
        explain=explain,
        explain_hint="--explain",
        width=_width(wide=wide),
    )
    if bootstrap is None:
        bootstrap = 2000 if len(hypotheses) > 1 else 0
    if words:
        words_report = run_words(
            reference,
            hypotheses,
            collar=collar if "collar" in _word_options(ctx) else 5.0,
            normalise=normalise.value,
            measure=measure or "cpwer",
            bootstrap=bootstrap,
            method=method.value,
            level=level,
            seed=seed,
            progress=progress,
        )
        _show(words_report, style, outputs, as_json=as_json, strict=strict)
        return
    measure = measure or "der"
    if len(reference) == 1 and is_label_table(reference[0]):
        _score_labels(reference[0], hypotheses, layout, outputs, as_json=as_json)
        return
    _check_usage(hypotheses, errors, collar, collar_total, measure)
    refuse_labels(reference, hypotheses)
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
    _show(report, style, outputs, as_json=as_json, strict=strict)


def _show(
    report: ScoreReport | SystemsReport | WordReport,
    style: ReportStyle,
    outputs: Mapping[Path, str],
    *,
    as_json: bool,
    strict: bool,
) -> None:
    """Write and print a report with its warnings."""
    from sms_diar._files import write_text
    from sms_diar._json import json_text
    from sms_diar.io.problems import summarised

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
            raise BadParameter(
                f"{path}: the suffix must be one of {', '.join(_FORMS)}, got "
                f"{path.suffix!r}",
                param_hint="--output",
            )
    return {path: _FORMS[path.suffix.lower()] for path in output}


def _word_options(ctx: typer.Context) -> list[str]:
    """Names of the options that are set; refuse those that do not apply to words."""
    names = []
    for option in ctx.command.params:
        source = ctx.get_parameter_source(option.name or "")
        if source is not None and source.name == "COMMANDLINE":
            names.append(option.name or "")
            if option.name in _OF_TURNS:
                problem = "cannot be combined with --words"
                raise BadParameter(problem, param_hint=option.opts[-1])
    return names


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
        raise BadParameter("requires a single system", param_hint="--errors")
    if collar_total is not None and collar:
        problem = "cannot be combined with --collar"
        raise BadParameter(problem, param_hint="--collar-total")
    if measure not in RATES:
        problem = f"{measure!r} is not one of {', '.join(RATES)}"
        raise BadParameter(problem, param_hint="--measure")


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
            raise BadParameter("labels must be in a single file", param_hint="-s")
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


class ManyValues(TyperCommand):
    """Command whose -r and -s take all arguments up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each of its values, as the parser requires."""
        words: list[str] = []
        option = None
        for index, word in enumerate(args):
            if word == "--":
                return list(super().parse_args(ctx, words + args[index:]))
            if word in ("-r", "--ref", "-s", "--sys"):
                option = word
                if index + 1 == len(args) or _is_option(args[index + 1]):
                    words.append(word)  # the parser reports the missing value
            elif _is_option(word):
                option = None
                words.append(word)
            else:
                words += [word] if option is None else [option, word]
        return list(super().parse_args(ctx, words))


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def sides_of(
    files: Sequence[str], ref: list[str], of_system: list[str]
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the files of the reference, and the files of each system by name."""
    if bool(ref) != bool(of_system):
        problem = "-r and -s are required together: -r REF... -s SYS..."
        raise BadParameter(problem, param_hint="-r" if ref else "-s")
    if ref and files:
        problem = f"unexpected argument {files[0]!r}: list files after -r or -s"
        raise BadParameter(problem, param_hint="REF HYP")
    if not ref and len(files) < 2:
        raise BadParameter(
            "a reference and at least one system are required: REF HYP..., or "
            "-r REF... -s SYS...",
            param_hint="REF HYP",
        )
    if [*files, *ref, *of_system].count("-") > 1:
        raise BadParameter("- (standard input) is given twice")
    if ref:
        return ref, {_short_names(of_system[:1])[0]: of_system}
    names = _short_names(files[1:])
    return [files[0]], {n: [f] for n, f in zip(names, files[1:], strict=True)}


def _short_names(paths: Sequence[str]) -> list[str]:
    """Name systems by file name, or by path if file names are not unique."""
    stems = [Path(path).stem or path for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    if len(set(paths)) < len(paths):
        raise BadParameter("a system is given twice", param_hint="HYP")
    return list(paths)


def refuse_labels(
    reference: Sequence[str], hypotheses: Mapping[str, Sequence[str]]
) -> None:
    """Refuse label files, which cannot be compared with turns."""
    from sms_diar.errors import DataFormatError
    from sms_diar.io.detect import is_label_table

    for path in (path for paths in hypotheses.values() for path in paths):
        if is_label_table(path):
            raise DataFormatError(
                f"this looks like labels (utt2spk), but {reference[0]} contains turns; "
                f"labels are scored against labels",
                path=path,
            )
