"""Turns of files that are read whole, and of transcripts: phrases with a speaker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sms_diar.errors import InvalidParameterError
from sms_diar.io._lines import check_is_file
from sms_diar.io.registry import Format
from sms_diar.io.transcripts._source import Source
from sms_diar.io.transcripts.files import phrases_of, transcript_text
from sms_diar.io.turns._text import (
    NO_SPEAKERS,
    FaultError,
    Spoken,
    check_name,
    one_recording,
)
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.transcript import Phrase
from sms_diar.types import Problem, Turn


def scan_spoken(entry: Format, path: Path, builder: AnnotationBuilder) -> int:
    """Add the turns of a file to an annotation; return their number.

    Turns without a speaker are skipped with a warning. If no turn has one, the file is
    a transcript and not turns, which is an error. Reading stops at the first fault.
    """
    check_is_file(path)
    source, name = Source(path), str(path)
    n_turns, n_skipped, line = 0, 0, 0
    try:
        for spoken in entry.spoken(source) if path.read_bytes().strip() else ():
            recording = spoken.recording or source.recording
            if spoken.speaker is None:
                n_skipped += 1
                continue
            line, times = spoken.line, (spoken.start, spoken.end)
            builder.add(recording, spoken.channel, spoken.speaker, *times, line)
            n_turns += 1
        if n_skipped and n_turns:
            text = f"skipped {n_skipped} phrase(s) without a speaker"
            problem = Problem(text, name, severity="warning", kind="no speaker")
            builder.problems.append(problem)
        elif n_skipped:
            builder.problems.append(Problem(NO_SPEAKERS, name, kind="transcript"))
    except (ValueError, InvalidParameterError) as error:
        line = error.line if isinstance(error, FaultError) else line
        builder.problems.append(Problem(str(error), name, line or None, kind="format"))
    return builder.close_file(name)


def spoken_phrases(entry: Format, source: Source) -> Iterator[Spoken]:
    """Yield the phrases of a transcript as turns."""
    return map(Spoken.of_phrase, phrases_of(source, entry.name))


def phrase_text(entry: Format, turns: Sequence[Turn], _: float) -> str:
    """Format turns as phrases without words."""
    name = entry.name
    ordered = sorted(turns) if entry.names_recordings else one_recording(name, turns)
    phrases = []
    for turn in ordered:
        recording = check_name(entry.title, "recording", turn.segment.recording)
        speaker = check_name(entry.title, "speaker", turn.speaker)
        if speaker == "unknown":
            problem = "must not be 'unknown', which means no speaker; rename it"
            raise InvalidParameterError(problem, owner=name, parameter="speaker")
        segment = turn.segment
        phrases.append(Phrase(recording, segment.start, segment.end, speaker))
    return transcript_text(phrases, name)
