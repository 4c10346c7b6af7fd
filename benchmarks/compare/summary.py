"""From sessions to means over conditions, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.compare.intervals import stratified_interval
from benchmarks.compare.peers import OURS
from benchmarks.compare.reliability import summarise_reliability
from sms_diar.types import FloatArray

MEASURES = (
    "k",
    "g",
    "right",
    "found",
    "count_error",
    "relative_error",
    "exact",
    "seconds",
)
PAIRED = ("k", "g", "right")
PARTS = ("trained", "untrained", "doubled", "windows", "lengths")
"""Parts of conditions, each a section of the report."""

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
        Results of `compare_session` by ``name/run``.
    conditions : sequence of mapping
        Fields of `Condition`, in the order of the table.
    seed : int
        Random seed of the bootstrap.

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
            "source": described[name]["source"],
            "seconds": described[name].get("seconds", 0.0),
            "runs": len(sessions),
            "session": {
                key: float(np.mean([one["session"][key] for one in sessions]))
                for key in ("n_segments", "n_speakers", "eer")
                if key in sessions[0]["session"]
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


def summarise_parts(content: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Everything the report says about the sessions of a stage.

    Parameters
    ----------
    content : mapping
        "conditions", fields of all, and "sessions", their results by ``name/run``.
    seed : int
        Random seed of the bootstrap.

    Returns
    -------
    results : dict
        A summary for each of `PARTS`, "drift", and "reliability" by part.
    """
    described = {entry["name"]: entry for entry in content["conditions"]}
    sessions = collect(content["sessions"], list(described))
    found: dict[str, Any] = {}
    told: dict[str, Any] = {}
    for part in PARTS:
        own = [entry for entry in content["conditions"] if entry["part"] == part]
        found[part] = summarise_conditions(content["sessions"], own, seed)
        told[part] = summarise_reliability(
            one for entry in own for one in sessions.get(entry["name"], ())
        )
    return {
        **found,
        "drift": summarise_drift(sessions, described),
        "reliability": {part: own for part, own in told.items() if own},
    }


def summarise_drift(
    sessions: Mapping[str, Sequence[Mapping[str, Any]]],
    conditions: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Compare the numbers of speakers of a session and of its repetitions.

    Returns
    -------
    drift : dict
        By condition, and "all" for all that are doubled: "pairs", and by method the
        speakers found "before" and "after", their mean difference "drift", and the
        share of pairs with the "same" number.
    """
    found: dict[str, Any] = {}
    pooled: dict[str, list[tuple[float, float]]] = {}
    for name, after in sessions.items():
        before = sessions.get(conditions[name]["doubles"])
        if not before:
            continue
        # A cut may have been drawn more often than it was repeated.
        pairs = list(zip(before, after, strict=False))
        each = {
            method: [
                (one["methods"][method]["found"], two["methods"][method]["found"])
                for one, two in pairs
            ]
            for method in after[0]["methods"]
            if all(method in one["methods"] for pair in pairs for one in pair)
        }
        found[name] = {
            "pairs": len(pairs),
            "methods": {method: _drift(own) for method, own in each.items()},
        }
        if conditions[name]["part"] == "doubled":
            for method, own in each.items():
                pooled.setdefault(method, []).extend(own)
    if pooled:
        found["all"] = {
            "pairs": max(map(len, pooled.values())),
            "methods": {method: _drift(own) for method, own in pooled.items()},
        }
    return found


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


def _drift(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    before, after = np.array(pairs).T
    return {
        "before": float(before.mean()),
        "after": float(after.mean()),
        "drift": float((after - before).mean()),
        "same": float(np.mean(before == after)),
    }


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
