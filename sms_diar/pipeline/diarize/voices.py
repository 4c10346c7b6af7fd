"""Turns from clusters of windows and local activity; ``NEURAL.md`` has the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sms_diar.features.local_activity import Frames, LocalActivity, stretches_of
from sms_diar.pipeline.diarize.global_activity import (
    NOBODY,
    add_activity,
    assign_local,
    ensure_all_voices,
    most_active,
    voices_in_frames,
)
from sms_diar.preprocessing import scale_rows
from sms_diar.timeline.naming import name_speakers
from sms_diar.types import BoolArray, FloatArray, IntArray, Segment, Turn


@dataclass(frozen=True, eq=False)
class Heard:
    """Output of the segmenter: local activity and number of speakers per frame.

    `solo` is True in frames in which it hears one speaker, shape (n_frames,). A second
    segmenter may change `counts`, but not `solo`.
    """

    local: LocalActivity
    expected: FloatArray
    counts: IntArray
    solo: BoolArray


@dataclass(frozen=True, eq=False)
class _Voices:
    """Windows of a recording, their vectors, and the voices found in them."""

    windows: Sequence[Segment]
    vectors: FloatArray
    centres: FloatArray

    def scores(self) -> FloatArray:
        """Return cosines of shape (n_windows, n_voices)."""
        cosines: FloatArray = self.vectors @ self.centres.T
        return cosines


def turns_of_voices(
    recording: str,
    heard: Heard,
    windows: Sequence[Segment],
    rows: FloatArray,
    clusters: IntArray,
    *,
    fewest: int = 1,
    most: int | None = None,
    voice_weight: float,
) -> list[Turn]:
    """Make turns from clustered windows and the output of the segmenter.

    Clusters of the same voice are merged regardless of the bounds. If there are then
    fewer voices than allowed, speakers that clustering missed are added. If there are
    too few voices, the windows that fit none of them become voices.

    `rows` are the vectors of the single-speaker windows, of unit length and shape
    (n_windows, d), and `clusters` their clusters, shape (n_windows,), from 0. `fewest`
    is at most the number of windows, `most` at least the number of clusters.
    """
    local = heard.local
    centres = _centres(rows, clusters)
    clusters = merge_split_clusters(local, windows, clusters, centres)[clusters]
    centres = _centres(rows, clusters)
    voices = _Voices(windows, rows, centres)
    fits = voices_in_frames(local.frames, windows, voices.scores())
    # shape: (n_frames, n_voices)
    local_voices = assign_local(local, fits)
    # shape: (n_segmenter_windows, n_local)
    more = np.concatenate([centres, _missed(heard, voices, local_voices, most)])
    more = add_outlier_windows(rows, more, fewest)
    if len(more) > len(centres):
        voices = replace(voices, centres=more)
        del fits  # large with many voices
        fits = voices_in_frames(local.frames, windows, voices.scores())
        local_voices = assign_local(local, fits)
    activity = np.multiply(fits, voice_weight, out=fits)  # in place: it is large
    add_activity(activity, local, local_voices)
    speaks = most_active(activity, heard.counts)
    # shape: (n_frames, n_voices)
    if np.count_nonzero(speaks.any(axis=0)) < fewest:
        speaks = ensure_all_voices(speaks, local.frames, windows, voices.scores())
    return turns_of_frames(recording, local.frames, speaks)


def _missed(
    heard: Heard,
    voices: _Voices,
    local_voices: IntArray,
    most: int | None,
) -> FloatArray:
    """Return the voices of speakers that clustering missed, shape (n, d)."""
    missed: list[FloatArray] = []
    spare = np.inf if most is None else most - len(voices.centres)
    for person in unassigned_speakers(heard.local, local_voices, heard.expected):
        weights = np.zeros(len(voices.windows))
        for number, window in enumerate(voices.windows):
            span = heard.local.frames.span(window.start, window.end)
            first, last = (
                max(frame - person.first, 0) for frame in (span.start, span.stop)
            )
            weights[number] = person.alone[first:last].sum()
        if not weights.any():
            continue
        [voice] = scale_rows(weights[None] @ voices.vectors)
        if (voices.centres @ voice).max() > ALIKE:
            continue  # The segmenter took one person for two.
        alike = [n for n, other in enumerate(missed) if voice @ other > ALIKE]
        if alike:
            [missed[alike[-1]]] = scale_rows((missed[alike[-1]] + voice)[None])
        elif len(missed) < spare:
            missed.append(voice)
    return np.array(missed).reshape(len(missed), voices.vectors.shape[1])


def _centres(rows: FloatArray, clusters: IntArray) -> FloatArray:
    means = [rows[clusters == c].mean(axis=0) for c in range(clusters.max() + 1)]
    centres: FloatArray = scale_rows(np.stack(means))
    return centres


def turns_of_frames(recording: str, frames: Frames, speaks: BoolArray) -> list[Turn]:
    """Convert the activity of voices to turns, in order of time.

    `speaks` is True where a voice is active, shape (n_frames, n_voices).
    """
    pieces = sorted(
        (segment, voice)
        for voice in range(speaks.shape[1])
        for segment in stretches_of(frames, speaks[:, voice], recording)
    )
    names = name_speakers([voice for _, voice in pieces])
    return [
        Turn(segment, name) for (segment, _), name in zip(pieces, names, strict=True)
    ]


# Clusters of one voice: clustering may split a person who speaks for long. In the
# windows of the segmenter both parts are then the same local speaker rather than two.
# The segmenter also confuses people, so the parts are merged only if their vectors are
# similar and one of them is short.

ALIKE = 0.65
"""Cosine of the mean vectors of two clusters from which they may be one voice. Of
different people in simulated meetings it went up to 0.59."""

FEW = 20
"""Windows above which a cluster is kept. Clustering is more reliable then: the
segmenter sometimes takes two people for one for a third of their time."""


def merge_split_clusters(
    local: LocalActivity,
    windows: Sequence[Segment],
    labels: IntArray,
    centres: FloatArray,
) -> IntArray:
    """Return the voice of each cluster, shape (n_clusters,), numbered from 0.

    `labels` are the clusters of the windows, shape (n_windows,), and `centres` their
    mean directions of unit length, shape (n_clusters, d).
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
                and together[one, other] > apart[one, other]
            ):
                voices[voices == voices[one]] = voices[other]
    found: IntArray = np.unique(voices, return_inverse=True)[1]
    return found


