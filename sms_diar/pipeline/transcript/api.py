"""Transcripts with speakers: ``sms-diar transcript``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias, cast

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.audio.files import AUDIO_SUFFIXES
from sms_diar.io.detect import KINDS, kind_of
from sms_diar.pipeline.audio.inputs import AudioInput
from sms_diar.pipeline.diarize.api import diarize
from sms_diar.pipeline.diarize.result import Diarization
from sms_diar.pipeline.score.inputs import (
    TurnSource,
    WordSource,
    by_recording_of,
    turns_of,
    words_of,
)
from sms_diar.timeline.annotation import turns_by_recording
from sms_diar.timeline.transcript import Phrase, Transcript
from sms_diar.timeline.word_speakers import NEAR, assign_speakers
from sms_diar.types import Problem, Turn

UNSURE = 0.7
"""Probability of the speaker below which a word is counted as doubtful."""

_Turns: TypeAlias = tuple[Sequence[Turn], Sequence[float | None] | None]


def transcript(
    turns: TurnSource | AudioInput | Diarization,
    words: WordSource,
    *,
    format: str | None = None,
    **options: Any,
) -> Transcript:
    """Give the words of a transcript to speakers.

    Parameters
    ----------
    turns : Diarization, Annotation, iterable of Turn, path or paths, or samples
        Turns of the speakers, or audio that is diarized first, in any form that
        `sms_diar.score` or `sms_diar.diarize` takes.
    words : Transcript, iterable of Phrase, path or paths
        Words with times, such as a JSON file of Whisper. Recordings are matched by
        name; single recordings of other names are taken for the same.
    format : str, optional
        Format of the file of words. By default it is recognised by the content.
    **options
        Options of `sms_diar.diarize`, for audio.

    Returns
    -------
    Transcript
        The same words, in the same order in each recording. Phrases are split where
        the speaker changes. Words far from all turns have speaker None.
        `Word.speaker_confidence` is the probability of the speaker; `problems` has
        notes about doubtful words.

    Raises
    ------
    DataFormatError, InvalidParameterError
        If words or turns are missing, or if they are of different recordings.
    """
    phrases = some_words(words, format)
    spoken = _turns_of(turns, options)
    given = phrases.by_recording()
    parts = by_recording_of("transcript", "words", given, list(spoken))
    remarks, assigned = [], []
    for name, (recording, part) in zip(given, parts.items(), strict=True):
        listed = [replace(phrase, recording=recording) for phrase in part]
        if name != recording:
            text = f"the only recording of the words, {name!r}, is taken for this one"
            remarks.append(Problem(text, recording=recording, severity="note"))
        if recording not in spoken:
            text = "no turns of this recording; its words have no speaker"
            remarks.append(Problem(text, recording=recording, severity="warning"))
            assigned += [replace(phrase, speaker=None) for phrase in listed]
            continue
        named = assign_speakers(listed, *spoken[recording])
        remarks += _notes(recording, named, spoken[recording][0])
        assigned += named
    return Transcript(tuple(assigned), (*phrases.problems, *remarks))


def some_words(source: WordSource, format: str | None = None) -> Transcript:
    """Read a transcript, which must not be empty."""
    if isinstance(source, str | Path):
        kind = kind_of(source)
        if kind in ("rttm", "audio"):
            raise DataFormatError(
                f"expected a transcript, got {KINDS[kind]}; turns or audio come first, "
                f"and the transcript second",
                path=source,
            )
    words = words_of("transcript", "words", source, format)
    if not any(phrase.words for phrase in words):
        if isinstance(source, str | Path):
            raise DataFormatError("contains no words", path=source)
        raise _unsuitable("must contain words, got none", "words")
    return words


def _unsuitable(problem: str, parameter: str) -> InvalidParameterError:
    return InvalidParameterError(problem, owner="transcript", parameter=parameter)


def _turns_of(
    source: TurnSource | AudioInput | Diarization, options: Mapping[str, Any]
) -> dict[str, _Turns]:
    """Return turns and their confidences by recording."""
    if _is_audio(source):
        source = diarize(cast("AudioInput", source), **options)
    elif options:
        problem = f"must be audio for the options of diarize, got {[*options]}"
        raise _unsuitable(problem, "turns")
    if isinstance(source, Diarization):
        return {
            result.recording: (result.turns, result.confidence)
            for result in source.distinct_recordings
        }
    by_recording = turns_by_recording(turns_of("turns", cast("TurnSource", source)))
    if not by_recording:
        raise _unsuitable("must contain turns, got none", "turns")
    return {name: (listed, None) for name, listed in by_recording.items()}


def _is_audio(source: object) -> bool:
    """Return true for samples, and for paths of audio instead of turns."""
    if isinstance(source, list) and source:
        source = source[0]
    if isinstance(source, tuple) and len(source) == 2:
        return isinstance(source[1], Integral)
    if not isinstance(source, str | Path):
        return isinstance(source, Mapping)
    path = Path(source)
    if path.is_dir():
        return any(map(_is_audio, path.iterdir()))
    is_audio = path.name == "wav.scp" or path.suffix.lower() in AUDIO_SUFFIXES
    return is_audio or kind_of(path) == "audio"


def _notes(
    recording: str, phrases: Sequence[Phrase], turns: Sequence[Turn]
) -> list[Problem]:
    """Describe words without speaker, with doubtful speakers and estimated times."""
    words = [word for phrase in phrases for word in phrase.words]
    n_outside = sum(len(phrase.words) for phrase in phrases if phrase.speaker is None)
    times = [time for word in words for time in (word.start, word.end)]
    edges = [time for t in turns for time in (t.segment.start, t.segment.end)]
    where = (
        f"words from {min(times):.1f} to {max(times):.1f} s, turns from "
        f"{min(edges):.1f} to {max(edges):.1f} s"
    )
    if n_outside == len(words):
        raise _unsuitable(
            f"must be of the same recording as the turns, got no word within {NEAR:g} "
            f"s of the turns of {recording!r}: {where}",
            "words",
        )
    is_odd = n_outside > len(words) / 2
    n_unsure = sum((word.speaker_confidence or 1.0) < UNSURE for word in words)
    counts = {
        f"are outside all turns and have no speaker ({where})": n_outside,
        f"have a speaker with a probability below {UNSURE:g}": n_unsure,
        "have times estimated from their phrase": sum(w.is_estimated for w in words),
    }
    return [
        Problem(
            f"{count} of {len(words)} words {text}",
            recording=recording,
            severity="warning" if is_odd and "outside" in text else "note",
        )
        for text, count in counts.items()
        if count
    ]
