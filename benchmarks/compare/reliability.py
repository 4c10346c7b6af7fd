"""Calibration of the confidences of methods.

A method may give each row the probability that its label is right, and each number of
speakers its probability. A label is right if its cluster belongs to the speaker under
the best one-to-one mapping of clusters to speakers. Probabilities go into bins; of rows
said to be right with 80 %, 80 % should be. The expected calibration error is how far
bins are off, weighted by what falls into them, every session weighing alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from benchmarks.compare.peers import Labelling
from sms_diar.metrics import contingency_table
from sms_diar.metrics.diarization.mapping import best_assignment
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray

N_BINS = 10

Bins = dict[str, list[float]]
"""Sums over each bin: "weight", "said" (probabilities) and "right"."""


def right_rows(truth: AnyArray, labels: IntArray) -> BoolArray:
    """Rows whose cluster is their speaker's, under the best one-to-one mapping.

    Examples
    --------
    >>> right_rows(np.array(["a", "a", "b"]), np.array([1, 0, 0])).tolist()
    [True, False, True]
    """
    table = contingency_table(truth, labels)
    speaker_of = best_assignment(table.dense())
    cluster = np.searchsorted(table.cluster_names, labels)
    speaker = np.searchsorted(table.label_names, truth)
    right: BoolArray = speaker_of[cluster] == speaker
    return right


def into_bins(said: FloatArray, right: AnyArray) -> Bins:
    """Sums over bins of probability; all rows together weigh one."""
    bins = np.clip((N_BINS * said).astype(np.int64), 0, N_BINS - 1)
    share = 1.0 / len(said)
    return {
        name: np.bincount(bins, values * share, N_BINS).tolist()
        for name, values in (
            ("weight", np.ones(len(said))),
            ("said", said),
            ("right", np.asarray(right, dtype=np.float64)),
        )
    }


def reliability_of(truth: AnyArray, found: Labelling) -> dict[str, Any]:
    """Return the calibration data of a session; empty without confidences."""
    told: dict[str, Any] = {}
    if found.confidence is not None:
        said = np.asarray(found.confidence, dtype=np.float64)
        told["labels"] = into_bins(said, right_rows(truth, found.labels))
    if found.count_posterior:
        true, number = len(np.unique(truth)), int(found.labels.max()) + 1
        posterior = {int(n): float(p) for n, p in found.count_posterior.items()}
        said = np.array([posterior.get(number, 0.0)])
        told["number"] = into_bins(said, np.array([number == true]))
        told["true_number"] = posterior.get(true, 0.0)
    return told


def summarise_reliability(sessions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return bins, means and calibration errors of methods with confidences.

    Parameters
    ----------
    sessions : iterable of mapping
        Results of sessions; "reliability" holds what `reliability_of` gave, by
        method.
    """
    told: dict[str, list[Mapping[str, Any]]] = {}
    for session in sessions:
        for method, one in session.get("reliability", {}).items():
            told.setdefault(method, []).append(one)
    summary: dict[str, Any] = {}
    for method, each in told.items():
        summary[method] = {
            what: _calibration([one[what] for one in each if what in one])
            for what in ("labels", "number")
            if any(what in one for one in each)
        }
        truths = [one["true_number"] for one in each if "true_number" in one]
        if truths:
            summary[method]["number"]["true"] = float(np.mean(truths))
    return summary


def _calibration(bins: list[Bins]) -> dict[str, Any]:
    sums = {key: np.sum([one[key] for one in bins], axis=0) for key in bins[0]}
    total = float(sums["weight"].sum())
    off = np.abs(sums["said"] - sums["right"])
    full = sums["weight"] > 0.0
    weight = sums["weight"][full]
    return {
        "sessions": len(bins),
        "said": float(sums["said"].sum() / total),
        "right": float(sums["right"].sum() / total),
        "error": float(off.sum() / total),
        "curve": {
            "said": (sums["said"][full] / weight).tolist(),
            "right": (sums["right"][full] / weight).tolist(),
            "share": (weight / total).tolist(),
        },
    }
