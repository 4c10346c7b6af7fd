"""Turns of any number of files, of any format that holds turns.

`turn_formats` tells them apart, by their beginnings and by their suffixes; what is
none of them is taken for RTTM. Lines keep their numbers, so that later problems can
name them.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sms_diar._validation import check_choice
from sms_diar.errors import (
    DataFormatError,
    InvalidParameterError,
    MissingFileError,
)
from sms_diar.io._lines import scan_lines
from sms_diar.io.problems import refuse_errors
from sms_diar.io.turn_formats import BY_SUFFIX, TURN_FORMATS, TurnFormat, format_of_file
from sms_diar.io.unpacked import STANDARD_INPUT, STANDARD_INPUT_NAME, unpacked
from sms_diar.timeline.annotation import Annotation, AnnotationBuilder, turn_problems
from sms_diar.types import Problem

_TABLES = (".rttm", ".ctm", ".csv")
"""What is read from a folder, if it holds any of it."""

SUFFIXES = (*_TABLES, *(s for s in BY_SUFFIX if s not in (*_TABLES, ".json")))
"""What may be read from a folder; JSON may be anything there."""

LIST_SUFFIXES = (".lst", ".list", ".scp", ".flist")
"""A file that names others, one per line."""


def read_annotation(
    sources: str | Path | Sequence[str | Path], format: str | None = None
) -> Annotation:
    """Read turns of one or more files.

    Parameters
    ----------
    sources : path or sequence of paths
        Files of any format of `sms_diar.io.turn_formats`, compressed by gzip
        (``.gz``) or not, ``-`` for standard input, folders (whose RTTM, CTM and CSV
        files are read, or else those of one other format), patterns such as
        ``out/*.rttm``, and lists of files (``.lst``, ``.list``, ``.scp``). Where the
        format does not name the recording, it is called like the file.
    format : str, optional
        Format of all files, one of `sms_diar.io.turn_formats.TURN_FORMATS`. By default
        the content and the suffix of each file decide.

    Returns
    -------
    annotation : Annotation
        Turns in the order of files and lines. Bad lines are refused by file and
        line.
    """
    builder = _scan_all("read_annotation", sources, format)
    refuse_errors(builder.problems)
    return builder.annotation()


read_turns = read_annotation
"""Read turns of any format: `read_annotation` by the name that the package uses."""


def check_annotation(
    sources: str | Path | Sequence[str | Path], format: str | None = None
) -> list[Problem]:
    """List all problems of files of turns; the parameters are as in `read_annotation`.

    Errors are in the list, and nothing is raised for them.
    """
    annotation = _scan_all("check_annotation", sources, format).annotation()
    found = [*annotation.problems, *turn_problems(annotation)]
    order = {path: place for place, path in enumerate(annotation.files)}
    return sorted(found, key=lambda p: (order.get(p.path or "", -1), p.line or 0))


def _scan_all(
    owner: str, sources: str | Path | Sequence[str | Path], format: str | None
) -> AnnotationBuilder:
    """Read what can be read; errors are among the problems."""
    _check_sources(owner, sources)
    if format is not None:
        check_choice(owner, "format", format, tuple(TURN_FORMATS))
    builder = AnnotationBuilder()
    for path in find_files(sources):
        n_before = len(builder.problems)
        n_lines = _scan_one(path, builder, format)
        found = builder.problems[n_before:]
        if not n_lines and not any(p.severity == "error" for p in found):
            note = Problem("holds no turns", str(path), severity="note", kind="empty")
            builder.problems.append(note)
    return builder


def _scan_one(path: Path, builder: AnnotationBuilder, format: str | None) -> int:
    """Add the turns of a file, and count its lines; messages have the original name."""
    n_before = len(builder.problems)
    with unpacked(path) as plain:
        chosen = format_of_file(plain) if format is None else TURN_FORMATS[format]
        n_lines = chosen.scan(plain, builder)
        if plain != path:
            name = STANDARD_INPUT_NAME if str(path) == STANDARD_INPUT else str(path)
            builder.files[-1] = name
            builder.problems[n_before:] = [
                replace(problem, path=name) for problem in builder.problems[n_before:]
            ]
    return n_lines


def unnamed_recording(sources: str | Path | Sequence[str | Path]) -> bool:
    """Whether sources are a single file that is of one recording and does not name it.

    Its turns then have the file's name for a recording, which may mean nothing.
    """
    if isinstance(sources, str | Path):
        sources = [sources]
    if len(sources) != 1 or str(sources[0]) == STANDARD_INPUT:
        return False
    files = find_files(sources)
    return len(files) == 1 and not _format(files[0]).names_recordings


def _format(path: Path) -> TurnFormat:
    with unpacked(path) as plain:
        return format_of_file(plain)


def _check_sources(owner: str, sources: object) -> None:
    listed = sources if isinstance(sources, Sequence) else [sources]
    are_paths = all(isinstance(source, str | os.PathLike) for source in listed)
    if isinstance(sources, Annotation) or not are_paths:
        raise InvalidParameterError(
            f"{owner}: sources must be the paths of files, folders or patterns, got a "
            f"value of type {type(sources).__name__}; turns in memory need no reading"
        )


def find_files(sources: str | Path | Sequence[str | Path]) -> list[Path]:
    """Files that a list of files, folders, patterns and lists stands for."""
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


def turn_files(sources: Sequence[str | Path]) -> Iterator[str | Path]:
    """Give the sources of turns and the files that they mean, when asked for them."""
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
            f"{path}: the folder holds no file with the suffix {', '.join(SUFFIXES)}"
        )
    if not inside and len(others) > 1:
        raise InvalidParameterError(
            f"{path}: the folder holds files of several formats ({', '.join(others)}), "
            f"perhaps of the same turns; choose with a pattern such as "
            f"'{path}/*{others[0]}'"
        )
    return inside or kinds[others[0]]


def _listed(path: Path) -> list[Path]:
    names = [line.text.split()[-1] for line in scan_lines(path) if line.text.strip()]
    files = []
    for name in names:
        # As written, or beside the list.
        found = next((p for p in (Path(name), path.parent / name) if p.is_file()), None)
        if found is None:
            raise MissingFileError(f"{path}: {name}: no such file")
        files.append(found)
    return files
