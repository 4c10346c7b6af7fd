"""Enrolment: voice prints of known speakers from reference recordings.

If a file has several speakers, the speaker with the most speech is enrolled, with a
warning. Files of the same name are pooled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

import numpy as np

from sms_diar._text import shown
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._lines import check_field
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.inputs import (
    Given,
    GivenRecording,
    is_single,
    place_of,
    recordings_of,
)
from sms_diar.pipeline.diarize.result import DiarizedRecording, note_text
from sms_diar.pipeline.identify.prints import VoicePrint, compare_prints, pool_prints
from sms_diar.scoring.same_voice import VoiceComparison
from sms_diar.types import FloatArray

EnrolInput: TypeAlias = Mapping[
    str, str | os.PathLike[str] | Given | Sequence[str | os.PathLike[str] | Given]
]
"""Recordings by name: a path, samples with their rate, or several of these."""

LITTLE = 2.0
"""Recommended minimum duration of speech in seconds."""

_WORTH_SAYING = 0.02  # minimum share of another voice for a warning


@dataclass(frozen=True, eq=False)
class EnrolmentFile:
    """Reference recording of a named speaker."""

    name: str
    recording: Recording | GivenRecording


@dataclass(frozen=True)
class Enrolment:
    """Enrolled voices, one per name in input order, and notes for the user."""

    voices: tuple[VoicePrint, ...] = ()
    notes: tuple[str, ...] = ()


def enrolment_files(enrol: EnrolInput) -> list[EnrolmentFile]:
    """List the recordings of named speakers; see `sms_diar.diarize`.

    Names must be valid in RTTM and have a recording.
    """
    if not isinstance(enrol, Mapping):
        problem = (
            f"must be a mapping from names to recordings, got {type(enrol).__name__}"
        )
        raise InvalidParameterError(problem, owner="diarize", parameter="enrol")
    files: list[EnrolmentFile] = []
    for name, value in enrol.items():
        check_field("diarize", "a name to enrol", name, format="RTTM")
        sources = _several(value)
        if not sources:
            problem = f"must have a recording for each name, got none for {name!r}"
            raise InvalidParameterError(problem, owner="diarize", parameter="enrol")
        for source in sources:
            if not is_single(source):
                problem = f"must be audio files, got {source!s} for {name!r}"
                raise InvalidParameterError(problem, owner="diarize", parameter="enrol")
            [recording] = recordings_of(source)
            label = place_of(recording)
            if isinstance(recording, GivenRecording):
                label = f"{name} ({len(files) + 1})"
            files.append(EnrolmentFile(name, replace(recording, id=shown(label))))
    return files


def enrolled_voices(
    files: Sequence[EnrolmentFile],
    results: Sequence[DiarizedRecording],
    comparison: VoiceComparison,
) -> Enrolment:
    """Make voice prints of named speakers from the diarization of each file.

    The comparison finds voices of one speaker that were split.
    """
    notes: list[str] = []
    prints: dict[str, VoicePrint] = {}
    for file, result in zip(files, results, strict=True):
        head = f"enrol {file.name}: {place_of(file.recording)}"
        voice, other = _main_voice(result, comparison, place_of(file.recording))
        voice = voice.named(file.name)
        # Doubts about turns do not concern enrolment.
        notes += [note_text(note) for note in result.remarks if note.kind != "doubt"]
        if other >= _WORTH_SAYING:
            notes.append(
                f"{head}: {other:.0%} of the speech is of another voice; the speaker "
                f"with the most speech was enrolled"
            )
        if voice.seconds < LITTLE:
            notes.append(
                f"{head}: only {voice.seconds:.1f} s of speech; {LITTLE:g} s or more "
                f"is recommended"
            )
        if file.name in prints:
            earlier = prints[file.name]
            if _log_ratio(earlier, voice, comparison) < 0.0:
                notes.append(f"{head}: does not sound like the previous file")
            voice = earlier.pooled(voice)
        prints[file.name] = voice
    voices = tuple(prints.values())
    return Enrolment(voices, (*notes, *_alike(voices, comparison)))


def _several(
    given: str | os.PathLike[str] | Given | Sequence[str | os.PathLike[str] | Given],
) -> list[str | Given]:
    """Return a list of recordings; (samples, rate) is one recording."""
    if isinstance(given, str | os.PathLike):
        return [str(given)]
    if isinstance(given, tuple) and len(given) == 2 and not _is_path(given[0]):
        return [cast("Given", given)]
    several = cast("Sequence[str | os.PathLike[str] | Given]", given)
    return [recording for part in several for recording in _several(part)]


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike | tuple)


def _main_voice(
    result: DiarizedRecording, comparison: VoiceComparison, place: str
) -> tuple[VoicePrint, float]:
    """Return the print of the main speaker, and the share of other speakers."""
    spoken: dict[str, float] = {}
    for turn in result.turns:
        length = turn.segment.duration
        spoken[turn.speaker] = spoken.get(turn.speaker, 0.0) + length
    if not result.voices:
        problem = "too little non-overlapped speech for a voice print"
        raise DataFormatError(problem, path=place)
    main = max(result.voices, key=lambda voice: spoken[voice.speaker])
    # Clustering may have split the voice into several.
    same_voice = [
        voice
        for voice in result.voices
        if voice is main or _log_ratio(main, voice, comparison) > 0.0
    ]
    names = {voice.speaker for voice in same_voice}
    others = sum(length for name, length in spoken.items() if name not in names)
    return pool_prints(same_voice), others / sum(spoken.values())


def _log_ratio(one: VoicePrint, other: VoicePrint, how: VoiceComparison) -> float:
    _, ratios = compare_prints([one], [other], how)
    return float(ratios[0, 0])


def _alike(voices: Sequence[VoicePrint], comparison: VoiceComparison) -> list[str]:
    if len(voices) < 2:
        return []
    ratios: FloatArray = compare_prints(voices, voices, comparison)[1]
    pairs = zip(*np.nonzero(np.triu(ratios > 0.0, 1)), strict=True)
    return [
        f"enrol: {voices[one].speaker} and {voices[other].speaker} have similar "
        f"voices; they may be confused"
        for one, other in pairs
    ]