def common_time(
    local: LocalActivity, windows: Sequence[Segment], labels: IntArray, n: int
) -> tuple[FloatArray, FloatArray]:
    """Frames that two clusters share as one local speaker, and as two of a window.

    If two clusters speak for a and b frames in a window, the minimum of a and b counts,
    summed over windows. Both results have shape (n, n).
    """
    spans = [local.frames.span(window.start, window.end) for window in windows]
    firsts = np.array([span.start for span in spans])
    lasts = np.array([span.stop for span in spans])
    together, apart = np.zeros((n, n)), np.zeros((n, n))
    for place, _, alone in local.windows():
        # One window at a time: many clusters in all frames would be large.
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


# People whom clustering missed: a window of the segmenter may separate three people
# where clustering found two, because a brief speaker has too few vectors for a cluster.
# Local speakers without a voice are the only trace of that person. Traces in several
# windows are joined if they speak at the same time, and count if enough windows agree.

MIN_SOLO_SHARE = 0.02
"""Minimum solo speech of an unassigned speaker, as a share of all speech, because
errors add up in long recordings."""


@dataclass(frozen=True, eq=False)
class UnassignedSpeaker:
    """A person without a voice.

    `first` is the frame of the recording that `alone` begins with. `alone` is the share
    of the windows of the segmenter that hear this person in a frame, 0 where they hear
    several people.
    """

    first: int
    alone: FloatArray


@dataclass(frozen=True, eq=False)
class _Trace:
    """A local speaker of a window for whom no voice is left."""

    first: int
    speaking: BoolArray


def unassigned_speakers(
    local: LocalActivity, voices: IntArray, expected: FloatArray
) -> list[UnassignedSpeaker]:
    """Find people who speak but have no voice; who speaks longest comes first.

    `voices` is the voice of each local speaker, or `NOBODY`, shape (n_windows,
    n_local), and `expected` the number of speakers in each frame, shape (n_frames,).
    """
    traces = _traces(local, voices)
    single, seen = expected < 1.5, local.seen()
    least = MIN_SOLO_SHARE * np.count_nonzero(expected > 0.5)
    found = []
    for group in _joined(traces):
        first = min(traces[member].first for member in group)
        last = max(
            traces[member].first + len(traces[member].speaking) for member in group
        )
        total = np.zeros(last - first)
        for member in group:
            start = traces[member].first - first
            total[start : start + len(traces[member].speaking)] += traces[
                member
            ].speaking
        alone = total / seen[first:last] * single[first:last]
        if alone.sum() >= least:
            found.append(UnassignedSpeaker(first, alone))
    return sorted(found, key=lambda person: (-person.alone.sum(), person.first))


def _traces(local: LocalActivity, voices: IntArray) -> list[_Trace]:
    return [
        _Trace(place.start, speaking[:, speaker] > 0.5)
        for row, (place, speaking, alone) in zip(voices, local.windows(), strict=True)
        for speaker in np.flatnonzero(row == NOBODY).tolist()
        if (alone[:, speaker] > 0.5).any()
    ]


def _joined(traces: list[_Trace]) -> list[list[int]]:
    """Groups of traces that are one person's; traces come in order of time."""
    parents = list(range(len(traces)))

    def root(member: int) -> int:
        while parents[member] != member:
            parents[member] = parents[parents[member]]
            member = parents[member]
        return member

    oldest = 0
    for number, trace in enumerate(traces):
        while traces[oldest].first + len(traces[oldest].speaking) <= trace.first:
            oldest += 1
        for other in range(oldest, number):
            if traces[other].first < trace.first and _same(traces[other], trace):
                parents[root(number)] = root(other)
    groups: dict[int, list[int]] = {}
    for number in range(len(traces)):
        groups.setdefault(root(number), []).append(number)
    return list(groups.values())


def _same(before: _Trace, after: _Trace) -> bool:
    """Return True if two traces speak together where both windows look."""
    earlier = before.speaking[after.first - before.first :]
    later = after.speaking[: len(earlier)]
    earlier = earlier[: len(later)]
    common = int(np.count_nonzero(earlier & later))
    longer = max(int(np.count_nonzero(earlier)), int(np.count_nonzero(later)))
    return 2 * common > longer


# Voices for people whom neither clustering nor the segmenter found: if the caller knows
# of more speakers, the windows that fit no voice are the best place to look for them.


def add_outlier_windows(
    rows: FloatArray, centres: FloatArray, fewest: int
) -> FloatArray:
    """Return the voices, and the windows that fit them worst until there are enough.

    Each further voice is the window that is farthest from all voices before it. `rows`
    and `centres` have unit length and shapes (n_windows, d) and (n_voices, d).

    >>> rows = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]])
    >>> add_outlier_windows(rows, rows[:1], 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    found = list(centres)
    nearest = (rows @ centres.T).max(axis=1)
    while len(found) < min(fewest, len(rows)):
        odd = rows[int(np.argmin(nearest))]
        found.append(odd)
        nearest = np.maximum(nearest, rows @ odd)
    return np.array(found)
