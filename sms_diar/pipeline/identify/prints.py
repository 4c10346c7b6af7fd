"""What a speaker of a recording sounds like: one vector, and what it rests upon.

A voice print is the mean of the vectors of the windows in which one speaker speaks and
nobody else does. It is all that is kept of them, so that many recordings, or one of
five hours, leave a few hundred numbers for each speaker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from sms_diar.clustering.speakers.row_weight import row_weight_of
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring import BackEnd
from sms_diar.scoring.same_voice import VoiceComparison
from sms_diar.types import BoolArray, FloatArray, Segment, Turn

_OWN = 0.8  # share of a window that its speaker must fill
_OTHERS = 0.2  # share that others may fill


@dataclass(frozen=True)
class VoicePrint:
    """What a speaker sounds like.

    Parameters
    ----------
    speaker : str
        Who it is.
    vector : tuple of float
        Mean of the vectors of the windows, each of unit length after the centring of
        the back end. It is shorter than 1, the more the windows differ.
    windows : int
        How many there were.
    seconds : float
        Speech in them; where they overlap it counts once.
    """

    speaker: str
    vector: tuple[float, ...]
    windows: int
    seconds: float

    def pooled(self, other: VoicePrint) -> VoicePrint:
        """The print of all windows of two prints of one speaker."""
        both = self.windows + other.windows
        mine, its = np.array(self.vector), np.array(other.vector)
        mean = (self.windows * mine + other.windows * its) / both
        return VoicePrint(
            self.speaker, tuple(mean.tolist()), both, self.seconds + other.seconds
        )

    def named(self, speaker: str) -> VoicePrint:
        """The same voice under another name."""
        return replace(self, speaker=speaker)

    def to_dict(self) -> dict[str, Any]:
        """What it rests upon, for JSON; the vector says nothing to people."""
        return {"windows": self.windows, "seconds": self.seconds}


def pool_prints(prints: Sequence[VoicePrint]) -> VoicePrint:
    """The print of all windows of prints of one speaker, named as the first."""
    return reduce(VoicePrint.pooled, prints)


def voice_prints(
    turns: Sequence[Turn],
    windows: Sequence[Segment],
    vectors: FloatArray,
    backend: BackEnd | None = None,
) -> tuple[VoicePrint, ...]:
    """Voice prints of the speakers of one recording.

    Parameters
    ----------
    turns : sequence of Turn
        Who speaks when; those of one speaker do not overlap each other.
    windows : sequence of Segment
        Stretches that have vectors.
    vectors : ndarray of shape (n_windows, d)
        Raw vectors.
    backend : BackEnd, optional
        Says what is subtracted from vectors before they are scaled.

    Returns
    -------
    prints : tuple of VoicePrint
        In the order of the names. Who never fills a window alone has none.
    """
    if not turns:
        return ()
    states = scale_rows(vectors) if backend is None else backend.prepare(vectors)
    names = sorted({turn.speaker for turn in turns})
    starts: FloatArray = np.array([window.start for window in windows])
    ends: FloatArray = np.array([window.end for window in windows])
    shares = np.stack(
        [
            _covered([t.segment for t in turns if t.speaker == name], starts, ends)
            for name in names
        ]
    ) / (ends - starts)
    everybody = shares.sum(axis=0)
    found = []
    for name, share in zip(names, shares, strict=True):
        alone: BoolArray = (share >= _OWN) & (everybody - share <= _OTHERS)
        if not alone.any():
            continue
        own = [windows[row] for row in np.flatnonzero(alone).tolist()]
        seconds = row_weight_of(own) * sum(window.duration for window in own)
        mean = states[alone].mean(axis=0)
        found.append(
            VoicePrint(name, tuple(mean.tolist()), len(own), round(seconds, 3))
        )
    return tuple(found)


def compare_prints(
    ours: Sequence[VoicePrint], theirs: Sequence[VoicePrint], how: VoiceComparison
) -> tuple[FloatArray, FloatArray]:
    """Scores, and log-likelihood ratios, of every two prints of two lists.

    Returns
    -------
    scores, ratios : ndarray of shape (n_ours, n_theirs)
    """
    if not ours or not theirs:
        return np.zeros((len(ours), len(theirs))), np.zeros((len(ours), len(theirs)))
    a, b = (np.array([voice.vector for voice in some]) for some in (ours, theirs))
    scores = how.scores(a, b)
    lengths = (np.array([voice.seconds for voice in some]) for some in (ours, theirs))
    return scores, how.log_ratios(scores, *lengths)


def _covered(
    stretches: Sequence[Segment], starts: FloatArray, ends: FloatArray
) -> FloatArray:
    """Seconds of each window that lie in stretches, which do not overlap."""
    ordered = sorted(stretches)
    edges = np.array([(one.start, one.end) for one in ordered])
    lengths = edges[:, 1] - edges[:, 0]
    # Seconds spoken up to a time: constant in pauses, growing in stretches.
    spoken = np.repeat(np.cumsum(lengths), 2)
    spoken[::2] -= lengths
    times = edges.ravel()
    until_end, until_start = (np.interp(t, times, spoken) for t in (ends, starts))
    covered: FloatArray = until_end - until_start
    return covered
