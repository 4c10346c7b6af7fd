"""Output of turns to files of any format, folders or standard output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import BadParameter

from sms_diar.cli.options import output_option
from sms_diar.io.registry import WRITTEN_FORMATS, format_to_write, suffixes

if TYPE_CHECKING:
    from sms_diar.pipeline.diarize.result import Diarization

TurnFormatName = StrEnum("TurnFormatName", WRITTEN_FORMATS)  # type: ignore[misc]
"""Formats that can be written."""

SUFFIXES = ", ".join(suffixes("turns")).replace(".txt", ".txt for Audacity")
"""Suffixes of the formats that can be written, for help texts."""

TurnFiles = Annotated[
    list[Path] | None,
    output_option(
        "-o",
        "--output",
        metavar="PATH",
        help=f"File whose suffix selects the format ({SUFFIXES}), or an existing "
        f"folder for one file per recording. Repeatable.",
    ),
]
TurnFormatOption = Annotated[
    TurnFormatName | None,
    output_option(
        "--format",
        help="Format for folders, files with other suffixes, and standard output.",
        show_default="rttm",
    ),
]
MinTurn = Annotated[
    float | None,
    output_option(
        min=0.0,
        help="Minimum turn length in seconds; shorter turns are merged into adjacent "
        "turns.",
        show_default="0.2, in subtitles 0.5",
    ),
]
MaxTurnGap = Annotated[
    float | None,
    output_option(
        min=0.0,
        help="Longest pause of a speaker to bridge, in seconds.",
        show_default="0.5",
    ),
]
SplitFolder = Annotated[
    Path | None,
    output_option(
        "--split", metavar="DIR", help="Write one WAV file per speaker to this folder."
    ),
]


@dataclass(frozen=True)
class TurnOutput:
    """Requested output of turns, checked before any work."""

    files: Sequence[Path]  # files and existing folders
    format: TurnFormatName | None
    split: Path | None  # folder for the audio of speakers

    @property
    def new_paths(self) -> list[Path]:
        """Files to write and folders to create, without existing folders."""
        paths = [*self.files, *([] if self.split is None else [self.split])]
        return [path for path in paths if not path.is_dir()]

    def check(self, recordings: Sequence[Path], others: Sequence[Path | None]) -> None:
        """Refuse outputs that cannot be written, before any work.

        `check_outputs` has checked the recordings and `new_paths`; `others` are further
        outputs of the command.
        """
        from sms_diar._files import (
            PREFIX,
            check_different,
            check_writable,
            refuse_input,
        )
        from sms_diar.io.file_names import file_names
        from sms_diar.pipeline.audio.inputs import find_recordings

        if self.split is not None and self.split.is_dir():
            if any(path.is_dir() and path.samefile(self.split) for path in recordings):
                raise BadParameter(
                    f"{self.split} is the folder of the input recordings; specify "
                    f"another folder",
                    param_hint="--split",
                )
            check_writable(self.split / PREFIX)
        single = self._single()
        folders = [path for path in self.files if path.is_dir()]
        if single is None and not folders:
            return
        names = [recording.id for recording in find_recordings(recordings)]
        suffix = format_to_write("turns", None, self._name).suffix
        inside = [f"{name}{suffix}" for name in file_names(names).values()]
        for folder in folders:
            check_writable(folder / PREFIX)
            for name in inside:
                refuse_input(folder / name)
        written = [
            *others,
            *self.new_paths,
            *(f / name for f in folders for name in inside),
        ]
        check_different(path for path in written if path is not None)
        if single is not None and len(names) > 1:
            option, where = single
            raise BadParameter(
                f"{where}: this format holds one recording per file, got "
                f"{len(names)}; specify an existing folder with -o, and --format",
                param_hint=option,
            )

    def _single(self) -> tuple[str, str] | None:
        """Return option and name of an output that can hold only one recording."""
        from sms_diar.errors import InvalidParameterError

        if (
            not self.files
            and not format_to_write("turns", None, self._name).names_recordings
        ):
            return "--format", "standard output"
        for path in self.files:
            if path.is_dir():
                continue
            try:
                chosen = format_to_write(
                    "turns", path, self.format and self.format.value
                )
            except InvalidParameterError as error:
                raise BadParameter(str(error), param_hint="--output") from None
            if not chosen.names_recordings:
                return "--output", str(path)
        return None

    @property
    def _name(self) -> str:
        return "rttm" if self.format is None else self.format.value

    def write(
        self,
        result: Diarization,
        recordings: Sequence[Path],
        *,
        channel: int | str | None,
        allow_commands: bool,
    ) -> list[Path]:
        """Write turns and the audio of speakers; return the paths of all files."""
        written = []
        for path in self.files:
            format = self._name if path.is_dir() else self.format and self._name
            written += result.write(path, format)
        if self.split is not None:
            from sms_diar.pipeline.audio.split import split_speakers

            written += split_speakers(
                [turn for entry in result.recordings for turn in entry.turns],
                recordings,
                self.split,
                channel=channel,
                allow_commands=allow_commands,
            )
        return written

    def text(self, result: Diarization) -> str:
        """Format the turns for standard output."""
        return result.text(self._name)
