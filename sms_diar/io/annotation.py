"""Turns of any number of files, of any format that holds turns.

RTTM, tables in the manner of CTM and CSV are told apart by their suffixes; what
has another suffix is taken for RTTM. Lines keep their numbers, so that later
problems can name them.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from sms_diar.errors import InvalidParameterError, MissingFileError
from sms_diar.io._lines import scan_lines
from sms_diar.io.ctm import scan_ctm
from sms_diar.io.problems import refuse_errors
from sms_diar.io.rttm import scan_rttm
from sms_diar.io.turn_csv import scan_turn_csv
from sms_diar.timeline.annotation import Annotation, AnnotationBuilder, turn_problems
from sms_diar.types import Problem

_SCANNERS: dict[str, Callable[[Path, AnnotationBuilder], int]] = {
    ".rttm": scan_rttm,
    ".ctm": scan_ctm,
    ".csv": scan_turn_csv,
}

SUFFIXES = tuple(_SCANNERS)
"""What is read from a folder."""

LIST_SUFFIXES = (".lst", ".list", ".scp", ".flist")
"""A file that names others, one per line."""


def read_annotation(
    sources: str | Path | Sequence[str | Path],
) -> Annotation:
    """Read turns of one or more files.

    Parameters
    ----------
    sources : path or sequence of paths
        Files, folders (whose RTTM, CTM and CSV files are read), patterns such as
        ``out/*.rttm``, and lists of files (``.lst``, ``.list``, ``.scp``).

    Returns
    -------
    annotation : Annotation
        Turns in the order of files and lines. Bad lines are refused by file and
        line.
    """
    builder = _scan_all("read_annotation", sources)
    refuse_errors(builder.problems)
    return builder.annotation()


def check_annotation(sources: str | Path | Sequence[str | Path]) -> list[Problem]:
    """List everything there is to say about files of turns, errors included."""
    annotation = _scan_all("check_annotation", sources).annotation()
    found = [*annotation.problems, *turn_problems(annotation)]
    order = {path: place for place, path in enumerate(annotation.files)}
    return sorted(found, key=lambda p: (order.get(p.path or "", -1), p.line or 0))


def _scan_all(
    owner: str, sources: str | Path | Sequence[str | Path]
) -> AnnotationBuilder:
    """Read what can be read; errors are among the problems."""
    _check_sources(owner, sources)
    builder = AnnotationBuilder()
    for path in find_files(sources):
        n_before = len(builder.problems)
        scan = _SCANNERS.get(path.suffix, scan_rttm)
        n_lines = scan(path, builder)
        found = builder.problems[n_before:]
        if not n_lines and not any(p.severity == "error" for p in found):
            note = Problem("holds no turns", str(path), severity="note", kind="empty")
            builder.problems.append(note)
    return builder


def _check_sources(owner: str, sources: object) -> None:
    listed = sources if isinstance(sources, Sequence) else [sources]
    if not all(isinstance(source, str | os.PathLike) for source in listed):
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
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix in SUFFIXES)
            if not inside:
                raise MissingFileError(
                    f"{path}: the folder holds no file with the suffix "
                    f"{', '.join(SUFFIXES)}"
                )
            files += inside
        elif path.is_file():
            files += _listed(path) if path.suffix in LIST_SUFFIXES else [path]
        else:
            matches = sorted(glob.glob(str(source), recursive=True))  # noqa: PTH207
            if not matches:
                raise MissingFileError(f"{path}: no such file")
            files += [Path(match) for match in matches]
    return files


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
