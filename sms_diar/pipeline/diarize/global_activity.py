"""From local speakers to the speakers of a recording, with overlap.

A local speaker of a window becomes the voice that fits where this speaker is alone; two
local speakers of a window become two voices. The activity of a voice in a frame is
averaged over the windows that contain the frame. Because a window sometimes takes two
people for one, the fit of the voice in the frame counts as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from sms_diar.features.local_activity import Frames, LocalActivity
from sms_diar.types import AnyArray, BoolArray, FloatArray, IntArray, Segment

_BLOCK = 1 << 16  # frames that are ranked at a time

NOBODY = -1
"""The voice of local speakers that are never heard alone."""


def voices_in_frames(
    frames: Frames, windows: Sequence[Segment], scores: FloatArray
) -> AnyArray:
    """Return how well each voice fits each frame, relative to the others.

    `scores` measure how well each voice fits each window, shape (n_windows, n_voices).
    The result, of shape (n_frames, n_voices), is the mean over the windows that cover a
    frame of the score minus the mean of all voices; 1 for a voice that is alone, and 0
    in frames without windows. A window counts less towards its ends.
    """
    relative = scores - scores.mean(axis=1, keepdims=True)
    if scores.shape[1] == 1:
        relative = np.ones_like(scores)  # beside nobody, a voice fits where it is heard
    # Of 32 bits: five hours of twenty voices are 86 MB.
    fits = np.zeros((frames.count, scores.shape[1]), dtype=np.float32)
    covered = np.zeros(frames.count, dtype=np.float32)
    for window, row in zip(windows, relative, strict=True):
        place = frames.span(window.start, window.end)
        weight = _slopes(place.stop - place.start)
        fits[place] += weight[:, None] * row.astype(np.float32)
        covered[place] += weight
    fits /= np.where(covered > 0.0, covered, 1.0)[:, None]
    return fits


def _slopes(n: int) -> AnyArray:
    """Weights of the frames of a window, from its ends up to the middle."""
    rising = np.arange(1, n + 1, dtype=np.float32)
    weights: AnyArray = np.minimum(rising, rising[::-1])
    return weights


def assign_local(local: LocalActivity, fits: AnyArray) -> IntArray:
    """Return the voice of each local speaker of each window, or `NOBODY`.

    `fits` is the result of `voices_in_frames`. Local speakers of a window get different
    voices, which fit best where they speak alone. The result has shape (n_windows,
    n_local).
    """
    voices = np.full((len(local.starts), local.n_local), NOBODY, dtype=np.int64)
    for found, (place, _, alone) in zip(voices, local.windows(), strict=True):
        # Half a frame is none: every probability is a little above zero.
        score = np.where(alone > 0.5, alone, 0.0).T @ fits[place]
        rows, columns = linear_sum_assignment(score, maximize=True)
        heard = np.abs(score[rows]).max(axis=1, initial=0.0) > 0.0
        found[rows[heard]] = columns[heard]
    return voices


def add_activity(total: AnyArray, local: LocalActivity, voices: IntArray) -> None:
    """Add the mean activity of each voice in each frame over windows, 0 to 1.

    `total` of shape (n_frames, n_voices) is changed in place, because it is large.
    `voices` is the voice of each local speaker, shape (n_windows, n_local).
    """
    seen = local.seen()[:, None]
    for row, (place, speaking, _) in zip(voices, local.windows(), strict=True):
        known = np.flatnonzero(row != NOBODY)
        total[place, row[known]] += speaking[:, known] / seen[place]


def most_active(activity: AnyArray, counts: IntArray) -> BoolArray:
    """Select the most active voices of each frame, as many as `counts` says.

    Examples
    --------
    >>> most_active(np.array([[0.9, 0.2, 0.6]]), np.array([2])).tolist()
    [[True, False, True]]
    """
    chosen: BoolArray = np.zeros(activity.shape, dtype=np.bool_)
    ranks = np.arange(activity.shape[1])
    for at in range(0, len(activity), _BLOCK):  # an order takes eight bytes a voice
        part = slice(at, at + _BLOCK)
        order = np.argsort(-activity[part], axis=1, kind="stable")
        speaks = ranks < counts[part, None]
        np.put_along_axis(chosen[part], order, speaks, axis=1)
    return chosen


def ensure_all_voices(
    speaks: BoolArray, frames: Frames, windows: Sequence[Segment], scores: FloatArray
) -> BoolArray:
    """Give a window to each voice that speaks nowhere.

    It is the window that suits the voice best relative to the others. The voice
    replaces the others there or, where they would lose their only window, speaks at the
    same time. `speaks`, of shape (n_frames, n_voices), is changed in place; `scores`
    measure how well each voice fits each window, shape (n_windows, n_voices).
    """
    held = speaks.sum(axis=0)
    places = [frames.span(window.start, window.end) for window in windows]
    heard = np.array([place.stop > place.start for place in places])
    for voice in np.flatnonzero(held == 0).tolist():
        others = np.delete(scores, voice, axis=1).max(axis=1, initial=-np.inf)
        margin = np.where(heard, scores[:, voice] - others, -np.inf)
        place = places[int(np.argmax(margin))]
        taken = speaks[place].sum(axis=0)
        if (taken < held).all(where=taken > 0):
            speaks[place] = False
            held -= taken
        speaks[place, voice] = True
        held[voice] = place.stop - place.start
    return speaks
