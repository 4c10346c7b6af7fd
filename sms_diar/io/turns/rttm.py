"""NIST RTTM: one turn per line.

``SPEAKER recording channel onset duration <NA> <NA> speaker <NA> <NA>``, with 9 or
10 fields. All commands read it by the same rules:

- Onset and duration are added as whole ticks, so that turns which touch in the file
  touch exactly in memory. More than 12 decimals are rounded, with a warning.
- Types are read in any case, as by md-eval. Lines that are blank, comments (``;``
  or ``#``) or of another NIST type contain no turns and are skipped. Any other type
  is an error; a file of another format would otherwise be read as silence.
- Byte order marks and CR LF line ends, common in files from annotators, are noted.
- A negative onset is an error.
- A duration of zero or below is a warning, not an error. Systems write such lines,
  and scoring tools treat them differently (``metrics/diarization/CONVENTIONS.md``),
  so the columns of the annotation contain them, but its turns do not.

Files with uniform lines, as written by programs, are parsed column by column: a million
words as Python objects would cost more than everything else. Other files are parsed
line by line, with the same result.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt

from sms_diar._files import write_text
from sms_diar._text import shown
from sms_diar._validation import check_path
from sms_diar.errors import InvalidParameterError
from sms_diar.io._lines import check_field, check_fields, check_is_file
from sms_diar.io.problems import refuse_errors
from sms_diar.io.turns._text import TurnFields, scan_turn_lines
from sms_diar.timeline.annotation import (
    Annotation,
    AnnotationBuilder,
    refuse_turns_path,
)
from sms_diar.timeline.ticks import parse_ticks
from sms_diar.types import IntArray, Problem, Turn

log = logging.getLogger(__name__)

_OTHER_TYPES = frozenset(
    {
        "A/P",
        "CB",
        "EDIT",
        "FILLER",
        "IP",
        "LEXEME",
        "NO_RT_METADATA",
        "NON-LEX",
        "NON-SPEECH",
        "NOSCORE",
        "SEGMENT",
        "SPKR-INFO",
        "SU",
    }
)
"""NIST line types other than SPEAKER, which contain no turns."""

_EXCLUDING = frozenset({"NOSCORE", "NON-LEX"})
_WIDTHS = (10, 9)
_SPEAKER = np.frombuffer(b"SPEAKER", dtype=np.uint8)

LEAST_DECIMALS, MOST_DECIMALS = 3, 9


def read_rttm(path: str | Path) -> Annotation:
    """Read the speaker turns of an RTTM file.

    Parameters
    ----------
    path : str or Path
        File with one turn per line.

    Returns
    -------
    annotation : Annotation
        Turns in file order. Lines without a positive duration, which some systems
        write, are skipped; their number is logged.

    Raises
    ------
    DataFormatError
        If a line is invalid; the message names the file and the line.

    See Also
    --------
    sms_diar.io.turns.files.read_annotation : Read several files, or other formats.
    """
    check_path("read_rttm", "path", path)
    builder = AnnotationBuilder()
    scan(Path(path), builder)
    refuse_errors(builder.problems)
    annotation = builder.annotation()
    n_negative = np.count_nonzero(annotation.end < annotation.start)
    n_zero = len(annotation.start) - len(annotation) - n_negative
    for count, what in ((n_zero, "zero"), (n_negative, "negative")):
        if count:
            turns = "turn" if count == 1 else "turns"
            log.warning(
                "%s: skipped %d %s of %s length", shown(path), count, turns, what
            )
    return annotation


def scan(path: Path, builder: AnnotationBuilder) -> int:
    """Add the turns of a file to an annotation; return their number."""
    check_is_file(path)
    columns = _uniform_columns(path, builder)
    if columns is None:
        return scan_turn_lines(path, _turn_fields, builder)
    return builder.add_file(str(path), columns)


def _uniform_columns(
    path: Path, builder: AnnotationBuilder
) -> tuple[IntArray, ...] | None:
    """Parse a file with uniform lines by columns; None if lines differ."""
    words = Words.of(path.read_bytes())
    if words is None or words.width not in _WIDTHS:
        return None
    kind = words.column(0)
    if kind.shape[1] != len(_SPEAKER) or (kind != _SPEAKER).any():
        return None
    onset, plain_onset = parse_ticks(words.column(3))
    duration, plain_duration = parse_ticks(words.column(4))
    if not (plain_onset.all() and plain_duration.all()):
        return None
    return (
        _codes(words.column(1), builder.recordings),
        _codes(words.column(2), builder.channels),
        _codes(words.column(7), builder.speakers),
        onset,
        onset + duration,
        np.arange(1, len(onset) + 1),
    )


def _codes(column: Letters, index: dict[str, int]) -> IntArray:
    """Look up the index of each name; new names are added to `index`."""
    words, run = runs_of(column)
    indices = {
        word: index.setdefault(word.decode(), len(index))
        for word in dict.fromkeys(words)
    }
    codes = np.fromiter(map(indices.__getitem__, words), np.int64, len(words))
    return codes[run]


def _turn_fields(fields: list[str]) -> TurnFields | Problem | None:
    type_ = fields[0].upper()
    if type_ in _EXCLUDING:
        text = (
            f"a {fields[0]} line is skipped; md-eval would exclude its time, so remove "
            f"that time from the UEM"
        )
        return Problem(text, severity="warning", kind="no-score line")
    if type_ in _OTHER_TYPES:
        return None
    if type_ != "SPEAKER":
        raise ValueError(
            f"RTTM has no lines of type {fields[0]!r}; a turn begins with SPEAKER"
        )
    if len(fields) not in _WIDTHS:
        raise ValueError(
            f"a SPEAKER line has 9 or 10 fields, this one has {len(fields)}"
            + ("; names must not contain spaces" if len(fields) > 10 else "")
        )
    check_fields(fields)
    return TurnFields(fields[1], fields[2], fields[3], fields[4], fields[7])


def write_rttm(target: str | Path | TextIO, turns: Iterable[Turn]) -> None:
    """Write turns as RTTM, sorted by recording and start.

    Parameters
    ----------
    target : str, Path or text stream
        File to replace, or stream to write to.
    turns : iterable of Turn
        Turns, for instance a list or an `Annotation`. Names must not contain white
        space, which would shift the fields.

    Notes
    -----
    All times of a file have the same number of decimals: at least 3, and up to 9 if
    needed to distinguish the times within a recording. Onsets and ends are rounded
    rather than durations, so rounding creates neither gaps nor overlaps.
    """
    refuse_turns_path("write_rttm", turns)
    turns = sorted(turns)
    for turn in turns:
        check_field("write_rttm", "recording", turn.segment.recording, format="RTTM")
        check_field("write_rttm", "speaker", turn.speaker, format="RTTM")
    decimals = _decimals(turns)
    text = io.StringIO()
    for turn in turns:
        segment = turn.segment
        onset, end = (_rounded(t, decimals) for t in (segment.start, segment.end))
        if onset == end:
            problem = (
                f"must be longer than {10.0**-MOST_DECIMALS:g} seconds, got {segment!r}"
            )
            raise InvalidParameterError(problem, owner="write_rttm", parameter="turns")
        text.write(
            f"SPEAKER {segment.recording} 1 {onset:f} {end - onset:f} "
            f"<NA> <NA> {turn.speaker} <NA> <NA>\n"
        )
    if isinstance(target, str | Path):
        write_text(target, text.getvalue())
    else:
        target.write(text.getvalue())


def _decimals(turns: Sequence[Turn]) -> int:
    times = {
        (turn.segment.recording, time)
        for turn in turns
        for time in (turn.segment.start, turn.segment.end)
    }
    # Differences below the finest unit are rounding noise of binary arithmetic.
    finest = {(name, _rounded(time, MOST_DECIMALS)) for name, time in times}
    for decimals in range(LEAST_DECIMALS, MOST_DECIMALS):
        coarse = {(name, _rounded(time, decimals)) for name, time in times}
        if len(coarse) == len(finest):
            return decimals
    return MOST_DECIMALS


def _rounded(time: float, decimals: int) -> Decimal:
    return Decimal(f"{time:.{decimals}f}")


def turns_text(turns: Sequence[Turn], _: float) -> str:
    """Format turns as RTTM."""
    return rttm_text(turns)


def rttm_text(turns: Iterable[Turn], target: str | Path | TextIO | None = None) -> str:
    """Format turns as RTTM; the text is also written to `target`, if given."""
    listed, text = list(turns), io.StringIO()
    write_rttm(text, listed)
    if target is not None:
        write_rttm(target, listed)
    return text.getvalue()


Letters = npt.NDArray[np.uint8]

_LONGEST = 255
"""Maximum length of a word; columns are as wide as their longest word."""


@dataclass(frozen=True, eq=False)
class Words:
    """Words of an ASCII text whose lines have equal numbers of words.

    They begin and end at the offsets `start` and `stop`, of shape (n_lines,
    n_words).
    """

    letters: Letters
    start: IntArray
    stop: IntArray

    @classmethod
    def of(cls, data: bytes) -> Words | None:
        """Split a text into words; None if it is not uniform.

        A uniform text is printable ASCII with spaces, tabs and line ends; each line
        begins with a word, and words have at most 255 letters.
        """
        letters = np.frombuffer(data, dtype=np.uint8)
        ends = np.flatnonzero(letters == ord("\n"))
        n_lines = len(ends) + (not data.endswith(b"\n"))
        if not data.isascii() or not len(letters) or letters[0] <= ord(" "):
            return None
        n_returns = data.count(b"\r\n")
        n_blanks = len(ends) + n_returns + data.count(b"\t")
        if np.count_nonzero(letters < ord(" ")) != n_blanks or b"\x7f" in data:
            return None
        is_gap = letters <= ord(" ")
        edges = np.flatnonzero(is_gap[1:] != is_gap[:-1]) + 1
        if len(edges) % 2 == 0:  # the last word ends with the text
            edges = np.append(edges, len(letters))
        if len(edges[::2]) % n_lines:
            return None
        start = np.append(0, edges[1:-1:2]).reshape(n_lines, -1)
        stop = edges[::2].reshape(n_lines, -1)
        # If every n-th word begins a line, all lines have the same number of words.
        if (start[1:, 0] != ends[: n_lines - 1] + 1).any():
            return None
        if (stop - start).max() > _LONGEST:
            return None
        return cls(letters, start, stop)

    @property
    def width(self) -> int:
        """Number of words per line."""
        return int(self.start.shape[1])

    def column(self, index: int) -> Letters:
        """Words of one column as letters padded with NUL, shape (n_lines, width)."""
        start, stop = self.start[:, index], self.stop[:, index]
        length = (stop - start)[:, None]
        offset = np.arange(int(length.max()))
        column = self.letters.take(start[:, None] + offset, mode="clip")
        column *= offset < length
        return column


def runs_of(column: Letters) -> tuple[list[bytes], IntArray]:
    """Find the word of each run of equal words, and the run of each line."""
    words = column.view(f"S{column.shape[1]}")[:, 0]
    begins = np.ones(len(words), dtype=np.bool_)
    begins[1:] = words[1:] != words[:-1]
    return words[begins].tolist(), np.cumsum(begins) - 1
