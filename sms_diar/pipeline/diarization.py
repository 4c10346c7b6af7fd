"""Who spoke when: the result of diarization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from sms_diar._json import json_text, write_json
from sms_diar.io.problems import problem_records
from sms_diar.io.rttm import rttm_text
from sms_diar.io.turn_formats import format_to_write, turns_text, write_turns
from sms_diar.pipeline.identities import Identity, Naming
from sms_diar.pipeline.sessions import SessionSummary, session_table
from sms_diar.pipeline.voice_prints import VoicePrint
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
    voices : tuple of VoicePrint
        What the speakers sound like; who never fills a window alone has none.
    identities : tuple of Identity
        Who they were found to be, where that was asked for.
    details : WindowDetails, optional
        Windows that were clustered, for pictures; none where channels are speakers.
    """

    duration: float
    speech: float
    session: SessionSummary
    turns: tuple[Turn, ...]
    notes: tuple[str, ...] = ()
    voices: tuple[VoicePrint, ...] = ()
    identities: tuple[Identity, ...] = ()
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
            "speakers": self._speakers(),
            "turns": [
                {
                    "start": turn.segment.start,
                    "end": turn.segment.end,
                    "speaker": turn.speaker,
                }
                for turn in self.turns
            ],
        }

    def _speakers(self) -> list[dict[str, Any]]:
        """What is known of each, in the order in which they are first heard."""
        voices = {voice.speaker: voice for voice in self.voices}
        grounds = {one.speaker: one for one in self.identities}
        spoken: dict[str, float] = {}
        for turn in self.turns:
            length = turn.segment.duration
            spoken[turn.speaker] = spoken.get(turn.speaker, 0.0) + length
        return [
            {
                "speaker": name,
                "seconds": round(seconds, 3),
                "voice": voices[name].to_dict() if name in voices else None,
                **(grounds[name].to_dict() if name in grounds else {}),
            }
            for name, seconds in spoken.items()
        ]


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
    naming : Naming, optional
        How names were found that hold for all recordings, if that was asked for.
    settings : mapping from str to object
        What the caller asked for, under the names of the options.
    """

    method: str
    recordings: tuple[DiarizedRecording, ...]
    problems: tuple[Problem, ...] = ()
    model: str = ""
    advice: str = ""
    naming: Naming | None = None
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
        about = [self.advice] if self.advice else []
        about += [note for one in self.recordings for note in one.notes]
        return (*about, *(() if self.naming is None else self.naming.notes))

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

    def write(self, path: str | Path, format: str | None = None) -> None:
        """Write the turns in any format of `sms_diar.write_turns`.

        Parameters
        ----------
        path : str or Path
            A file; or a folder, for a file of each recording.
        format : str, optional
            By default what the suffix says. A file of JSON has what `to_dict` gives.
        """
        path = Path(path)
        chosen = format_to_write(None if path.is_dir() else path, format)
        if chosen.name == "json" and not path.is_dir():
            write_json(path, self.to_dict())
        else:
            write_turns(path, self.turns, chosen.name, durations=self._durations)

    def text(self, format: str = "rttm") -> str:
        """Turns as the text of a file of some format."""
        if format == "json":
            return json_text(self.to_dict()) + "\n"
        return turns_text(self.turns, format, durations=self._durations)

    @property
    def _durations(self) -> dict[str, float]:
        return {one.recording: one.duration for one in self.recordings}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: what ``sms-diar diarize --json`` prints."""
        return {
            "method": self.method,
            "model": self.model,
            "recordings": [one.to_dict() for one in self.recordings],
            "problems": problem_records(self.problems),
            **({} if self.naming is None else {"naming": self.naming.to_dict()}),
        }

    def __str__(self) -> str:
        sessions = [one.session for one in self.recordings]
        return session_table(sessions, "recording")
