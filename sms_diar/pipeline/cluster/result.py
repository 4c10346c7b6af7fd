"""Clustering result: the speakers of embeddings as tables, turns or JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from sms_diar.errors import InvalidParameterError
from sms_diar.io.labels import write_labels
from sms_diar.io.turns.rttm import rttm_text
from sms_diar.pipeline.cluster.sessions import SessionSummary, session_table
from sms_diar.report.turn_views import TurnViews
from sms_diar.timeline.annotation import turns_by_recording
from sms_diar.timeline.turns import labels_to_turns
from sms_diar.types import IntArray, Segment, Turn

_SHOWN = 10  # maximum number of speakers in a summary


def appearances(
    labels: Mapping[str, str], recordings: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """Count the segments of each speaker in each recording.

    >>> speakers = {"s1": "spk-01", "s2": "spk-02", "s3": "spk-01"}
    >>> appearances(speakers, {"s1": "monday", "s2": "monday", "s3": "tuesday"})
    {'spk-01': {'monday': 1, 'tuesday': 1}, 'spk-02': {'monday': 1}}
    """
    counts: dict[str, Counter[str]] = {}
    for name, speaker in labels.items():
        counts.setdefault(speaker, Counter())[recordings[name]] += 1
    return {speaker: dict(counts[speaker]) for speaker in sorted(counts)}


def appearance_lines(counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """List the speakers who appear in the largest number of recordings."""
    several = {name: where for name, where in counts.items() if len(where) > 1}
    total = len({recording for where in counts.values() for recording in where})
    lines = [
        f"{len(several)} of {len(counts)} speakers appear in several of {total} "
        f"recordings"
    ]
    order = sorted(several, key=lambda name: -len(several[name]))
    for name in order[:_SHOWN]:
        segments = sum(several[name].values())
        lines.append(f"  {name}: {len(several[name])} recordings, {segments} segments")
    if len(order) > _SHOWN:
        lines.append(f"  ... and {len(order) - _SHOWN} more")
    return lines


if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Clustering(TurnViews):
    """Speakers of all segments.

    A notebook shows it as timelines if times are known.

    Parameters
    ----------
    labels : mapping from str to str
        Speaker of each segment id, in the order of the rows.
    sessions : tuple of SessionSummary
        One entry per session.
    segments : mapping from str to Segment, or None
        Times of the segments, if known.
    method : str or None
        Name of the method, if known.
    confidence : mapping from str to float, or None
        Probability that the speaker of each segment is right, if estimated.
    recordings : mapping from str to str, or None
        Recording of each segment id, if recordings were clustered together.
    """

    labels: Mapping[str, str]
    sessions: tuple[SessionSummary, ...]
    segments: Mapping[str, Segment] | None
    method: str | None = None
    confidence: Mapping[str, float] | None = None
    recordings: Mapping[str, str] | None = None

    @property
    def labels_(self) -> IntArray:
        """Speaker of each row as an integer, as in scikit-learn.

        Shape (n,). Numbers are positions in the sorted names of the speakers.
        """
        names = list(self.labels.values())
        numbers: IntArray = np.unique(names, return_inverse=True)[1].astype(np.int64)
        return numbers

    def turns(self, max_gap: float = 0.0) -> list[Turn]:
        """Return merged turns that do not overlap."""
        if self.segments is None:
            problem = (
                "must be known, got embeddings without times; pass the segments file"
            )
            raise InvalidParameterError(problem, owner="turns", parameter="segments")
        return labels_to_turns(self.segments, self.labels, max_gap=max_gap)

    def _viewed(self) -> dict[str, tuple[list[Turn], None]]:
        by_recording = turns_by_recording(self.turns())
        return {name: (turns, None) for name, turns in by_recording.items()}

    def _repr_html_(self) -> str:
        """Return timelines, or the table of sessions if times are unknown."""
        if self.segments is None:
            return f"<pre>{escape(str(self))}</pre>"
        return super()._repr_html_()

    def to_dataframe(self) -> pd.DataFrame:
        """Return turns as a DataFrame, or the speaker of each row without times.

        Returns
        -------
        table : DataFrame
            With times, the columns of `TurnViews.to_dataframe`. Without times, a row
            for each id with the columns id, speaker and confidence, which is NaN for
            methods that do not estimate it.
        """
        if self.segments is not None:
            return super().to_dataframe()
        import pandas as pd  # noqa: PLC0415

        confidence = self.confidence or {}
        return pd.DataFrame(
            {
                "id": list(self.labels),
                "speaker": list(self.labels.values()),
                "confidence": [
                    confidence.get(name, float("nan")) for name in self.labels
                ],
            }
        )

    def to_rttm(
        self, target: str | Path | TextIO | None = None, max_gap: float = 0.0
    ) -> str:
        """Return the turns as RTTM, and write them if `target` is set."""
        return rttm_text(self.turns(max_gap), target)

    def to_labels(self, path: str | Path) -> None:
        """Write the speaker of each segment: as utt2spk, .csv or .json.

        CSV and JSON also have the confidences and the times, if they are known.
        """
        write_labels(
            path, self.labels, segments=self.segments, confidence=self.confidence
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, as printed by ``sms-diar cluster --json``."""
        told: dict[str, Any] = {
            "method": self.method,
            "labels": dict(self.labels),
            "confidence": None if self.confidence is None else dict(self.confidence),
            "sessions": [
                {**session.to_dict(), "doubts": list(session.doubts)}
                for session in self.sessions
            ],
        }
        if self.recordings is not None:
            told["appearances"] = appearances(self.labels, self.recordings)
        return told

    def __str__(self) -> str:
        table = session_table(self.sessions)
        if self.recordings is None:
            return table
        counts = appearances(self.labels, self.recordings)
        return "\n".join((table, *appearance_lines(counts)))
