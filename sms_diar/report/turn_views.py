"""Views of results with turns.

`TurnViews` is for results of several recordings and `RecordingViews` for results of one
recording: timelines in notebooks and by matplotlib, tables of pandas, and annotations
of pyannote.core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from sms_diar.errors import MissingExtraError
from sms_diar.io.turns.rttm import rttm_text
from sms_diar.report.figures import COLOURS, DOUBTFUL, draw_turns
from sms_diar.timeline.annotation import turns_by_recording
from sms_diar.types import Turn

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_WIDTH, _LEFT, _LANE = 860, 150, 22
_MOST = 4000  # maximum number of turns drawn, which limits the size of notebooks
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)


def timeline_svg(
    name: str,
    turns: Sequence[Turn],
    *,
    confidence: Sequence[float | None] | None = None,
) -> str:
    """Draw the turns of one recording as SVG, with a lane for each speaker.

    At most the first 4000 turns are drawn. Turns with a confidence below 0.7 are pale
    and dashed.
    """
    sure = confidence or (None,) * len(turns)
    last = max((turn.segment.end for turn in turns), default=1.0)
    scale = (_WIDTH - _LEFT) / last
    lanes = {s: n for n, s in enumerate(dict.fromkeys(t.speaker for t in turns))}
    height = _LANE * len(lanes) + 24
    title = f"{name}: {_count(turns, 'turn')} of {_count(lanes, 'speaker')}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="100%" style="max-width:{_WIDTH}px;display:block" role="img" '
        f'font-family="sans-serif" font-size="12" fill="currentColor">',
        f"<title>{_safe(title)}</title>",
    ]
    parts += _lanes(lanes)
    parts += _axis(last, scale, height)
    for turn, value in list(zip(turns, sure, strict=True))[:_MOST]:
        parts.append(_turn(turn, value, lanes[turn.speaker], scale))
    parts.append("</svg>")
    if len(turns) > _MOST:
        parts.append(f"<p>The first {_MOST} of {len(turns)} turns.</p>")
    return "".join(parts)


def _lanes(lanes: dict[str, int]) -> list[str]:
    parts = []
    for speaker, lane in lanes.items():
        top = lane * _LANE
        shown = speaker if len(speaker) <= 22 else f"{speaker[:21]}…"
        parts.append(
            f'<text x="0" y="{top + 15}">{_safe(shown)}</text><rect x="{_LEFT}" '
            f'y="{top + 2}" width="{_WIDTH - _LEFT}" height="{_LANE - 4}" '
            f'fill="currentColor" opacity="0.06"/>'
        )
    return parts


def _axis(duration: float, scale: float, height: int) -> list[str]:
    step = next((step for step in _STEPS if step * scale >= 60), 4 * _STEPS[-1])
    parts = []
    for number in range(int(duration / step) + 1):
        at = number * step
        minutes, seconds = divmod(at, 60)
        x = _LEFT + at * scale
        if x < _WIDTH - 24:
            parts.append(
                f'<text x="{x:.1f}" y="{height - 6}" opacity="0.7">'
                f"{minutes}:{seconds:02d}</text>"
            )
    return parts


def _turn(turn: Turn, sure: float | None, lane: int, scale: float) -> str:
    segment = turn.segment
    colour = COLOURS[lane % len(COLOURS)]
    words = f"{turn.speaker}, {segment.start:.2f} to {segment.end:.2f} s"
    look = f'fill="{colour}"'
    if sure is not None:
        words += f", confidence {sure:.0%}"
        if sure < DOUBTFUL:
            look += f' fill-opacity="0.3" stroke="{colour}" stroke-dasharray="3 2"'
    return (
        f'<rect x="{_LEFT + segment.start * scale:.2f}" y="{lane * _LANE + 3}" '
        f'width="{max(segment.duration * scale, 0.8):.2f}" height="{_LANE - 6}" rx="2" '
        f"{look}><title>{_safe(words)}</title></rect>"
    )


def _safe(text: str) -> str:
    return escape(text.encode("utf-8", "replace").decode("utf-8"))


def _count(things: Sequence[object] | dict[str, int], word: str) -> str:
    return f"{len(things)} {word}{'s' * (len(things) != 1)}"


_SHOWN = 8  # maximum number of timelines in a notebook


class TurnViews:
    """Views of the turns of several recordings."""

    def _viewed(
        self,
    ) -> Mapping[str, tuple[Sequence[Turn], Sequence[float | None] | None]]:
        """Turns and confidences of each recording; subclasses may provide both."""
        turns: Sequence[Turn] = self.turns  # type: ignore[attr-defined]
        by_recording = turns_by_recording(turns)
        return {name: (listed, None) for name, listed in by_recording.items()}

    def _repr_html_(self) -> str:
        """HTML with a timeline of each recording, for notebooks."""
        viewed = self._viewed()
        parts = [
            timeline_svg(name, turns, confidence=sure)
            for name, (turns, sure) in list(viewed.items())[:_SHOWN]
        ]
        if len(viewed) > _SHOWN:
            parts.append(f"<p>… and {len(viewed) - _SHOWN} more recordings.</p>")
        return "".join(parts)

    def to_dataframe(self) -> pd.DataFrame:
        """Convert to a table of pandas with a row for each turn.

        Returns
        -------
        table : DataFrame
            Table with the columns recording, start, end, duration, speaker and
            confidence, which is NaN if it is unknown.
        """
        import pandas as pd  # noqa: PLC0415

        rows = [
            (
                turn.segment.recording,
                turn.segment.start,
                turn.segment.end,
                turn.segment.duration,
                turn.speaker,
                float("nan") if value is None else value,
            )
            for turns, sure in self._viewed().values()
            for turn, value in zip(turns, sure or (None,) * len(turns), strict=True)
        ]
        columns = ["recording", "start", "end", "duration", "speaker", "confidence"]
        return pd.DataFrame(rows, columns=columns)

    def to_pyannote(self) -> Any:
        """Convert to annotations of pyannote.core, by name of the recording."""
        return {
            name: _pyannote(name, turns) for name, (turns, _) in self._viewed().items()
        }

    def plot(self) -> Any:
        """Draw a timeline of each recording with matplotlib.

        Returns
        -------
        axes : list of Axes
            Axes of each recording, stacked in one figure.
        """
        viewed = self._viewed()
        lanes = [len({turn.speaker for turn in turns}) for turns, _ in viewed.values()]
        axes = _axes(lanes)
        for panel, (name, (turns, sure)) in zip(axes, viewed.items(), strict=True):
            draw_turns(panel, name, turns, sure)
        return axes


class RecordingViews(TurnViews):
    """Views of the turns of one recording."""

    def to_pyannote(self) -> Any:
        """Convert to an Annotation of pyannote.core."""
        [(name, (turns, _))] = self._viewed().items()
        return _pyannote(name, turns)

    def plot(self, axes: Axes | None = None) -> Any:
        """Draw the timeline with matplotlib.

        Parameters
        ----------
        axes : Axes, optional
            Axes to draw on; by default a new figure is made.

        Returns
        -------
        axes : Axes
            Axes on which the timeline was drawn.
        """
        [(name, (turns, sure))] = self._viewed().items()
        if axes is None:
            [axes] = _axes([len({turn.speaker for turn in turns})])
        draw_turns(axes, name, turns, sure)
        return axes

    def to_rttm(self, target: str | Path | TextIO | None = None) -> str:
        """Convert to RTTM, and write it to `target` if given."""
        [(turns, _)] = self._viewed().values()
        return rttm_text(turns, target)


def _axes(lanes: Sequence[int]) -> list[Any]:
    try:
        from matplotlib import pyplot  # noqa: PLC0415
    except ImportError as error:
        problem = "plot needs matplotlib: pip install 'sms-diar[plot]'"
        raise MissingExtraError(problem) from error
    heights = [0.8 + 0.28 * count for count in lanes] or [1.0]
    # Use pyplot, so that notebooks show the figure automatically and only once.
    _, axes = pyplot.subplots(
        len(heights),
        squeeze=False,
        figsize=(9.0, sum(heights)),
        height_ratios=heights,
        layout="constrained",
    )
    return list(axes[:, 0])[: len(lanes)]


def _pyannote(name: str, turns: Sequence[Turn]) -> Any:
    try:
        from pyannote.core import Annotation, Segment  # noqa: PLC0415
    except ImportError as error:
        problem = "to_pyannote needs pyannote.core: pip install 'sms-diar[pyannote]'"
        raise MissingExtraError(problem) from error
    annotation = Annotation(uri=name)
    for track, turn in enumerate(turns):
        # Separate tracks, because several speakers may share the same segment.
        annotation[Segment(turn.segment.start, turn.segment.end), track] = turn.speaker
    return annotation
