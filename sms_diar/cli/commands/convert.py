"""``sms-diar convert`` and ``validate-rttm``: turns and transcripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, BadParameter, Option

from sms_diar.cli.options import JsonOption
from sms_diar.cli.options.recordings import AllowCommands
from sms_diar.cli.options.transcripts import WORD_SUFFIXES
from sms_diar.cli.options.turns import SUFFIXES
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
from sms_diar.io.registry import (
    FORMATS,
    KINDS,
    READ_TRANSCRIPTS,
    TURN_FORMATS,
    Format,
    format_to_write,
    suffixes,
)

if TYPE_CHECKING:
    from sms_diar.timeline.annotation import Annotation
    from sms_diar.timeline.transcript import Transcript
    from sms_diar.types import Problem, Turn

ReadFormatName = StrEnum("ReadFormatName", tuple(TURN_FORMATS))  # type: ignore[misc]
"""Formats of turns that can be read."""

SourceFormatName = StrEnum(  # type: ignore[misc]
    "SourceFormatName", [f.name for f in FORMATS if "r" in f.turns + f.words]
)
TargetFormatName = StrEnum(  # type: ignore[misc]
    "TargetFormatName", [f.name for f in FORMATS if "w" in f.turns + f.words]
)

Change = Callable[["Sequence[Turn]"], "Sequence[Turn]"]


def convert(
    source: Annotated[
        str,
        Argument(
            metavar="IN",
            help="Turns or a transcript: a file of any supported format, a folder, a "
            "quoted pattern, or - for standard input.",
        ),
    ],
    target: Annotated[
        Path,
        Argument(
            metavar="OUT",
            help=f"File whose suffix selects the format (turns: {SUFFIXES}; words: "
            f"{', '.join(WORD_SUFFIXES)}), an existing folder for one file per "
            f"recording, or - for standard output.",
        ),
    ],
    *,
    read_format: Annotated[
        SourceFormatName | None,
        Option(
            "--from",
            help="Format of IN.",
            show_default="detected from content and suffix",
        ),
    ] = None,
    write_format: Annotated[
        TargetFormatName | None,
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
    """Convert turns or transcripts, and rename or merge speakers.

    Words are kept if IN has words and OUT can hold them; otherwise turns are converted.

    Example: sms-diar convert corrected.rttm call.eaf --rename spk-01=Ann
    """
    from sms_diar._files import write_text
    from sms_diar.io._bytes import unpacked
    from sms_diar.io.transcripts.files import transcript_files
    from sms_diar.io.turns.files import find_files, turn_files

    groups = [_names(text) for text in merge or []]
    change = partial(_changed, groups=groups, new_names=_renamed(rename or []))
    inputs = [Path("-")] if source == "-" else find_files(source)
    audio = None if split is None else split[0]
    is_file = str(target) != "-" and not target.is_dir()
    check_outputs(target if is_file else None, inputs=[*inputs, audio])
    of_turns, of_words = _formats(target, write_format and write_format.value)
    format = read_format and read_format.value
    with ExitStack() as stack:
        if source == "-" and of_turns and of_words:  # detected, then read
            inputs = [stack.enter_context(unpacked(source))]
        if of_words and (of_turns is None or _has_words(inputs, format)):
            transcript = _transcript(inputs, format, change)
            texts = transcript_files(target, transcript, of_words)
            turns: Sequence[Turn] = transcript.turns()
            n_speakers = len(transcript.speakers)
            n_words = sum(1 for _ in transcript.words)
            counts = f"{_count(n_words, 'word')}, {_count(len(transcript), 'phrase')}"
        elif of_turns:
            turns = change(_annotation(inputs, format))
            texts = turn_files(target, turns, of_turns.name)
            n_speakers = len({turn.speaker for turn in turns})
            counts = _count(len(turns), "turn")
    printed = texts.pop(Path("-"), "")
    check_outputs(*texts)
    if split is not None:
        _split(turns, source, *split, allow_commands=allow_commands)
    for path, text in texts.items():
        write_text(path, text)
    echo(printed, nl=False)
    note_written(list(texts))
    note(f"{counts}, {_count(n_speakers, 'speaker')}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _formats(target: Path, name: str | None) -> list[Format | None]:
    """Return the format of turns, and that of transcripts, that an output may have."""
    from sms_diar.errors import InvalidParameterError

    if name is None and target.is_dir():
        raise BadParameter(f"{target} is a folder; specify a format with --to")
    if name is None and str(target) == "-":
        name = "rttm"
    formats: list[Format | None] = [None, None]
    for place, kind in enumerate(KINDS):
        with suppress(InvalidParameterError):
            formats[place] = format_to_write(kind, target, name)
    if formats == [None, None]:
        known = ", ".join(dict.fromkeys(s for kind in KINDS for s in suffixes(kind)))
        raise InvalidParameterError(
            f"{target}: unknown suffix {target.suffix!r}; use one of {known}, or "
            f"specify the format with --to"
        )
    return formats


def _has_words(inputs: Sequence[Path], format: str | None) -> bool:
    """Decide whether words are converted if the output can hold turns or words."""
    from sms_diar.errors import InvalidParameterError
    from sms_diar.io.transcripts.files import has_words

    if format is not None and format not in READ_TRANSCRIPTS:
        return False
    if format is not None and format not in TURN_FORMATS:
        return True
    have_words = [has_words(path) for path in inputs]
    if any(have_words) and not all(have_words):
        words, none = inputs[have_words.index(True)], inputs[have_words.index(False)]
        raise InvalidParameterError(
            f"{words} has words, but {none} has none; convert them separately"
        )
    return all(have_words)


def _transcript(
    inputs: Sequence[Path], format: str | None, change: Change
) -> Transcript:
    """Read words and change the names of their speakers, as for turns."""
    from sms_diar.errors import InvalidParameterError, SmsDiarError
    from sms_diar.io.turns.files import read_annotation
    from sms_diar.pipeline.score.inputs import words_of
    from sms_diar.types import Segment, Turn

    words = words_of("convert", "source", inputs, format)
    turns: Sequence[Turn] = []
    with suppress(SmsDiarError):
        turns = turns if words else read_annotation(inputs, format)
    if turns:
        problem = "has turns but no words; specify a format of turns with --to"
        raise InvalidParameterError(f"{inputs[0]}: {problem}")
    speakers = words.speakers
    named = [Turn(Segment("-", i, i + 1), name) for i, name in enumerate(speakers)]
    changed = (turn.speaker for turn in change(named))
    names = dict(zip(speakers, changed, strict=True))
    renamed = (replace(p, speaker=p.speaker and names[p.speaker]) for p in words)
    return replace(words, phrases=tuple(renamed))


def _annotation(inputs: Sequence[Path], format: str | None) -> Annotation:
    """Read turns, and report what the output cannot represent."""
    from sms_diar.io.problems import summarised
    from sms_diar.io.turns.files import read_annotation

    annotation = read_annotation(inputs, format)
    note_each(summarised([*annotation.problems, *_lost(annotation, inputs, format)]))
    return annotation


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


def _lost(
    annotation: Annotation, inputs: Sequence[Path], format: str | None
) -> list[Problem]:
    """List the information that the output cannot represent."""
    from sms_diar.errors import SmsDiarError
    from sms_diar.io.transcripts.files import has_words
    from sms_diar.types import Problem

    lost = []
    n_lines = len(annotation.start) - len(annotation)
    source = str(inputs[0])
    if n_lines:
        text = f"skipped {n_lines} line(s) without a positive length"
        lost.append(Problem(text, source, severity="warning", kind="no length"))
    if len(annotation.channels) > 1:
        text = f"the {len(annotation.channels)} channels are combined in the output"
        lost.append(Problem(text, source, severity="warning", kind="channels"))
    for path in inputs if format is None and source != "-" else ():
        with suppress(SmsDiarError):
            if has_words(path):
                text = "its words are not written, because the output format has none"
                lost.append(Problem(text, str(path), severity="warning", kind="words"))
    return lost


def _changed(
    turns: Sequence[Turn], *, groups: Sequence[Sequence[str]], new_names: dict[str, str]
) -> Sequence[Turn]:
    from sms_diar.timeline.naming import merge_speakers, rename_speakers

    for group in groups:
        turns = merge_speakers(turns, group)
    return rename_speakers(turns, new_names)


def _split(
    turns: Sequence[Turn],
    source: str,
    audio: Path,
    folder: Path,
    *,
    allow_commands: bool,
) -> None:
    """Write one audio file per speaker."""
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
            help="Files of turns in any supported format, UEM files, folders or "
            "patterns.",
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
