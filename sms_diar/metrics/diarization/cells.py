"""Time that reference and hypothesis speakers share, for all units at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sms_diar.metrics.diarization.axis import Speakers
from sms_diar.metrics.diarization.mapping import best_assignment, best_mapping
from sms_diar.metrics.diarization.sweep import Pairs, sums_by, weights_by
from sms_diar.types import AnyArray, FloatArray, IntArray


class Cells:
    """The table of reference by hypothesis speakers of every unit, end to end.

    Parameters
    ----------
    reference, hypothesis : Speakers
        Rows and columns.

    Attributes
    ----------
    unit, ref, hyp : ndarray of shape (n_cells,)
        What each cell stands for.
    n_ref, n_hyp : int
        All speakers of each side.
    """

    def __init__(self, reference: Speakers, hypothesis: Speakers) -> None:
        self._ref, self._hyp = reference, hypothesis
        size = reference.count * hypothesis.count
        self._base = np.cumsum(size) - size
        self._first_ref = np.cumsum(reference.count) - reference.count
        self._first_hyp = np.cumsum(hypothesis.count) - hypothesis.count
        self.unit: IntArray = np.repeat(np.arange(len(size)), size)
        within = np.arange(len(self.unit)) - self._base[self.unit]
        width = np.maximum(hypothesis.count[self.unit], 1)
        self.ref: IntArray = self._first_ref[self.unit] + within // width
        self.hyp: IntArray = self._first_hyp[self.unit] + within % width
        self.n_units = len(size)
        self.n_ref, self.n_hyp = len(reference.unit), len(hypothesis.unit)

    def of(self, pairs: Pairs) -> IntArray:
        """Cell of each pair."""
        unit = self._ref.unit
        # Where the row of a reference speaker begins, less what precedes the unit
        # among the hypothesis speakers.
        row = self._base[unit] + self._ref.local * self._hyp.count[unit]
        row -= self._first_hyp[unit]
        cell: IntArray = row[pairs.reference] + pairs.hypothesis
        return cell

    def sums(self, cell: IntArray, weight: IntArray) -> IntArray:
        """Exact sums of weights of pairs, by cell."""
        return sums_by(cell, weight, len(self.unit))

    def by_unit(self, values: AnyArray) -> FloatArray:
        """Sums of values of cells, by unit."""
        return weights_by(self.unit, values, self.n_units)

    def _matrices(self, values: AnyArray) -> Iterator[tuple[int, AnyArray]]:
        """Table of each unit that has speakers on both sides."""
        for unit in np.flatnonzero(self._ref.count * self._hyp.count).tolist():
            shape = int(self._ref.count[unit]), int(self._hyp.count[unit])
            first = int(self._base[unit])
            yield unit, values[first : first + shape[0] * shape[1]].reshape(shape)

    def mapping(self, primary: IntArray, secondary: IntArray) -> IntArray:
        """Hypothesis speaker of each reference speaker, -1 for none.

        Pairs share the most of `primary`, and among equals of `secondary`.
        """
        mapped = np.full(self.n_ref, -1, dtype=np.int64)
        tables = zip(self._matrices(primary), self._matrices(secondary), strict=True)
        for (unit, first), (_, second) in tables:
            choice = best_mapping(first, second)
            choice[choice >= 0] += self._first_hyp[unit]
            place = int(self._first_ref[unit])
            mapped[place : place + len(choice)] = choice
        return mapped

    def best_jer(
        self, shared: IntArray, ref_time: IntArray, hyp_time: IntArray
    ) -> FloatArray:
        """JER of each reference speaker who speaks, by the mapping best for JER."""
        union = ref_time[self.ref] + hyp_time[self.hyp] - shared
        jer = np.where(ref_time > 0, 1.0, np.nan)
        for unit, index in self._matrices(shared / np.maximum(union, 1)):
            choice = best_assignment(index)
            rows = np.flatnonzero(choice >= 0)
            jer[self._first_ref[unit] + rows] = 1.0 - index[rows, choice[rows]]
        return jer

    def mapped_jer(
        self,
        shared: IntArray,
        ref_time: IntArray,
        hyp_time: IntArray,
        mapped: IntArray,
    ) -> FloatArray:
        """JER of each reference speaker who speaks, by a given mapping."""
        jer = np.where(ref_time > 0, 1.0, np.nan)
        is_pair = mapped[self.ref] == self.hyp
        ref, hyp, both = self.ref[is_pair], self.hyp[is_pair], shared[is_pair]
        union = ref_time[ref] + hyp_time[hyp] - both
        jer[ref] = (union - both) / np.maximum(union, 1)
        return jer
