"""Tables of metrics, mappings, numbers of speakers and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sms_diar._json import json_line
from sms_diar.metrics.diarization.bootstrap import Comparison, Interval
from sms_diar.metrics.diarization.evaluation import SECONDS, Evaluation, Figures
from sms_diar.metrics.diarization.rates import RATES
from sms_diar.metrics.words import WORD_RATES, WordRates, WordScores
from sms_diar.report.tables import Table

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
"""Columns for a terminal, in order of importance."""

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
    "wer": "WER",
    "cpwer": "cpWER",
    "tcpwer": "tcpWER",
    "orcwer": "ORC-WER",
    "dicpwer": "DI-cpWER",
    "wder": "WDER",
}
"""Column heads."""

_PERCENT = frozenset(
    {"der", "missed_rate", "false_alarm_rate", "confusion_rate", "jer", "overlap_share"}
    | set(WORD_RATES)
)
_COUNTS = ("n_ref", "n_hyp")
_OF_SYSTEMS = ("der", "missed_rate", "false_alarm_rate", "confusion_rate", "jer")
_DIFFERENCES = ("difference", "difference_low", "difference_high", "p_value")
_LEAST = 5  # columns of figures that are worth shorter names
SHORTEST = 9
"""Number of characters to which a long name is shortened at most."""


def score_table(
    result: Evaluation, *, names: Sequence[str] = MAIN, only_overall: bool = False
) -> Table:
    """Make a table with a row for each recording, and pooled and averaged metrics."""
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
    """Make a table of as many columns as fit into `width`, at least the DER."""
    for n in range(len(MAIN), 1, -1):
        table = score_table(result, names=MAIN[:n], only_overall=only_overall)
        room = width - sum(2 + used for used in table.widths[1:])
        if table.widths[0] <= room:
            return table
        # Rather shorter names than no parts of the DER.
        if n == _LEAST and room >= SHORTEST:
            return table.shortened(room)
    return score_table(result, names=("der",), only_overall=only_overall)


def full_table(
    results: Mapping[str, Evaluation],
    *,
    mapping: bool = False,
    comparisons: Sequence[Comparison] = (),
) -> Table:
    """Make one table of all systems with all metrics, unrounded, for spreadsheets.

    The name of a single system is not shown. With `mapping`, a column has the mapping
    of speakers as JSON. Comparisons of each other system with the first are shown in
    the pooled rows.
    """
    names = (*SECONDS, *RATES, *_COUNTS)
    gaps = dict(zip(list(results)[1:], comparisons, strict=False))
    rows = []
    for system, result in results.items():
        parts = [
            (name, score.figures, json_line(dict(score.mapping)))
            for name, score in result.recordings.items()
        ]
        parts += [("POOLED", result.overall, ""), ("MEAN", result.macro, "")]
        for name, figures, mapped in parts:
            row = [system] if len(results) > 1 else []
            row += [name, *(_exact(figures.get(key)) for key in names)]
            row += [mapped] if mapping else []
            if comparisons:
                row += _exact_gap(gaps.get(system) if name == "POOLED" else None)
            rows.append(tuple(row))
    heads = ["system"] if len(results) > 1 else []
    heads += ["recording", *names, *(["mapping"] if mapping else [])]
    heads += _DIFFERENCES if comparisons else ()
    return Table(tuple(heads), tuple(rows))


def _exact_gap(comparison: Comparison | None) -> list[str]:
    if comparison is None:
        return [""] * len(_DIFFERENCES)
    gap = comparison.difference
    return list(map(_exact, (gap.estimate, gap.low, gap.high, comparison.p_value)))


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)


def _cells(figures: Figures, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(_cell(name, figures.get(name)) for name in names)


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name in _PERCENT:
        return f"{100.0 * value:.2f}"
    if name in SECONDS:
        return f"{value:.2f}"
    if name in _COUNTS:
        return f"{value:g}" if value == int(value) else f"{value:.2f}"
    return f"{value:.4f}"


def mapping_table(result: Evaluation) -> Table:
    """Make a table of mapped speakers, with the JER of each."""
    rows = []
    for name, score in result.recordings.items():
        partner = {ref: hyp for hyp, ref in score.mapping.items()}
        for ref, jer in score.speaker_jer.items():
            rows.append((name, ref, partner.get(ref, "-"), f"{100.0 * jer:.2f}"))
    heads = ("recording", "reference", "hypothesis", "JER %")
    return Table(heads, tuple(rows), n_left=3)


def count_table(result: Evaluation) -> Table:
    """Count recordings by true and detected number of speakers."""
    pairs = [
        (int(score.figures["n_ref"] or 0), int(score.figures["n_hyp"] or 0))
        for score in result.recordings.values()
    ]
    true = sorted({ref for ref, _ in pairs})
    detected = sorted({hyp for _, hyp in pairs})
    rows = tuple(
        (str(ref), *(str(pairs.count((ref, hyp))) for hyp in detected)) for ref in true
    )
    return Table(("true \\ found", *map(str, detected)), rows)


def interval_text(measure: str, interval: Interval) -> str:
    """Describe a metric and its confidence interval in one line."""
    scale, unit = (100.0, " %") if measure in _PERCENT else (1.0, "")
    return (
        f"{HEADS[measure]} {scale * interval.estimate:.2f}{unit}, "
        f"{100 * interval.level:g} % interval {scale * interval.low:.2f} to "
        f"{scale * interval.high:.2f} ({interval.method}, {interval.n_samples} samples "
        f"of recordings)"
    )


def systems_table(
    results: Mapping[str, Evaluation],
    comparisons: Sequence[Comparison],
    width: int | None = None,
) -> Table:
    """Make a table of pooled metrics and differences to the first system.

    `comparisons` are those of each other system with the first, or empty. If `width` is
    given, names that are too long are shortened; speaker counts and then the JER are
    omitted where there is still no room.
    """
    heads = ["system", "DER %", "missed", "FA", "conf.", "JER %", "found"]
    rows = []
    for name, result in results.items():
        n_speakers = _cell("n_hyp", result.macro.get("n_hyp"))
        rows.append([name, *_cells(result.overall, _OF_SYSTEMS), n_speakers])
    if comparisons:
        heads += ["diff.", "interval", "p"]
        gaps = [["", "", ""], *map(_difference_cells, comparisons)]
        rows = [[*row, *gap] for row, gap in zip(rows, gaps, strict=True)]
    table = Table(tuple(heads), tuple(map(tuple, rows)))
    if width is None:
        return table
    for head in ("", "found", "JER %"):
        table = table.select(
            [i for i, name in enumerate(table.columns) if name != head]
        )
        room = width - sum(2 + used for used in table.widths[1:])
        if room >= min(SHORTEST, max(map(len, results))):
            break
    return table.shortened(max(room, SHORTEST))


def _difference_cells(compared: Comparison) -> list[str]:
    scale = 100.0 if compared.measure in _PERCENT else 1.0
    gap = compared.difference
    return [
        f"{scale * gap.estimate:+.2f}",
        f"{scale * gap.low:+.2f} {scale * gap.high:+.2f}",
        f"{compared.p_value:.3f}",
    ]


def comparison_text(first: str, comparisons: Sequence[Comparison]) -> str:
    """Describe in one line how systems were compared with the first."""
    measure, gap = comparisons[0].measure, comparisons[0].difference
    return (
        f"diff.: {HEADS[measure]} less the {HEADS[measure]} of {first}, "
        f"{100 * gap.level:g} % interval ({gap.method}, {gap.n_samples} samples of "
        f"recordings), p of a permutation test"
    )


def rates_table(
    what: str, rows: Mapping[str, WordRates], comparisons: Sequence[Comparison] = ()
) -> Table:
    """Make a table of word error rates, with differences to the first row."""
    names = [name for name in WORD_RATES if any(name in row for row in rows.values())]
    heads = [what, *(f"{HEADS[name]} %" for name in names)]
    cells = [
        [label, *(_cell(n, row[n].rate if n in row else None) for n in names)]
        for label, row in rows.items()
    ]
    if comparisons:
        heads += ["diff.", "interval", "p"]
        gaps = [["", "", ""], *map(_difference_cells, comparisons)]
        cells = [[*row, *gap] for row, gap in zip(cells, gaps, strict=True)]
    return Table(tuple(heads), tuple(map(tuple, cells)))


def word_counts_table(systems: Mapping[str, Mapping[str, WordRates]]) -> Table:
    """Make a table of unrounded rates and kinds of errors of recordings."""
    heads = ("system", "recording", "measure", "rate", "errors", "words")
    rows = (
        (*names, HEADS[name], _exact(rates[name].rate), *map(_exact, rates[name]))
        for system, recordings in systems.items()
        for *names, rates in ((system, *item) for item in recordings.items())
        for name in WORD_RATES
        if name in rates
    )
    kinds = ("substituted", "inserted", "deleted")
    return Table((*heads, *kinds), tuple(rows), n_left=3)


def word_speakers_table(scores: WordScores) -> Table:
    """Make a table of the words and errors of each reference speaker."""
    heads = ("hypothesis", "words", "subst.", "ins.", "del.", "wrong speaker")
    rows = (
        (name, speaker, *("-" if v is None else str(v) for v in counts.values()))
        for name, aligned in scores.aligned.items()
        for speaker, counts in aligned.speakers().items()
    )
    return Table(("recording", "reference", *heads), tuple(rows), n_left=3)
