"""Inputs of scores: reference and hypothesis from paths or values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.detect import is_label_table
from sms_diar.io.labels import read_labels
from sms_diar.io.transcripts.files import read_transcript
from sms_diar.io.turns.files import find_files, read_annotation, unnamed_recording
from sms_diar.io.turns.uem import read_uem
from sms_diar.timeline.annotation import Annotation, require_turns
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.transcript import Phrase, Transcript
from sms_diar.types import Problem, Turn

_Part = TypeVar("_Part")

TurnSource: TypeAlias = str | Path | Annotation | Iterable[str | Path] | Iterable[Turn]
"""Turns, or paths of turns: files of any turn format, folders, patterns, lists of
files, or ``-`` for standard input."""

WordSource: TypeAlias = str | Path | Iterable[str | Path] | Iterable[Phrase]
"""Transcript or phrases, or paths of transcripts: files, patterns or lists of files."""

LabelSource: TypeAlias = str | Path | Mapping[str, str]
"""Speaker of each id, or the path of a table: utt2spk, CSV or JSON."""


def turns_of(name: str, source: TurnSource) -> Annotation:
    """Read turns from files or values; `name` is used in messages."""
    if isinstance(source, Annotation):
        return source
    if isinstance(source, str | Path):
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
    return read_annotation(paths)


def words_of(
    owner: str, name: str, source: WordSource, format: str | None = None
) -> Transcript:
    """Read words from files or values; `name` is used in messages."""
    if isinstance(source, Transcript):
        return source
    phrases: list[Phrase] = []
    for item in [source] if isinstance(source, str | Path) else source:
        if isinstance(item, str | Path):
            for file in find_files(item):
                phrases += read_transcript(file, format)
        elif isinstance(item, Phrase):
            phrases.append(item)
        else:
            problem = f"must be a path, paths, a Transcript or phrases, got {item!r}"
            raise InvalidParameterError(problem, owner=owner, parameter=name)
    return Transcript(tuple(phrases))


def matched_words(
    true: Transcript, words: Transcript, *sources: WordSource
) -> tuple[dict[str, tuple[list[Phrase], list[Phrase]]], list[Problem]]:
    """Pair the phrases of reference and system by recording, as turns are.

    `sources` belong to the reference and to the system.
    """
    where = shown_source(sources[1], "transcript")
    names, problems = _matched_names(
        true.recordings, words.recordings, where, *map(paths_of, sources)
    )
    ref = true.by_recording()
    hyp = dict(zip(names, words.by_recording().values(), strict=True))
    for name in sorted({*ref} ^ {*hyp}):
        side, fate = ("hypothesis", "missed") if name in ref else ("reference", "extra")
        text = f"recording {name!r} is not in the {side}: all its words are {fate}"
        problems.append(Problem(text, severity="warning", kind=f"not in the {side}"))
    pairs = {n: (ref.get(n, []), hyp.get(n, [])) for n in sorted({*ref, *hyp})}
    return pairs, problems


def by_recording_of(
    owner: str, parameter: str, parts: Mapping[str, _Part], names: Sequence[str]
) -> Mapping[str, _Part]:
    """Return the parts of recordings, of which at least one must be in `names`.

    Single recordings of different names are taken for the same.
    """
    if len(parts) == len(names) == 1:
        return dict(zip(names, parts.values(), strict=True))
    if parts and not set(parts) & set(names):
        problem = (
            f"must have a recording of the turns ({shown_names(names)}), got "
            f"{shown_names(parts)}; files are matched by their names without suffix"
        )
        raise InvalidParameterError(problem, owner=owner, parameter=parameter)
    return parts


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


def paths_of(source: object) -> list[str | Path]:
    """List the paths of a source; empty for values in memory."""
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
    if not len(found):
        return found, ()
    where = found.files[0] if found.files else None
    names, problems = _matched_names(
        true.recordings, found.recordings, where, reference, source
    )
    return replace(found, recordings=tuple(names)), tuple(problems)


def _matched_names(
    true: Sequence[str],
    names: Sequence[str],
    where: str | None,
    *sides: list[str | Path],
) -> tuple[Sequence[str], list[Problem]]:
    """Rename the recordings of a system as `matched_turns` does, and return remarks."""
    if not names or set(names) == set(true):
        return names, []
    warning = partial(Problem, path=where, severity="warning")
    similar = similar_names(names, true)
    if set(names) & set(true):
        if not similar:
            return names, []
        text = f"recordings are compared by their names; {_did_you_mean(similar)}"
        return names, [warning(text, kind="similar names")]
    if len(true) == len(names) == 1:
        text = (
            f"the only recording, {names[0]!r}, is taken for {true[0]!r}, the only one "
            f"of the other side"
        )
        remark = warning(text, kind="only recording")
        if any(paths and unnamed_recording(paths) for paths in sides):
            remark = replace(remark, severity="note")
        return true, [remark]
    text = (
        f"no recording is in both: the reference has {shown_names(true)}, the "
        f"hypothesis {shown_names(names)}; nothing is compared, so give them the same "
        f"names"
    )
    if similar:
        text += f"; {_did_you_mean(similar)}"
    return names, [warning(text, kind="nothing in common")]


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
