"""Reading and writing turns in any format of the registry.

A format is detected from the start of a file, then from its suffix; any other file is
read as RTTM, whose reader reports the error. Lines keep their numbers, so that later
problems can name them.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from sms_diar._files import write_text
from sms_diar._validation import check_choice
from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.io._bytes import STANDARD_INPUT, STANDARD_INPUT_NAME, unpacked
from sms_diar.io._lines import scan_lines
from sms_diar.io.detect import turn_format
from sms_diar.io.problems import refuse_errors
from sms_diar.io.registry import BY_SUFFIX, TURN_FORMATS, format_to_write
from sms_diar.timeline.annotation import (
    Annotation,
    AnnotationBuilder,
    refuse_turns_path,
    turn_problems,
    turns_by_recording,
)
from sms_diar.types import Problem, Turn

_TABLES = (".rttm", ".ctm", ".csv")
"""Suffixes of files that are read from a folder in preference to all others."""

SUFFIXES = (*_TABLES, *(s for s in BY_SUFFIX if s not in (*_TABLES, ".json", ".jsonl")))
"""Suffixes of files that are read from a folder; JSON may be anything there."""

LIST_SUFFIXES = (".lst", ".list", ".scp", ".flist")
"""Suffixes of files that list other files, one per line."""


def read_annotation(
    sources: str | Path | Sequence[str | Path], format: str | None = None
) -> Annotation:
    """Read the turns of one or more files.

    Parameters
    ----------
    sources : path or sequence of paths
        Files of any format of `sms_diar.io.registry`, optionally compressed with
        gzip (``.gz``); ``-`` for standard input; folders, of which the RTTM, CTM and
        CSV files are read, or the files of a single other format; patterns such as
        ``out/*.rttm``; and lists of files (``.lst``, ``.list``, ``.scp``). If the
        format does not name the recording, it gets the name of the file.
    format : str, optional
        Name of the format of all files, one of `TURN_FORMATS`. By default, it is
        detected for each file from its content and suffix.

    Returns
    -------
    annotation : Annotation
        Turns in the order of files and lines.

    Raises
    ------
    DataFormatError
        If a line cannot be read; the message names the file and the line.
    """
    builder = _scan_all("read_annotation", sources, format)
    refuse_errors(builder.problems)
    return builder.annotation()


read_turns = read_annotation
"""Public name of `read_annotation`."""


def check_annotation(
    sources: str | Path | Sequence[str | Path], format: str | None = None
) -> list[Problem]:
    """List all problems of files of turns, including errors.

    The parameters are the same as in `read_annotation`.
    """
    annotation = _scan_all("check_annotation", sources, format).annotation()
    problems = [*annotation.problems, *turn_problems(annotation)]
    order = {path: index for index, path in enumerate(annotation.files)}
    return sorted(problems, key=lambda p: (order.get(p.path or "", -1), p.line or 0))


def _scan_all(
    owner: str, sources: str | Path | Sequence[str | Path], format: str | None
) -> AnnotationBuilder:
    """Read all readable lines; the builder collects the errors of the others."""
    _check_sources(owner, sources)
    if format is not None:
        check_choice(owner, "format", format, tuple(TURN_FORMATS))
    builder = AnnotationBuilder()
    for path in find_files(sources):
        n_before = len(builder.problems)
        n_lines = _scan_one(path, builder, format)
        problems = builder.problems[n_before:]
        if not n_lines and not any(p.severity == "error" for p in problems):
            note = Problem(
                "contains no turns", str(path), severity="note", kind="empty"
            )
            builder.problems.append(note)
    return builder


def _scan_one(path: Path, builder: AnnotationBuilder, format: str | None) -> int:
    """Add the turns of a file, unpacked if needed; return the number of its lines."""
    n_before = len(builder.problems)
    with unpacked(path) as plain:
        chosen = turn_format(plain) if format is None else TURN_FORMATS[format]
        n_lines = chosen.scan(plain, builder)
        if plain != path:
            name = STANDARD_INPUT_NAME if str(path) == STANDARD_INPUT else str(path)
            builder.files[-1] = name
            builder.problems[n_before:] = [
                replace(problem, path=name) for problem in builder.problems[n_before:]
            ]
    return n_lines


def unnamed_recording(sources: str | Path | Sequence[str | Path]) -> bool:
    """Return true for a single file of a format without recording names.

    The recording of its turns is then named after the file, which may be arbitrary.
    """
    if isinstance(sources, str | Path):
        sources = [sources]
    if len(sources) != 1 or str(sources[0]) == STANDARD_INPUT:
        return False
    files = find_files(sources)
    if len(files) != 1:
        return False
    with unpacked(files[0]) as plain:
        return not turn_format(plain).names_recordings


def _check_sources(owner: str, sources: object) -> None:
    listed = sources if isinstance(sources, Sequence) else [sources]
    are_paths = all(isinstance(source, str | os.PathLike) for source in listed)
    if isinstance(sources, Annotation) or not are_paths:
        problem = (
            f"must be the paths of files, folders or patterns, got a value of type "
            f"{type(sources).__name__}; turns in memory need no reading"
        )
        raise InvalidParameterError(problem, owner=owner, parameter="sources")


def find_files(sources: str | Path | Sequence[str | Path]) -> list[Path]:
    """Expand files, folders, patterns and lists into the files to read."""
    if isinstance(sources, str | Path):
        sources = [sources]
    files: list[Path] = []
    for source in sources:
        path = Path(source)
        if str(source) == STANDARD_INPUT:
            files.append(path)
        elif path.is_dir():
            files += _in_folder(path)
        elif path.is_file():
            files += _listed(path) if path.suffix in LIST_SUFFIXES else [path]
        else:
            matches = sorted(glob.glob(str(source), recursive=True))  # noqa: PTH207
            if not matches:
                raise MissingFileError(f"{path}: no such file")
            files += [Path(match) for match in matches]
    for path in files:
        if str(path) != STANDARD_INPUT and path.exists() and not path.is_file():
            raise DataFormatError(
                "is not a regular file but a pipe, a device or a folder; store the "
                "turns in a file, or pass them to standard input (-)",
                path=path,
            )
    return files


def source_files(sources: Sequence[str | Path]) -> Iterator[str | Path]:
    """Yield the sources, then the files they expand to (searched for lazily)."""
    yield from sources
    yield from find_files(sources)


def _in_folder(path: Path) -> list[Path]:
    kinds: dict[str, list[Path]] = {}
    for file in sorted(path.iterdir()):
        suffix = file.with_suffix("").suffix if file.suffix == ".gz" else file.suffix
        kinds.setdefault(suffix.lower(), []).append(file)
    inside = sorted(file for suffix in _TABLES for file in kinds.get(suffix, ()))
    others = [suffix for suffix in SUFFIXES if suffix in kinds]
    if not others:
        raise MissingFileError(
            f"{path}: the folder contains no file with the suffix {', '.join(SUFFIXES)}"
        )
    if not inside and len(others) > 1:
        raise InvalidParameterError(
            f"{path}: the folder contains files of several formats "
            f"({', '.join(others)}), perhaps of the same turns; choose with a pattern "
            f"such as '{path}/*{others[0]}'"
        )
    return inside or kinds[others[0]]


def _listed(path: Path) -> list[Path]:
    names = [line.text.split()[-1] for line in scan_lines(path) if line.text.strip()]
    files = []
    for name in names:
        candidates = (Path(name), path.parent / name)
        file = next((p for p in candidates if p.is_file()), None)
        if file is None:
            raise MissingFileError(f"{path}: {name}: no such file")
        files.append(file)
    return files


def turns_text(
    turns: Iterable[Turn], format: str, *, durations: Mapping[str, float] | None = None
) -> str:
    """Format turns as the text of a file; see `write_turns`."""
    refuse_turns_path("turns_text", turns)
    turns = list(turns)
    durations = durations or {}
    longest = max((durations.get(t.segment.recording, 0.0) for t in turns), default=0.0)
    return format_to_write("turns", None, format).turns_text(turns, longest)


def write_turns(
    path: str | Path,
    turns: Iterable[Turn],
    format: str | None = None,
    *,
    durations: Mapping[str, float] | None = None,
) -> list[Path]:
    """Write turns in any format.

    Parameters
    ----------
    path : str or Path
        File to write, or an existing folder, in which each recording gets a file of
        its own.
    turns : iterable of Turn
        Turns to write.
    format : str, optional
        Name of the format, one of `WRITTEN_FORMATS`. By default, it follows from the
        suffix of the file; it is required for a folder.
    durations : mapping from str to float, optional
        Length of each recording in seconds, for formats that store it.

    Returns
    -------
    written : list of Path
        Files that were written.

    Raises
    ------
    InvalidParameterError
        If the format cannot represent a name, or if it contains a single recording per
        file, `path` is a file and the turns are from several recordings.

    Examples
    --------
    >>> from sms_diar.types import Segment
    >>> print(turns_text([Turn(Segment("call", 0.5, 2.0), "ann")], "srt"), end="")
    1
    00:00:00,500 --> 00:00:02,000
    [ann]
    """
    refuse_turns_path("write_turns", turns)
    texts = turn_files(path, turns, format, durations=durations)
    for file, text in texts.items():
        write_text(file, text)
    return list(texts)


def turn_files(
    path: str | Path,
    turns: Iterable[Turn],
    format: str | None = None,
    *,
    durations: Mapping[str, float] | None = None,
) -> dict[Path, str]:
    """Return the text of each file that `write_turns` would write."""
    path = Path(path)
    entry = format_to_write("turns", None if path.is_dir() else path, format)
    write = partial(turns_text, format=entry.name, durations=durations)
    listed = list(turns)
    return entry.file_texts(path, listed, turns_by_recording(listed), write)
