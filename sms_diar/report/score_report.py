"""Report of ``sms-diar score`` on turns, as text and as plain values for JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from sms_diar._validation import check_choice
from sms_diar.metrics.diarization.bootstrap import Comparison, Interval
from sms_diar.metrics.diarization.conventions import Settings
from sms_diar.metrics.diarization.error_intervals import error_intervals
from sms_diar.metrics.diarization.evaluation import (
    Evaluation,
    Figures,
    RecordingScore,
)
from sms_diar.metrics.labels.counting import DetectedSpeakers
from sms_diar.report.score_tables import (
    ALL,
    comparison_text,
    count_table,
    fitting_table,
    folded,
    full_table,
    interval_text,
    mapping_table,
    score_table,
    systems_table,
)
from sms_diar.report.tables import TABLE_FORMATS, Table
from sms_diar.timeline.ticks import TICKS_PER_SECOND
from sms_diar.types import Problem


def error_rttm(evaluation: Evaluation) -> str:
    """Write errors as the text of an RTTM file, one line per error.

    The speaker field contains the kind of error and the speakers, for example
    ``confusion:A>x``, ``missed:A`` or ``false_alarm:x``. The confidence field contains
    the number of speakers in error.
    """
    return "".join(
        f"SPEAKER {recording} 1 {_decimal(start)} {_decimal(end - start)} "
        f"<NA> <NA> {label} {n_speakers} <NA>\n"
        for recording, start, end, label, n_speakers in _joined(evaluation)
    )


def _joined(evaluation: Evaluation) -> list[tuple[str, int, int, str, int]]:
    """List errors, joining neighbours of the same kind."""
    rows: list[tuple[str, int, int, str, int]] = []
    latest: dict[tuple[str, str, int], int] = {}
    for error in error_intervals(evaluation):
        ref, hyp = "+".join(error.reference), "+".join(error.hypothesis)
        who = {"missed": ref, "false_alarm": hyp, "confusion": f"{ref}>{hyp}"}
        label = f"{error.kind}:{who[error.kind]}"
        key = (error.recording, label, error.n_speakers)
        at = latest.get(key)
        if at is not None and rows[at][2] == error.start:
            rows[at] = (*rows[at][:2], error.end, *rows[at][3:])
        else:
            latest[key] = len(rows)
            rows.append(
                (error.recording, error.start, error.end, label, error.n_speakers)
            )
    return sorted(rows, key=lambda row: row[:2])


def _decimal(ticks: int) -> str:
    whole, part = divmod(ticks, TICKS_PER_SECOND)
    digits = f"{part:012d}".rstrip("0").ljust(3, "0")
    return f"{whole}.{digits}"


_MARKS = {"latex": "% "}
"""Comment prefix of each format."""

TERMINAL_WIDTH = 80
"""Default number of characters per line."""


@dataclass(frozen=True)
class ReportStyle:
    """Content and format of the text of a report.

    Parameters
    ----------
    format : {"table", "markdown", "latex", "csv"}
        Format of the tables. CSV is a single table with all metrics, unrounded.
    everything : bool
        Show all metrics instead of the main ones.
    only_overall : bool
        Do not show single recordings.
    mapping : bool
        Show the mapping of speakers.
    details : bool
        Show tables of recordings for each of several systems. Implied by `everything`
        and `mapping`.
    explain : bool
        List all scoring rules below the tables instead of the main ones.
    explain_hint : str
        How to get the complete list, shown with the main rules.
    width : int or None, default=80
        Maximum number of characters per line. It limits the columns of a plain table,
        or folds the table if `everything` is set. None does not limit tables.
    """

    format: str = "table"
    everything: bool = False
    only_overall: bool = False
    mapping: bool = False
    details: bool = False
    explain: bool = False
    explain_hint: str = ""
    width: int | None = TERMINAL_WIDTH

    def __post_init__(self) -> None:
        check_choice("ReportStyle", "format", self.format, TABLE_FORMATS)

    @property
    def mark(self) -> str:
        """Comment prefix, empty if the format has no comments."""
        return _MARKS.get(self.format, "")

    @property
    def gap(self) -> str:
        """Line that separates two parts."""
        return self.mark.rstrip() + "\n"

    def line(self, text: str) -> str:
        """Wrap a line of text to the width."""
        if self.format != "table" or self.width is None:
            return f"{self.mark}{text}\n"
        indent = "  " if text.startswith("- ") else ""
        return _wrapped(text, self.width, indent) + "\n"


PLAIN = ReportStyle()


@dataclass(frozen=True, eq=False)
class ScoreReport:
    """Report on a hypothesis that was scored against a reference.

    Parameters
    ----------
    evaluation : Evaluation
        Scores with all details.
    md_eval : str
        Command line of md-eval with the same collar, overlap and regions.
    measure : str
        Metric of the interval.
    interval : Interval, optional
        Confidence interval of the pooled metric, if recordings were resampled.
    questions : tuple of Problem
        Warnings about unusual options.
    reason : str
        Explanation if a requested interval could not be computed.
    """

    evaluation: Evaluation
    md_eval: str
    measure: str = "der"
    interval: Interval | None = None
    questions: tuple[Problem, ...] = ()
    reason: str = ""

    @property
    def settings(self) -> Settings:
        """Scoring rules and options."""
        return self.evaluation.settings

    @property
    def overall(self) -> Figures:
        """Metrics of all recordings pooled."""
        return self.evaluation.overall

    @property
    def macro(self) -> Figures:
        """Unweighted means of the metrics of recordings."""
        return self.evaluation.macro

    @property
    def recordings(self) -> dict[str, RecordingScore]:
        """Scores by recording."""
        return self.evaluation.recordings

    @property
    def remarks(self) -> tuple[Problem, ...]:
        """Warnings without duplicates."""
        return tuple(dict.fromkeys((*self.questions, *self.evaluation.remarks)))

    def text(self, style: ReportStyle = PLAIN) -> str:
        """Format the metrics of recordings, followed by the rules in one line."""
        if style.format == "csv":
            return full_table({"": self.evaluation}, mapping=style.mapping).csv()
        return "".join([*_parts(self, style), _rules(self, style)])

    def __str__(self) -> str:
        return self.text().rstrip("\n")

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"

    def error_rttm(self) -> str:
        """Write the errors as RTTM."""
        return error_rttm(self.evaluation)

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values; times are in seconds, rates are fractions."""
        record: dict[str, Any] = {
            "settings": self._settings_record(),
            "recordings": {
                name: {
                    **score.figures,
                    "mapping": score.mapping,
                    "speaker_jer": score.speaker_jer,
                }
                for name, score in self.recordings.items()
            },
            "overall": dict(self.overall),
            "macro": dict(self.macro),
            "speaker_counts": speaker_counts(self.evaluation),
            "warnings": [
                remark.with_severity()
                for remark in (*self.questions, *self.evaluation.remarks)
            ],
        }
        if self.interval is not None:
            record["intervals"] = {self.measure: _interval_record(self.interval)}
        return record

    def _settings_record(self) -> dict[str, Any]:
        return {
            **self.settings.as_dict(),
            "in_words": self.settings.sentences(),
            "md_eval": self.md_eval,
        }


