"""Lists of trials: pairs to score, their true classes (keys), and scores of pairs.

Text has one trial per line, in one of these forms:

* Kaldi: ``enrol test``, ``enrol test target`` or, with scores, ``enrol test score``;
* lists and keys of NIST until 2012, between blanks or commas: model, optionally gender
  (m or f), segment, side (a or b), and optionally target or nontarget, which may begin
  with ``known_`` or ``unknown_``; further columns are ignored;
* tables with a header, as used by NIST since 2016: columns ``modelid``, ``segmentid``
  (or ``segment``), ``side``, ``targettype`` and ``LLR``, in any order.

HDF5 files of SIDEKIT (Key, Ndx and Scores) are also read. A segment of NIST is found
among ids that are its name, its name without folder and ``.sph``, or the latter with
the side, such as ``xaaa_a``, ``xaaa_A`` and ``xaaa:a``.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from sms_diar._validation import check_path
from sms_diar.errors import DataFormatError
from sms_diar.io._hdf5 import is_hdf5, opened_hdf5
from sms_diar.io._lines import (
    Line,
    check_fields,
    check_is_file,
    split_fields,
    strict_lines,
)
from sms_diar.limits import LONGEST_NUMBER, MOST_MASK_EXPANSION
from sms_diar.types import BoolArray, FloatArray, IntArray

_ALIASES = {
    **{"modelid": "model", "segmentid": "test", "segment": "test", "channel": "side"},
    **{"targettype": "trials", "target": "trials", "llr": "scores", "score": "scores"},
}
_SIDES = {"a": "a", "b": "b", "1": "a", "2": "b"}
_GENDERS = ("m", "f")
_TRUTH = {"target": True, "nontarget": False}
_AUDIO = re.compile(r"\.(sph|flac|wav)$", re.IGNORECASE)

Kind: TypeAlias = Literal["trials", "scores"]


class Trials(NamedTuple):
    """Pairs to score, and whether each is a target, if known.

    Lists can have 10^8 lines, so a trial is stored as two indices, not two names.
    `groups` are names for `sms_diar.metrics.det_curve`.
    """

    enrolled: tuple[str, ...]
    tested: tuple[str, ...]
    rows: IntArray
    columns: IntArray
    is_target: BoolArray | None = None
    groups: tuple[str, ...] | None = None
    scores: FloatArray | None = None


class _Trial(NamedTuple):
    """One trial; the first of `tests` that is known is the id of the test."""

    model: str
    tests: tuple[str, ...]
    value: float | None = None  # score, or whether it is a target
    group: str = ""
    line: Line | None = None


def count_trials(path: Path) -> int:
    """Count the lines of a list, or bound the trials of HDF5, without loading them."""
    check_is_file(path)
    if is_hdf5(path):
        with opened_hdf5(path) as file:
            return sum(file.file[n].size for n in file.names() if n == "trial_mask")
    with path.open("rb") as stream:
        blocks = iter(lambda: stream.read(1 << 20), b"")
        return 1 + sum(block.count(b"\n") for block in blocks)


def read_trials(
    path: Path,
    enrolled: tuple[str, ...],
    tested: tuple[str, ...],
    source: str | Path = "the embeddings",
) -> Trials:
    """Read a list of trials or a key, and look up its ids in `enrolled` and `tested`.

    `source` names in messages where these are from.
    """
    return _collected(path, "trials", _indices(enrolled), _indices(tested), source)


def read_scores(path: str | Path) -> Trials:
    """Read scores of pairs, with the ids in order of appearance."""
    check_path("read_scores", "path", path)
    return _collected(Path(path), "scores", {}, {})


def _indices(names: tuple[str, ...]) -> dict[str, int]:
    return {name: index for index, name in enumerate(names)}


def _collected(
    path: Path,
    kind: Kind,
    left: dict[str, int],
    right: dict[str, int],
    source: str | Path = "",
) -> Trials:
    """Store the trials of a file; ids of scores are added to `left` and `right`."""
    check_is_file(path)
    rows, columns, groups = array("q"), array("q"), []
    values: array[Any] = array("d" if kind == "scores" else "b")
    for trial in _in_hdf5(path, kind) if is_hdf5(path) else _in_text(path, kind):
        if kind == "scores":
            left.setdefault(trial.model, len(left))
            right.setdefault(trial.tests[0], len(right))
        test = next((name for name in trial.tests if name in right), None)
        if trial.model not in left or test is None:
            names = (
                (trial.tests[-1], "tests") if test is None else (trial.model, "models")
            )
            problem = f"{names[0]!r} is not among the {names[1]} of {source}"
            raise _fault(path, trial.line, problem)
        rows.append(left[trial.model])
        columns.append(right[test])
        groups.append(trial.group)
        if trial.value is not None:
            values.append(trial.value)
    if not rows:
        raise DataFormatError(f"contains no {kind}", path=path)
    return Trials(
        tuple(left),
        tuple(right),
        np.frombuffer(rows, dtype=np.int64),
        np.frombuffer(columns, dtype=np.int64),
        np.frombuffer(values, np.bool_) if values.typecode == "b" and values else None,
        tuple(groups) if any(groups) else None,
        np.frombuffer(values) if values.typecode == "d" else None,
    )


def read_systems(
    paths: Sequence[Path], key: Path | None = None
) -> tuple[Trials, FloatArray]:
    """Read the scores of several systems, shape (n_trials, n_systems).

    The trials are listed in the key or, without a key, in the first file.
    """
    first = trials = read_scores(paths[0])
    if key is not None:
        trials = read_trials(key, first.enrolled, first.tested, paths[0])
        if trials.is_target is None or len(np.unique(trials.is_target)) != 2:
            problem = "a key must mark some trials as target and others as nontarget"
            raise DataFormatError(problem, path=key)
    columns = [scores_of(trials, first, paths[0])]
    columns += [scores_of(trials, read_scores(path), path) for path in paths[1:]]
    return trials, np.stack(columns, axis=1)


def scores_of(trials: Trials, scored: Trials, path: Path) -> FloatArray:
    """Look up the scores of trials, shape (n_trials,), in a file, `path`."""
    if scored.scores is None:
        raise DataFormatError("contains no scores", path=path)
    left, right = _indices(scored.enrolled), _indices(scored.tested)
    rows = np.array([left.get(name, -1) for name in trials.enrolled])[trials.rows]
    columns = np.array([right.get(name, -1) for name in trials.tested])[trials.columns]
    wanted = np.where((rows < 0) | (columns < 0), -1, rows * len(right) + columns)
    codes = scored.rows * len(right) + scored.columns
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    places = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    missing = codes[places] != wanted
    problem = ""
    if missing.any():
        first = int(np.argmax(missing))
        model, test = trials.rows[first], trials.columns[first]
        problem = (
            f"has no score of {np.count_nonzero(missing)} of {len(wanted)} trials, "
            f"such as {trials.enrolled[model]} {trials.tested[test]}"
        )
    elif (np.diff(codes) == 0).any():
        problem = "has two scores of one trial"
    elif (np.diff(np.sort(wanted)) == 0).any():
        problem = (
            "has one score for two trials of the list; if these are two sides of a "
            "segment, the ids must have the side, such as xaaa_a"
        )
    if problem:
        raise DataFormatError(problem, path=path)
    return scored.scores[order][places]


def _fault(path: Path, line: Line | None, problem: str) -> DataFormatError:
    number, text = (None, None) if line is None else (line.number, line.text)
    return DataFormatError(problem, path=path, line=number, text=text)


def _in_text(path: Path, kind: Kind) -> Iterator[_Trial]:
    names: list[str] | None = None
    separator: str | None = None
    for line in strict_lines(path):
        if line.number == 1:
            separator = _separator(line.text)
        fields = split_fields(line.text)
        if separator is not None:
            fields = [field.strip() for field in line.text.split(separator)]
        try:
            if names is None:
                header = [_column(field) for field in fields]
                if {"model", "test"} <= set(header):
                    if kind == "scores" and kind not in header:
                        raise ValueError("the header has no column 'LLR'")
                    names = header
                    continue
                if line.number == 1 and _is_title(fields):
                    continue
                names = _columns(fields, kind)
            if len(fields) != len(names):
                raise ValueError(
                    f"this line has {len(fields)} fields, the first has {len(names)}"
                )
            yield _parsed(dict(zip(names, fields, strict=True)), kind, line)
        except ValueError as error:
            raise _fault(path, line, str(error)) from None


def _column(name: str) -> str:
    return _ALIASES.get(name.lower(), name.lower())


def _separator(text: str) -> str | None:
    if "\t" in text and "model" in map(_column, text.split("\t")):
        return "\t"
    return "," if "," in text and len(split_fields(text)) == 1 else None


def _is_title(fields: list[str]) -> bool:
    """Return true for a first line of unknown column names, as in keys of NIST."""
    words = {field.lower() for field in fields}
    return len(fields) > 3 and not words & {*_SIDES, *_TRUTH, *_GENDERS}


def _columns(fields: list[str], kind: Kind) -> list[str]:
    """Name the columns of a list without header from its first line."""
    width = len(fields)
    if width < 2 or (kind == "scores" and width != 3):
        rule = "3" if kind == "scores" else "2 or more"
        raise ValueError(f"a line has {rule} fields, this one has {width}")
    names = ["model", "test", "side", kind]
    if width == 3 and (kind == "scores" or fields[2].lower() not in ("a", "b")):
        names.remove("side")
    elif width > 3 and fields[1].lower() in _GENDERS:
        names.insert(1, "gender")
    return (names + [""] * width)[:width]


def _parsed(row: Mapping[str, str], kind: Kind, line: Line) -> _Trial:
    """Parse a line, given by column."""
    model, test = check_fields([row["model"], row["test"]])
    side, text = row.get("side", ""), row.get(kind)
    if side and side.lower() not in _SIDES:
        raise ValueError(f"a side is a or b, got {side!r}")
    tests = _test_names(test, side)
    if text is None:
        return _Trial(model, tests, line=line)
    if kind == "scores":
        return _Trial(model, tests[:1], _number(text), line=line)
    known, _, word = text.lower().rpartition("_")
    if word not in _TRUTH or known not in ("", "known", "unknown"):
        raise ValueError(f"a trial is target or nontarget, got {text!r}")
    group = "" if _TRUTH[word] else known
    return _Trial(model, tests, _TRUTH[word], group, line)


def _number(text: str) -> float:
    try:
        value = float(text) if len(text) <= LONGEST_NUMBER else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"a score must be a finite number, got {text[:80]!r}")
    return value


def _test_names(segment: str, side: str) -> tuple[str, ...]:
    """List the possible ids of a side of a segment; the most specific is first."""
    stem = _AUDIO.sub("", segment.rpartition("/")[2])
    if not side:
        return segment, stem
    side = _SIDES[side.lower()]
    return f"{stem}_{side}", f"{stem}_{side.upper()}", f"{stem}:{side}", segment, stem


def _in_hdf5(path: Path, kind: Kind) -> Iterator[_Trial]:
    """Yield the trials of a Key, Ndx or Scores of SIDEKIT."""
    needed = {"trials": ["trial_mask"], "scores": ["score_mask", "scores"]}[kind]
    with opened_hdf5(path) as file:
        kinds = {"trials": "a Key or Ndx", "scores": "Scores"}
        file.require(("modelset", "segset", *needed), kinds[kind])
        models, tests = file.strings("modelset"), file.strings("segset")
        arrays = [file.array(name, expansion=MOST_MASK_EXPANSION) for name in needed]
        check_fields([*models, *tests])
    shape = len(models), len(tests)
    for name, part in zip(needed, arrays, strict=True):
        if part.shape != shape or part.dtype.kind not in "biuf":
            raise DataFormatError(
                f"dataset {name!r} must have shape {shape}, one row per model and one "
                f"column per segment, got {part.dtype} of shape {part.shape}",
                path=path,
            )
    mask, values = arrays[0], arrays[-1]
    if kind == "trials":
        # A Key has 1 for targets and -1 for non-targets, an Ndx has 1 for all trials.
        values = mask > 0 if (mask < 0).any() else np.full(shape, None)
    elif not np.isfinite(values[mask != 0]).all():
        raise DataFormatError("scores must be finite, got NaN or infinity", path=path)
    places = np.nonzero(mask)
    listed = (numbers.tolist() for numbers in (*places, values[places]))
    for row, column, value in zip(*listed, strict=True):
        yield _Trial(models[row], (tests[column],), value)
