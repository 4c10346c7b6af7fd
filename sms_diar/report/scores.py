"""Results of scoring as tables, text and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sms_diar.metrics.diarization.bootstrap import Comparison, Interval
from sms_diar.metrics.diarization.error_intervals import error_intervals
from sms_diar.metrics.diarization.evaluation import Evaluation, Figures
from sms_diar.metrics.diarization.rates import RATES
from sms_diar.report.tables import Table
from sms_diar.timeline.ticks import TICKS_PER_SECOND

MAIN = (
    "der",
    "missed_rate",
    "false_alarm_rate",
    "confusion_rate",
    "jer",
    "scored",
    "n_ref",
    "n_hyp",
    "k",
)
"""Columns for a terminal, the most important ones first."""

ALL = ("scored", *RATES, "n_ref", "n_hyp")
"""All columns of a table."""

HEADS = {
    "scored": "scored s",
    "missed": "missed s",
    "false_alarm": "false alarm s",
    "confusion": "confusion s",
    "der": "DER",
    "missed_rate": "missed",
    "false_alarm_rate": "false al.",
    "confusion_rate": "confused",
    "jer": "JER",
    "purity": "purity",
    "coverage": "coverage",
    "acp": "ACP",
    "asp": "ASP",
    "k": "K",
    "b3_precision": "B3 prec.",
    "b3_recall": "B3 recall",
    "b3_f1": "B3 F1",
    "gkt_ref_sys": "tau(ref,sys)",
    "gkt_sys_ref": "tau(sys,ref)",
    "h_ref_sys": "H(ref|sys)",
    "h_sys_ref": "H(sys|ref)",
    "mi": "MI",
    "nmi": "NMI",
    "homogeneity": "homog.",
    "completeness": "complet.",
    "overlap_share": "overlap",
    "n_ref": "speakers",
    "n_hyp": "found",
}
"""Column heads."""

_PERCENT = frozenset(
    {"der", "missed_rate", "false_alarm_rate", "confusion_rate", "jer", "overlap_share"}
)
_SECONDS = ("scored", "missed", "false_alarm", "confusion")
_COUNTS = ("n_ref", "n_hyp")


def score_table(
    result: Evaluation, *, names: Sequence[str] = MAIN, only_overall: bool = False
) -> Table:
    """A row for each recording, then the pooled and the averaged figures."""
    heads = tuple(HEADS[name] + (" %" if name in _PERCENT else "") for name in names)
    rows = [
        (name, *_cells(score.figures, names))
        for name, score in result.recordings.items()
        if not only_overall
    ]
    rows.append(("POOLED", *_cells(result.overall, names)))
    rows.append(("MEAN", *_cells(result.macro, names)))
    return Table(("recording", *heads), tuple(rows))


def fitting_table(result: Evaluation, width: int, *, only_overall: bool) -> Table:
    """The most columns that fit `width` letters, at least the DER."""
    for n in range(len(MAIN), 1, -1):
        table = score_table(result, names=MAIN[:n], only_overall=only_overall)
        if max(len(line) for line in table.plain().splitlines()) <= width:
            return table
    return score_table(result, names=("der",), only_overall=only_overall)


def full_table(result: Evaluation) -> Table:
    """Every figure, unrounded, for spreadsheets."""
    names = (*_SECONDS, *RATES, *_COUNTS)
    rows = [
        (name, *(_exact(score.figures[key]) for key in names))
        for name, score in result.recordings.items()
    ]
    rows.append(("POOLED", *(_exact(result.overall[key]) for key in names)))
    rows.append(("MEAN", *(_exact(result.macro.get(key)) for key in names)))
    return Table(("recording", *names), tuple(rows))


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)


def _cells(figures: Figures, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(_cell(name, figures.get(name)) for name in names)


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name in _PERCENT:
        return f"{100.0 * value:.2f}"
    if name in _SECONDS:
        return f"{value:.2f}"
    if name in _COUNTS:
        return f"{value:g}" if value == int(value) else f"{value:.2f}"
    return f"{value:.4f}"


def mapping_table(result: Evaluation) -> Table:
    """Which hypothesis speaker stands for whom, with the JER of each."""
    rows = []
    for name, score in result.recordings.items():
        partner = {ref: hyp for hyp, ref in score.mapping.items()}
        for ref, jer in score.speaker_jer.items():
            rows.append((name, ref, partner.get(ref, "-"), f"{100.0 * jer:.2f}"))
    heads = ("recording", "reference", "hypothesis", "JER %")
    return Table(heads, tuple(rows), n_left=3)


def count_table(result: Evaluation) -> Table:
    """How many speakers were found where there were so many."""
    pairs = [
        (int(score.figures["n_ref"] or 0), int(score.figures["n_hyp"] or 0))
        for score in result.recordings.values()
    ]
    true = sorted({ref for ref, _ in pairs})
    found = sorted({hyp for _, hyp in pairs})
    rows = tuple(
        (str(ref), *(str(pairs.count((ref, hyp))) for hyp in found)) for ref in true
    )
    return Table(("true \\ found", *(str(hyp) for hyp in found)), rows)


def speaker_counts(result: Evaluation) -> dict[str, float | None]:
    """Average number of detected speakers and how far it is from the truth."""
    figures = [score.figures for score in result.recordings.values()]
    pairs = [(int(f["n_hyp"] or 0), int(f["n_ref"] or 0)) for f in figures]
    if not pairs:
        return {"ands": None, "true": None, "mean_absolute_error": None, "exact": None}
    n = len(pairs)
    return {
        "ands": sum(found for found, _ in pairs) / n,
        "true": sum(true for _, true in pairs) / n,
        "mean_absolute_error": sum(abs(f - t) for f, t in pairs) / n,
        "exact": sum(f == t for f, t in pairs) / n,
    }


def interval_text(measure: str, interval: Interval) -> str:
    """One line on a figure and its interval."""
    scale, unit = (100.0, " %") if measure in _PERCENT else (1.0, "")
    return (
        f"{HEADS[measure]} {scale * interval.estimate:.2f}{unit}, "
        f"{100 * interval.level:g} % interval {scale * interval.low:.2f} to "
        f"{scale * interval.high:.2f} ({interval.method}, {interval.n_samples} samples "
        f"of recordings)"
    )


def comparison_table(names: Sequence[str], comparisons: Sequence[Comparison]) -> Table:
    """Systems against the first one."""
    rows = []
    for name, found in zip(names[1:], comparisons, strict=True):
        scale = 100.0 if found.measure in _PERCENT else 1.0
        gap = found.difference
        rows.append(
            (
                f"{name} - {names[0]}",
                f"{scale * found.first:.2f}",
                f"{scale * found.second:.2f}",
                f"{scale * gap.estimate:+.2f}",
                f"{scale * gap.low:+.2f} to {scale * gap.high:+.2f}",
                f"{found.p_value:.4f}",
            )
        )
    measure = HEADS[comparisons[0].measure] if comparisons else "figure"
    heads = ("systems", f"{measure}", "that of the first", "difference", "interval")
    return Table((*heads, "p"), tuple(rows))


def json_report(result: Evaluation) -> dict[str, Any]:
    """Everything, for machines: seconds and fractions."""
    return {
        "settings": result.settings.as_dict(),
        "recordings": {
            name: {
                **score.figures,
                "mapping": score.mapping,
                "speaker_jer": score.speaker_jer,
            }
            for name, score in result.recordings.items()
        },
        "overall": dict(result.overall),
        "macro": dict(result.macro),
        "speaker_counts": speaker_counts(result),
    }


def interval_record(interval: Interval) -> dict[str, Any]:
    """An interval, for machines."""
    return {
        "estimate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "method": interval.method,
        "samples": interval.n_samples,
    }


def comparison_record(found: Comparison) -> dict[str, Any]:
    """A comparison, for machines."""
    return {
        "measure": found.measure,
        "first": found.first,
        "second": found.second,
        "difference": interval_record(found.difference),
        "p_value": found.p_value,
    }


def error_rttm(result: Evaluation) -> str:
    """RTTM that shows where the errors are.

    The speaker field says what is wrong and who is concerned, e.g.
    ``confusion:A>x``, ``missed:A``, ``false_alarm:x``; the field for confidence
    holds the number of speakers in error.
    """
    lines = []
    for recording, start, end, label, count in _joined(result):
        lines.append(
            f"SPEAKER {recording} 1 {_decimal(start)} {_decimal(end - start)} "
            f"<NA> <NA> {label} {count} <NA>\n"
        )
    return "".join(lines)


def _joined(result: Evaluation) -> list[tuple[str, int, int, str, int]]:
    """Errors with neighbours of the same kind joined."""
    rows: list[tuple[str, int, int, str, int]] = []
    latest: dict[tuple[str, str, int], int] = {}
    for recording, start, end, kind, ref, hyp, count in error_intervals(result):
        who = {
            "missed": "+".join(ref),
            "false_alarm": "+".join(hyp),
            "confusion": f"{'+'.join(ref)}>{'+'.join(hyp)}",
        }[kind]
        key = (recording, f"{kind}:{who}", count)
        at = latest.get(key)
        if at is not None and rows[at][2] == start:
            rows[at] = (recording, rows[at][1], end, key[1], count)
        else:
            latest[key] = len(rows)
            rows.append((recording, start, end, key[1], count))
    return sorted(rows, key=lambda row: row[:2])


def _decimal(ticks: int) -> str:
    whole, part = divmod(ticks, TICKS_PER_SECOND)
    digits = f"{part:012d}".rstrip("0").ljust(3, "0")
    return f"{whole}.{digits}"
