"""Who spoke when: the result of diarization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from sms_diar.io.problems import problem_records
from sms_diar.io.rttm import rttm_text
from sms_diar.pipeline.sessions import SessionSummary, session_table
from sms_diar.pipeline.window_details import WindowDetails
from sms_diar.report.turn_views import RecordingViews, TurnViews
from sms_diar.timeline.confidence import turn_confidence
from sms_diar.types import Problem, Turn


@dataclass(frozen=True)
class DiarizedRecording(RecordingViews):
    """Who spoke when in one recording.

    In a notebook it shows itself as a timeline.

    Parameters
    ----------
    duration, speech : float
        Seconds of the recording, and of the speech found in it.
    session : SessionSummary
        What clustering tells; its session is the recording.
    turns : tuple of Turn
        In order of time.
    notes : tuple of str
        What the user should know: channels mixed, warnings.
    details : WindowDetails, optional
        Windows that were clustered, for pictures; none where channels are speakers.
    """

    duration: float
    speech: float
    session: SessionSummary
    turns: tuple[Turn, ...]
    notes: tuple[str, ...] = ()
    details: WindowDetails | None = field(default=None, repr=False, compare=False)

    @property
    def confidence(self) -> tuple[float | None, ...]:
        """Probability that each turn has the right speaker, where the method tells.

        None for turns without windows, such as those in which others speak too.
        """
        found = self.details
        if found is None or found.confidence is None:
            return (None,) * len(self.turns)
        told = turn_confidence(
            self.turns, found.windows, found.labels, found.confidence
        )
        return tuple(told)

    def _viewed(self) -> dict[str, tuple[tuple[Turn, ...], tuple[float | None, ...]]]:
        return {self.recording: (self.turns, self.confidence)}

    @property
    def recording(self) -> str:
        """Its name."""
        return self.session.session

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        words = self.session.to_dict()
        return {
            "recording": words.pop("session"),
            "duration": self.duration,
            "speech": self.speech,
            **words,
            "notes": list(self.notes),
            "turns": [
                {
                    "start": turn.segment.start,
                    "end": turn.segment.end,
                    "speaker": turn.speaker,
                }
                for turn in self.turns
            ],
        }


@dataclass(frozen=True)
class Diarization(TurnViews):
    """Who spoke when in one or several recordings.

    ``print`` shows a table of the recordings, a notebook a timeline of each.

    Parameters
    ----------
    method : str
        How windows were clustered.
    recordings : tuple of DiarizedRecording
        In the order given.
    problems : tuple of Problem
        Why other recordings are not there.
    model : str
        "neural", or "i-vectors", which do not know overlap.
    advice : str
        A line about a model that was not chosen by the caller, and about a better one.
    settings : mapping from str to object
        What the caller asked for, under the names of the options.
    """

    method: str
    recordings: tuple[DiarizedRecording, ...]
    problems: tuple[Problem, ...] = ()
    model: str = ""
    advice: str = ""
    settings: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Turns of all recordings."""
        return tuple(turn for one in self.recordings for turn in one.turns)

    def _viewed(self) -> dict[str, tuple[tuple[Turn, ...], tuple[float | None, ...]]]:
        return {one.recording: (one.turns, one.confidence) for one in self.recordings}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the model and about each recording."""
        about = (self.advice,) if self.advice else ()
        return about + tuple(note for one in self.recordings for note in one.notes)

    def to_rttm(self, target: str | Path | TextIO | None = None) -> str:
        """Turns as RTTM, written to a file or stream if there is one.

        Parameters
        ----------
        target : str, Path or text stream, optional
            Where to write it.

        Returns
        -------
        text : str
            The contents.
        """
        return rttm_text(self.turns, target)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: what ``sms-diar diarize --json`` prints."""
        return {
            "method": self.method,
            "model": self.model,
            "recordings": [one.to_dict() for one in self.recordings],
            "problems": problem_records(self.problems),
        }

    def __str__(self) -> str:
        sessions = [one.session for one in self.recordings]
        return session_table(sessions, "recording")
