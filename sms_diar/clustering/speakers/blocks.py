"""Rows of many recordings, more than one run of mean shift can hold, up to millions.

Rows are divided into blocks of similar rows (cells of k-means), so that the rows of a
speaker are in few blocks and a block has few speakers, however many the session has.
Each block is a session in miniature: its fragments are merged into speakers, which are
the fragments of the whole session. The space is then learnt again from the speakers
found, rows move to the speaker that explains them best, and speakers are merged again.

Memory is linear in the number of rows, which are in single precision.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sms_diar.clustering.speakers.evidence import COARSENING, predictive
from sms_diar.clustering.speakers.merging import Clusters, Merged, merge_fragments
from sms_diar.clustering.speakers.rows import chunks, sum_rows
from sms_diar.clustering.speakers.space import (
    SessionSpace,
    learn_space,
    space_along,
    space_of_speakers,
)
from sms_diar.types import AnyArray, FloatArray, IntArray

BLOCK = 5_000
"""Mean number of rows in a block."""

ROUNDS = 2
"""Number of times that the space is learnt from speakers and rows are reassigned."""

SWEEPS = 3
"""Number of times that rows are reassigned in a round."""

_SAMPLE = 200  # Rows per cell from which its centre is estimated.
_UPDATES = 6  # Rounds of k-means.


def cluster_blocks(
    rows: AnyArray,
    directions: AnyArray,
    weights: FloatArray,
    space: SessionSpace | None,
    shift: Callable[[SessionSpace, IntArray], IntArray],
    low: int,
    high: int,
    rng: np.random.Generator,
    progress: Callable[[float], None],
) -> tuple[Merged, SessionSpace]:
    """Find the speakers of a long session.

    Parameters
    ----------
    rows : ndarray of shape (n, r)
        Rows in the space that `space` projects.
    directions : ndarray of shape (n, d)
        Rows of unit length, as the extractor gave them.
    weights : ndarray of shape (n,)
        How much each row counts in the measurements of clusters.
    space : SessionSpace or None
        Space of a trained model; None learns one from the rows.
    shift : callable
        Returns fragments of the rows with the given indices.
    low, high : int
        Bounds on the number of speakers.
    rng : Generator
        Draws the initial centres of the blocks.
    progress : callable
        Called with the share of the work done.

    Returns
    -------
    merged : Merged
        Speakers of all rows.
    space : SessionSpace
        Space that was learnt from the speakers.
    """
    n = len(rows)

    def sums(space: SessionSpace, part: IntArray | slice, own: IntArray) -> Clusters:
        some = rows[part], directions[part], own, weights[part]
        return Clusters.of(*some, space.project)

    def stage(start: float) -> Callable[[float], None]:
        return lambda share: progress(start + 0.05 * share)

    if space is None:
        first = similar_blocks(lambda part: rows[part], n, rng)[0]
        learnt = learn_space(rows[first].astype(np.float64), None)
        space = space_along(learnt.axes, rows)
    progress(0.05)
    project = space.project
    blocks = similar_blocks(lambda part: project(rows[part]), n, rng)
    labels = np.empty(n, dtype=np.int64)
    n_found = 0
    for number, block in enumerate(blocks, start=1):
        found = reassign(space, rows[block], shift(space, block))
        owner = merge_fragments(sums(space, block, found), 1, len(block)).labels
        labels[block] = n_found + owner[found]
        n_found += int(owner.max()) + 1
        progress(0.05 + 0.65 * number / len(blocks))

    def merge(space: SessionSpace, start: float) -> Merged:
        found = sums(space, slice(None), labels)
        merged = merge_fragments(found, low, high, stage(start))
        return merged._replace(labels=merged.labels[labels])

    merged = merge(space, 0.7)
    labels, weakest, _, wrong = merged
    for number in range(ROUNDS):
        space = space_of_speakers(rows, labels)
        start = 0.75 + 0.25 * number / ROUNDS
        moved = reassign(space, rows, labels, stage(start))
        if int(moved.max()) + 1 >= low:
            labels = moved
        merged = merge(space, start + 0.05)
        labels, weakest = merged.labels, min(weakest, merged.weakest)
        wrong += merged.wrong
    return merged._replace(weakest=weakest, wrong=wrong), space


def similar_blocks(
    rows: Callable[[AnyArray | slice], AnyArray], n: int, rng: np.random.Generator
) -> list[IntArray]:
    """Divide n rows into blocks of similar rows, cells of k-means; return indices.

    `rows` returns the rows of a part. Cells that are too large are divided evenly.
    """
    n_cells = max(1, round(n / BLOCK))
    drawn = np.sort(rng.choice(n, min(n, _SAMPLE * n_cells), replace=False))
    sample = rows(drawn).astype(np.float32)
    centres = sample[np.sort(rng.choice(len(sample), n_cells, replace=False))]

    def nearest(part: AnyArray) -> IntArray:
        scores = part.astype(np.float32) @ centres.T
        scores -= 0.5 * np.sum(centres**2, axis=1)
        return np.asarray(np.argmax(scores, axis=1))

    for _ in range(_UPDATES):
        cells = nearest(sample)
        sizes = np.bincount(cells, minlength=n_cells)
        numbers = np.flatnonzero(sizes)
        sums = sum_rows(np.searchsorted(numbers, cells), sample)
        centres[numbers] = sums / sizes[numbers, None]
    cells = np.concatenate([nearest(rows(part)) for part in chunks(n)])
    order = np.argsort(cells, kind="stable")
    blocks = []
    for cell in np.split(order, np.cumsum(np.bincount(cells))[:-1]):
        if len(cell):
            blocks += np.array_split(cell, max(1, round(len(cell) / BLOCK)))
    return blocks


def reassign(
    space: SessionSpace,
    rows: AnyArray,
    labels: IntArray,
    progress: Callable[[float], None] = lambda _: None,
) -> IntArray:
    """Move rows to the speakers that explain them best.

    The PLDA model of the space gives the density of a row given the other rows of a
    speaker. A speaker of n rows counts as ``n b / (n + b)`` observations with b =
    `COARSENING`. The prior of a speaker is its number of rows; a row that is
    alone is compared with a new speaker. All rows move at the same time.

    Returns
    -------
    labels : ndarray of shape (n,)
        Clusters 0, 1, ...; those that lost all rows are removed.
    """
    psi = space.psi
    for sweep in range(SWEEPS):
        sizes = np.bincount(labels).astype(np.float64)
        averages = sum_rows(labels, rows) / sizes[:, None]
        sums = space.coordinates(averages) * sizes[:, None]  # shape: (g, q)
        means, variances = _predictive(sizes, sums, psi)  # shape: (g, q)
        weights = np.hstack((means / variances, -0.5 / variances)).astype(np.float32).T
        constants = np.log(sizes) - 0.5 * np.sum(
            means**2 / variances + np.log(variances), axis=1
        )
        new = np.empty_like(labels)
        for part in chunks(len(rows)):
            u, own = space.coordinates(rows[part]), labels[part]  # shape: (m, q)
            scores = np.hstack((u, u**2)).astype(np.float32) @ weights  # shape: (m, g)
            scores += constants.astype(np.float32)
            others = sizes[own] - 1.0
            mean, variance = _predictive(others, sums[own] - u, psi)
            fit = np.sum((u - mean) ** 2 / variance + np.log(variance), axis=1)
            every = np.arange(len(u))
            scores[every, own] = np.log(np.maximum(others, 1.0)) - 0.5 * fit
            new[part] = np.argmax(scores, axis=1)
            progress((sweep + part.stop / len(rows)) / SWEEPS)
        labels = np.unique(new, return_inverse=True)[1].astype(np.int64)
    return labels


def _predictive(
    sizes: FloatArray, sums: FloatArray, psi: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of the next row of each speaker, shape (g, q)."""
    weight = COARSENING / (sizes[:, None] + COARSENING)
    return predictive(sizes, sums, psi, weight)
