"""``sms-diar score``: diarization or labels against a reference."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sms_diar.io.remarks import Remark
    from sms_diar.metrics.diarization.bootstrap import Comparison
    from sms_diar.metrics.diarization.evaluation import Evaluation
    from sms_diar.report.tables import Table


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


class Span(StrEnum):
    """What is scored without a UEM."""

    reference = "reference"
    joint = "joint"


class Resampling(StrEnum):
    """Kinds of bootstrap interval."""

    bca = "bca"
    percentile = "percentile"


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command()(score)


def score(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REF",
            help="True turns: RTTM, CTM or CSV file, folder, quoted pattern or list "
            "(.lst, .scp); or true labels: utt2spk, CSV or JSON.",
        ),
    ],
    hypotheses: Annotated[
        list[str],
        typer.Argument(
            metavar="HYP...", help="Turns or labels of one or more systems."
        ),
    ],
    *,
    uem: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Regions that are scored.")
    ] = None,
    convention: Annotated[
        Rules, typer.Option(help="Whose rules apply where tools disagree.")
    ] = Rules.sms_diar,
    collar: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="SECONDS",
            help="Left unscored on each side of a reference boundary (md-eval -c).",
        ),
    ] = 0.0,
    collar_total: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="SECONDS",
            help="The same as the width of both sides together (pyannote's collar).",
        ),
    ] = None,
    ignore_overlap: Annotated[
        bool,
        typer.Option(
            "--ignore-overlap/--score-overlap",
            help="Leave time with several reference speakers unscored (md-eval -1).",
        ),
    ] = False,
    extent: Annotated[
        Span | None,
        typer.Option(
            help="What is scored without a UEM: the extent of the reference, or of "
            "reference and hypothesis.",
            show_default="by convention",
        ),
    ] = None,
    layout: Annotated[
        Layout, typer.Option("--format", help="Form of the tables.")
    ] = Layout.table,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all measures, not only the main ones.")
    ] = False,
    only_overall: Annotated[
        bool, typer.Option("--overall", help="Show no single recordings.")
    ] = False,
    mapping: Annotated[
        bool, typer.Option("--mapping", help="Show which speaker stands for whom.")
    ] = False,
    errors: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write RTTM of where the errors are."),
    ] = None,
    measure: Annotated[
        str, typer.Option(help="Measure of intervals and comparisons.")
    ] = "der",
    bootstrap: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="SAMPLES",
            help="Samples of recordings for intervals; 0 for none.",
            show_default="2000 to compare systems, else 0",
        ),
    ] = None,
    method: Annotated[
        Resampling, typer.Option(help="Kind of interval.")
    ] = Resampling.percentile,
    level: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Nominal coverage of intervals.")
    ] = 0.95,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 on any warning.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print an object for machines.")
    ] = False,
) -> None:
    """Score diarization (turns) or clustering (labels) against a reference.

    Example: sms-diar score ref.rttm sys.rttm --uem all.uem --collar 0.25
    """
    from sms_diar.io.sniff import is_label_table

    if is_label_table(reference):
        _score_labels(reference, hypotheses, layout, as_json=as_json)
        return
    if errors is not None and len(hypotheses) > 1:
        raise typer.BadParameter("takes one system at a time", param_hint="--errors")
    if collar_total is not None and collar:
        raise typer.BadParameter(
            "and --collar exclude each other", param_hint="--collar-total"
        )
    results = _evaluate(
        reference,
        hypotheses,
        uem,
        convention=convention.value,
        collar=collar if collar_total is None else collar_total / 2.0,
        ignore_overlap=ignore_overlap,
        extent=None if extent is None else extent.value,
    )
    n_samples = bootstrap
    if n_samples is None:
        n_samples = 2000 if len(results) > 1 else 0
    options = {
        "method": method.value,
        "level": level,
        "n_samples": n_samples,
        "random_state": seed,
    }
    _check_measure(measure)
    n_recordings = len(next(iter(results.values())).names)
    report = _Report(results, (reference, hypotheses, uem), measure)
    if n_samples and n_recordings > 1:
        report.resample(options)
    if errors is not None:
        from sms_diar._files import write_text
        from sms_diar.report.scores import error_rttm

        write_text(errors, error_rttm(next(iter(results.values()))))
    if as_json:
        from sms_diar._json import json_text

        typer.echo(json_text(report.record()))
    else:
        report.show(
            layout, everything=everything, only_overall=only_overall, mapping=mapping
        )
    remarks = _distinct(results.values())
    _warn(remarks)
    if strict and any(remark.severity == "warning" for remark in remarks):
        raise typer.Exit(1)


def _check_measure(measure: str) -> None:
    from sms_diar.metrics.diarization.rates import RATES

    if measure not in RATES:
        raise typer.BadParameter(
            f"{measure!r} is not one of {', '.join(RATES)}", param_hint="--measure"
        )


def _evaluate(
    reference: str, hypotheses: Sequence[str], uem: Path | None, **options: Any
) -> dict[str, Evaluation]:
    from sms_diar.errors import DataFormatError
    from sms_diar.io.annotation import read_annotation
    from sms_diar.io.uem import read_uem
    from sms_diar.metrics.diarization.evaluation import score_diarization

    true = read_annotation(reference)
    if not len(true):
        raise DataFormatError("holds no turns to score against", path=reference)
    regions = None if uem is None else read_uem(uem)
    results = {}
    for name, path in zip(_short_names(hypotheses), hypotheses, strict=True):
        results[name] = score_diarization(
            true, read_annotation(path), regions, **options
        )
    return results


def _short_names(paths: Sequence[str]) -> list[str]:
    """Names of systems: file names, or whole paths where these are not unique."""
    stems = [Path(path).stem or path for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    if len(set(paths)) < len(paths):
        raise typer.BadParameter("a system is given twice", param_hint="HYP")
    return list(paths)


class _Report:
    """What is shown of one or more results."""

    def __init__(
        self,
        results: Mapping[str, Evaluation],
        sources: tuple[str, Sequence[str], Path | None],
        measure: str,
    ) -> None:
        self.results = results
        self.sources = sources
        self.measure = measure
        self.intervals: dict[str, Any] = {}
        self.comparisons: list[Comparison] = []

    @property
    def _first(self) -> Evaluation:
        return next(iter(self.results.values()))

    def resample(self, options: dict[str, Any]) -> None:
        from sms_diar.metrics.diarization.bootstrap import compare, confidence_interval

        for name, result in self.results.items():
            self.intervals[name] = confidence_interval(result, self.measure, **options)
        base, *others = self.results.values()
        self.comparisons = [
            compare(other, base, self.measure, **options) for other in others
        ]

    def _md_eval(self) -> str:
        reference, hypotheses, uem = self.sources
        return self._first.settings.md_eval(
            reference,
            hypotheses[0] if len(hypotheses) == 1 else "HYP",
            None if uem is None else str(uem),
        )

    def record(self) -> dict[str, Any]:
        from sms_diar.report.scores import (
            comparison_record,
            interval_record,
            json_report,
        )

        settings = self._first.settings.as_dict() | {
            "in_words": self._first.settings.sentences(),
            "md_eval": self._md_eval(),
        }
        reports = {}
        for name, result in self.results.items():
            reports[name] = json_report(result)
            reports[name]["settings"] = settings
            reports[name]["warnings"] = [str(remark) for remark in result.remarks]
            if name in self.intervals:
                found = interval_record(self.intervals[name])
                reports[name]["intervals"] = {self.measure: found}
        if len(reports) == 1:
            return next(iter(reports.values()))
        return {
            "settings": settings,
            "systems": reports,
            "comparisons": [
                {
                    "system": name,
                    "with": next(iter(self.results)),
                    **comparison_record(found),
                }
                for name, found in zip(
                    list(self.results)[1:], self.comparisons, strict=True
                )
            ]
            if self.comparisons
            else [],
        }

    def show(
        self, layout: Layout, *, everything: bool, only_overall: bool, mapping: bool
    ) -> None:
        from sms_diar.report.scores import (
            ALL,
            comparison_table,
            count_table,
            fitting_table,
            full_table,
            interval_text,
            mapping_table,
            score_table,
            speaker_counts,
        )

        mark = {Layout.csv: "# ", Layout.latex: "% "}.get(layout, "")
        for line in (
            *self._first.settings.sentences(),
            f"md-eval: {self._md_eval()}",
        ):
            typer.echo(f"{mark}{line}" if mark else f"- {line}")
        for name, result in self.results.items():
            typer.echo(mark.rstrip())
            if len(self.results) > 1:
                typer.echo(f"{mark}{name}")
            if layout is Layout.csv:
                table = full_table(result)
            elif everything:
                table = score_table(result, names=ALL, only_overall=only_overall)
            elif layout is Layout.table and sys.stdout.isatty():
                width = shutil.get_terminal_size().columns
                table = fitting_table(result, width, only_overall=only_overall)
            else:
                table = score_table(result, only_overall=only_overall)
            typer.echo(_formed(table, layout), nl=False)
            if mapping:
                typer.echo(mark.rstrip())
                typer.echo(_formed(mapping_table(result), layout), nl=False)
            if layout is Layout.csv:
                continue
            typer.echo(mark.rstrip())
            _show_counts(speaker_counts(result), mark)
            if everything:
                typer.echo(_formed(count_table(result), layout), nl=False)
            if name in self.intervals:
                typer.echo(mark + interval_text(self.measure, self.intervals[name]))
        if self.comparisons:
            typer.echo(mark.rstrip())
            table = comparison_table(list(self.results), self.comparisons)
            typer.echo(_formed(table, layout), nl=False)


def _show_counts(counts: Mapping[str, float | None], mark: str) -> None:
    if counts["ands"] is None:
        return
    typer.echo(
        f"{mark}speakers found per recording {counts['ands']:.2f} (true "
        f"{counts['true']:.2f}), mean absolute error "
        f"{counts['mean_absolute_error']:.2f}, right in "
        f"{100.0 * (counts['exact'] or 0.0):.1f} % of the recordings"
    )


def _formed(table: Table, layout: Layout) -> str:
    form = {
        Layout.table: table.plain,
        Layout.markdown: table.markdown,
        Layout.latex: table.latex,
        Layout.csv: table.csv,
    }[layout]
    return form()


def _distinct(results: Any) -> list[Remark]:
    """Remarks of all results, each once."""
    return list(dict.fromkeys(r for result in results for r in result.remarks))


def _warn(remarks: Sequence[Remark]) -> None:
    from sms_diar.io.remarks import summarised

    for line in summarised([r for r in remarks if r.severity == "warning"]):
        typer.echo(f"sms-diar: {line}", err=True)


def _score_labels(
    reference: str, hypotheses: Sequence[str], layout: Layout, *, as_json: bool
) -> None:
    from sms_diar.io.labels import read_labels
    from sms_diar.metrics.labels.matching import score_labels
    from sms_diar.report.tables import Table

    truth = read_labels(reference)
    found = {}
    for name, path in zip(_short_names(hypotheses), hypotheses, strict=True):
        labels = read_labels(path)
        found[name] = score_labels(truth, labels)
        for one, other, where in ((truth, labels, path), (labels, truth, reference)):
            missing = [key for key in one if key not in other]
            if missing:
                typer.echo(
                    f"sms-diar: {where}: warning: {len(missing)} of {len(one)} ids are "
                    f"missing, the first is {missing[0]!r}; they are not scored",
                    err=True,
                )
    if as_json:
        typer.echo(json.dumps(next(iter(found.values())) if len(found) == 1 else found))
        return
    keys = list(next(iter(found.values())))
    rows = tuple(
        (key, *(f"{figures[key]:.6g}" for figures in found.values())) for key in keys
    )
    typer.echo(_formed(Table(("measure", *found), rows), layout), nl=False)
