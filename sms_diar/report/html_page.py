"""Content of a report page as values, and its HTML: a single file that works offline.

`sms_diar.pipeline.page` creates the values. ``to_dict`` returns the input of the page's
script: times are in seconds, and names are listed once and referenced by index.

Template, style and script are in ``page/``. The script draws on canvases without a
library: plotly and bokeh would add three to five megabytes, more than the rest of a
page, and set inline styles, which the content-security policy forbids; neither plays or
edits turns.

Names are untrusted. They are passed as JSON with ``<`` escaped, and the script inserts
them as text nodes only. The policy allows one script and one style by their digests,
sound and pictures of the page itself, and no connections.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from sms_diar.io.registry import TRANSCRIPT_FORMATS, WRITTEN_TRANSCRIPTS
from sms_diar.io.transcripts.subtitles import breaks
from sms_diar.io.turns import eaf
from sms_diar.report.figures import DOUBTFUL, MIN_LONGEST
from sms_diar.timeline.transcript import Phrase, Word
from sms_diar.types import FloatArray, IntArray, Segment, Turn

_FOLDER = files("sms_diar.report") / "page"
_SLOT = re.compile(r"\{\{(\w+)\}\}")
ERROR_KINDS = ("missed", "false_alarm", "confusion")
"""Kinds of error, in the order of the marks of the page."""

_GRID = 4096  # positions along each axis of the map of windows


@dataclass(frozen=True, eq=False)
class Waveform:
    """Loudness along a recording, at `per_second` intervals per second.

    `peaks` are the peaks of the intervals; 255 is the peak of the recording.
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

    `points` of shape (n, 2) are the positions. `confidence` of shape (n,) is the
    probability that the label of the window is correct. If there are many, only some of
    the `n_windows` windows are drawn. `share` is the share of the variance that the
    plane explains.
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
    centred = points - (low + high) / 2.0  # shape: (n_windows, 2)
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

    `mapping` is the reference speaker of each mapped hypothesis speaker, `errors` are
    in order of time, `figures` are the seconds of the components of DER and the rates,
    and `rules` describe how they were computed.
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
    """Recording on a page; `phrases` hold its words, in order of time.

    All names are untrusted text. `duration` is in seconds, `turns` are in order of
    time, `confidence` is that of each turn (None if unknown), and `notes` are for the
    reader. In `unresolved` regions more people talk than can be told apart.
    """

    name: str
    duration: float
    turns: tuple[Turn, ...]
    confidence: tuple[float | None, ...] = ()
    score: PageScore | None = None
    waveform: Waveform | None = None
    audio: PageAudio | None = None
    windows: WindowMap | None = None
    phrases: tuple[Phrase, ...] = ()
    notes: tuple[str, ...] = ()
    unresolved: tuple[Segment, ...] = ()

    def to_dict(self, audio: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Convert to plain values for JSON; `audio` is the source of the audio."""
        speakers = [turn.speaker for turn in self.turns]
        speakers += (part.speaker for part in self.phrases if part.speaker is not None)
        index = _indices(speakers)
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
            "words": _columns(self.phrases, index) if self.phrases else None,
            "map": None if self.windows is None else self.windows.to_dict(),
            "notes": list(self.notes),
            "unresolved": [_times(region) for region in self.unresolved],
        }


@dataclass(frozen=True, eq=False)
class Page:
    """Content of a report page.

    `settings` and `versions` describe how the turns were made. Recordings are in the
    order of the menu.
    """

    title: str
    recordings: tuple[PageRecording, ...]
    settings: Mapping[str, object]
    versions: Mapping[str, object]


def _indices(names: Any) -> dict[str, int]:
    return {name: index for index, name in enumerate(dict.fromkeys(names))}


def _columns(phrases: Sequence[Phrase], index: Mapping[str, int]) -> dict[str, Any]:
    """Convert phrases to columns of words, which are compact; times in milliseconds.

    A phrase has its times, the index of its speaker or -1, and its number of words. A
    flag is a hexadecimal digit: 1 for a joined word, 2 for estimated times, 4 and 8 for
    a word that begins a line and a cue of subtitles.
    """
    words = [word for phrase in phrases for word in phrase.words]
    sure = [_rounded(word.speaker_confidence) for word in words]
    heard = [_rounded(word.confidence) for word in words]
    return {
        "phrases": [
            [*_milliseconds(part), index.get(part.speaker or "", -1), len(part.words)]
            for part in phrases
        ],
        "texts": "\n".join(word.text for word in words),
        "flags": "".join(
            f"{word.is_joined + 2 * word.is_estimated + 4 * mark:x}"
            for word, mark in zip(words, breaks(phrases), strict=True)
        ),
        "times": [time for word in words for time in _milliseconds(word)],
        "sure": sure if any(value is not None for value in sure) else None,
        "heard": heard if any(value is not None for value in heard) else None,
    }


def _milliseconds(part: Phrase | Word) -> tuple[int, int]:
    return round(1000 * part.start), round(1000 * part.end)


def _times(segment: Segment) -> tuple[float, float]:
    # RTTM is written with at most nine decimals.
    return round(segment.start, 9), round(segment.end, 9)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def render(page: Page, beside: Mapping[int, str] | None = None) -> str:
    """Render a page as HTML.

    `beside` names audio files in the folder of the page by the index of their
    recording; the audio of other recordings is embedded.
    """
    links = beside or {}
    style, script = _part("page.css"), _part("page.js")
    blocks, recordings = [], []
    for index, recording in enumerate(page.recordings):
        source = None
        if index in links:
            source = {"href": links[index]}
        elif recording.audio is not None:
            source = {"id": f"audio-{index}", "type": recording.audio.type}
            blocks.append(_audio_block(source["id"], recording.audio.content))
        recordings.append(recording.to_dict(source))
    content = {
        "title": page.title,
        "doubtful": DOUBTFUL,
        "min_longest": MIN_LONGEST,
        "recordings": recordings,
        "formats": [
            (entry.name, entry.title, entry.suffix, entry.names_recordings)
            for entry in map(TRANSCRIPT_FORMATS.__getitem__, WRITTEN_TRANSCRIPTS)
        ],
        "elan": (eaf.HEAD, eaf.TAIL),
        "settings": _pairs(page.settings),
        "versions": _pairs(page.versions),
    }
    slots = {
        "policy": policy(style, script, beside=bool(links)),
        "title": html.escape(page.title),
        "style": style,
        "script": script,
        "data": script_json(content),
        "audio": "\n".join(blocks),
    }
    # Replace all slots in one pass, because inserted text may look like a slot.
    return _SLOT.sub(lambda match: slots[match[1]], _part("page.html"))


def policy(style: str, script: str, *, beside: bool = False) -> str:
    """Make the content-security policy of a page with this style and script."""
    media = "blob: 'self' file:" if beside else "blob:"
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; "
        f"style-src '{_digest(style)}'; img-src data: blob:; media-src {media}; "
        f"base-uri 'none'; form-action 'none'"
    )


def script_json(value: object) -> str:
    """Convert to JSON that is safe inside a script element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    # File names may contain lone surrogates, which UTF-8 cannot encode.
    return text.encode("utf-8", "replace").decode("utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _audio_block(name: str, content: bytes) -> str:
    text = base64.b64encode(content).decode("ascii")
    return f'<script type="text/plain" id="{name}">{text}</script>'


def _pairs(values: Mapping[str, object]) -> Sequence[tuple[str, str]]:
    return [(str(name), str(value)) for name, value in values.items()]


def _part(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
