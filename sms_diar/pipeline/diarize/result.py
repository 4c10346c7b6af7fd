"""Diarization results: turns, speakers, and their tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from sms_diar._json import json_text, write_json
from sms_diar.io.problems import problem_records
from sms_diar.io.registry import format_to_write
from sms_diar.io.turns.files import turns_text, write_turns
from sms_diar.io.turns.rttm import rttm_text
from sms_diar.pipeline.cluster.sessions import SessionSummary
from sms_diar.pipeline.identify.prints import Identity, Naming, VoicePrint
from sms_diar.pipeline.page.details import WindowDetails
from sms_diar.report.figures import MIN_LONGEST
from sms_diar.report.tables import Table
from sms_diar.report.turn_views import RecordingViews, TurnViews
from sms_diar.timeline.naming import name_in_recording
from sms_diar.timeline.turns import tidy_turns, turn_confidence
from sms_diar.types import Problem, Segment, Turn

SUBTITLES = ("srt", "vtt")
"""Subtitle formats."""

UNRESOLVED = "overlap-unresolved"
"""Kind of the regions in which more people talk than can be told apart."""

SUBTITLE_LENGTH = 0.5
"""Minimum turn and maximum bridged pause in subtitles, in seconds."""


def note_text(problem: Problem, *, located: bool = True) -> str:
    """Return a note as users see it; without `located`, without the recording."""
    shown = problem if located else replace(problem, recording=None)
    return shown.with_severity() if shown.severity == "warning" else str(shown)


@dataclass(frozen=True)
class DiarizedRecording(RecordingViews):
    """Diarization of one recording.

    A notebook shows it as a timeline.

    Parameters
    ----------
    duration, speech : float
        Seconds of the recording, and of the speech found in it.
    session : SessionSummary
        Clustering result; its session is the recording.
    turns : tuple of Turn
        In order of time.
    remarks : tuple of Problem
        Notes and warnings for the user: channels mixed, doubts. `notes` has their text.
    voices : tuple of VoicePrint
        Voices of the speakers; speakers who never fill a window alone have none.
    identities : tuple of Identity
        Identities of the speakers, if names across recordings were requested.
    unresolved : tuple of Segment
        Regions in which more people probably talk than the segmentation network can
        tell apart, which is two; turns are missing there.
    details : WindowDetails, optional
        Windows that were clustered, for figures; None if channels are speakers.
    """

    duration: float
    speech: float
    session: SessionSummary
    turns: tuple[Turn, ...]
    remarks: tuple[Problem, ...] = ()
    voices: tuple[VoicePrint, ...] = ()
    identities: tuple[Identity, ...] = ()
    unresolved: tuple[Segment, ...] = ()
    details: WindowDetails | None = field(default=None, repr=False, compare=False)

    @property
    def confidence(self) -> tuple[float | None, ...]:
        """Probability that each turn has the right speaker, if the method gives one.

        None for turns without windows, such as overlapped turns.
        """
        details = self.details
        if details is None or details.confidence is None:
            return (None,) * len(self.turns)
        confidence = turn_confidence(
            self.turns, details.windows, details.labels, details.confidence
        )
        return tuple(confidence)

    def _viewed(self) -> dict[str, tuple[tuple[Turn, ...], tuple[float | None, ...]]]:
        return {self.recording: (self.turns, self.confidence)}

    @property
    def recording(self) -> str:
        """Its name."""
        return self.session.session

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user, each with the name of the recording."""
        return tuple(map(note_text, self.remarks))

    @property
    def doubtful_speakers(self) -> tuple[str, ...]:
        """Speakers who never talk for a second, who are probably not people."""
        longest: dict[str, float] = {}
        for turn in self.turns:
            length = turn.segment.duration
            longest[turn.speaker] = max(longest.get(turn.speaker, 0.0), length)
        return tuple(name for name, length in longest.items() if length < MIN_LONGEST)

    def renamed(self, names: Mapping[str, str]) -> DiarizedRecording:
        """Return a copy with a new name for each speaker."""
        return replace(
            self,
            turns=tuple(
                sorted(
                    replace(item, speaker=names[item.speaker]) for item in self.turns
                )
            ),
            voices=tuple(item.named(names[item.speaker]) for item in self.voices),
            identities=tuple(
                replace(item, speaker=names[item.speaker]) for item in self.identities
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
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
            "regions": [
                {"kind": UNRESOLVED, "start": region.start, "end": region.end}
                for region in self.unresolved
            ],
        }

    def _speakers(self) -> list[dict[str, Any]]:
        """Describe the speakers, in the order in which they are first heard."""
        voices = {voice.speaker: voice for voice in self.voices}
        grounds = {identity.speaker: identity for identity in self.identities}
        doubtful = self.doubtful_speakers
        spoken: dict[str, float] = {}
        for turn in self.turns:
            length = turn.segment.duration
            spoken[turn.speaker] = spoken.get(turn.speaker, 0.0) + length
        return [
            {
                "speaker": name,
                "seconds": round(seconds, 3),
                "doubtful": name in doubtful,
                "voice": voices[name].to_dict() if name in voices else None,
                **(grounds[name].to_dict() if name in grounds else {}),
            }
            for name, seconds in spoken.items()
        ]


@dataclass(frozen=True)
class Diarization(TurnViews):
    """Diarization of one or several recordings.

    ``print`` shows a table of the speakers, or of several recordings; a notebook shows
    a timeline of each.

    Parameters
    ----------
    method : str
        Clustering method.
    recordings : tuple of DiarizedRecording
        Results in input order.
    problems : tuple of Problem
        Errors of the recordings that are missing.
    model : str
        "neural", or "i-vectors" (without overlapped speech).
    advice : str
        Note on an automatically chosen or weak model, and on a better one.
    naming : Naming, optional
        Rules and notes for names across recordings, if these were requested.
    settings : mapping from str to object
        Options that the caller has set, by their names.
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
        """Turns of all recordings, with names that mean the same person throughout."""
        return tuple(
            turn for recording in self.distinct_recordings for turn in recording.turns
        )

    @property
    def distinct_recordings(self) -> tuple[DiarizedRecording, ...]:
        """Recordings whose speakers have equal names only if they are one person.

        With several recordings, "spk-01" of "monday" is "monday-spk-01" here. Names of
        linked and enrolled speakers, and names in a single recording, do not change.
        """
        linked = self.naming is not None and self.naming.rules.link
        if linked or len(self.recordings) < 2:
            return self.recordings
        return tuple(
            recording.renamed(_distinct_names(recording))
            for recording in self.recordings
        )

    def _viewed(self) -> dict[str, tuple[tuple[Turn, ...], tuple[float | None, ...]]]:
        return {
            recording.recording: (recording.turns, recording.confidence)
            for recording in self.distinct_recordings
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user about the model, about each recording and about names."""
        names = () if self.naming is None else self.naming.notes
        return (*self.recording_notes, *names)

    @property
    def recording_notes(self) -> tuple[str, ...]:
        """Notes for the user about the model and about each recording."""
        about = [self.advice] if self.advice else []
        about += [note for recording in self.recordings for note in recording.notes]
        return tuple(about)

    def to_rttm(self, target: str | Path | TextIO | None = None) -> str:
        """Return the turns as RTTM, and write them if `target` is set.

        Parameters
        ----------
        target : str, Path or text stream, optional
            Output file or stream.

        Returns
        -------
        text : str
            The contents.
        """
        return rttm_text(self.turns, target)

    def write(self, path: str | Path, format: str | None = None) -> list[Path]:
        """Write the turns in any format of `sms_diar.write_turns`.

        Subtitles have turns of at least 0.5 s and bridge pauses up to 0.5 s, unless
        `sms_diar.diarize` was called with other values.

        Parameters
        ----------
        path : str or Path
            A file; or a folder, which gets a file for each recording.
        format : str, optional
            By default the format of the suffix. A file of JSON has the contents of
            `to_dict`.

        Returns
        -------
        written : list of Path
            The files.
        """
        path = Path(path)
        is_folder = path.is_dir()
        chosen = format_to_write("turns", None if is_folder else path, format)
        if chosen.name == "json" and not is_folder:
            write_json(path, self.to_dict())
            return [path]
        # Recordings in separate files may use the same names.
        shown = self.recordings if is_folder else self.distinct_recordings
        turns = self._turns_for(chosen.name, shown)
        return write_turns(path, turns, chosen.name, durations=self._durations)

    def text(self, format: str = "rttm") -> str:
        """Return the turns as the text of a file, as `write` writes it."""
        if format == "json":
            return json_text(self.to_dict()) + "\n"
        turns = self._turns_for(format, self.distinct_recordings)
        return turns_text(turns, format, durations=self._durations)

    def _turns_for(
        self, format: str, recordings: Iterable[DiarizedRecording]
    ) -> list[Turn]:
        turns = [turn for recording in recordings for turn in recording.turns]
        if format not in SUBTITLES:
            return turns
        options = (self.settings.get(name) for name in ("min_turn", "max_gap"))
        min_turn, max_gap = (
            value if isinstance(value, float) else SUBTITLE_LENGTH for value in options
        )
        return tidy_turns(turns, min_turn=min_turn, max_gap=max_gap)

    @property
    def _durations(self) -> dict[str, float]:
        return {
            recording.recording: recording.duration for recording in self.recordings
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, as printed by ``sms-diar diarize --json``."""
        return {
            "method": self.method,
            "model": self.model,
            "quality": self.settings.get("quality"),
            "recordings": [
                recording.to_dict() for recording in self.distinct_recordings
            ],
            "problems": problem_records(self.problems),
            **({} if self.naming is None else {"naming": self.naming.to_dict()}),
        }

    def __str__(self) -> str:
        """Return a table of the speakers of a recording, or of several recordings."""
        if len(self.recordings) == 1:
            return _speaker_table(self.recordings[0])
        return _recording_table(self.recordings)


def _distinct_names(recording: DiarizedRecording) -> dict[str, str]:
    """Return speaker names that are unique among all recordings."""
    enrolled = {
        identity.speaker
        for identity in recording.identities
        if identity.named_by is not None
    }
    local_names = {
        identity.speaker: identity.local for identity in recording.identities
    }
    return {
        name: name
        if name in enrolled
        else name_in_recording(recording.recording, local_names.get(name, name))
        for name in {turn.speaker for turn in recording.turns}
    }


def _speaker_table(recording: DiarizedRecording) -> str:
    seconds: dict[str, float] = {}
    turns: dict[str, int] = {}
    for turn in recording.turns:
        name, length = turn.speaker, turn.segment.duration
        seconds[name] = seconds.get(name, 0.0) + length
        turns[name] = turns.get(name, 0) + 1
    total = sum(seconds.values())
    doubtful = recording.doubtful_speakers
    rows = tuple(
        (
            f"{name} ?" if name in doubtful else name,
            _clock(spoken),
            f"{spoken / total:.0%}",
            str(turns[name]),
        )
        for name, spoken in seconds.items()
    )
    table = Table(("speaker", "time", "share", "turns"), rows).plain().rstrip()
    number = f"{len(rows)} speaker{'s' if len(rows) != 1 else ''}"
    return (
        f"{recording.recording}: {number}, {_clock(recording.speech)} of speech in "
        f"{_clock(recording.duration)}\n{table}"
        + (f"\n? never talks for {MIN_LONGEST:g} s" if doubtful else "")
    )


def _recording_table(recordings: Sequence[DiarizedRecording]) -> str:
    rows = tuple(
        (
            recording.recording,
            _clock(recording.duration),
            _clock(recording.speech),
            str(len({turn.speaker for turn in recording.turns})),
            str(len(recording.turns)),
        )
        for recording in recordings
    )
    heads = ("recording", "length", "speech", "speakers", "turns")
    table = Table(heads, rows).plain()
    total = sum(recording.duration for recording in recordings)
    return f"{table}{len(rows)} recordings, {_clock(total)}"


def _clock(seconds: float) -> str:
    """Format seconds as minutes and seconds, with hours if necessary."""
    tenths = round(10.0 * seconds)
    minutes, rest = divmod(tenths, 600)
    if minutes < 60:
        return f"{minutes}:{rest / 10:04.1f}"
    return f"{minutes // 60}:{minutes % 60:02d}:{rest // 10:02d}"
