"""What the default method is held to, and how near it comes.

Conditions are judged by K, windows in time by the share of windows that are right. A
condition counts against the best of the rivals that ran in it; means are over all
conditions that a rival ran in. Numbers of speakers are counted over sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.compare.intervals import stratified_interval
from benchmarks.compare.peers import OURS
from sms_diar.types import FloatArray

RIVALS = ("sms-paper", "nme-sc", "hdbscan", "ahc", "vbx")
"""Methods that the default is measured against, each at its defaults."""

WORST = -0.02  # of a condition, against the best of its rivals
MEAN = 0.02  # of all conditions, against each rival
SINGLE = 0.9  # share of sessions of one speaker found as one
EXACT, WITHIN = 0.8, 0.9  # shares with the right number, and within one of it
SPEAKERS = (2, 7)  # of sessions in which the number is to be right
SECONDS = (30.0, 600.0)  # their length
CROWD = 3  # speakers from which one is never the answer
LONG = (8, 10_800.0, 2)  # speakers and seconds of a long session, and how far off

TIMED_PARTS = ("windows", "lengths")

Sessions = Mapping[str, Sequence[Mapping[str, Any]]]
"""Results of all sessions of each condition."""


def measure_of(part: str) -> str:
    """What conditions of a part are judged by."""
    return "right" if part in TIMED_PARTS else "k"


def summarise_goals(
    sessions: Sessions, conditions: Mapping[str, Mapping[str, Any]], seed: int
) -> dict[str, Any]:
    """How near the default comes, in each part and in all without a PLDA model.

    Parameters
    ----------
    sessions : mapping
        Results of the sessions of each condition.
    conditions : mapping
        Fields of the conditions, by name.
    seed : int
        Of the bootstrap.

    Returns
    -------
    goals : dict
        By part, and "no PLDA" for all parts without one: "worst", "below", "means",
        and "numbers" of every method.
    """
    parts: dict[str, list[str]] = {}
    for name in sessions:
        part = conditions[name]["part"]
        if part != "doubled":
            parts.setdefault(part, []).append(name)
    untrained = [n for part, own in parts.items() if part != "trained" for n in own]
    if untrained:
        parts["no PLDA"] = untrained
    return {
        part: {
            **_against_rivals(sessions, conditions, names, seed),
            "numbers": _numbers(sessions, names),
            "long": _long(sessions, conditions, names),
        }
        for part, names in parts.items()
    }


def summarise_drift(
    sessions: Sessions, conditions: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """How the number of speakers moves when a session is doubled or repeated.

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


def _drift(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    before, after = np.array(pairs).T
    return {
        "before": float(before.mean()),
        "after": float(after.mean()),
        "drift": float((after - before).mean()),
        "same": float(np.mean(before == after)),
    }


def _against_rivals(
    sessions: Sessions,
    conditions: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    """Differences of each condition, worst first, and means over conditions."""
    gaps: dict[str, list[FloatArray]] = {}
    rows: list[dict[str, Any]] = []
    for name in names:
        measure = measure_of(conditions[name]["part"])
        own = _figures(sessions[name], OURS, measure)
        if own is None:
            continue
        means = {}
        for rival in RIVALS:
            values = _figures(sessions[name], rival, measure)
            if values is not None:
                gaps.setdefault(rival, []).append(own - values)
                means[rival] = float(values.mean())
        if means:
            best = max(means, key=lambda rival: means[rival])
            rows.append(
                {
                    "condition": name,
                    "rival": best,
                    "ours": float(own.mean()),
                    "theirs": means[best],
                    "difference": float(own.mean()) - means[best],
                }
            )
    rows.sort(key=lambda row: row["difference"])
    return {
        "conditions": len(rows),
        "worst": rows[0] if rows else None,
        "below": [row for row in rows if row["difference"] < WORST],
        "means": {rival: stratified_interval(own, seed) for rival, own in gaps.items()},
    }


def _figures(
    sessions: Sequence[Mapping[str, Any]], method: str, measure: str
) -> FloatArray | None:
    if not all(method in one["methods"] for one in sessions):
        return None
    return np.array([one["methods"][method][measure] for one in sessions])


def _numbers(sessions: Sessions, names: Sequence[str]) -> dict[str, Any]:
    """Counts of sessions, by method: how many, and of how many."""
    every = [one for name in names for one in sessions[name]]
    methods = dict.fromkeys(m for one in every for m in one["methods"])

    def count(
        method: str,
        among: Callable[[int, float], bool],
        right: Callable[[float, int], bool],
    ) -> list[int]:
        chosen = [
            (one["methods"][method]["found"], int(one["session"]["n_speakers"]))
            for one in every
            if method in one["methods"]
            and among(int(one["session"]["n_speakers"]), one["session"]["seconds"])
        ]
        return [sum(right(found, true) for found, true in chosen), len(chosen)]

    def few(true: int, seconds: float) -> bool:
        return (
            SPEAKERS[0] <= true <= SPEAKERS[1] and SECONDS[0] <= seconds <= SECONDS[1]
        )

    return {
        method: {
            "single": count(method, lambda n, _: n == 1, lambda f, _: f == 1),
            "exact": count(method, few, lambda f, n: f == n),
            "within": count(method, few, lambda f, n: abs(f - n) <= 1),
            "collapsed": count(method, lambda n, _: n >= CROWD, lambda f, _: f == 1),
        }
        for method in methods
    }


def _long(
    sessions: Sessions,
    conditions: Mapping[str, Mapping[str, Any]],
    names: Iterable[str],
) -> dict[str, list[float]]:
    """Speakers found in sessions of the long kind, by method."""
    speakers, seconds, _ = LONG
    found: dict[str, list[float]] = {}
    for name in names:
        row = conditions[name]
        if row["speakers"] == speakers and row.get("seconds") == seconds:
            for one in sessions[name]:
                for method, figures in one["methods"].items():
                    found.setdefault(method, []).append(figures["found"])
    return found
