"""Registry of the formats of turns.

To add a format, write a module with a reader and a writer, and add an entry here; the
command line, file detection and the readers of folders follow. Importing this module
is cheap: readers and writers are imported when they are first used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sms_diar.io.transcripts.registry import TRANSCRIPT_FORMATS

if TYPE_CHECKING:
    from sms_diar.timeline.annotation import AnnotationBuilder
    from sms_diar.types import Turn


@dataclass(frozen=True)
class TurnFormat:
    """A file format for turns.

    `name` is used in options, `title` in messages; suffixes are compared without
    regard to case. The reader, as ``module.function``, optionally followed by its first
    argument, takes a path and an `AnnotationBuilder`, adds the turns of the file and
    returns their number. The writer takes a sequence of turns, and with
    `takes_duration` the length of the recording in seconds (0 if unknown), and returns
    the text of a file; formats without one can only be read. `sign` is a regular
    expression for the start of files of this format, without byte order marks and blank
    lines. If `names_recordings` is false, files contain a single recording, named after
    the file.
    """

    name: str
    title: str
    suffix: str
    reader: str
    writer: str | None = None
    sign: str | None = None
    names_recordings: bool = False
    takes_duration: bool = False

    def matches(self, start: str) -> bool:
        """Return true if files of this format can begin with `start`."""
        return self.sign is not None and re.match(self.sign, start) is not None

    def scan(self, path: Path, builder: AnnotationBuilder) -> int:
        """Add the turns of a file to a builder; return their number."""
        n_turns: int = _load(self.reader)(path, builder)
        return n_turns

    def text(self, turns: Sequence[Turn], duration: float = 0.0) -> str:
        """Format turns; `duration` is the length of the recording in seconds."""
        write = _load(self.writer or "")
        text: str = write(turns, duration) if self.takes_duration else write(turns)
        return text


def _load(function: str) -> Callable[..., Any]:
    module, _, name = function.partition(".")
    name, _, argument = name.partition(" ")
    loaded: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), name)
    return partial(loaded, argument) if argument else loaded


_STM = (  # the fourth and fifth fields are times, the third is not
    r"(?:;;[^\n]*\n\s*)*[^\s;]\S*[ \t]+\S+[ \t]+(?![0-9.]+[ \t])\S+"
    r"[ \t]+[0-9]*\.?[0-9]+[ \t]+[0-9]*\.?[0-9]+(?:\s|$)"
)

_OF_TURNS = (
    TurnFormat(
        "rttm",
        "NIST RTTM",
        ".rttm",
        "rttm.scan_rttm",
        "rttm.rttm_text",
        sign=r"(?i:SPEAKER)[ \t]",
        names_recordings=True,
    ),
    TurnFormat(
        "json",
        "JSON",
        ".json",
        "json.scan_turn_json",
        "json.turn_json_text",
        sign=r"[{\[]",
        names_recordings=True,
    ),
    TurnFormat(
        "csv",
        "CSV",
        ".csv",
        "csv.scan_turn_csv",
        "csv.turn_csv_text",
        names_recordings=True,
    ),
    TurnFormat(
        "audacity",
        "Audacity labels",
        ".txt",
        "audacity.scan_audacity",
        "audacity.audacity_text",
        sign=r"[0-9.]+\t[0-9.]+\t[^\t\n]*(?:\r?\n|$)",
    ),
    TurnFormat(
        "textgrid",
        "Praat TextGrid",
        ".TextGrid",
        "textgrid.scan_textgrid",
        "textgrid.textgrid_text",
        sign=r'File type = "oo|"?ooTextFile|ooBinaryFile|"Praat',
        takes_duration=True,
    ),
    TurnFormat(
        "eaf",
        "ELAN",
        ".eaf",
        "eaf.scan_eaf",
        "eaf.eaf_text",
        sign=r"<\?xml|<!DOCTYPE|<!--|<ANNOTATION_DOCUMENT",
    ),
    TurnFormat(
        "srt",
        "SubRip subtitles",
        ".srt",
        "subtitles.scan_srt",
        "subtitles.srt_text",
        sign=r"(?:[0-9]+[ \t]*\r?\n)?[0-9:.,]+[ \t]+-->[ \t]",
    ),
    TurnFormat(
        "vtt",
        "WebVTT subtitles",
        ".vtt",
        "subtitles.scan_webvtt",
        "subtitles.webvtt_text",
        sign=r"WEBVTT(?:\s|$)",
    ),
    TurnFormat("ctm", "CTM", ".ctm", "rttm.scan_ctm", names_recordings=True),
)
_OF_TRANSCRIPTS = (  # the others that have speakers
    TurnFormat(
        entry.name,
        entry.title,
        entry.suffix,
        f"phrases.scan_phrases {entry.name}",
        f"phrases.phrase_text {entry.name}" if entry.writes else None,
        sign=_STM if entry.name == "stm" else None,
        names_recordings=entry.names_recordings,
    )
    for entry in TRANSCRIPT_FORMATS.values()
    if entry.reads and entry.name not in {other.name for other in _OF_TURNS}
)
_ENTRIES = (*_OF_TURNS, *_OF_TRANSCRIPTS)

WORDS = TurnFormat("words", "CTM of words", "", "rttm.refuse_words")
"""A CTM transcript, which is detected in order to be refused."""

TURN_FORMATS = {entry.name: entry for entry in _ENTRIES}
"""Formats by name."""

WRITTEN_FORMATS = tuple(entry.name for entry in _ENTRIES if entry.writer is not None)
"""Names of the formats that can be written."""

BY_SUFFIX: dict[str, TurnFormat] = {}
"""Formats by suffix in lower case; a ``.txt`` file that is read may be anything."""
for _entry in _ENTRIES:
    if _entry.suffix != ".txt":
        BY_SUFFIX.setdefault(_entry.suffix.lower(), _entry)
