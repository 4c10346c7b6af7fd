"""Inputs of scores: reference and hypothesis from paths or values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._lines import scan_lines
from sms_diar.io.detect import is_label_table
from sms_diar.io.labels import read_labels
from sms_diar.io.turns.files import find_files, read_annotation, unnamed_recording
from sms_diar.io.turns.registry import BY_SUFFIX
from sms_diar.io.turns.uem import read_uem
from sms_diar.timeline.annotation import Annotation, require_turns
from sms_diar.timeline.regions import Uem
from sms_diar.types import Problem, Severity, Turn

TurnSource: TypeAlias = str | Path | Annotation | Iterable[str | Path] | Iterable[Turn]
"""Turns, or paths of turns: files of any turn format, folders, patterns, lists of
files, or ``-`` for standard input."""

LabelSource: TypeAlias = str | Path | Mapping[str, str]
"""Speaker of each id, or the path of a table: utt2spk, CSV or JSON."""

_RTTM_LINES = ("SPEAKER", "SPKR-INFO", "LEXEME", "SEGMENT", "NOSCORE", "NON-")


def turns_of(name: str, source: TurnSource) -> Annotation:
    """Read turns from files or values; `name` is used in messages."""
    if isinstance(source, Annotation):
        return source
    if isinstance(source, str | Path):
        _refuse_stm([source])
        return read_annotation(source)
    rule = "a path, a list of paths, an Annotation or an iterable of Turn"
    if isinstance(source, Mapping):
        problem = f"must be {rule}, got a mapping; use score_labels for labels by id"
        raise InvalidParameterError(problem, owner="score", parameter=name)
    if not isinstance(source, Iterable):
        problem = f"must be {rule}, got {source!r}"
        raise InvalidParameterError(problem, owner="score", parameter=name)
    paths: list[str | Path] = []
    turns: list[Turn] = []
    for index, item in enumerate(source):
        if isinstance(item, Turn) and not paths:
            turns.append(item)
        elif isinstance(item, str | Path) and not turns:
            paths.append(item)
        else:
            problem = f"must be {rule}, got {item!r} at index {index}"
            raise InvalidParameterError(problem, owner="score", parameter=name)
    if not paths:
        return Annotation.from_turns(turns, source=name)
    _refuse_stm(paths)
    return read_annotation(paths)


def reference_turns(source: TurnSource) -> Annotation:
    """Read the reference, which must not be empty."""
    if isinstance(source, str | Path) and is_label_table(source):
        problem = (
            f"must contain turns, got the table of labels {source}; use score_labels"
        )
        raise InvalidParameterError(problem, owner="score", parameter="reference")
    true = turns_of("reference", source)
    if not len(true) and paths_of(source):
        raise DataFormatError("has no turns to score against", path=true.files[0])
    require_turns("score", "reference", true)
    return true


def regions_of(uem: str | Path | Uem | None) -> Uem | None:
    """Read the scored regions, if any."""
    if uem is None or isinstance(uem, Uem):
        return uem
    if isinstance(uem, str | Path):
        return read_uem(uem)
    problem = f"must be a path or a Uem, got {uem!r}"
    raise InvalidParameterError(problem, owner="score", parameter="uem")


def labels_of(name: str, source: LabelSource) -> Mapping[str, str]:
    """Read the speaker of each id; `name` is used in messages."""
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str | Path):
        return read_labels(source)
    problem = f"must be a path or a mapping from id to speaker, got {source!r}"
    raise InvalidParameterError(problem, owner="score_labels", parameter=name)


def paths_of(source: TurnSource) -> list[str | Path]:
    """List the paths of a source; empty for turns in memory."""
    if isinstance(source, str | Path):
        return [source]
    if isinstance(source, list | tuple):
        return [item for item in source if isinstance(item, str | Path)]
    return []


def shown_source(source: object, otherwise: str) -> str:
    """Return a single path as text, or `otherwise` for other sources."""
    if isinstance(source, list | tuple) and len(source) == 1:
        (source,) = source
    return str(source) if isinstance(source, str | Path) else otherwise


@dataclass(frozen=True)
class System:
    """Paths of the turns of a system, or the turns if they are in memory.

    `paths` is empty for turns in memory, and `turns` is None if any worker can read
    them from the paths.
    """

    name: str
    paths: list[str | Path]
    turns: Annotation | None

    @classmethod
    def of(cls, name: str, source: TurnSource) -> System:
        """Read sources that workers on other machines cannot read."""
        paths = paths_of(source)
        mixed = isinstance(source, list | tuple) and len(source) > len(paths)
        readable = paths and not mixed and "-" not in map(str, paths)
        return cls(name, paths, None if readable else turns_of(name, source))


def matched_turns(
    true: Annotation,
    reference: list[str | Path],
    found: Annotation,
    source: list[str | Path],
) -> tuple[Annotation, tuple[Problem, ...]]:
    """Give the turns of one side the names of the recordings of the other side.

    If each side has a single recording and the names differ, they are taken for the
    same recording. A remark says so: a note if a file is in a format without names of
    recordings, otherwise a warning. `reference` and `source` are the files of the two
    sides; empty for turns in memory.
    """
    if not len(found) or set(found.recordings) == set(true.recordings):
        return found, ()
    where = found.files[0] if found.files else None
    similar = similar_names(found.recordings, true.recordings)
    if set(found.recordings) & set(true.recordings):
        if not similar:
            return found, ()
        return found, (
            Problem(
                f"recordings are compared by their names; {_did_you_mean(similar)}",
                where,
                severity="warning",
                kind="similar names",
            ),
        )
    if len(true.recordings) == len(found.recordings) == 1:
        unnamed = any(
            paths and unnamed_recording(paths) for paths in (reference, source)
        )
        text = (
            f"the only recording, {found.recordings[0]!r}, is taken for "
            f"{true.recordings[0]!r}, the only one of the other side"
        )
        severity: Severity = "note" if unnamed else "warning"
        return replace(found, recordings=true.recordings), (
            Problem(text, where, severity=severity, kind="only recording"),
        )
    text = (
        f"no recording is in both: the reference has {shown_names(true.recordings)}, "
        f"the hypothesis {shown_names(found.recordings)}; nothing is compared, so give "
        f"them the same names"
    )
    if similar:
        text += f"; {_did_you_mean(similar)}"
    return found, (Problem(text, where, severity="warning", kind="nothing in common"),)


def similar_names(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Find known names that differ from unknown ones by a prefix or a suffix.

    The part that differs must be separated by something else than a letter or a digit.

    >>> similar_names(["meeting.wav", "data/call", "call2"], ["meeting", "call"])
    {'meeting.wav': 'meeting', 'data/call': 'call'}
    """
    listed, others = list(names), list(known)
    missing = [name for name in others if name not in listed]
    similar = {}
    for name in listed:
        if name not in others:
            close = [other for other in missing if _differ_by_an_end(name, other)]
            if len(close) == 1:
                similar[name] = close[0]
    return similar


