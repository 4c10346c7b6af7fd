"""Voice prints, one vector per speaker of a recording, and the identities they give.

A voice print is the mean vector of the windows in which only this speaker is active.
The vectors themselves are dropped, so that even a recording of five hours needs only a
few hundred numbers per speaker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from sms_diar._validation import is_real
from sms_diar.clustering.speakers.rows import row_weight_of
from sms_diar.errors import InvalidParameterError
from sms_diar.scoring.same_voice import VoiceComparison
from sms_diar.types import BoolArray, FloatArray, Segment, Turn

BY_VOICE, BY_LINK = "voice", "link"

PRIOR = 0.5
"""Prior probability that a speaker is enrolled, and that a speaker of one recording
also speaks in another one."""

_OWN = 0.8  # minimum share of a window with its speaker
_OTHERS = 0.2  # maximum share of a window with other speakers


@dataclass(frozen=True)
class VoicePrint:
    """Voice print of a speaker.

    `vector` is the mean of the vectors of the windows, each scaled to unit length after
    the centring of the back end; the more the windows differ, the shorter it is.
    `windows` is the number of windows, and `seconds` the duration of speech in them;
    overlap counts once.
    """

    speaker: str
    vector: tuple[float, ...]
    windows: int
    seconds: float

    def pooled(self, other: VoicePrint) -> VoicePrint:
        """Return the combined print of two prints of one speaker."""
        both = self.windows + other.windows
        mine, its = np.array(self.vector), np.array(other.vector)
        mean = (self.windows * mine + other.windows * its) / both
        return VoicePrint(
            self.speaker, tuple(mean.tolist()), both, self.seconds + other.seconds
        )

    def named(self, speaker: str) -> VoicePrint:
        """Return a copy with another name."""
        return replace(self, speaker=speaker)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, without the vector."""
        return {"windows": self.windows, "seconds": self.seconds}


def pool_prints(prints: Sequence[VoicePrint]) -> VoicePrint:
    """Combine prints of one speaker; the result has the name of the first."""
    return reduce(VoicePrint.pooled, prints)


def voice_prints(
    turns: Sequence[Turn], windows: Sequence[Segment], states: FloatArray
) -> tuple[VoicePrint, ...]:
    """Compute the voice prints of the speakers of one recording.

    Two turns of the same speaker never overlap. `states` are the vectors of the
    windows, shape (n_windows, d), of unit length after the centring of the back end if
    there is one. Prints are ordered by name, without speakers that never fill a window.
    """
    if not turns:
        return ()
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
    prints = []
    for name, share in zip(names, shares, strict=True):
        alone: BoolArray = (share >= _OWN) & (everybody - share <= _OTHERS)
        if not alone.any():
            continue
        solo_windows = [windows[row] for row in np.flatnonzero(alone).tolist()]
        seconds = row_weight_of(solo_windows) * sum(
            window.duration for window in solo_windows
        )
        mean = states[alone].mean(axis=0)
        prints.append(
            VoicePrint(name, tuple(mean.tolist()), len(solo_windows), round(seconds, 3))
        )
    return tuple(prints)


def compare_prints(
    ours: Sequence[VoicePrint], theirs: Sequence[VoicePrint], how: VoiceComparison
) -> tuple[FloatArray, FloatArray]:
    """Compute scores and log-likelihood ratios, both of shape (n_ours, n_theirs)."""
    if not ours or not theirs:
        return np.zeros((len(ours), len(theirs))), np.zeros((len(ours), len(theirs)))
    a, b = (np.array([voice.vector for voice in some]) for some in (ours, theirs))
    scores = how.scores(a, b)
    lengths = (np.array([voice.seconds for voice in some]) for some in (ours, theirs))
    return scores, how.log_ratios(scores, *lengths)


def _covered(
    stretches: Sequence[Segment], starts: FloatArray, ends: FloatArray
) -> FloatArray:
    """Return how many seconds of each window the disjoint `stretches` cover."""
    ordered = sorted(stretches)
    edges = np.array([(stretch.start, stretch.end) for stretch in ordered])
    lengths = edges[:, 1] - edges[:, 0]
    # Cumulative speech up to each boundary; constant in pauses.
    spoken = np.repeat(np.cumsum(lengths), 2)
    spoken[::2] -= lengths
    times = edges.ravel()
    until_end, until_start = (np.interp(t, times, spoken) for t in (ends, starts))
    covered: FloatArray = until_end - until_start
    return covered


@dataclass(frozen=True)
class NamingRules:
    """Rules for names across recordings, with minimum probabilities."""

    link: bool = False
    link_threshold: float = 0.5
    enrol_threshold: float = 0.5

    def __post_init__(self) -> None:
        for name in ("link_threshold", "enrol_threshold"):
            value = getattr(self, name)
            if not is_real(value) or not 0.0 < value < 1.0:
                problem = f"must be a probability between 0 and 1, got {value!r}"
                raise InvalidParameterError(problem, owner="diarize", parameter=name)


@dataclass(frozen=True)
class Naming:
    """Rules for names, the enrolled voices, and notes about the result.

    Notes list assigned names, enrolled names without a match, and doubts.
    """

    rules: NamingRules
    enrolled: tuple[VoicePrint, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "link": self.rules.link,
            "link_threshold": self.rules.link_threshold,
            "enrol_threshold": self.rules.enrol_threshold,
            "prior": PRIOR,
            "enrolled": [
                {"name": voice.speaker, **voice.to_dict()} for voice in self.enrolled
            ],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class VoiceMatch:
    """A speaker compared with the enrolled voice called `name`.

    `score` comes from the back end, and `log_ratio` is the log-likelihood ratio of same
    speaker against different speakers. `probability` is the probability of this voice
    among all enrolled voices and unknown speakers, given the names of the other
    speakers of the recording.
    """

    name: str
    score: float
    log_ratio: float
    probability: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "name": self.name,
            "score": round(self.score, 4),
            "log_ratio": round(self.log_ratio, 4),
            "probability": round(self.probability, 4),
        }


@dataclass(frozen=True)
class Identity:
    """Identity of a speaker of a recording.

    `speaker` is the name in the turns, and `local` the name before identification.
    `named_by` is the source of an enrolled name: "voice", or "link" for a link to a
    speaker of another recording who has this name. `linked` is the probability that
    this is the same person as the others with this name, from the mean log odds; None
    without others. `matches` are the comparisons with all enrolled voices; none for a
    speaker without a voice print.
    """

    speaker: str
    local: str
    named_by: str | None = None
    linked: float | None = None
    matches: tuple[VoiceMatch, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "speaker": self.speaker,
            "local": self.local,
            "named_by": self.named_by,
            "linked": None if self.linked is None else round(self.linked, 4),
            "enrolled": [match.to_dict() for match in self.matches],
        }
