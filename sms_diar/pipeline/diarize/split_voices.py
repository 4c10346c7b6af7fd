"""Clusters that are one voice, by what the segmenter says of them.

Clustering may cut somebody who speaks for long in two. The segmenter hears who goes on
speaking: in its windows the two halves are the same local speaker, again and again, and
never two. That alone is no proof, since it takes two people for one now and then; but
where the voices are alike as well, and one of them has hardly spoken, they are one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sms_diar.features.local_activity import LocalActivity
from sms_diar.types import FloatArray, IntArray, Segment

ALIKE = 0.65
"""Cosine of the mean vectors of two clusters from which they may be one voice. Of
different people in simulated meetings it went up to 0.59."""

FEW = 20
"""Windows from which on a cluster stands for itself: clustering then knows more than
the segmenter, which takes two people for one for a third of their time now and then."""

_TOLD_APART = 0.1  # share of the common time at which windows tell two apart


def joined_voices(
    local: LocalActivity,
    windows: Sequence[Segment],
    labels: IntArray,
    centres: FloatArray,
) -> IntArray:
    """The voice of each cluster.

    Parameters
    ----------
    local : LocalActivity
        What the segmenter heard.
    windows : sequence of Segment
        Windows in which one speaks.
    labels : ndarray of shape (n_windows,)
        Their clusters.
    centres : ndarray of shape (n_clusters, d)
        Mean directions of the clusters, of unit length.

    Returns
    -------
    voices : ndarray of shape (n_clusters,)
        Numbers from 0; clusters of one voice have the same.
    """
    n = len(centres)
    together, apart = common_time(local, windows, labels, n)
    cosines = centres @ centres.T
    sizes = np.bincount(labels, minlength=n)
    voices = np.arange(n)
    for one in range(n):
        for other in range(one):
            if (
                min(sizes[one], sizes[other]) < FEW
                and cosines[one, other] > ALIKE
                and together[one, other] > 0.0
                and apart[one, other] < _TOLD_APART * together[one, other]
            ):
                voices[voices == voices[one]] = voices[other]
    found: IntArray = np.unique(voices, return_inverse=True)[1]
    return found


def common_time(
    local: LocalActivity, windows: Sequence[Segment], labels: IntArray, n: int
) -> tuple[FloatArray, FloatArray]:
    """Frames that two clusters share as one local speaker, and as two of a window.

    Returns
    -------
    together, apart : ndarray of shape (n, n)
        Of two that speak for a and b frames in a window, the lesser of a and b, summed
        over windows.
    """
    spans = [local.frames.span(window.start, window.end) for window in windows]
    firsts = np.array([span.start for span in spans])
    lasts = np.array([span.stop for span in spans])
    together, apart = np.zeros((n, n)), np.zeros((n, n))
    for place, _, alone in local.windows():
        # Of one window at a time: many clusters in all frames would be large.
        heard = np.zeros((place.stop - place.start, n))
        for inside in np.flatnonzero((firsts < place.stop) & (lasts > place.start)):
            low, high = (
                max(firsts[inside] - place.start, 0),
                lasts[inside] - place.start,
            )
            heard[low:high, labels[inside]] = 1.0
        spoken = np.where(alone > 0.5, alone, 0.0).T @ heard
        present = np.flatnonzero(spoken.any(axis=0))
        for one in present.tolist():
            least = np.minimum(spoken[:, one][:, None, None], spoken[None, :, present])
            same = np.einsum("iij->j", least)
            together[one, present] += same
            apart[one, present] += least.sum(axis=(0, 1)) - same
    return together, apart
