"""What every result that holds turns can be looked at as.

`TurnViews` is for results of several recordings, `RecordingViews` for those of one:
timelines in notebooks and by matplotlib, tables of pandas, and annotations of
pyannote.core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from sms_diar.errors import MissingExtraError
from sms_diar.io.turns.rttm import rttm_text
from sms_diar.report.figures import draw_turns
from sms_diar.report.timeline_svg import timeline_svg
from sms_diar.types import Turn

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SHOWN = 8  # timelines that a notebook shows at once


class TurnViews:
    """Views of the turns of several recordings."""

    def _viewed(
        self,
    ) -> Mapping[str, tuple[Sequence[Turn], Sequence[float | None] | None]]:
        """Turns of each recording, and how sure each is; subclasses may know more."""
        turns: Sequence[Turn] = self.turns  # type: ignore[attr-defined]
        found: dict[str, list[Turn]] = {}
        for turn in turns:
            found.setdefault(turn.segment.recording, []).append(turn)
        return {name: (listed, None) for name, listed in found.items()}

    def _repr_html_(self) -> str:
        """A timeline of each recording, for notebooks."""
        viewed = self._viewed()
        parts = [
            timeline_svg(name, turns, confidence=sure)
            for name, (turns, sure) in list(viewed.items())[:_SHOWN]
        ]
        if len(viewed) > _SHOWN:
            parts.append(f"<p>… and {len(viewed) - _SHOWN} more recordings.</p>")
        return "".join(parts)

    def to_dataframe(self) -> pd.DataFrame:
        """Turns as a table of pandas, a row for each.

        Returns
        -------
        table : DataFrame
            With the columns recording, start, end, duration, speaker and confidence,
            which is NaN where it is not known.
        """
        import pandas as pd  # noqa: PLC0415

        rows = [
            (
                turn.segment.recording,
                turn.segment.start,
                turn.segment.end,
                turn.segment.duration,
                turn.speaker,
                float("nan") if one is None else one,
            )
            for turns, sure in self._viewed().values()
            for turn, one in zip(turns, sure or (None,) * len(turns), strict=True)
        ]
        columns = ["recording", "start", "end", "duration", "speaker", "confidence"]
        return pd.DataFrame(rows, columns=columns)

    def to_pyannote(self) -> Any:
        """Annotations of pyannote.core, by the names of the recordings."""
        return {
            name: _pyannote(name, turns) for name, (turns, _) in self._viewed().items()
        }

    def plot(self) -> Any:
        """Draw a timeline of each recording with matplotlib.

        Returns
        -------
        axes : list of Axes
            One for each recording, below each other in one figure.
        """
        viewed = self._viewed()
        lanes = [len({turn.speaker for turn in turns}) for turns, _ in viewed.values()]
        axes = _axes(lanes)
        for one, (name, (turns, sure)) in zip(axes, viewed.items(), strict=True):
            draw_turns(one, name, turns, sure)
        return axes


class RecordingViews(TurnViews):
    """Views of the turns of one recording."""

    def to_pyannote(self) -> Any:
        """An Annotation of pyannote.core."""
        [(name, (turns, _))] = self._viewed().items()
        return _pyannote(name, turns)

    def plot(self, axes: Axes | None = None) -> Any:
        """Draw the timeline with matplotlib.

        Parameters
        ----------
        axes : Axes, optional
            Where to draw; a new figure without it.

        Returns
        -------
        axes : Axes
            Where it was drawn.
        """
        [(name, (turns, sure))] = self._viewed().items()
        if axes is None:
            [axes] = _axes([len({turn.speaker for turn in turns})])
        draw_turns(axes, name, turns, sure)
        return axes

    def to_rttm(self, target: str | Path | TextIO | None = None) -> str:
        """Turns as RTTM, written to a file or stream if there is one."""
        [(turns, _)] = self._viewed().values()
        return rttm_text(turns, target)


def _axes(lanes: Sequence[int]) -> list[Any]:
    try:
        from matplotlib import pyplot  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            "plot needs matplotlib: pip install 'sms-diar[plot]'"
        ) from error
    heights = [0.8 + 0.28 * count for count in lanes] or [1.0]
    # Of pyplot, so that notebooks show the figure by themselves, once.
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
        raise MissingExtraError(
            "to_pyannote needs pyannote.core: pip install 'sms-diar[pyannote]'"
        ) from error
    annotation = Annotation(uri=name)
    for track, turn in enumerate(turns):
        # A track of its own: several may speak in one and the same stretch.
        annotation[Segment(turn.segment.start, turn.segment.end), track] = turn.speaker
    return annotation
