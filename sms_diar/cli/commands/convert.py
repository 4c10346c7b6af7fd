"""``sms-diar convert`` and ``validate-rttm``: convert and check files of turns."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, BadParameter, Option

from sms_diar.cli.options import JsonOption
from sms_diar.cli.options.recordings import AllowCommands
from sms_diar.cli.options.turns import SUFFIXES, TurnFormatName
from sms_diar.cli.terminal.output import (
    check_outputs,
    echo,
    echo_json,
    note,
    note_each,
    note_written,
    problem_report,
    severity_counts,
)
from sms_diar.io.turns.registry import TURN_FORMATS

if TYPE_CHECKING:
    from sms_diar.timeline.annotation import Annotation
    from sms_diar.types import Problem, Turn

ReadFormatName = StrEnum("ReadFormatName", tuple(TURN_FORMATS))  # type: ignore[misc]
"""Formats that can be read."""


def convert(
    source: Annotated[
        str,
        Argument(
            metavar="IN",
            help="Turns: a file of any supported format, a folder, a quoted pattern, "
            "or - for standard input.",
        ),
    ],
    target: Annotated[
        Path,
        Argument(
            metavar="OUT",
            help=f"File whose suffix selects the format ({SUFFIXES}), an existing "
            f"folder for one file per recording, or - for standard output.",
        ),
    ],
    *,
    read_format: Annotated[
        ReadFormatName | None,
        Option(
            "--from",
            help="Format of IN.",
            show_default="detected from content and suffix",
        ),
    ] = None,
    write_format: Annotated[
        TurnFormatName | None,
        Option("--to", help="Format of OUT.", show_default="the suffix of OUT"),
    ] = None,
    rename: Annotated[
        list[str] | None,
        Option(metavar="OLD=NEW", help="Rename a speaker, after merging. Repeatable."),
    ] = None,
    merge: Annotated[
        list[str] | None,
        Option(
            metavar="A,B",
            help="Merge these speakers under the first name and join their overlapping "
            "turns. Repeatable.",
        ),
    ] = None,
    split: Annotated[
        tuple[Path, Path] | None,
        Option(
            metavar="AUDIO DIR",
            help="Also write one WAV file per speaker of this recording (or folder, "
            "or wav.scp) into DIR.",
        ),
    ] = None,
    allow_commands: AllowCommands = False,
) -> None:
    """Convert turns to another format, and rename or merge speakers.

    Example: sms-diar convert corrected.rttm call.eaf --rename spk-01=Ann
    """
    from sms_diar._files import write_text
    from sms_diar.io.problems import summarised
    from sms_diar.io.turns.files import (
        find_files,
        read_annotation,
        turn_files,
        turns_text,
    )

    chosen = None if write_format is None else write_format.value
    groups = [_names(text) for text in merge or []]
    new_names = _renamed(rename or [])
    inputs = [] if source == "-" else find_files(source)
    audio = None if split is None else split[0]
    is_file = str(target) != "-" and not target.is_dir()
    check_outputs(target if is_file else None, inputs=[*inputs, audio])
    annotation = read_annotation(source, read_format and read_format.value)
    note_each(summarised([*annotation.problems, *_lost(annotation, source)]))
    turns = _changed(annotation, groups, new_names)
    _check_holds(turns, target, chosen)
    if str(target) == "-":
        printed, texts = turns_text(turns, chosen or "rttm"), {}
    else:
        printed, texts = "", turn_files(target, turns, chosen)
        check_outputs(*texts)
    if split is not None:
        _split(turns, source, *split, allow_commands=allow_commands)
    for path, text in texts.items():
        write_text(path, text)
    echo(printed, nl=False)
    n_speakers = len({turn.speaker for turn in turns})
    note_written(list(texts))
    note(f"{len(turns)} turns, {n_speakers} speakers")


def _names(text: str) -> list[str]:
    names = text.split(",")
    if not all(names):
        raise BadParameter(f"must be A,B, got {text!r}", param_hint="--merge")
    return names


def _renamed(texts: Sequence[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for text in texts:
        old, _, new = text.partition("=")
        if not old or not new or old in names:
            problem = f"must be OLD=NEW, once for each OLD, got {text!r}"
            raise BadParameter(problem, param_hint="--rename")
        names[old] = new
    return names


def _lost(annotation: Annotation, source: str) -> list[Problem]:
    """List the information that the output cannot represent."""
    from sms_diar.types import Problem

    lost = []
    n_lines = len(annotation.start) - len(annotation)
    if n_lines:
        text = f"skipped {n_lines} line(s) without a positive length"
        lost.append(Problem(text, source, severity="warning", kind="no length"))
    if len(annotation.channels) > 1:
        text = f"the {len(annotation.channels)} channels are combined in the output"
        lost.append(Problem(text, source, severity="warning", kind="channels"))
    return lost


def _changed(
    turns: Sequence[Turn], groups: Sequence[Sequence[str]], new_names: dict[str, str]
) -> Sequence[Turn]:
    from sms_diar.timeline.naming import merge_speakers, rename_speakers

    for group in groups:
        turns = merge_speakers(turns, group)
    return rename_speakers(turns, new_names)


def _check_holds(turns: Sequence[Turn], target: Path, format: str | None) -> None:
    """Refuse several recordings in a file that can hold only one."""
    from sms_diar.errors import InvalidParameterError
    from sms_diar.io.turns.files import format_to_write

    if target.is_dir():
        if format is None:
            raise BadParameter(f"{target} is a folder; specify a format with --to")
        return
    to_screen = str(target) == "-"
    chosen = format_to_write(target, (format or "rttm") if to_screen else format)
    recordings = {turn.segment.recording for turn in turns}
    if len(recordings) > 1 and not chosen.names_recordings:
        raise InvalidParameterError(
            f"{target}: {chosen.title} holds one recording per file, got "
            f"{len(recordings)}; specify an existing folder and --to {chosen.name}"
        )


def _split(
    turns: Sequence[Turn],
    source: str,
    audio: Path,
    folder: Path,
    *,
    allow_commands: bool,
) -> None:
    """Write one audio file per speaker."""
    from dataclasses import replace

    from sms_diar.io.turns.files import unnamed_recording
    from sms_diar.pipeline.audio.inputs import find_recordings
    from sms_diar.pipeline.audio.split import split_speakers

    recordings = find_recordings([audio])
    if len(recordings) == 1 and unnamed_recording(source):
        name = recordings[0].id
        turns = [replace(t, segment=replace(t.segment, recording=name)) for t in turns]
    split_speakers(turns, audio, folder, allow_commands=allow_commands)


def validate_rttm(
    files: Annotated[
        list[str],
        Argument(
            metavar="FILE...",
            help="RTTM, CTM, CSV, UEM, JSON, Audacity label, TextGrid, EAF, SRT or "
            "WebVTT files, folders or patterns.",
        ),
    ],
    *,
    read_format: Annotated[
        ReadFormatName | None,
        Option(
            "--format",
            help="Format of all files.",
            show_default="detected from content and suffix",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List all problems in files of turns; exit with code 1 if there are errors.

    Example: sms-diar validate-rttm ref/*.rttm all.uem
    """
    from sms_diar.io.turns.files import check_annotation
    from sms_diar.io.turns.uem import scan_uem

    problems: list[Problem] = []
    for name in files:
        if Path(name).suffix == ".uem":
            problems += scan_uem(name).problems
        else:
            problems += check_annotation(name, read_format and read_format.value)
    if as_json:
        echo_json(problem_report(problems, "kind"))
    else:
        for problem in problems:
            echo(problem.with_severity())
        echo(severity_counts(problems))
    if any(problem.severity == "error" for problem in problems):
        raise typer.Exit(1)
