"""Registry of the formats of transcripts.

To add a format, write a module and add an entry here. A module that reads has
``fits(source)``, which recognises files by their content, and ``read(source)``, which
yields phrases and raises `FaultError` with the number of the line; one that writes has
``text(phrases)``. A format with turns beside words has ``read_turns(source)``. Formats
that share a `module` have functions such as ``srt_text`` there. Modules are imported
when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sms_diar.io.transcripts._source import Source
    from sms_diar.timeline.transcript import Phrase


@dataclass(frozen=True)
class TranscriptFormat:
    """A file format for transcripts.

    `name` is used in options, `title` in messages. Several formats may have the same
    `suffix`; the first one that writes is the default. `names_recordings` is true if a
    file can contain several recordings.
    """

    name: str
    title: str
    suffix: str
    reads: bool = True
    writes: bool = True
    names_recordings: bool = False
    has_turns: bool = False
    module: str = ""

    def _function(self, name: str) -> Callable[..., Any]:
        module = import_module(f"{__package__}.{self.module or self.name}")
        function: Callable[..., Any] = getattr(
            module, f"{self.name}_{name}", None
        ) or getattr(module, name)
        return function

    def fits(self, source: Source) -> bool:
        """Return true if the content of a file is of this format."""
        return bool(self._function("fits")(source))

    def read(self, source: Source, *, as_turns: bool = False) -> Iterator[Phrase]:
        """Yield the phrases of a file, or its turns if they are stored separately."""
        is_separate = as_turns and self.has_turns
        yield from self._function("read_turns" if is_separate else "read")(source)

    def text(self, phrases: Sequence[Phrase]) -> str:
        """Format phrases as the text of a file."""
        return str(self._function("text")(phrases))


_ENTRIES = (
    TranscriptFormat("seglst", "SegLST", ".json", names_recordings=True),
    TranscriptFormat("whisper_cpp", "JSON of whisper.cpp", ".json", writes=False),
    TranscriptFormat("lhotse", "manifests of lhotse", ".jsonl", names_recordings=True),
    TranscriptFormat("nemo", "manifests of NeMo", ".jsonl", names_recordings=True),
    TranscriptFormat("pyannoteai", "JSON of pyannoteAI", ".json", has_turns=True),
    TranscriptFormat("whisper", "JSON of Whisper", ".json"),
    TranscriptFormat(
        "openai", "diarized_json of OpenAI", ".json", reads=False, module="whisper"
    ),
    TranscriptFormat("vtt", "WebVTT", ".vtt", module="subtitles"),
    TranscriptFormat("srt", "SubRip", ".srt", module="subtitles"),
    TranscriptFormat("textgrid", "TextGrid", ".TextGrid", module="tiers"),
    TranscriptFormat("eaf", "ELAN", ".eaf", module="tiers"),
    TranscriptFormat("csv", "CSV", ".csv", names_recordings=True),
    TranscriptFormat("stm", "STM", ".stm", names_recordings=True),
    TranscriptFormat("ctm", "CTM", ".ctm", names_recordings=True),
    TranscriptFormat("txt", "text", ".txt", reads=False),
    TranscriptFormat("markdown", "Markdown", ".md", reads=False, module="txt"),
)

TRANSCRIPT_FORMATS = {entry.name: entry for entry in _ENTRIES}
"""Formats by name; files are compared with them in this order."""

READ_TRANSCRIPTS = tuple(entry.name for entry in _ENTRIES if entry.reads)
WRITTEN_TRANSCRIPTS = tuple(entry.name for entry in _ENTRIES if entry.writes)
