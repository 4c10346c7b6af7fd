"""What a report page shows, as values.

Nothing here knows of files or of HTML: `sms_diar.pipeline.page` makes these values,
`sms_diar.report.html_page` draws them. ``to_dict`` gives what the script of the page
reads; times are seconds, names are written once and referred to by their places.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sms_diar.types import FloatArray, IntArray, Segment, Turn

DOUBTFUL = 0.7
"""Confidence below which a turn is drawn as doubtful."""

ERROR_KINDS = ("missed", "false_alarm", "confusion")
"""Kinds of error, in the order of the marks of the page."""

_GRID = 4096  # places along each axis of the view of windows


@dataclass(frozen=True, eq=False)
class Waveform:
    """Loudness along a recording.

    Parameters
    ----------
    peaks : ndarray of uint8
        Largest sample of each stretch, 255 being the loudest of the recording.
    per_second : float
        Stretches in a second.
    """

    peaks: npt.NDArray[np.uint8]
    per_second: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        text = base64.b64encode(self.peaks.tobytes()).decode("ascii")
        return {"perSecond": self.per_second, "peaks": text}


@dataclass(frozen=True, eq=False)
class PageAudio:
    """A recording to listen to, compressed."""

    content: bytes
    type: str = "audio/mpeg"
    suffix: str = ".mp3"


@dataclass(frozen=True, eq=False)
class WindowMap:
    """Windows as points of a plane, with the ways they took to rest.

    Parameters
    ----------
    windows : tuple of Segment
        Where each lies in time.
    paths : ndarray of shape (n, m, 2)
        Places of each window from where it was to where it came to rest.
    confidence : ndarray of shape (n,), optional
        Probability that this is right.
    n_windows : int
        Windows there are; of many, only some are drawn.
    share : float
        Share of the variance that the plane shows.
    """

    windows: tuple[Segment, ...]
    paths: FloatArray
    confidence: FloatArray | None
    n_windows: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; who speaks in them, the turns tell."""
        paths = _on_grid(self.paths)
        sure = None if self.confidence is None else np.round(self.confidence, 3)
        return {
            "times": [[round(w.start, 3), round(w.end, 3)] for w in self.windows],
            "paths": [_without_repeats(path) for path in paths],
            "confidence": None if sure is None else sure.tolist(),
            "windows": self.n_windows,
            "share": round(self.share, 4),
            "grid": _GRID,
        }


def _on_grid(paths: FloatArray) -> IntArray:
    """Whole numbers, both axes on one scale."""
    flat = paths.reshape(-1, 2)
    low, high = flat.min(axis=0), flat.max(axis=0)
    width = float((high - low).max()) or 1.0
    centred = paths - (low + high) / 2.0
    grid: IntArray = np.rint((centred / width + 0.5) * (_GRID - 1)).astype(np.int64)
    return grid


def _without_repeats(path: IntArray) -> list[int]:
    keep = np.ones(len(path), dtype=np.bool_)
    keep[1:] = (path[1:] != path[:-1]).any(axis=1)
    flat: list[int] = path[keep].reshape(-1).tolist()
    return flat


@dataclass(frozen=True)
class PageError:
    """A stretch in which reference and hypothesis disagree.

    `kind` is one of `ERROR_KINDS`; the names are those without a right partner.
    """

    start: float
    end: float
    kind: str
    reference: tuple[str, ...]
    hypothesis: tuple[str, ...]


@dataclass(frozen=True)
class PageScore:
    """The reference of a recording, and how the hypothesis does against it.

    Parameters
    ----------
    turns : tuple of Turn
        Who truly speaks when.
    mapping : mapping from str to str
        Reference speaker of each hypothesis speaker that has one.
    errors : tuple of PageError
        In order of time.
    figures : mapping
        Seconds of the components of DER, and rates.
    rules : tuple of str
        What was counted, in words.
    """

    turns: tuple[Turn, ...]
    mapping: Mapping[str, str]
    errors: tuple[PageError, ...]
    figures: Mapping[str, float | int | None]
    rules: tuple[str, ...]

    def to_dict(self, places: Mapping[str, int]) -> dict[str, Any]:
        """Plain values, for JSON; `places` are those of the hypothesis speakers."""
        own = _places(turn.speaker for turn in self.turns)
        pairs = [
            [places[theirs], own[true]]
            for theirs, true in self.mapping.items()
            if theirs in places and true in own
        ]
        return {
            "speakers": list(own),
            "turns": [
                [*_times(turn.segment), own[turn.speaker]] for turn in self.turns
            ],
            "pairs": pairs,
            "errors": [
                [
                    round(error.start, 6),
                    round(error.end, 6),
                    ERROR_KINDS.index(error.kind),
                    [own[name] for name in error.reference if name in own],
                    [places[name] for name in error.hypothesis if name in places],
                ]
                for error in self.errors
            ],
            "figures": dict(self.figures),
            "rules": list(self.rules),
        }


@dataclass(frozen=True, eq=False)
class PageRecording:
    """One recording of a page.

    Parameters
    ----------
    name : str
        Untrusted text, as all names are.
    duration : float
        Seconds.
    turns : tuple of Turn
        Who speaks when, in order of time.
    confidence : tuple of float or None
        For each turn, where it is known.
    score : PageScore, optional
        Its reference.
    waveform, audio, windows : optional
        What can be seen and heard of it.
    notes : tuple of str
        What the reader should know.
    """

    name: str
    duration: float
    turns: tuple[Turn, ...]
    confidence: tuple[float | None, ...] = ()
    score: PageScore | None = None
    waveform: Waveform | None = None
    audio: PageAudio | None = None
    windows: WindowMap | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self, audio: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Plain values, for JSON; `audio` says where the page finds it."""
        places = _places(turn.speaker for turn in self.turns)
        sure = self.confidence or (None,) * len(self.turns)
        return {
            "name": self.name,
            "duration": round(self.duration, 6),
            "speakers": list(places),
            "turns": [
                [*_times(turn.segment), places[turn.speaker], _rounded(one)]
                for turn, one in zip(self.turns, sure, strict=True)
            ],
            "score": None if self.score is None else self.score.to_dict(places),
            "wave": None if self.waveform is None else self.waveform.to_dict(),
            "audio": None if audio is None else dict(audio),
            "map": None if self.windows is None else self.windows.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class Page:
    """Everything a report page shows.

    Parameters
    ----------
    title : str
        What it is about.
    recordings : tuple of PageRecording
        In the order in which they are offered.
    settings, versions : mapping from str to object
        How the turns were made, and with what.
    """

    title: str
    recordings: tuple[PageRecording, ...]
    settings: Mapping[str, object]
    versions: Mapping[str, object]


def _places(names: Any) -> dict[str, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def _times(segment: Segment) -> tuple[float, float]:
    # Nine decimals are the finest that RTTM is written with.
    return round(segment.start, 9), round(segment.end, 9)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
