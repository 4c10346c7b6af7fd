"""From sessions to means, paired differences, and the files of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm, t

from sms_diar._files import write_text
from sms_diar._json import write_json
from sms_diar.report.tables import Table
from sms_diar.studies.compare import pictures
from sms_diar.studies.compare import text as compare_text
from sms_diar.studies.compare.peers import OURS
from sms_diar.types import FloatArray

MEASURES = ("k", "g", "found", "count_error", "relative_error", "exact", "seconds")
PAIRED = ("k", "g")
LEVEL = 0.95
N_SAMPLES = 2000

Values = dict[str, dict[str, list[float]]]
"""Figures of one condition: method, measure, session by session."""


def collect(results: Mapping[str, Any], names: Sequence[str]) -> dict[str, list[Any]]:
    """Results of all sessions of each condition; ``name/3`` is its session 3."""
    groups: dict[str, list[Any]] = {name: [] for name in names}
    for key, result in results.items():
        name = key.rpartition("/")[0]
        if name in groups:
            groups[name].append(result)
    return {name: sessions for name, sessions in groups.items() if sessions}


def summarise_conditions(
    results: Mapping[str, Any], conditions: Sequence[Mapping[str, Any]], seed: int
) -> dict[str, Any]:
    """Means of all conditions, and how far ours is from each peer.

    Parameters
    ----------
    results : mapping
        What `compare_session` returned, by ``name/run``.
    conditions : sequence of mapping
        Fields of `Condition`, in the order of the table.
    seed : int
        Of the bootstrap.

    Returns
    -------
    summary : dict
        "conditions" by name, and "averages" over each group and over "all".
    """
    described = {entry["name"]: entry for entry in conditions}
    grouped = collect(results, list(described))
    rows: dict[str, Any] = {}
    gaps: dict[str, dict[str, dict[str, FloatArray]]] = {}
    for name, sessions in grouped.items():
        values = _values(sessions)
        gaps[name] = _gaps(values)
        rows[name] = {
            "group": described[name]["group"],
            "speakers": described[name]["speakers"],
            "law": described[name]["law"],
            "runs": len(sessions),
            "session": {
                key: float(np.mean([one["session"][key] for one in sessions]))
                for key in ("n_segments", "eer")
            },
            "methods": {
                method: {key: float(np.mean(figures)) for key, figures in own.items()}
                for method, own in values.items()
            },
            "paired": _intervals([gaps[name]], seed),
        }
    names = list(dict.fromkeys(row["group"] for row in rows.values()))
    averages = {
        group: _average(
            rows, gaps, [n for n in rows if rows[n]["group"] == group], seed
        )
        for group in names
    }
    if len(names) > 1:
        averages["all"] = _average(rows, gaps, list(rows), seed)
    return {"conditions": rows, "averages": averages}


def summarise_meeting(results: Mapping[str, Any]) -> dict[str, Any]:
    """Error rates of the meeting, without and with its times."""
    rows: dict[str, Any] = {}
    names = dict.fromkeys(key.rpartition("/")[0] for key in results)
    for name, sessions in collect(results, list(names)).items():
        rows[name] = {
            "runs": len(sessions),
            "vbx_rttm": sessions[0]["session"]["vbx_rttm"],
            "n_segments": sessions[0]["session"]["n_segments"],
            "n_speakers": sessions[0]["session"]["n_speakers"],
            "methods": {
                method: {key: float(np.mean(found)) for key, found in own.items()}
                for method, own in _values(sessions).items()
            },
        }
    return rows


def stratified_interval(
    gaps: Sequence[FloatArray], seed: int, *, n_samples: int = N_SAMPLES
) -> dict[str, float]:
    """Mean over conditions of the mean over sessions, with a bootstrap interval.

    Sessions are drawn again within each condition; conditions are what they are.
    Few sessions vary more than draws of them do: deviations are stretched by the
    root of n / (n - 1), and as a t distribution is wider than the normal one, with
    the degrees of freedom of Welch and Satterthwaite.

    Parameters
    ----------
    gaps : sequence of ndarray
        Differences of the sessions of each condition.
    seed : int
        Of the draws.
    n_samples : int
        How many.
    """
    rng = np.random.default_rng(seed)
    deviation = np.zeros(n_samples)
    for values in gaps:
        n = len(values)
        if n > 1:
            weights = rng.multinomial(n, np.full(n, 1.0 / n), size=n_samples)
            drawn = weights @ values / n - values.mean()
            deviation += np.sqrt(n / (n - 1)) * drawn
    tail = 0.5 * (1.0 - LEVEL)
    wider = t.ppf(tail, _freedom(gaps)) / norm.ppf(tail)
    estimate = float(np.mean([values.mean() for values in gaps]))
    low, high = np.quantile(wider * deviation / len(gaps), [tail, 1.0 - tail])
    return {
        "estimate": estimate,
        "low": estimate + float(low),
        "high": estimate + float(high),
        "conditions": len(gaps),
    }


def _freedom(gaps: Sequence[FloatArray]) -> float:
    """Degrees of freedom of the variance of a sum of means."""
    several = [values for values in gaps if len(values) > 1 and np.ptp(values) > 0.0]
    if not several:
        return np.inf
    spreads = np.array([values.var(ddof=1) / len(values) for values in several])
    own = np.array([len(values) - 1 for values in several])
    return float(spreads.sum() ** 2 / np.sum(spreads**2 / own))


def _values(sessions: Sequence[Mapping[str, Any]]) -> Values:
    """Figures of the methods that ran in all sessions of a condition."""
    methods = [
        method
        for method in sessions[0]["methods"]
        if all(method in one["methods"] for one in sessions)
    ]
    return {
        method: {
            key: [one["methods"][method][key] for one in sessions]
            for key in sessions[0]["methods"][method]
        }
        for method in methods
    }


def _gaps(values: Values) -> dict[str, dict[str, FloatArray]]:
    """Ours minus each peer, session by session."""
    if OURS not in values:
        return {}
    return {
        peer: {
            measure: np.subtract(values[OURS][measure], values[peer][measure])
            for measure in PAIRED
        }
        for peer in values
        if peer != OURS
    }


def _intervals(
    gaps: Sequence[Mapping[str, Mapping[str, FloatArray]]], seed: int
) -> dict[str, dict[str, dict[str, float]]]:
    peers = dict.fromkeys(peer for entry in gaps for peer in entry)
    return {
        peer: {
            measure: stratified_interval(
                [entry[peer][measure] for entry in gaps if peer in entry], seed
            )
            for measure in PAIRED
        }
        for peer in peers
    }


def _average(
    rows: Mapping[str, Any],
    gaps: Mapping[str, Any],
    names: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    methods = dict.fromkeys(m for name in names for m in rows[name]["methods"])
    averages = {}
    for method in methods:
        own = [
            rows[n]["methods"][method] for n in names if method in rows[n]["methods"]
        ]
        averages[method] = {
            key: float(np.mean([figures[key] for figures in own])) for key in MEASURES
        }
        averages[method]["conditions"] = len(own)
    return {
        "conditions": len(names),
        "methods": averages,
        "paired": _intervals([gaps[name] for name in names], seed),
    }


def tidy(results: Mapping[str, Any]) -> Table:
    """One line for each part, condition, method and measure."""
    rows = [
        (part, name, row["group"], method, measure, f"{value:.6g}", str(row["runs"]))
        for part in ("development", "test")
        if results[part]
        for name, row in results[part]["conditions"].items()
        for method, figures in row["methods"].items()
        for measure, value in figures.items()
    ]
    heads = ("part", "condition", "group", "method", "measure", "mean", "sessions")
    return Table(heads, tuple(rows), n_left=5)


def write_report(folder: Path, results: Mapping[str, Any], *, draw: bool) -> None:
    """Write results.json, table.csv, report.md, summary.txt and the pictures."""
    write_json(folder / "results.json", dict(results))
    write_text(folder / "table.csv", tidy(results).csv())
    write_text(folder / "report.md", compare_text.markdown(results))
    write_text(folder / "summary.txt", compare_text.terminal(results, folder))
    if not draw:
        return
    for part in ("development", "test"):
        if results[part] and results[part]["conditions"]:
            pictures.draw_scores(folder, part, results[part]["conditions"])
            pictures.draw_differences(folder, part, results[part]["conditions"])