def _differ_by_an_end(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    rest = long.removeprefix(short)
    if rest != long:
        return not rest[:1].isalnum()
    rest = long.removesuffix(short)
    return rest != long and not rest[-1:].isalnum()


def _did_you_mean(similar: Mapping[str, str]) -> str:
    shown = [f"{name!r} for {other!r}" for other, name in similar.items()]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return f"did you mean {', '.join(shown[:3])}{more}?"


def shown_names(names: Iterable[str]) -> str:
    """Format the first few names in alphabetical order."""
    listed = sorted(names)
    shown = ", ".join(repr(name) for name in listed[:3])
    return shown + (", ..." if len(listed) > 3 else "")


def _refuse_stm(paths: Iterable[str | Path]) -> None:
    """Refuse STM, the format of NIST for transcripts, by its suffix or first line."""
    for path in find_files(list(paths)):
        if path.suffix in BY_SUFFIX or path.suffix == ".gz" or not path.is_file():
            continue
        if path.suffix == ".stm" or _begins_like_stm(path):
            raise DataFormatError(
                "this is STM, which is not read yet; convert each line to a line of "
                "RTTM: SPEAKER RECORDING 1 START DURATION <NA> <NA> NAME <NA> <NA>",
                path=path,
            )


def _begins_like_stm(path: Path) -> bool:
    """Return True if the first line is RECORDING CHANNEL SPEAKER START END ..."""
    lines = (line.text for line in scan_lines(path) if line.is_readable)
    first = next((line for line in lines if not line.startswith((";", "#"))), "")
    fields = first.split(maxsplit=5)
    return (
        len(fields) > 4
        and not first.upper().startswith(_RTTM_LINES)
        and not _is_number(fields[2])
        and _is_number(fields[3])
        and _is_number(fields[4])
    )


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit() and text.isascii()
