"""Registry of the formats of turns and of transcripts.

To add a format, write a module and add an entry here; the command line, file detection
and the readers of folders follow. A module has functions for what its format can do:

- ``scan(path, builder)`` adds the turns of a file to an `AnnotationBuilder`, or
  ``spoken(source)`` yields them. A transcript that has neither is read by its phrases.
- ``turns_text(turns, duration)`` formats turns; without it, they are written as phrases
  that have no words. The duration is the length of the recording, 0 if unknown.
- ``fits(source)`` recognises transcripts by their content, ``read(source)`` yields
  phrases, and ``text(phrases)`` formats them.

Readers raise `FaultError` with the number of the line. Formats that share a module have
functions such as ``srt_text`` there. Modules are imported when they are first used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sms_diar.errors import InvalidParameterError
from sms_diar.io.file_names import file_names

if TYPE_CHECKING:
    from sms_diar.io.transcripts._source import Source
    from sms_diar.timeline.annotation import AnnotationBuilder
    from sms_diar.timeline.transcript import Phrase
    from sms_diar.types import Turn

_Parts = TypeVar("_Parts")

Kind = Literal["turns", "words"]
KINDS: tuple[Kind, Kind] = "turns", "words"


@dataclass(frozen=True)
class Format:
    """A file format for turns, transcripts, or both.

    `name` is used in options, `title` in messages; suffixes are compared without regard
    to case. `turns` and `words` are "r" if they can be read, "w" if they can be
    written, or "rw". If `names_recordings` is false, files contain a single recording,
    named after the file. The module is in `transcripts`, or in `turns` for formats
    without words, and has the name of the format unless another one is given.
    """

    name: str
    title: str
    suffix: str
    turns: str = ""
    words: str = ""
    module: str = ""
    names_recordings: bool = False

    def _function(self, what: str, otherwise: str = "") -> Callable[..., Any]:
        folder = "transcripts" if self.words else "turns"
        module = import_module(f"{__package__}.{folder}.{self.module or self.name}")
        for name in (f"{self.name}_{what}", what):
            if hasattr(module, name):
                function: Callable[..., Any] = getattr(module, name)
                return function
        spoken = import_module(f"{__package__}.turns.spoken")
        return lambda *values: getattr(spoken, otherwise)(self, *values)

    def matches(self, start: str) -> bool:
        """Return true if files of this format can begin with `start`."""
        return self.name in _SIGNS and re.match(_SIGNS[self.name], start) is not None

    def scan(self, path: Path, builder: AnnotationBuilder) -> int:
        """Add the turns of a file to a builder; return their number."""
        return int(self._function("scan", "scan_spoken")(path, builder))

    def spoken(self, source: Source) -> Iterator[Any]:
        """Yield the turns of a file as `Spoken`."""
        yield from self._function("spoken", "spoken_phrases")(source)

    def turns_text(self, turns: Sequence[Turn], duration: float = 0.0) -> str:
        """Format turns as the text of a file."""
        return str(self._function("turns_text", "phrase_text")(turns, duration))

    def fits(self, source: Source) -> bool:
        """Return true if the content of a file is a transcript of this format."""
        return bool(self._function("fits")(source))

    def read(self, source: Source) -> Iterator[Phrase]:
        """Yield the phrases of a file."""
        yield from self._function("read")(source)

    def text(self, phrases: Sequence[Phrase]) -> str:
        """Format phrases as the text of a file."""
        return str(self._function("text")(phrases))

    def file_texts(
        self,
        path: Path,
        whole: _Parts,
        parts: Mapping[str, _Parts],
        text: Callable[[_Parts], str],
    ) -> dict[Path, str]:
        """Return the text of a file, or of one per recording in an existing folder."""
        if not path.is_dir():
            return {path: text(whole)}
        names = file_names(parts)
        return {
            path / f"{names[recording]}{self.suffix}": text(part)
            for recording, part in parts.items()
        }


_SIGNS = {
    "rttm": r"(?i:SPEAKER)[ \t]",
    "json": r"[{\[]",
    "audacity": r"[0-9.]+\t[0-9.]+\t[^\t\n]*(?:\r?\n|$)",
    "textgrid": r'File type = "oo|"?ooTextFile|ooBinaryFile|"Praat',
    "eaf": r"<\?xml|<!DOCTYPE|<!--|<ANNOTATION_DOCUMENT",
    "srt": r"(?:[0-9]+[ \t]*\r?\n)?[0-9:.,]+[ \t]+-->[ \t]",
    "vtt": r"WEBVTT(?:\s|$)",
}
"""Regular expressions for the start of files, without byte order marks and blank
lines."""

FORMATS = (
    Format("rttm", "RTTM", ".rttm", "rw", names_recordings=True),
    Format("json", "JSON", ".json", "rw", names_recordings=True),
    Format("csv", "CSV", ".csv", "rw", "rw", names_recordings=True),
    Format("audacity", "Audacity labels", ".txt", "rw"),
    Format("textgrid", "TextGrid", ".TextGrid", "rw", "rw", "tiers"),
    Format("eaf", "ELAN", ".eaf", "rw", "rw", "tiers"),
    Format("srt", "SubRip", ".srt", "rw", "rw", "subtitles"),
    Format("vtt", "WebVTT", ".vtt", "rw", "rw", "subtitles"),
    Format("stm", "STM", ".stm", "rw", "rw", names_recordings=True),
    Format("ctm", "CTM", ".ctm", "r", "rw", names_recordings=True),
    Format("seglst", "SegLST", ".json", "rw", "rw", names_recordings=True),
    Format("whisper_cpp", "JSON of whisper.cpp", ".json", "r", "r"),
    Format(
        "lhotse", "manifests of lhotse", ".jsonl", "rw", "rw", names_recordings=True
    ),
    Format("nemo", "manifests of NeMo", ".jsonl", "rw", "rw", names_recordings=True),
    Format("pyannoteai", "JSON of pyannoteAI", ".json", "rw", "rw"),
    Format("whisper", "JSON of Whisper", ".json", "rw", "rw"),
    Format("openai", "diarized_json of OpenAI", ".json", "", "w", "whisper"),
    Format("txt", "text", ".txt", "", "w"),
    Format("markdown", "Markdown", ".md", "", "w", "txt"),
)
"""All formats; files are compared with them in this order, and of several with the same
suffix, the first one is the default."""

TURN_FORMATS = {entry.name: entry for entry in FORMATS if entry.turns}
WRITTEN_FORMATS = tuple(entry.name for entry in FORMATS if "w" in entry.turns)
"""Formats of turns by name, and the names of those that can be written."""

TRANSCRIPT_FORMATS = {entry.name: entry for entry in FORMATS if entry.words}
READ_TRANSCRIPTS = tuple(entry.name for entry in FORMATS if "r" in entry.words)
WRITTEN_TRANSCRIPTS = tuple(entry.name for entry in FORMATS if "w" in entry.words)
"""The same for transcripts."""

WORDS = Format("words", "CTM of words", "", "r", "r", "ctm")
"""A CTM transcript, which is detected as turns in order to be refused."""

BY_SUFFIX: dict[str, Format] = {}
"""Formats of turns by suffix in lower case; a ``.txt`` file may be anything."""
for _entry in TURN_FORMATS.values():
    if _entry.suffix != ".txt":
        BY_SUFFIX.setdefault(_entry.suffix.lower(), _entry)


def format_to_write(
    kind: Kind, path: str | Path | None, name: str | None = None
) -> Format:
    """Select a format of turns or words by name or, without a name, by a suffix."""
    known = WRITTEN_FORMATS if kind == "turns" else WRITTEN_TRANSCRIPTS
    entries = {entry.name: entry for entry in FORMATS if entry.name in known}
    if name is not None:
        # Imported here, so that listing the formats does not load NumPy.
        from sms_diar._validation import check_choice  # noqa: PLC0415

        owner = "write_turns" if kind == "turns" else "write_transcript"
        check_choice(owner, "format", name, known)
        return entries[name]
    suffix = Path(path or "").suffix
    for entry in entries.values():
        if suffix.lower() == entry.suffix.lower():
            return entry
    raise InvalidParameterError(
        f"{path}: unknown suffix {suffix!r}; use one of "
        f"{', '.join(suffixes(kind))}, or name the format"
    )


def suffixes(kind: Kind) -> tuple[str, ...]:
    """Return the suffixes of the formats that can be written."""
    entries = (entry for entry in FORMATS if "w" in getattr(entry, kind))
    return tuple(dict.fromkeys(entry.suffix for entry in entries))
