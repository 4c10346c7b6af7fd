"""Where turns go: files of any format, folders, standard output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sms_diar.io.turns.registry import TURN_FORMATS, WRITTEN_FORMATS

if TYPE_CHECKING:
    from sms_diar.pipeline.diarize.result import Diarization

PANEL = "Output"


TurnFormatName = StrEnum("TurnFormatName", WRITTEN_FORMATS)  # type: ignore[misc]
"""Formats that can be written."""

SUFFIXES = ", ".join(
    f"{TURN_FORMATS[name].suffix}{' for Audacity' if name == 'audacity' else ''}"
    for name in WRITTEN_FORMATS
)
"""Suffixes of the formats that can be written, for help texts."""

TurnFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="PATH",
        help=f"File whose suffix is the format ({SUFFIXES}), or a folder for a file of "
        f"each recording; may be repeated.",
        rich_help_panel=PANEL,
    ),
]
TurnFormatOption = Annotated[
    TurnFormatName | None,
    typer.Option(
        "--format",
        help="Format of folders, of files with other suffixes and of standard output.",
        show_default="rttm",
        rich_help_panel=PANEL,
    ),
]
MinTurn = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Seconds of the shortest turn; shorter ones go to the turns around them.",
        show_default="0.2, in subtitles 0.5",
        rich_help_panel=PANEL,
    ),
]
MaxTurnGap = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Seconds of the longest pause of a speaker that is bridged.",
        show_default="0.2, in subtitles 0.5",
        rich_help_panel=PANEL,
    ),
]
SplitFolder = Annotated[
    Path | None,
    typer.Option(
        "--split",
        metavar="DIR",
        help="Write a WAV file of each speaker's turns into this folder.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class TurnOutput:
    """What is to be written, checked before any work.

    Parameters
    ----------
    files : list of Path
        Files and folders.
    format : TurnFormatName, optional
        What was asked for by name.
    split : Path, optional
        Folder for audio of speakers.
    """

    files: Sequence[Path]
    format: TurnFormatName | None
    split: Path | None

    @property
    def new_paths(self) -> list[Path]:
        """Files to write, and a folder to make; folders that exist are not among it."""
        paths = [*self.files, *([] if self.split is None else [self.split])]
        return [path for path in paths if not path.is_dir()]

    def check(self, recordings: Sequence[Path], others: Sequence[Path | None]) -> None:
        """Refuse what will not work, as far as it can be known.

        Parameters
        ----------
        recordings : sequence of Path
            The inputs; `check_outputs` has seen them, and `new_paths`.
        others : sequence of Path or None
            Other outputs of the command.
        """
        from sms_diar._files import (
            PREFIX,
            check_different,
            check_writable,
            refuse_input,
        )
        from sms_diar.io.file_names import file_names
        from sms_diar.io.turns.files import format_to_write
        from sms_diar.pipeline.audio.inputs import find_recordings

        if self.split is not None and self.split.is_dir():
            if any(path.is_dir() and path.samefile(self.split) for path in recordings):
                raise typer.BadParameter(
                    f"{self.split} is the folder of the recordings that are read; name "
                    f"another one",
                    param_hint="--split",
                )
            check_writable(self.split / PREFIX)
        single = self._single()
        folders = [path for path in self.files if path.is_dir()]
        if single is None and not folders:
            return
        names = [recording.id for recording in find_recordings(recordings)]
        suffix = format_to_write(None, self._name).suffix
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
            raise typer.BadParameter(
                f"{where}: this format holds one recording in a file, and there are "
                f"several; name a folder that is there with -o, and --format",
                param_hint=option,
            )

    def _single(self) -> tuple[str, str] | None:
        """Option and place of a file that can hold one recording only."""
        from sms_diar.errors import InvalidParameterError
        from sms_diar.io.turns.files import format_to_write

        if not self.files and not format_to_write(None, self._name).names_recordings:
            return "--format", "standard output"
        for path in self.files:
            if path.is_dir():
                continue
            try:
                chosen = format_to_write(path, self.format and self.format.value)
            except InvalidParameterError as error:
                raise typer.BadParameter(str(error), param_hint="--output") from None
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
        """Write the files and folders, and the audio of speakers; return all files."""
        written = []
        for path in self.files:
            format = self._name if path.is_dir() else self.format and self._name
            written += result.write(path, format)
        if self.split is not None:
            from sms_diar.pipeline.audio.split import split_speakers

            written += split_speakers(
                [turn for one in result.recordings for turn in one.turns],
                recordings,
                self.split,
                channel=channel,
                allow_commands=allow_commands,
            )
        return written

    def text(self, result: Diarization) -> str:
        """What goes to standard output."""
        return result.text(self._name)