@dataclass(frozen=True, eq=False)
class SystemsReport:
    """Report on several hypotheses that were scored against one reference.

    Parameters
    ----------
    systems : mapping from str to ScoreReport
        Report of each system, by name.
    comparisons : tuple of Comparison
        Comparison of each other system with the first; empty if recordings were not
        resampled.
    reason : str
        Explanation if a requested comparison could not be computed.
    """

    systems: Mapping[str, ScoreReport]
    comparisons: tuple[Comparison, ...] = ()
    reason: str = ""

    @property
    def _names(self) -> list[str]:
        return list(self.systems)

    @property
    def _evaluations(self) -> dict[str, Evaluation]:
        return {name: report.evaluation for name, report in self.systems.items()}

    @property
    def _first(self) -> ScoreReport:
        return next(iter(self.systems.values()))

    @property
    def remarks(self) -> tuple[Problem, ...]:
        """Warnings without duplicates."""
        reports = self.systems.values()
        return tuple(dict.fromkeys(r for report in reports for r in report.remarks))

    def text(self, style: ReportStyle = PLAIN) -> str:
        """Format one table with a row per system, followed by the rules."""
        if style.format == "csv":
            return full_table(
                self._evaluations, mapping=style.mapping, comparisons=self.comparisons
            ).csv()
        width = style.width if style.format == "table" else None
        table = systems_table(self._evaluations, self.comparisons, width)
        parts = [_table_text(table, style), style.gap]
        if "found" in table.columns:
            true = speaker_counts(self._first.evaluation)["true"] or 0.0
            text = f"found: speakers per recording; the reference has {true:.2f}"
            parts.append(style.line(text))
        if self.comparisons:
            parts.append(style.line(comparison_text(self._names[0], self.comparisons)))
        elif self.reason:
            parts.append(style.line(self.reason))
        parts.append(_rules(self._first, style))
        if style.details or style.everything or style.mapping:
            for name, report in self.systems.items():
                parts += [style.gap, style.line(name), *_parts(report, style)]
        return "".join(parts)

    def __str__(self) -> str:
        return self.text().rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values; times are in seconds, rates are fractions."""
        base, *others = self.systems
        comparisons = [
            {"system": name, "with": base, **_comparison_record(comparison)}
            for name, comparison in zip(
                others, self.comparisons, strict=bool(self.comparisons)
            )
        ]
        return {
            "settings": self._first._settings_record(),
            "systems": {name: r.to_dict() for name, r in self.systems.items()},
            "comparisons": comparisons,
            **({"no_comparison": self.reason} if self.reason else {}),
        }


def speaker_counts(evaluation: Evaluation) -> dict[str, float | None]:
    """Compute the average number of detected speakers and its errors."""
    figures = [score.figures for score in evaluation.recordings.values()]
    if not figures:
        return {"ands": None, "true": None, "mean_absolute_error": None, "exact": None}
    true = [int(row["n_ref"] or 0) for row in figures]
    counts = DetectedSpeakers.of((int(row["n_hyp"] or 0) for row in figures), true)
    return {
        "ands": counts.ands,
        "true": sum(true) / len(true),
        "mean_absolute_error": counts.mean_absolute_error,
        "exact": counts.share_exact,
    }


def _rules(report: ScoreReport, style: ReportStyle) -> str:
    """Format the main scoring rules in one line, or list all of them."""
    if not style.explain:
        name, summary = report.settings.convention.name, report.settings.summary()
        hint = f" ({style.explain_hint})" if style.explain_hint else ""
        return style.line(f"{name} rules{hint}: {summary}")
    dash = "" if style.mark else "- "
    lines = [style.line(f"{dash}{line}") for line in report.settings.sentences()]
    command = f"{dash}md-eval: {report.md_eval}"
    if style.format == "table" and style.width is not None:
        # End lines with a backslash, so that the command can be pasted into a shell.
        broken = _wrapped(command, style.width - 2, "    ").replace("\n", " \\\n")
        return "".join(lines) + broken + "\n"
    return "".join(lines) + style.line(command)


def _wrapped(text: str, width: int, indent: str) -> str:
    return textwrap.fill(
        text,
        max(width, 20),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _parts(report: ScoreReport, style: ReportStyle) -> Iterator[str]:
    """Yield the tables and lines of one system."""
    result = report.evaluation
    yield _table_text(_main_table(result, style), style)
    if style.mapping:
        yield style.gap
        yield _table_text(mapping_table(result), style)
    yield style.gap
    yield _counts_line(result, style)
    if style.everything:
        yield _table_text(count_table(result), style)
    if report.interval is not None:
        yield style.line(interval_text(report.measure, report.interval))
    elif report.reason:
        yield style.line(report.reason)


def _table_text(table: Table, style: ReportStyle) -> str:
    if style.format == "table" and style.width is not None:
        return "\n".join(part.plain() for part in folded(table, style.width))
    return table.text(style.format)


def _main_table(result: Evaluation, style: ReportStyle) -> Table:
    if style.everything:
        return score_table(result, names=ALL, only_overall=style.only_overall)
    if style.format == "table" and style.width is not None:
        return fitting_table(result, style.width, only_overall=style.only_overall)
    return score_table(result, only_overall=style.only_overall)


def _counts_line(result: Evaluation, style: ReportStyle) -> str:
    counts = speaker_counts(result)
    if counts["ands"] is None:
        return ""
    return style.line(
        f"speakers found per recording {counts['ands']:.2f} (true "
        f"{counts['true']:.2f}), mean absolute error "
        f"{counts['mean_absolute_error']:.2f}, right in "
        f"{100.0 * (counts['exact'] or 0.0):.1f} % of the recordings"
    )


def _interval_record(interval: Interval) -> dict[str, Any]:
    return {
        "estimate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "method": interval.method,
        "samples": interval.n_samples,
    }


def _comparison_record(found: Comparison) -> dict[str, Any]:
    return {
        "measure": found.measure,
        "first": found.first,
        "second": found.second,
        "difference": _interval_record(found.difference),
        "p_value": found.p_value,
    }
