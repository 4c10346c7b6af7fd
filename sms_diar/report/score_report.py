"""What ``sms-diar score`` tells about turns: text for people, plain values for JSON."""

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
    """Text of an RTTM file with a line for each error.

    The speaker field says what is wrong and who is concerned, e.g.
    ``confusion:A>x``, ``missed:A``, ``false_alarm:x``; the field for confidence
    holds the number of speakers in error.
    """
    return "".join(
        f"SPEAKER {recording} 1 {_decimal(start)} {_decimal(end - start)} "
        f"<NA> <NA> {label} {n_speakers} <NA>\n"
        for recording, start, end, label, n_speakers in _joined(evaluation)
    )


def _joined(evaluation: Evaluation) -> list[tuple[str, int, int, str, int]]:
    """Errors with neighbours of the same kind joined."""
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
"""What makes a line a comment."""

TERMINAL_WIDTH = 80
"""Letters of a line where nobody says otherwise."""


@dataclass(frozen=True)
class ReportStyle:
    """What the text of a report shows, and how.

    Parameters
    ----------
    format : {"table", "markdown", "latex", "csv"}
        Form of the tables. CSV is one table with every figure, unrounded, and
        nothing else.
    everything : bool
        Show all measures, not only the main ones.
    only_overall : bool
        Show no single recordings.
    mapping : bool
        Show which speaker stands for whom.
    details : bool
        Show tables of recordings for each of several systems. Implied by `everything`
        and `mapping`.
    explain : bool
        List all rules of scoring below the tables, not only the main ones.
    width : int or None, default=80
        Letters of a line, which limit the columns of a plain table, or fold it if
        everything is to be shown. None for wide tables.
    """

    format: str = "table"
    everything: bool = False
    only_overall: bool = False
    mapping: bool = False
    details: bool = False
    explain: bool = False
    width: int | None = TERMINAL_WIDTH

    def __post_init__(self) -> None:
        check_choice("ReportStyle", "format", self.format, TABLE_FORMATS)

    @property
    def mark(self) -> str:
        """What makes a line a comment where the form knows comments."""
        return _MARKS.get(self.format, "")

    @property
    def gap(self) -> str:
        """Line between two parts."""
        return self.mark.rstrip() + "\n"

    def line(self, text: str) -> str:
        """A line of words, broken where the width asks for it."""
        if self.format != "table" or self.width is None:
            return f"{self.mark}{text}\n"
        indent = "  " if text.startswith("- ") else ""
        return _wrapped(text, self.width, indent) + "\n"


PLAIN = ReportStyle()


@dataclass(frozen=True, eq=False)
class ScoreReport:
    """A hypothesis scored against a reference.

    Parameters
    ----------
    evaluation : Evaluation
        The scores, and everything behind them.
    md_eval : str
        Command line of md-eval with the same collar, overlap and regions.
    measure : str
        What the interval is of.
    interval : Interval, optional
        Confidence interval of the pooled figure, where recordings were resampled.
    questions : tuple of Problem
        What seems odd about what was asked for.
    reason : str
        Why there is no interval, if there should be one.
    """

    evaluation: Evaluation
    md_eval: str
    measure: str = "der"
    interval: Interval | None = None
    questions: tuple[Problem, ...] = ()
    reason: str = ""

    @property
    def settings(self) -> Settings:
        """Rules and options in force."""
        return self.evaluation.settings

    @property
    def overall(self) -> Figures:
        """Figures of all recordings pooled."""
        return self.evaluation.overall

    @property
    def macro(self) -> Figures:
        """Means of the recordings' figures."""
        return self.evaluation.macro

    @property
    def recordings(self) -> dict[str, RecordingScore]:
        """Scores by recording."""
        return self.evaluation.recordings

    @property
    def remarks(self) -> tuple[Problem, ...]:
        """What a careful reader should know, each once."""
        return tuple(dict.fromkeys((*self.questions, *self.evaluation.remarks)))

    def text(self, style: ReportStyle = PLAIN) -> str:
        """Figures of recordings, then the rules in one line."""
        if style.format == "csv":
            return full_table({"": self.evaluation}, mapping=style.mapping).csv()
        return "".join([*_parts(self, style), _rules(self, style)])

    def __str__(self) -> str:
        return self.text().rstrip("\n")

    def _repr_html_(self) -> str:
        """The report as notebooks show it."""
        return f"<pre>{escape(str(self))}</pre>"

    def error_rttm(self) -> str:
        """RTTM of where the errors are."""
        return error_rttm(self.evaluation)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for machines: seconds and fractions."""
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
    """Several hypotheses scored against one reference.

    Parameters
    ----------
    systems : mapping from str to ScoreReport
        Report of each system, by its name.
    comparisons : tuple of Comparison
        Each system but the first against the first; empty where recordings were
        not resampled.
    reason : str
        Why there is no comparison, if there should be one.
    """

    systems: Mapping[str, ScoreReport]
    comparisons: tuple[Comparison, ...] = ()
    reason: str = ""

    @property
    def _names(self) -> list[str]:
        return list(self.systems)

    @property
    def _evaluations(self) -> dict[str, Evaluation]:
        return {name: one.evaluation for name, one in self.systems.items()}

    @property
    def _first(self) -> ScoreReport:
        return next(iter(self.systems.values()))

    @property
    def remarks(self) -> tuple[Problem, ...]:
        """What a careful reader should know, each once."""
        reports = self.systems.values()
        return tuple(dict.fromkeys(r for report in reports for r in report.remarks))

    def text(self, style: ReportStyle = PLAIN) -> str:
        """One table with a row for each system, then the rules in one line."""
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
        """Everything, for machines: seconds and fractions."""
        base, *others = self.systems
        comparisons = [
            {"system": name, "with": base, **_comparison_record(found)}
            for name, found in zip(
                others, self.comparisons, strict=bool(self.comparisons)
            )
        ]
        return {
            "settings": self._first._settings_record(),
            "systems": {name: one.to_dict() for name, one in self.systems.items()},
            "comparisons": comparisons,
            **({"no_comparison": self.reason} if self.reason else {}),
        }


def speaker_counts(evaluation: Evaluation) -> dict[str, float | None]:
    """Average number of detected speakers and how far it is from the truth."""
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
    """Rules of scoring: one line, or all of them."""
    if not style.explain:
        name, summary = report.settings.convention.name, report.settings.summary()
        return style.line(f"{name} rules (--explain): {summary}")
    dash = "" if style.mark else "- "
    lines = [style.line(f"{dash}{line}") for line in report.settings.sentences()]
    command = f"{dash}md-eval: {report.md_eval}"
    if style.format == "table" and style.width is not None:
        # Lines that end in a backslash can be pasted into a shell.
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
    """Tables and lines of one system."""
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
