"""Words of recordings: from a file or a speech recogniser, to files of any format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import BadParameter

from sms_diar.cli.options import output_option
from sms_diar.cli.terminal.interrupts import interruptible
from sms_diar.cli.terminal.output import note_each
from sms_diar.errors import InvalidParameterError
from sms_diar.io.registry import WRITTEN_TRANSCRIPTS, format_to_write, suffixes

if TYPE_CHECKING:
    from sms_diar.pipeline.diarize.result import Diarization
    from sms_diar.pipeline.transcribe.recognisers import Recogniser
    from sms_diar.timeline.transcript import Transcript

WordFormatName = StrEnum("WordFormatName", WRITTEN_TRANSCRIPTS)  # type: ignore[misc]
"""Formats that can be written."""

READABLE = "txt"
"""Format of standard output."""

WORD_SUFFIXES = suffixes("words")
"""Suffixes of the formats that can be written."""


TranscribeOption = Annotated[
    str | None,
    output_option(
        metavar="MODEL",
        help="Recognise the words: folder of a Whisper model for faster-whisper (extra "
        "'asr'), or NAME:MODEL for other recognisers. An interrupted run continues "
        "from OUTPUT.checkpoint.",
    ),
]
LanguageOption = Annotated[
    str | None,
    output_option(
        metavar="CODE",
        help="Spoken language for --transcribe, such as en.",
        show_default="detected",
    ),
]


def holds_words(path: Path) -> bool:
    """Return true if a file has the suffix of a format of transcripts."""
    suffixes = {suffix.lower() for suffix in WORD_SUFFIXES}
    return path.suffix.lower() in suffixes and not path.is_dir()


class WordOutput:
    """Requested output of words; files of unknown formats are refused at once.

    The name of a format overrides suffixes.
    """

    def __init__(self, files: Sequence[Path], format: str | None = None) -> None:
        self._format = format or READABLE
        try:
            self.files = {
                path: format_to_write("words", path, format).name for path in files
            }
        except InvalidParameterError as error:
            raise BadParameter(str(error), param_hint="--output") from None

    def write(self, result: Transcript) -> list[Path]:
        """Write the files and print notes about the words; return the files."""
        from sms_diar._files import write_text
        from sms_diar.io.transcripts.files import transcript_text

        texts = {path: transcript_text(result, f) for path, f in self.files.items()}
        note_each([remark.with_severity() for remark in result.problems])
        for path, text in texts.items():
            write_text(path, text)
        return list(texts)

    def text(self, result: Transcript) -> str:
        """Format the words for standard output."""
        from sms_diar.io.transcripts.files import transcript_text

        return transcript_text(result, self._format)


class DiarizedWords:
    """Words of a file, or of a speech recogniser, for a diarization.

    Both are loaded at once, to report their errors before the work. Parts of recordings
    that are recognised are stored beside the first output, until `finish` is called.
    """

    def __init__(
        self,
        transcript: str | None,
        model: str | None,
        language: str | None,
        workers: int,
        outputs: Sequence[Path],
    ) -> None:
        if model is not None and transcript is not None:
            raise BadParameter(
                "cannot be combined with --transcript", param_hint="--transcribe"
            )
        if language is not None and model is None:
            raise BadParameter("requires --transcribe", param_hint="--language")
        self._words: Transcript | None = None
        self._recogniser: Recogniser | None = None
        self._checkpoint: Path | None = None
        if transcript is not None:
            from sms_diar.pipeline.transcript.api import some_words

            self._words = some_words(transcript)
        if model is not None:
            from sms_diar.pipeline.train.checkpoint import checkpoint_path
            from sms_diar.pipeline.transcribe.recognisers import load_recogniser

            self._checkpoint = checkpoint_path(outputs[0]) if outputs else None
            self._recogniser = load_recogniser(
                model, language=language, workers=workers
            )

    def spoken(
        self, result: Diarization, recordings: Sequence[Path], **options: Any
    ) -> Transcript | None:
        """Return the words with speakers, or None if none were requested.

        Options are passed to `transcribe`.
        """
        from sms_diar.pipeline.transcribe.api import transcribe
        from sms_diar.pipeline.transcript.api import transcript

        if self._recogniser is not None:
            again = "run the same command again to go on from here"
            with interruptible("run it again" if self._checkpoint is None else again):
                words = transcribe(
                    recordings[0] if len(recordings) == 1 else list(recordings),
                    self._recogniser,
                    checkpoint=self._checkpoint,
                    **options,
                )
            # Problems of the others have been reported.
            names = {recording.recording for recording in result.recordings}
            problems = tuple(p for p in words.problems if p.recording in names)
            self._words = replace(words, problems=problems)
        return None if self._words is None else transcript(result, self._words)

    def finish(self) -> None:
        """Remove the stored parts, after the words have been written."""
        if self._checkpoint is not None:
            self._checkpoint.unlink(missing_ok=True)
