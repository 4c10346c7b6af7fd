"""Turns in the formats of transcripts: the phrases of a file that have a speaker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sms_diar.errors import InvalidParameterError
from sms_diar.io._lines import check_is_file
from sms_diar.io.transcripts._source import Source
from sms_diar.io.transcripts.files import phrases_of, transcript_text
from sms_diar.io.transcripts.registry import TRANSCRIPT_FORMATS
from sms_diar.io.turns._text import (
    NO_SPEAKERS,
    FaultError,
    check_name,
    one_recording,
)
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.ticks import ticks_of
from sms_diar.timeline.transcript import Phrase
from sms_diar.types import Problem, Turn


def scan_phrases(format: str, path: Path, builder: AnnotationBuilder) -> int:
    """Add the phrases of a file to an annotation; return their number.

    Phrases without a speaker are skipped with a warning. If no phrase has one, the file
    is a transcript and not turns, which is an error.
    """
    check_is_file(path)
    problem, phrases = None, []
    try:
        if path.read_bytes().strip():
            phrases = phrases_of(Source(path), format, as_turns=True)
    except (FaultError, InvalidParameterError) as error:
        line = getattr(error, "line", 0) or None
        problem = Problem(str(error), str(path), line, kind="format")
    turns = [phrase for phrase in phrases if phrase.speaker is not None]
    n_skipped = len(phrases) - len(turns)
    if phrases and not turns:
        problem = Problem(NO_SPEAKERS, str(path), kind="transcript")
    elif n_skipped:
        text = f"skipped {n_skipped} phrase(s) without a speaker"
        problem = Problem(text, str(path), severity="warning", kind="no speaker")
    for turn in turns:
        start, end = ticks_of(turn.start), ticks_of(turn.end)
        builder.add(turn.recording, "1", turn.speaker or "", start, end, 0)
    builder.problems += [] if problem is None else [problem]
    return builder.close_file(str(path))


def phrase_text(format: str, turns: Sequence[Turn]) -> str:
    """Format turns as phrases without words."""
    entry = TRANSCRIPT_FORMATS[format]
    ordered = sorted(turns) if entry.names_recordings else one_recording(format, turns)
    phrases = []
    for turn in ordered:
        recording = check_name(entry.title, "recording", turn.segment.recording)
        speaker = check_name(entry.title, "speaker", turn.speaker)
        if speaker == "unknown":
            problem = "must not be 'unknown', which means no speaker; rename it"
            raise InvalidParameterError(problem, owner=format, parameter="speaker")
        segment = turn.segment
        phrases.append(Phrase(recording, segment.start, segment.end, speaker))
    return transcript_text(phrases, format)
