"""Short, long and repetitive recordings, made of windows of conversations.

`cut` takes whole stretches of a conversation, so that no turn is torn; `repeat` plays
a conversation again and again; `splice` makes hours out of minutes, as recordings do
that are put together from cuts: passages recur, half of them to the last digit, the
others cut at another place, so that their windows fall between the old ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from benchmarks.compare.conversations import STEP, WINDOW, Conversation, moved
from sms_diar.errors import InvalidParameterError
from sms_diar.types import FloatArray, Segment

PAUSES = (0.1, 0.8)  # seconds between stretches, from and to
TURN = (1, 6)  # stretches of a turn, from and to
EXACT = 0.5  # share of stretches that repeat one of the speaker's word for word
LEAST_VOICE = 40  # windows of a speaker that hours are made of
_OVERLAP = 0.5  # correlation of what two neighbouring windows add to the speaker


def cut(
    conversation: Conversation, seconds: float, rng: np.random.Generator
) -> Conversation:
    """Whole stretches from a drawn one on, for at most this many seconds."""
    stretches = list(conversation.stretches())
    starts = [conversation.segments[stretch[0]].start for stretch in stretches]
    end = conversation.segments[-1].end
    last = max([i for i, start in enumerate(starts) if end - start >= seconds] or [0])
    first = int(rng.integers(last + 1))
    limit = starts[first] + seconds
    rows: list[int] = []
    for stretch in stretches[first:]:
        inside = [row for row in stretch if conversation.segments[row].end <= limit]
        if rows and len(inside) < len(stretch):
            break
        rows += inside
    return conversation.take(rows or [stretches[first][0]])


def repeat(conversation: Conversation, times: int) -> Conversation:
    """The conversation several times, one after the other."""
    length = conversation.seconds + PAUSES[1]
    segments = [
        moved(segment, number * length)
        for number in range(times)
        for segment in conversation.segments
    ]
    return Conversation(
        np.tile(conversation.X, (times, 1)),
        tuple(segments),
        np.tile(conversation.speakers, times),
    )


@dataclass(frozen=True, eq=False)
class Voice:
    """All segments of a speaker, from all recordings.

    Parameters
    ----------
    mean : ndarray of shape (d,)
        Mean vector.
    stretches : list of ndarray of shape (m, d)
        Vectors of neighbouring windows.
    """

    mean: FloatArray
    stretches: list[FloatArray]

    def again(self, rng: np.random.Generator) -> FloatArray:
        """A drawn stretch, word for word."""
        return self.stretches[int(rng.integers(len(self.stretches)))]

    def shifted(self, rng: np.random.Generator) -> FloatArray:
        """A drawn stretch with windows that begin between the old ones.

        Such a window hears parts of two old ones: what these add to the speaker is
        mixed, and keeps its variance.
        """
        rows = self.again(rng) - self.mean
        if len(rows) < 2:
            return rows + self.mean
        share = float(rng.uniform())
        mixed = (1.0 - share) * rows[:-1] + share * rows[1:]
        spread = (1.0 - share) ** 2 + share**2 + 2.0 * _OVERLAP * share * (1.0 - share)
        voiced: FloatArray = self.mean + mixed / np.sqrt(spread)
        return voiced


def voices_of(conversations: Iterable[Conversation]) -> dict[str, Voice]:
    """Speakers with enough windows, by name."""
    stretches: dict[str, list[FloatArray]] = {}
    for conversation in conversations:
        for stretch in conversation.stretches():
            name = str(conversation.speakers[stretch[0]])
            rows = conversation.X[stretch.start : stretch.stop]
            stretches.setdefault(name, []).append(rows)
    return {
        name: Voice(np.concatenate(own).mean(axis=0), own)
        for name, own in sorted(stretches.items())
        if sum(map(len, own)) >= LEAST_VOICE
    }


def splice(
    voices: dict[str, Voice], speakers: int, windows: int, rng: np.random.Generator
) -> Conversation:
    """A long conversation of drawn speakers, who repeat themselves.

    Parameters
    ----------
    voices : mapping from str to Voice
        Speakers to draw from.
    speakers, windows : int
        Numbers of speakers and windows.
    rng : Generator
        Source of the draws.
    """
    if speakers > len(voices):
        raise InvalidParameterError(
            f"must be at most the {len(voices)} with at least {LEAST_VOICE} windows, "
            f"got {speakers}",
            owner="splice",
            parameter="speakers",
        )
    chosen = [str(n) for n in rng.choice(list(voices), size=speakers, replace=False)]
    X: list[FloatArray] = []
    segments: list[Segment] = []
    said: list[str] = []
    clock, speaker = 0.0, 0
    while len(segments) < windows:
        speaker = (speaker + int(rng.integers(1, max(2, speakers)))) % speakers
        voice = voices[chosen[speaker]]
        for _ in range(int(rng.integers(TURN[0], TURN[1] + 1))):
            exact = rng.uniform() < EXACT
            rows = voice.again(rng) if exact else voice.shifted(rng)
            X.append(rows)
            for number in range(len(rows)):
                start = clock + number * STEP
                segments.append(Segment("spliced", start, start + WINDOW))
            said += [chosen[speaker]] * len(rows)
            clock = segments[-1].end + float(rng.uniform(*PAUSES))
    whole = Conversation(np.concatenate(X), tuple(segments), np.array(said))
    return whole.take(np.arange(windows))
