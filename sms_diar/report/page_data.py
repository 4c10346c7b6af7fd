"""Content of a report page, as values.

This module is independent of files and HTML: `sms_diar.pipeline.page` creates these
values, and `sms_diar.report.html_page` renders them. ``to_dict`` returns the input of
the page's script: times are in seconds, and names are listed once and referenced by
index.
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
"""Confidence below which a turn is drawn as uncertain."""

ERROR_KINDS = ("missed", "false_alarm", "confusion")
"""Kinds of error, in the order of the marks of the page."""

_GRID = 4096  # positions along each axis of the map of windows


@dataclass(frozen=True, eq=False)
class Waveform:
    """Loudness along a recording.

    Parameters
    ----------
    peaks : ndarray of uint8
        Peak of each interval; 255 is the peak of the recording.
    per_second : float
        Number of intervals per second.
    """

    peaks: npt.NDArray[np.uint8]
    per_second: float

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        text = base64.b64encode(self.peaks.tobytes()).decode("ascii")
        return {"perSecond": self.per_second, "peaks": text}


@dataclass(frozen=True, eq=False)
class PageAudio:
    """Compressed audio of a recording."""

    content: bytes
    type: str = "audio/mpeg"
    suffix: str = ".mp3"


@dataclass(frozen=True, eq=False)
class WindowMap:
    """Windows as points in a plane.

    Parameters
    ----------
    windows : tuple of Segment
        Time of each window.
    points : ndarray of shape (n, 2)
        Position of each window.
    confidence : ndarray of shape (n,), optional
        Probability that the label of the window is correct.
    n_windows : int
        Total number of windows; if there are many, only a part is drawn.
    share : float
        Share of the variance that the plane explains.
    """

    windows: tuple[Segment, ...]
    points: FloatArray
    confidence: FloatArray | None
    n_windows: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values for JSON; speakers are taken from the turns."""
        sure = None if self.confidence is None else np.round(self.confidence, 3)
        return {
            "times": [[round(w.start, 3), round(w.end, 3)] for w in self.windows],
            "points": _on_grid(self.points).tolist(),
            "confidence": None if sure is None else sure.tolist(),
            "windows": self.n_windows,
            "share": round(self.share, 4),
            "grid": _GRID,
        }


def _on_grid(points: FloatArray) -> IntArray:
    """Convert to integers, with the same scale for both axes."""
    low, high = points.min(axis=0), points.max(axis=0)
    width = float((high - low).max()) or 1.0
    centred = points - (low + high) / 2.0
    grid: IntArray = np.rint((centred / width + 0.5) * (_GRID - 1)).astype(np.int64)
    return grid


@dataclass(frozen=True)
class PageError:
    """Interval in which reference and hypothesis disagree.

    `kind` is one of `ERROR_KINDS`; the names are speakers without a correct partner.
    """

    start: float
    end: float
    kind: str
    reference: tuple[str, ...]
    hypothesis: tuple[str, ...]


@dataclass(frozen=True)
class PageScore:
    """Reference of a recording, and scores of the hypothesis.

    Parameters
    ----------
    turns : tuple of Turn
        Turns of the reference.
    mapping : mapping from str to str
        Reference speaker of each mapped hypothesis speaker.
    errors : tuple of PageError
        Errors in order of time.
    figures : mapping
        Seconds of the components of DER, and rates.
    rules : tuple of str
        Description of the scoring rules.
    """

    turns: tuple[Turn, ...]
    mapping: Mapping[str, str]
    errors: tuple[PageError, ...]
    figures: Mapping[str, float | int | None]
    rules: tuple[str, ...]

    def to_dict(self, hyp_index: Mapping[str, int]) -> dict[str, Any]:
        """Convert to plain values for JSON; `hyp_index` numbers hypothesis speakers."""
        index = _indices(turn.speaker for turn in self.turns)
        pairs = [
            [hyp_index[speaker], index[true]]
            for speaker, true in self.mapping.items()
            if speaker in hyp_index and true in index
        ]
        return {
            "speakers": list(index),
            "turns": [
                [*_times(turn.segment), index[turn.speaker]] for turn in self.turns
            ],
            "pairs": pairs,
            "errors": [
                [
                    round(error.start, 6),
                    round(error.end, 6),
                    ERROR_KINDS.index(error.kind),
                    [index[name] for name in error.reference if name in index],
                    [hyp_index[name] for name in error.hypothesis if name in hyp_index],
                ]
                for error in self.errors
            ],
            "figures": dict(self.figures),
            "rules": list(self.rules),
        }


@dataclass(frozen=True, eq=False)
class PageRecording:
    """Recording on a page.

    Parameters
    ----------
    name : str
        Name of the recording; untrusted text like all names.
    duration : float
        Duration in seconds.
    turns : tuple of Turn
        Turns in order of time.
    confidence : tuple of float or None
        Confidence of each turn, None if unknown.
    score : PageScore, optional
        Reference and scores.
    waveform, audio, windows : optional
        Waveform, audio and map of windows.
    notes : tuple of str
        Notes for the reader.
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
        """Convert to plain values for JSON; `audio` is the source of the audio."""
        index = _indices(turn.speaker for turn in self.turns)
        sure = self.confidence or (None,) * len(self.turns)
        return {
            "name": self.name,
            "duration": round(self.duration, 6),
            "speakers": list(index),
            "turns": [
                [*_times(turn.segment), index[turn.speaker], _rounded(confidence)]
                for turn, confidence in zip(self.turns, sure, strict=True)
            ],
            "score": None if self.score is None else self.score.to_dict(index),
            "wave": None if self.waveform is None else self.waveform.to_dict(),
            "audio": None if audio is None else dict(audio),
            "map": None if self.windows is None else self.windows.to_dict(),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class Page:
    """Content of a report page.

    Parameters
    ----------
    title : str
        Title of the page.
    recordings : tuple of PageRecording
        Recordings in the order of the menu.
    settings, versions : mapping from str to object
        Settings and software versions with which the turns were made.
    """

    title: str
    recordings: tuple[PageRecording, ...]
    settings: Mapping[str, object]
    versions: Mapping[str, object]


def _indices(names: Any) -> dict[str, int]:
    return {name: index for index, name in enumerate(dict.fromkeys(names))}


def _times(segment: Segment) -> tuple[float, float]:
    # RTTM is written with at most nine decimals.
    return round(segment.start, 9), round(segment.end, 9)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
