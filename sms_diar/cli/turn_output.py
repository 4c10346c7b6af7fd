"""Where turns go: files of any format, folders, standard output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sms_diar.cli.output import check_outputs

if TYPE_CHECKING:
    from sms_diar.pipeline.diarization import Diarization

PANEL = "Output"


class TurnFormatName(StrEnum):
    """Formats that are written, as in `sms_diar.io.turn_formats`."""

    rttm = "rttm"
    json = "json"
    csv = "csv"
    audacity = "audacity"
    textgrid = "textgrid"
    eaf = "eaf"
    srt = "srt"
    vtt = "vtt"


TurnFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "-o",
        "--output",
        metavar="PATH",
        help="File whose suffix is the format (.rttm, .json, .csv, .txt for Audacity, "
        ".TextGrid, .eaf, .srt, .vtt), or a folder for a file of each recording; may "
        "be repeated.",
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

    def check(self, recordings: Sequence[Path]) -> None:
        """Refuse what will not work, as far as it can be known."""
        if self.split is not None:
            if self.split.exists() and not self.split.is_dir():
                raise typer.BadParameter(
                    f"{self.split} is a file; name a folder", param_hint="--split"
                )
            check_outputs(self.split / "x.wav" if self.split.is_dir() else self.split)
        for path in self.files:
            check_outputs(path / "x" if path.is_dir() else path)
        single = self._single()
        if single is None:
            return
        from sms_diar.pipeline.sources import find_recordings

        if len(find_recordings(recordings)) > 1:
            option, where = single
            raise typer.BadParameter(
                f"{where}: this format holds one recording in a file, and there are "
                f"several; name a folder that is there with -o, and --format",
                param_hint=option,
            )

    def _single(self) -> tuple[str, str] | None:
        """Option and place of a file that can hold one recording only."""
        from sms_diar.errors import InvalidParameterError
        from sms_diar.io.turn_formats import format_to_write

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
        return TurnFormatName.rttm.value if self.format is None else self.format.value

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
            from sms_diar.pipeline.split import split_speakers

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
