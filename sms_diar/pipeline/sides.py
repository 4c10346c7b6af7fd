"""The two sides of a score, reference and hypothesis, from paths or values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.detect import is_label_table
from sms_diar.io.labels import read_labels
from sms_diar.io.turns.files import read_annotation, unnamed_recording
from sms_diar.io.turns.uem import read_uem
from sms_diar.timeline.annotation import Annotation, require_turns
from sms_diar.timeline.regions import Uem
from sms_diar.types import Problem, Turn

TurnSource: TypeAlias = str | Path | Annotation | Iterable[str | Path] | Iterable[Turn]
"""Turns, or where they are: files of any format that holds turns, folders, patterns,
lists of files, ``-`` for standard input."""

LabelSource: TypeAlias = str | Path | Mapping[str, str]
"""Speaker of each id, or where that is: utt2spk, CSV or JSON."""


def turns_of(name: str, source: TurnSource) -> Annotation:
    """Turns of files or of values; `name` is what messages call them."""
    if isinstance(source, Annotation):
        return source
    if isinstance(source, str | Path):
        return read_annotation(source)
    rule = "a path, a list of paths, an Annotation or an iterable of Turn"
    if isinstance(source, Mapping):
        raise InvalidParameterError(
            f"score: {name} must be {rule}, got a mapping; use score_labels for labels "
            f"by id"
        )
    if not isinstance(source, Iterable):
        raise InvalidParameterError(f"score: {name} must be {rule}, got {source!r}")
    paths: list[str | Path] = []
    turns: list[Turn] = []
    for place, item in enumerate(source):
        if isinstance(item, Turn) and not paths:
            turns.append(item)
        elif isinstance(item, str | Path) and not turns:
            paths.append(item)
        else:
            raise InvalidParameterError(
                f"score: {name} must be {rule}, got {item!r} at place {place}"
            )
    return (
        read_annotation(paths) if paths else Annotation.from_turns(turns, source=name)
    )


def reference_turns(source: TurnSource) -> Annotation:
    """True turns, of which there must be some."""
    if isinstance(source, str | Path) and is_label_table(source):
        raise InvalidParameterError(
            f"score: reference must hold turns, got the table of labels {source}; use "
            f"score_labels"
        )
    true = turns_of("reference", source)
    if not len(true) and paths_of(source):
        raise DataFormatError("holds no turns to score against", path=true.files[0])
    require_turns("score", "reference", true)
    return true


def regions_of(uem: str | Path | Uem | None) -> Uem | None:
    """Regions that are scored, if they are given."""
    if uem is None or isinstance(uem, Uem):
        return uem
    if isinstance(uem, str | Path):
        return read_uem(uem)
    raise InvalidParameterError(f"score: uem must be a path or a Uem, got {uem!r}")


def labels_of(name: str, source: LabelSource) -> Mapping[str, str]:
    """Speaker of each id; `name` is what messages call them."""
    if isinstance(source, Mapping):
        return source
    if isinstance(source, str | Path):
        return read_labels(source)
    raise InvalidParameterError(
        f"score_labels: {name} must be a path or a mapping from id to speaker, got "
        f"{source!r}"
    )


def paths_of(source: TurnSource) -> list[str | Path]:
    """Paths that a source is made of; none if it holds turns."""
    if isinstance(source, str | Path):
        return [source]
    if isinstance(source, list | tuple):
        return [item for item in source if isinstance(item, str | Path)]
    return []


def shown_source(source: object, otherwise: str) -> str:
    """Path as it was given, or what stands for values."""
    if isinstance(source, list | tuple) and len(source) == 1:
        (source,) = source
    return str(source) if isinstance(source, str | Path) else otherwise


@dataclass(frozen=True)
class System:
    """Where the turns of a system are, or the turns if they are in no file.

    Parameters
    ----------
    name : str
        What messages call it.
    paths : list of str or Path
        What its source is made of; empty for turns.
    turns : Annotation or None
        None where any worker can read them from the paths.
    """

    name: str
    paths: list[str | Path]
    turns: Annotation | None

    @classmethod
    def of(cls, name: str, source: TurnSource) -> System:
        """Read what others, on other machines perhaps, cannot."""
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
    """Turns of a hypothesis under the names of the reference, and what is odd.

    Files of some formats do not say which recording they are of. One such file is
    taken for the recording of the other side if that has one only, too.
    """
    if not len(found) or set(found.recordings) & set(true.recordings):
        return found, ()
    both_single = len(true.recordings) == len(found.recordings) == 1
    unnamed = any(paths and unnamed_recording(paths) for paths in (reference, source))
    if both_single and unnamed:
        return replace(found, recordings=true.recordings), ()
    shown = [
        ", ".join(repr(name) for name in sorted(one.recordings)[:3])
        + (", ..." if len(one.recordings) > 3 else "")
        for one in (true, found)
    ]
    text = (
        f"no recording is in both: the reference has {shown[0]}, the hypothesis "
        f"{shown[1]}; nothing is compared, so give them the same names"
    )
    where = found.files[0] if found.files else None
    return found, (Problem(text, where, severity="warning", kind="nothing in common"),)
