"""Time that reference and hypothesis speakers share, for all units at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sms_diar.metrics.diarization.axis import Speakers
from sms_diar.metrics.diarization.mapping import best_assignment, best_mapping
from sms_diar.metrics.diarization.sweep import Overlaps, sums_by, weights_by
from sms_diar.timeline.ticks import distinct
from sms_diar.types import AnyArray, FloatArray, IntArray


class _Block(NamedTuple):
    """Speakers connected by shared time, with the cells between them.

    `row` and `column` are the positions of the cells among the speakers.
    """

    ref: IntArray
    hyp: IntArray
    cell: IntArray
    row: IntArray
    column: IntArray

    def table(self, values: AnyArray) -> AnyArray:
        """Values of cells as an array of shape (n_ref, n_hyp), 0 elsewhere."""
        table = np.zeros((len(self.ref), len(self.hyp)), dtype=values.dtype)
        table[self.row, self.column] = values[self.cell]
        return table


class Cells:
    """Pairs of a reference and a hypothesis speaker who speak at the same time.

    Other pairs have no cell, so that memory does not grow with the product of the
    numbers of speakers.

    Parameters
    ----------
    reference, hypothesis : Speakers
        Rows and columns.
    overlaps : Overlaps
        Turns of theirs that overlap.

    Attributes
    ----------
    unit, ref, hyp : ndarray of shape (n_cells,)
        Unit and speakers of each cell, rising.
    n_ref, n_hyp : int
        All speakers of each side.
    """

    def __init__(
        self, reference: Speakers, hypothesis: Speakers, overlaps: Overlaps
    ) -> None:
        self.n_units = len(reference.count)
        self.n_ref, self.n_hyp = len(reference.unit), len(hypothesis.unit)
        self.overlaps = overlaps
        pair = overlaps.reference * self.n_hyp + overlaps.hypothesis
        self._pair = distinct(pair)[0]
        self.ref: IntArray = self._pair // max(self.n_hyp, 1)
        self.hyp: IntArray = self._pair % max(self.n_hyp, 1)
        self.unit: IntArray = reference.unit[self.ref]

    def of(self, reference: IntArray, hypothesis: IntArray) -> IntArray:
        """Cell of each pair of speakers who speak at the same time."""
        place: IntArray = np.searchsorted(
            self._pair, reference * self.n_hyp + hypothesis
        )
        return place

    def sums(self, weight: IntArray, overlaps: Overlaps | None = None) -> IntArray:
        """Exact sums of the weights of intervals, by cell.

        Parameters
        ----------
        weight : ndarray of shape (n_intervals,)
            Weight of each interval.
        overlaps : Overlaps, optional
            Turns whose intervals are added; by default all.
        """
        pairs = self.overlaps if overlaps is None else overlaps
        total = np.concatenate([[0], np.cumsum(weight)])
        shared = total[pairs.stop] - total[pairs.first]
        cell = self.of(pairs.reference, pairs.hypothesis)
        return sums_by(cell, shared, len(self.unit))

    def by_unit(self, values: AnyArray) -> FloatArray:
        """Sums of values of cells, by unit."""
        return weights_by(self.unit, values, self.n_units)

    def mapping(self, primary: IntArray, secondary: IntArray) -> IntArray:
        """Hypothesis speaker of each reference speaker, -1 for none.

        Pairs share the most of `primary`, and among equals of `secondary`.
        """
        mapped = np.full(self.n_ref, -1, dtype=np.int64)
        for block in self._blocks(primary, mapped):
            choice = best_mapping(block.table(primary), block.table(secondary))
            rows = np.flatnonzero(choice >= 0)
            mapped[block.ref[rows]] = block.hyp[choice[rows]]
        return mapped

    def best_jer(
        self, shared: IntArray, ref_time: IntArray, hyp_time: IntArray
    ) -> FloatArray:
        """JER of each reference speaker who speaks, by the mapping best for JER."""
        union = ref_time[self.ref] + hyp_time[self.hyp] - shared
        index = shared / np.maximum(union, 1)
        mapped = np.full(self.n_ref, -1, dtype=np.int64)
        for block in self._blocks(index, mapped):
            choice = best_assignment(block.table(index))
            rows = np.flatnonzero(choice >= 0)
            mapped[block.ref[rows]] = block.hyp[choice[rows]]
        jer = np.where(ref_time > 0, 1.0, np.nan)
        is_pair = mapped[self.ref] == self.hyp
        jer[self.ref[is_pair]] = 1.0 - index[is_pair]
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

    def _blocks(self, values: AnyArray, mapped: IntArray) -> Iterator[_Block]:
        """Split the cells into blocks that do not share speakers.

        Blocks in which each reference speaker has one best partner, different from
        the others' partners, are not listed: they are entered in `mapped`.

        Parameters
        ----------
        values : ndarray of shape (n_cells,)
            Shared time or index of each cell. Cells of 0 do not connect speakers.
        mapped : ndarray of shape (n_ref,)
            Partner of each reference speaker, changed in place.
        """
        cell = np.flatnonzero(values > 0)
        label = _connected(self.ref[cell], self.hyp[cell], self.n_ref, self.n_hyp)
        top = np.zeros(self.n_ref, dtype=values.dtype)
        np.maximum.at(top, self.ref[cell], values[cell])
        best = cell[values[cell] == top[self.ref[cell]]]
        is_hard = np.zeros(self.n_ref, dtype=np.bool_)
        for side, n in ((self.ref, self.n_ref), (self.hyp, self.n_hyp)):
            clash = np.bincount(side[best], minlength=n)[side[best]] > 1
            is_hard[label[self.ref[best[clash]]]] = True
        plain = best[~is_hard[label[self.ref[best]]]]
        mapped[self.ref[plain]] = self.hyp[plain]
        hard = cell[is_hard[label[self.ref[cell]]]]
        of_block = label[self.ref[hard]]
        hard = hard[np.argsort(of_block, kind="stable")]
        bounds = np.flatnonzero(np.diff(label[self.ref[hard]])) + 1
        for part in np.split(hard, bounds) if len(hard) else ():
            ref, row = distinct(self.ref[part])
            hyp, column = distinct(self.hyp[part])
            yield _Block(ref, hyp, part, row, column)


def _connected(ref: IntArray, hyp: IntArray, n_ref: int, n_hyp: int) -> IntArray:
    """Smallest reference speaker that each one is connected to, over any steps."""
    label = np.arange(n_ref)
    while True:
        of_hyp = np.full(n_hyp, n_ref)
        np.minimum.at(of_hyp, hyp, label[ref])
        least = label.copy()
        np.minimum.at(least, ref, of_hyp[hyp])
        least = least[least]  # skips over speakers whose own label has changed
        if np.array_equal(least, label):
            return label
        label = least
