"""Known voices: recordings of people whose names are given.

A file of one person gives a voice print. One in which several are heard gives that of
the one who speaks most, and a warning. Files of one name are pooled.
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
from sms_diar.io.kaldi.recordings import Recording
from sms_diar.pipeline.audio.inputs import (
    Given,
    GivenRecording,
    is_single,
    place_of,
    recordings_of,
)
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.identify.prints import VoicePrint, compare_prints, pool_prints
from sms_diar.scoring.same_voice import VoiceComparison
from sms_diar.types import FloatArray

EnrolInput: TypeAlias = Mapping[
    str, str | os.PathLike[str] | Given | Sequence[str | os.PathLike[str] | Given]
]
"""Recordings of each name: a path, samples with their rate, or several of these."""

LITTLE = 2.0
"""Seconds of speech below which a voice is hardly known."""

_WORTH_SAYING = 0.02  # share of another voice from which there is a warning


@dataclass(frozen=True, eq=False)
class EnrolmentFile:
    """A recording of a named voice, not yet heard."""

    name: str
    recording: Recording | GivenRecording


@dataclass(frozen=True)
class Enrolment:
    """Known voices.

    Parameters
    ----------
    voices : tuple of VoicePrint
        One for each name, in the order given.
    notes : tuple of str
        What the user should know: other voices, little speech, voices that are alike.
    """

    voices: tuple[VoicePrint, ...] = ()
    notes: tuple[str, ...] = ()


def enrolment_files(enrol: EnrolInput) -> list[EnrolmentFile]:
    """List the recordings of named voices; see `sms_diar.diarize`.

    Raises
    ------
    InvalidParameterError
        A name that cannot stand in RTTM, or no recording for it.
    MissingFileError
        A file that is not there.
    """
    if not isinstance(enrol, Mapping):
        raise InvalidParameterError(
            f"diarize: enrol must be a mapping from names to recordings, got "
            f"{type(enrol).__name__}"
        )
    found: list[EnrolmentFile] = []
    for name, given in enrol.items():
        check_field("diarize", "a name to enrol", name, format="RTTM")
        sources = _several(given)
        if not sources:
            raise InvalidParameterError(
                f"diarize: enrol must have a recording for each name, got none for "
                f"{name!r}"
            )
        for source in sources:
            if not is_single(source):
                raise InvalidParameterError(
                    f"diarize: enrol must be audio files, got {source!s} for {name!r}"
                )
            [recording] = recordings_of(source)
            place = place_of(recording)
            if isinstance(recording, GivenRecording):
                place = f"{name} ({len(found) + 1})"
            found.append(EnrolmentFile(name, replace(recording, id=shown(place))))
    return found


def enrolled_voices(
    files: Sequence[EnrolmentFile],
    results: Sequence[DiarizedRecording],
    comparison: VoiceComparison,
) -> Enrolment:
    """Voice prints of named people, from their diarized recordings.

    Parameters
    ----------
    files : sequence of EnrolmentFile
        The recordings.
    results : sequence of DiarizedRecording
        Who spoke when in each.
    comparison : VoiceComparison
        Tells whether two voices of a file are one that was split.
    """
    notes: list[str] = []
    prints: dict[str, VoicePrint] = {}
    for file, result in zip(files, results, strict=True):
        head = f"enrol {file.name}: {place_of(file.recording)}"
        voice, other = _main_voice(result, comparison, place_of(file.recording))
        voice = voice.named(file.name)
        notes += [note for note in result.notes if not note.startswith(_doubt(result))]
        if other >= _WORTH_SAYING:
            notes.append(
                f"{head}: {other:.0%} of the speech is of another voice; the one that "
                f"speaks most was enrolled"
            )
        if voice.seconds < LITTLE:
            notes.append(
                f"{head}: {voice.seconds:.1f} s of speech are little to know a voice "
                f"by; at least {LITTLE:g} s are better"
            )
        if file.name in prints:
            known = prints[file.name]
            if _log_ratio(known, voice, comparison) < 0.0:
                notes.append(f"{head}: does not sound like the file before it")
            voice = known.pooled(voice)
        prints[file.name] = voice
    voices = tuple(prints.values())
    return Enrolment(voices, (*notes, *_alike(voices, comparison)))


def _several(
    given: str | os.PathLike[str] | Given | Sequence[str | os.PathLike[str] | Given],
) -> list[str | Given]:
    """One or several recordings as a list; (samples, rate) is one."""
    if isinstance(given, str | os.PathLike):
        return [str(given)]
    if isinstance(given, tuple) and len(given) == 2 and not _is_path(given[0]):
        return [cast("Given", given)]
    several = cast("Sequence[str | os.PathLike[str] | Given]", given)
    return [one for part in several for one in _several(part)]


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike | tuple)


def _doubt(result: DiarizedRecording) -> str:
    """How notes begin that matter for who speaks when, not for a voice."""
    return f"{result.recording}: in doubt"


def _main_voice(
    result: DiarizedRecording, comparison: VoiceComparison, place: str
) -> tuple[VoicePrint, float]:
    """Print of who speaks most, and the share of the speech that is of others."""
    spoken: dict[str, float] = {}
    for turn in result.turns:
        length = turn.segment.duration
        spoken[turn.speaker] = spoken.get(turn.speaker, 0.0) + length
    if not result.voices:
        raise DataFormatError(
            "nobody speaks alone for long enough to know a voice by", path=place
        )
    main = max(result.voices, key=lambda voice: spoken[voice.speaker])
    # Clustering may have split one voice: what sounds the same is the same.
    own = [
        voice
        for voice in result.voices
        if voice is main or _log_ratio(main, voice, comparison) > 0.0
    ]
    names = {voice.speaker for voice in own}
    others = sum(length for name, length in spoken.items() if name not in names)
    return pool_prints(own), others / sum(spoken.values())


def _log_ratio(one: VoicePrint, other: VoicePrint, how: VoiceComparison) -> float:
    _, ratios = compare_prints([one], [other], how)
    return float(ratios[0, 0])


def _alike(voices: Sequence[VoicePrint], comparison: VoiceComparison) -> list[str]:
    if len(voices) < 2:
        return []
    ratios: FloatArray = compare_prints(voices, voices, comparison)[1]
    pairs = zip(*np.nonzero(np.triu(ratios > 0.0, 1)), strict=True)
    return [
        f"enrol: {voices[one].speaker} and {voices[other].speaker} sound alike; who is "
        f"who of them is in doubt"
        for one, other in pairs
    ]
