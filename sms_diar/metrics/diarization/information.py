"""Clustering metrics over time: B-cubed, tau, entropies, mutual information.

At any time, the class of the reference is its set of active speakers (the empty set for
silence), and likewise for the hypothesis. All metrics are computed from sums over the
table of time by reference class and hypothesis class. Recordings have separate classes,
so their sums can be added.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sms_diar.metrics.diarization.sweep import Entries, Sweep, weights_by
from sms_diar.timeline.ticks import distinct
from sms_diar.types import AnyArray, FloatArray, IntArray

SUMS = (
    "table_total",
    "table_ref_squares",
    "table_hyp_squares",
    "table_cells_over_ref",
    "table_cells_over_hyp",
    "table_ref_logs",
    "table_hyp_logs",
    "table_cell_logs",
    "table_ref_classes",
    "table_hyp_classes",
)
"""Columns returned by `class_sums`."""


def class_sums(
    sweep: Sweep,
    reference: Entries,
    hypothesis: Entries,
    weight: FloatArray,
    n_units: int,
) -> dict[str, FloatArray]:
    """Compute sums over the class table of each unit, each of shape (n_units,).

    `weight` of shape (n_intervals,) is 0 outside the regions.
    """
    used = np.flatnonzero(weight > 0.0)
    # shape: (n_used,) for unit, mass, ref and hyp
    unit, mass = sweep.unit[used], weight[used]
    ref = _class_ids(sweep.unit, reference)[used]
    hyp = _class_ids(sweep.unit, hypothesis)[used]
    # Join neighbouring intervals with the same classes, for example around a collar.
    is_new = np.zeros(len(used), dtype=np.bool_)
    is_new[:1] = True
    for column in (ref, hyp):
        is_new[1:] |= column[1:] != column[:-1]
    first = np.flatnonzero(is_new)
    if len(first):
        mass = np.add.reduceat(mass, first)
    unit, ref, hyp = unit[first], distinct(ref[first])[1], distinct(hyp[first])[1]
    n_hyp = int(hyp.max(initial=0)) + 1
    # shape: (n_cells,) for cells, count, cell_ref and cell_hyp
    cells, cell = distinct(ref * n_hyp + hyp)
    count = weights_by(cell, mass, len(cells))
    cell_ref, cell_hyp = cells // n_hyp, cells % n_hyp
    n_ref = int(ref.max(initial=0)) + 1
    ref_mass = weights_by(cell_ref, count, n_ref)
    hyp_mass = weights_by(cell_hyp, count, n_hyp)
    ref_unit, hyp_unit = (np.zeros(n, dtype=np.int64) for n in (n_ref, n_hyp))
    ref_unit[ref], hyp_unit[hyp] = unit, unit
    cell_unit = ref_unit[cell_ref]

    def by_unit(group: IntArray, values: AnyArray) -> FloatArray:
        return weights_by(group, values, n_units)[:n_units]

    has_ref, has_hyp = ref_mass > 0, hyp_mass > 0
    columns = (
        by_unit(cell_unit, count),
        by_unit(ref_unit, ref_mass**2),
        by_unit(hyp_unit, hyp_mass**2),
        by_unit(cell_unit, count**2 / ref_mass[cell_ref]),
        by_unit(cell_unit, count**2 / hyp_mass[cell_hyp]),
        by_unit(ref_unit, _x_log_x(ref_mass)),
        by_unit(hyp_unit, _x_log_x(hyp_mass)),
        by_unit(cell_unit, _x_log_x(count)),
        by_unit(ref_unit, has_ref),
        by_unit(hyp_unit, has_hyp),
    )
    return dict(zip(SUMS, columns, strict=True))


def _class_ids(unit: IntArray, entries: Entries) -> IntArray:
    """Number the sets of speakers that occur in each unit, shape (n_intervals,).

    Equal units and sets have equal numbers. `unit` is the unit of each interval, and
    `entries` are sorted by interval and speaker. Sets are compared speaker by speaker,
    so memory grows with the number of entries and not with the number of speakers.
    """
    ids = unit.copy()
    n_ids = int(unit.max(initial=-1)) + 1
    n_speakers = int(entries.speaker.max(initial=-1)) + 1
    count = np.bincount(entries.interval, minlength=len(unit))
    first = np.cumsum(count) - count
    rank, longer = 0, np.flatnonzero(count)
    while len(longer):
        speaker = entries.speaker[first[longer] + rank]
        codes, index = distinct(ids[longer] * n_speakers + speaker)
        ids[longer] = n_ids + index
        n_ids += len(codes)
        rank += 1
        longer = longer[count[longer] > rank]
    return ids


def _x_log_x(x: FloatArray) -> FloatArray:
    safe = np.where(x > 0.0, x, 1.0)
    result: FloatArray = x * np.log2(safe)
    return result


def information(sums: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Compute metrics from the sums; NaN if the total time is zero.

    As in dscore, tau is 1 if the predicted side has one class. NMI is 1 if both sides
    have one class and 0 if only one side has, and is normalised by the geometric mean
    of the entropies. Entropies are in bits.
    """
    total = np.where(sums["table_total"] > 0, sums["table_total"], np.nan)
    recall = sums["table_cells_over_ref"] / total
    precision = sums["table_cells_over_hyp"] / total
    one_ref, one_hyp = sums["table_ref_classes"] <= 1, sums["table_hyp_classes"] <= 1
    h_ref = np.maximum(np.log2(total) - sums["table_ref_logs"] / total, 0.0)
    h_hyp = np.maximum(np.log2(total) - sums["table_hyp_logs"] / total, 0.0)
    cell_logs = sums["table_cell_logs"]
    h_ref_hyp = np.maximum((sums["table_hyp_logs"] - cell_logs) / total, 0.0)
    h_hyp_ref = np.maximum((sums["table_ref_logs"] - cell_logs) / total, 0.0)
    mi = np.where(one_ref | one_hyp, 0.0 * total, np.maximum(h_ref - h_ref_hyp, 0.0))
    scale = np.sqrt(h_ref * h_hyp)
    nmi = np.clip(mi / np.where(scale > 0.0, scale, 1.0), 0.0, 1.0)
    nmi = np.where(one_ref & one_hyp, 1.0 + 0.0 * total, nmi)
    return {
        "b3_precision": precision,
        "b3_recall": recall,
        "b3_f1": 2.0 * precision * recall / (precision + recall),
        "gkt_ref_sys": _tau(recall, sums["table_hyp_squares"] / total**2, one_hyp),
        "gkt_sys_ref": _tau(precision, sums["table_ref_squares"] / total**2, one_ref),
        "h_ref_sys": h_ref_hyp,
        "h_sys_ref": h_hyp_ref,
        "mi": mi,
        "nmi": nmi,
    }


def _tau(explained: FloatArray, squares: FloatArray, is_one: AnyArray) -> FloatArray:
    """Share of the variation of one side that the other explains."""
    variety = 1.0 - squares
    tau = (explained - squares) / np.where(is_one | (variety <= 0), 1.0, variety)
    result: FloatArray = np.where(is_one, 1.0 + 0.0 * explained, tau)
    return result
