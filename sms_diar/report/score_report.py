"""Reports of ``sms-diar score``, as text and as plain values for JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

from sms_diar._validation import check_choice
from sms_diar.metrics.diarization.bootstrap import Comparison, Interval
from sms_diar.metrics.diarization.conventions import Settings
from sms_diar.metrics.diarization.evaluation import (
    Evaluation,
    Figures,
    RecordingScore,
    error_intervals,
)
from sms_diar.metrics.labels import DetectedSpeakers
from sms_diar.metrics.words import WordRates, WordScores
from sms_diar.report.score_tables import (
    ALL,
    SHORTEST,
    comparison_text,
    count_table,
    fitting_table,
    full_table,
    interval_text,
    mapping_table,
    rates_table,
    score_table,
    systems_table,
    word_counts_table,
    word_speakers_table,
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

    `format` is one of `TABLE_FORMATS`; CSV is a single table with all metrics,
    unrounded. `everything` shows all metrics instead of the main ones, `only_overall`
    omits single recordings, `mapping` adds the mapping of speakers, and `explain` lists
    all scoring rules below the tables instead of the main ones, which are followed by
    `explain_hint`: how to get the complete list. `details` shows tables of recordings
    for each of several systems; `everything` and `mapping` imply it. `width` is the
    maximum number of characters per line: it limits the columns of a plain table, or
    folds the table if `everything` is set. None does not limit tables.
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
    def limit(self) -> int | None:
        """Width of plain text; None if lines are not limited."""
        return self.width if self.format == "table" else None

    @property
    def gap(self) -> str:
        """Line that separates two parts."""
        return self.mark.rstrip() + "\n"

    def line(self, text: str) -> str:
        """Wrap a line of text to the width."""
        if self.limit is None:
            return f"{self.mark}{text}\n"
        indent = "  " if text.startswith("- ") else ""
        return _wrapped(text, self.limit, indent) + "\n"


PLAIN = ReportStyle()


@dataclass(frozen=True, eq=False)
class ScoreReport:
    """Report on a hypothesis that was scored against a reference.

    Parameters
    ----------
    evaluation : Evaluation
        Scores of all recordings, with their details.
    md_eval : str
        Command line of md-eval with the same collar, overlap and regions.
    measure : str
        Name of the metric of the interval, one of `RATES`.
    interval : Interval, optional
        Confidence interval of the pooled metric, if recordings were resampled.
    questions : tuple of Problem
        Warnings about options that are rarely intended.
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
        table = systems_table(self._evaluations, self.comparisons, style.limit)
        parts = [_table_text(table, style), style.gap]
        if "found" in table.columns:
            true = speaker_counts(self._first.evaluation)["true"] or 0.0
            text = f"found: speakers per recording; the reference has {true:.2f}"
            parts.append(style.line(text))
        if self.comparisons:
            first = next(iter(self.systems))
            parts.append(style.line(comparison_text(first, self.comparisons)))
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
        pairs = zip(others, self.comparisons, strict=bool(self.comparisons))
        comparisons = [
            {"system": name, "with": base, **_comparison_record(comparison)}
            for name, comparison in pairs
        ]
        return {
            "settings": self._first._settings_record(),
            "systems": {name: r.to_dict() for name, r in self.systems.items()},
            "comparisons": comparisons,
            **({"no_comparison": self.reason} if self.reason else {}),
        }


