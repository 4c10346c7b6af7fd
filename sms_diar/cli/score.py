"""``sms-diar score``: diarization or labels against a reference."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from sms_diar.cli.output import check_outputs
from sms_diar.cli.scheduler import SchedulerOption, on_scheduler

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
        "--format", help="Form of the tables; CSV is one table.", rich_help_panel=_SHOWN
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
    Resampling, typer.Option(help="Kind of interval.", rich_help_panel=_DRAWN)
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
    int, typer.Option(help="Seed of the bootstrap.", rich_help_panel=_DRAWN)
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


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command(cls=_ManyValues)(score)


class _ManyValues(TyperCommand):
    """A command whose -r and -s take all words up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give each of several values its own option, as the parser wants it."""
        found: list[str] = []
        option = None
        for place, word in enumerate(args):
            if word == "--":
                return list(super().parse_args(ctx, found + args[place:]))
            if word in ("-r", "--ref", "-s", "--sys"):
                option = word
                if place + 1 == len(args) or _is_option(args[place + 1]):
                    found.append(word)  # without a value, which the parser refuses
            elif _is_option(word):
                option = None
                found.append(word)
            else:
                found += [word] if option is None else [option, word]
        return list(super().parse_args(ctx, found))


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


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
    errors: ErrorFile = None,
    measure: Measure = "der",
    bootstrap: Bootstrap = None,
    method: IntervalKind = Resampling.percentile,
    level: Level = 0.95,
    seed: BootstrapSeed = 0,
    scheduler: SchedulerOption = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Score diarization (turns) or clustering (labels) against a reference.

    Several systems are compared with the first. With -r and -s, several files are
    parts of one reference and of one system.

    Example: sms-diar score ref.rttm sys.rttm --uem all.uem --collar 0.25
    """
    from sms_diar._files import write_text
    from sms_diar._json import json_text
    from sms_diar.io.problems import summarised
    from sms_diar.io.sniff import is_label_table
    from sms_diar.pipeline.score import score_systems
    from sms_diar.report.score_report import ReportStyle

    reference, hypotheses = _sides(files or [], ref or [], sys_files or [])
    check_outputs(errors)
    if len(reference) == 1 and is_label_table(reference[0]):
        _score_labels(reference[0], hypotheses, layout, as_json=as_json)
        return
    _check_usage(hypotheses, errors, collar, collar_total, measure)
    _refuse_labels(reference, hypotheses)
    if bootstrap is None:
        bootstrap = 2000 if len(hypotheses) > 1 else 0
    with on_scheduler(scheduler):
        found = score_systems(
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
            width=_width(wide=wide),
        )
        typer.echo(report.text(style), nl=False)
    warnings = [remark for remark in report.remarks if remark.severity == "warning"]
    for line in summarised(warnings):
        typer.echo(f"sms-diar: {line}", err=True)
    if strict and warnings:
        raise typer.Exit(1)


def _sides(
    files: Sequence[str], ref: list[str], of_system: list[str]
) -> tuple[list[str], dict[str, list[str]]]:
    """Files of the reference, and of each system by its name."""
    if bool(ref) != bool(of_system):
        raise typer.BadParameter(
            "-r and -s go together: -r REF... -s SYS...",
            param_hint="-r" if ref else "-s",
        )
    if ref and files:
        raise typer.BadParameter(
            f"{files[0]!r} is neither behind -r nor behind -s", param_hint="REF HYP"
        )
    if not ref and len(files) < 2:
        raise typer.BadParameter(
            "a reference and at least one system are needed: REF HYP..., or -r REF... "
            "-s SYS...",
            param_hint="REF HYP",
        )
    if [*files, *ref, *of_system].count("-") > 1:
        raise typer.BadParameter("- (standard input) is given twice")
    if ref:
        return ref, {_short_names(of_system[:1])[0]: of_system}
    names = _short_names(files[1:])
    return [files[0]], {n: [f] for n, f in zip(names, files[1:], strict=True)}


def _refuse_labels(
    reference: Sequence[str], hypotheses: Mapping[str, Sequence[str]]
) -> None:
    """Tell labels from turns, which cannot be compared."""
    from sms_diar.errors import DataFormatError
    from sms_diar.io.sniff import is_label_table

    for path in (path for one in hypotheses.values() for path in one):
        if is_label_table(path):
            raise DataFormatError(
                f"this looks like labels (utt2spk) and not like turns, which "
                f"{reference[0]} holds; labels are scored against labels",
                path=path,
            )


def _width(*, wide: bool) -> int | None:
    from sms_diar.report.score_report import TERMINAL_WIDTH

    if wide:
        return None
    if not sys.stdout.isatty():
        return TERMINAL_WIDTH
    return shutil.get_terminal_size((TERMINAL_WIDTH, 24)).columns


def _check_usage(
    hypotheses: Collection[str],
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
    reference: str,
    hypotheses: Mapping[str, Sequence[str]],
    layout: Layout,
    *,
    as_json: bool,
) -> None:
    from sms_diar._json import json_line
    from sms_diar.errors import DataFormatError
    from sms_diar.io.sniff import is_label_table
    from sms_diar.pipeline.score import score_labels
    from sms_diar.report.label_report import label_table

    reports = {}
    for name, paths in hypotheses.items():
        if len(paths) > 1:
            raise typer.BadParameter("labels are in one file", param_hint="-s")
        (path,) = paths
        if Path(path).is_file() and not is_label_table(path):
            raise DataFormatError(
                f"this does not look like labels, which {reference} holds; turns are "
                f"scored against turns (RTTM and others)",
                path=path,
            )
        reports[name] = score_labels(reference, path)
        for problem in reports[name].problems:
            typer.echo(f"sms-diar: {problem.path}: warning: {problem.text}", err=True)
    if as_json:
        records = {name: report.to_dict() for name, report in reports.items()}
        typer.echo(
            json_line(next(iter(records.values())) if len(records) == 1 else records)
        )
    else:
        in_words = layout is not Layout.csv
        table = label_table(reports, in_words=in_words)
        typer.echo(table.text(layout.value), nl=False)
