"""Compute all metrics from sums, for one or many results at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sms_diar.metrics.diarization.conventions import Convention
from sms_diar.metrics.diarization.information import information
from sms_diar.types import AnyArray, FloatArray

RATES = (
    "der",
    "jer",
    "purity",
    "coverage",
    "acp",
    "asp",
    "k",
    "b3_precision",
    "b3_recall",
    "b3_f1",
    "gkt_ref_sys",
    "gkt_sys_ref",
    "h_ref_sys",
    "h_sys_ref",
    "mi",
    "nmi",
    "homogeneity",
    "completeness",
    "missed_rate",
    "false_alarm_rate",
    "confusion_rate",
    "overlap_share",
)
"""Names of all metrics, in the order of reports."""


def rates(
    sums: Mapping[str, AnyArray], convention: Convention
) -> dict[str, FloatArray]:
    """Compute all `RATES` of one or many results; NaN where a metric is undefined.

    `sums` are columns of `sms_diar.metrics.diarization.sums`, or sums of these columns,
    all of the same shape, which is also the shape of each metric.
    """
    columns = {name: np.asarray(column) for name, column in sums.items()}
    error = columns["missed"] + columns["false_alarm"] + columns["confusion"]
    scored = columns["scored"]
    der = _ratio(error, scored)
    if convention.zero_rate:
        der = np.where(scored > 0, der, (error > 0).astype(np.float64))
    values = {
        "der": der,
        "jer": _jer(columns, convention),
        "purity": _share(columns["purity_part"], columns["purity_whole"]),
        "coverage": _share(columns["coverage_part"], columns["coverage_whole"]),
        "acp": _ratio(columns["cluster_purity"], columns["cluster_count"]),
        "asp": _ratio(columns["speaker_purity"], columns["speaker_count"]),
        "homogeneity": _agreement(columns, "homogeneity"),
        "completeness": _agreement(columns, "completeness"),
        "overlap_share": _ratio(columns["overlap"], columns["speech"]),
    }
    values["k"] = np.sqrt(values["acp"] * values["asp"])
    for name in ("missed", "false_alarm", "confusion"):
        values[f"{name}_rate"] = _ratio(columns[name], scored)
    values |= information(columns)
    return {name: values[name] for name in RATES}


def _ratio(part: AnyArray, whole: AnyArray) -> FloatArray:
    safe = np.where(whole > 0, whole, 1)
    result: FloatArray = np.where(whole > 0, part / safe, np.nan)
    return result


def _share(part: AnyArray, whole: AnyArray) -> FloatArray:
    """Share of a whole; 1 if the whole is zero."""
    result: FloatArray = np.where(whole > 0, _ratio(part, whole), 1.0)
    return result


def _jer(columns: Mapping[str, AnyArray], convention: Convention) -> FloatArray:
    jer = _ratio(columns["jer_sum"], columns["jer_speakers"])
    is_empty = columns["jer_speakers"] == 0
    if convention.jer == "frames":
        return np.where(is_empty, (columns["n_hyp"] > 0).astype(np.float64), jer)
    if convention.jer == "scored time":
        return np.where(is_empty, 1.0, jer)
    return jer


def _agreement(columns: Mapping[str, AnyArray], name: str) -> FloatArray:
    entropy, left = columns[f"{name}_entropy"], columns[f"{name}_left"]
    safe = np.where(entropy > 0.0, entropy, 1.0)
    single = np.where(left > 0.0, 0.0, 1.0)
    result: FloatArray = np.where(entropy > 0.0, 1.0 - left / safe, single)
    return result
