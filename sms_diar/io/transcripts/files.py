"""Reading and writing transcripts in any format of the registry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sms_diar._files import write_text
from sms_diar._validation import check_choice, check_path, refuse_path
from sms_diar.errors import DataFormatError, SmsDiarError
from sms_diar.io._bytes import STANDARD_INPUT, STANDARD_INPUT_NAME, unpacked
from sms_diar.io._lines import check_is_file
from sms_diar.io.registry import (
    READ_TRANSCRIPTS,
    TRANSCRIPT_FORMATS,
    TURN_FORMATS,
    WRITTEN_TRANSCRIPTS,
    Format,
    format_to_write,
)
from sms_diar.io.transcripts._source import Source, parsed
from sms_diar.io.turns._text import FaultError, check_one_recording
from sms_diar.timeline.transcript import Phrase, Transcript


def read_transcript(path: str | Path, format: str | None = None) -> Transcript:
    """Read the words of a file.

    Parameters
    ----------
    path : str or Path
        File of any format of `sms_diar.io.registry`, optionally compressed
        with gzip; ``-`` for standard input. If the format does not name the recording,
        it gets the name of the file.
    format : str, optional
        Name of the format. By default, it is recognised by the content.

    Returns
    -------
    transcript : Transcript
        Phrases with words, in the order of the file.

    Raises
    ------
    DataFormatError
        If the file is not a transcript, or has a fault; the message names the line.
    """
    check_path("read_transcript", "path", path)
    if format is not None:
        check_choice("read_transcript", "format", format, READ_TRANSCRIPTS)
    with _opened(path) as source:
        phrases = phrases_of(source, format)
    return Transcript(tuple(phrase for phrase in phrases if phrase.words))


def has_words(path: str | Path) -> bool:
    """Return true if a file has words, or is a transcript that cannot be read."""
    with _opened(path) as source:
        entry = transcript_format(source)
        try:
            phrases = [] if entry is None else phrases_of(source, entry.name)
        except FaultError:
            return True
        return any(phrase.words for phrase in phrases)


@contextmanager
def _opened(path: str | Path) -> Iterator[Source]:
    """Provide the content of a file, and name the file in errors."""
    name = STANDARD_INPUT_NAME if str(path) == STANDARD_INPUT else str(path)
    with unpacked(Path(path)) as plain:
        check_is_file(plain)
        try:
            yield Source(plain)
        except FaultError as fault:
            raise DataFormatError(
                str(fault), path=name, line=fault.line or None
            ) from None
        except SmsDiarError as error:
            raise DataFormatError(str(error), path=name) from None


def phrases_of(source: Source, format: str | None = None) -> list[Phrase]:
    """Read all phrases, also those without words; raises `FaultError`."""
    entry = transcript_format(source) if format is None else TRANSCRIPT_FORMATS[format]
    if source.is_like_json and source.content is None and not source.first_row:
        parsed(source.text)  # raises the fault
    if not source.text.strip():
        raise FaultError("is empty")
    is_webvtt = TURN_FORMATS["vtt"].matches(source.text.lstrip())
    if is_webvtt and "-->" not in source.text:
        raise FaultError("has no cues")
    if entry is None:
        titles = (TRANSCRIPT_FORMATS[name].title for name in READ_TRANSCRIPTS)
        raise FaultError(f"is not a transcript; expected one of {', '.join(titles)}")
    if entry.suffix in (".json", ".jsonl") and not entry.fits(source):
        raise FaultError(f"is not of the format {entry.name!r} ({entry.title})")
    return list(entry.read(source))


def transcript_format(source: Source) -> Format | None:
    """Recognise the format of a file by its content; None if it is not a transcript."""
    entries = (TRANSCRIPT_FORMATS[name] for name in READ_TRANSCRIPTS)
    return next((entry for entry in entries if entry.fits(source)), None)


def transcript_text(phrases: Sequence[Phrase], format: str) -> str:
    """Format phrases as the text of a file."""
    check_choice("write_transcript", "format", format, WRITTEN_TRANSCRIPTS)
    entry = TRANSCRIPT_FORMATS[format]
    if not entry.names_recordings:
        recordings = {phrase.recording for phrase in phrases}
        check_one_recording(entry.title, "phrases", recordings)
    return entry.text(phrases)


def write_transcript(
    path: str | Path, transcript: Sequence[Phrase], format: str | None = None
) -> None:
    """Write phrases to a file; the format follows from its suffix or is named."""
    remedy = "read it with read_transcript"
    refuse_path("write_transcript", "transcript", transcript, "phrases", remedy)
    entry = format_to_write("words", path, format)
    write_text(Path(path), transcript_text(transcript, entry.name))


def transcript_files(
    path: Path, transcript: Transcript, entry: Format
) -> dict[Path, str]:
    """Return the text of a file, or of one per recording in an existing folder."""
    write = partial(transcript_text, format=entry.name)
    return entry.file_texts(path, transcript, transcript.by_recording(), write)