@dataclass(frozen=True, eq=False)
class WordReport:
    """Report on the words of one or more systems that were scored against a reference.

    `settings` has the `collar`, how to `normalise`, and the `measure` of the `interval`
    of a single system or of the `comparisons` of each other system with the first.
    `reason` explains why a requested interval could not be computed.
    """

    systems: Mapping[str, WordScores]
    settings: Mapping[str, Any]
    remarks: tuple[Problem, ...] = ()
    interval: Interval | None = None
    comparisons: tuple[Comparison, ...] = ()
    reason: str = ""

    @property
    def overall(self) -> WordRates:
        """Rates of the only or first system on all recordings together."""
        return next(iter(self.systems.values())).overall

    def text(self, style: ReportStyle = PLAIN) -> str:
        """Format the rates, the kinds of errors, and the settings in one line."""
        first, *others = self.systems
        totals = {name: scores.overall for name, scores in self.systems.items()}
        rows = {
            name: {**({} if style.only_overall else scores.recordings)}
            | {"POOLED": scores.overall}
            for name, scores in self.systems.items()
        }
        if style.format == "csv":
            return word_counts_table(rows).csv()
        tables = [rates_table("system", totals, self.comparisons)] if others else []
        for name, scores in self.systems.items():
            if style.details or not others:
                tables.append(rates_table(name if others else "recording", rows[name]))
            if style.mapping:
                tables.append(word_speakers_table(scores))
            if style.details or not others:
                kinds = word_counts_table({name: {"": scores.overall}})
                tables.append(kinds.select([2, *range(4, 9)]))
        lines = [self.reason] if self.reason else []
        if self.interval is not None:
            lines.append(interval_text(self.settings["measure"], self.interval))
        if self.comparisons:
            lines.append(comparison_text(first, self.comparisons))
        lines.append(self.settings["in_words"])
        parts = [_table_text(table, style) + style.gap for table in tables]
        return "".join([*parts, *map(style.line, lines)])

    def __str__(self) -> str:
        return self.text().rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values; times are in seconds, rates are fractions."""
        base, *others = self.systems
        systems = {name: _words_record(scores) for name, scores in self.systems.items()}
        record: dict[str, Any] = {"settings": dict(self.settings)}
        record |= {"systems": systems} if others else systems[base]
        if self.interval is not None:
            interval = _interval_record(self.interval)
            record["intervals"] = {self.settings["measure"]: interval}
        if others:
            record["comparisons"] = [
                {"system": name, "with": base, **_comparison_record(comparison)}
                for name, comparison in zip(others, self.comparisons, strict=False)
            ]
        record["warnings"] = [remark.with_severity() for remark in self.remarks]
        return record


def _words_record(scores: WordScores) -> dict[str, Any]:
    def plain(rates: WordRates) -> dict[str, Any]:
        return {name: {"rate": r.rate} | r._asdict() for name, r in rates.items()}

    return {
        "recordings": {
            name: plain(rates) | {"speakers": scores.aligned[name].speakers()}
            for name, rates in scores.recordings.items()
        },
        "overall": plain(scores.overall),
        "errors": [asdict(error) for error in scores.errors()],
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
    if style.limit is not None:
        # End lines with a backslash, so that the command can be pasted into a shell.
        broken = _wrapped(command, style.limit - 2, "    ").replace("\n", " \\\n")
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
    if style.limit is not None:
        return "\n".join(part.plain() for part in table.folded(style.limit, SHORTEST))
    return table.text(style.format)


def _main_table(result: Evaluation, style: ReportStyle) -> Table:
    if style.everything:
        return score_table(result, names=ALL, only_overall=style.only_overall)
    if style.limit is not None:
        return fitting_table(result, style.limit, only_overall=style.only_overall)
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
    record = asdict(interval)
    record["samples"] = record.pop("n_samples")
    return record


def _comparison_record(comparison: Comparison) -> dict[str, Any]:
    difference = _interval_record(comparison.difference)
    return asdict(comparison) | {"difference": difference}


MEANINGS = {
    "acp": "average cluster purity",
    "alp": "average label purity (of speakers: ASP)",
    "k": "geometric mean of the two",
    "weighted_acp": "cluster purity, weighted by size (B-cubed precision)",
    "weighted_alp": "label purity, weighted by size (B-cubed recall)",
    "weighted_k": "geometric mean of the two",
    "pur_cd": "share in the majority speaker of their cluster",
    "pur_dc": "share in the majority cluster of their speaker",
    "g": "geometric mean of the two",
    "n_clusters": "clusters found",
    "n_major": "clusters of at least 5 % of the segments",
    "n_singletons": "clusters of one segment",
    "smallest": "segments of the smallest cluster",
    "median_size": "segments of the median cluster",
    "largest": "segments of the largest cluster",
    "n_segments": "segments scored",
    "n_labels": "true speakers",
    "ari": "adjusted Rand index",
    "nmi": "normalised mutual information",
    "homogeneity": "clusters hold one speaker each (1 is best)",
    "completeness": "speakers are in one cluster each (1 is best)",
    "v_measure": "harmonic mean of the two",
}
"""Description of each metric."""


@dataclass(frozen=True)
class LabelReport:
    """Report on labels that were scored against true labels.

    `figures` are the metrics by name, and `problems` warnings about ids that only one
    side has.
    """

    figures: Mapping[str, float]
    problems: tuple[Problem, ...] = ()

    def __str__(self) -> str:
        return label_table({"value": self}, in_words=True).plain().rstrip("\n")

    def to_dict(self) -> dict[str, float]:
        """Convert to plain values."""
        return dict(self.figures)


def label_table(reports: Mapping[str, LabelReport], *, in_words: bool = False) -> Table:
    """Make a table with a row for each metric and a column for each system.

    With `in_words`, a first column describes the metrics.
    """
    rows = [
        (measure, *(f"{report.figures[measure]:.6g}" for report in reports.values()))
        for measure in dict.fromkeys(key for r in reports.values() for key in r.figures)
    ]
    if not in_words:
        return Table(("measure", *reports), tuple(rows))
    described = ((MEANINGS.get(row[0], row[0].replace("_", " ")), *row) for row in rows)
    return Table(("what", "measure", *reports), tuple(described), n_left=2)
