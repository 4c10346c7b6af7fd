"""Turns as NIST CTM: ``recording channel onset duration speaker``.

A confidence may follow the speaker. A CTM of words has the same columns, with a word in
place of the speaker, and nothing in the file says which of the two it is. `holds_words`
decides.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from statistics import median

from sms_diar.io._lines import check_fields, scan_lines, split_fields
from sms_diar.io.turns._text import (
    ALIGNED_WORDS,
    STM,
    TurnFields,
    is_stm,
    scan_turn_lines,
)
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.ticks import TICKS_PER_SECOND, parse_one
from sms_diar.types import Problem

_LINE = (
    "a line has 5 or 6 fields (recording, channel, onset, duration, speaker, perhaps a "
    "confidence)"
)


def scan_ctm(path: Path, builder: AnnotationBuilder) -> int:
    """Add the turns of a file to an annotation; return their number."""
    return scan_turn_lines(path, _turn_fields, builder)


def holds_words(path: Path) -> bool:
    """Decide whether the fifth column of a CTM contains words or speakers.

    Words are short and most of them differ; speakers recur, and speak for seconds. A
    file contains words if all of these are true:

    - More than half of the lines are shorter than a second.
    - Recordings have on average more different names than the square root of their
      number of lines.
    - Less than half of the different names have a digit or ``_``, as in ``spk1``.

    The rule fails for a few words that are repeated very often, such as spoken digits,
    and for short files in which speakers have one or two turns below a second each.
    """
    durations: list[int] = []
    n_lines: Counter[str] = Counter()
    names: set[tuple[str, str]] = set()
    for line in scan_lines(path):
        fields = split_fields(line.text)
        if len(fields) not in (5, 6) or fields[0][0] in ";#":
            continue
        try:
            durations.append(parse_one("duration", fields[3])[0])
        except ValueError:  # the reader reports it
            continue
        n_lines[fields[0]] += 1
        names.add((fields[0], fields[4]))
    if not durations or median(durations) >= TICKS_PER_SECOND:
        return False
    different = {name for _, name in names}
    n_coded = sum(bool(re.search("[0-9_]", name)) for name in different)
    n_expected = sum(count**0.5 for count in n_lines.values())
    return len(names) > n_expected and 2 * n_coded < len(different)


def refuse_words(path: Path, builder: AnnotationBuilder) -> int:
    """Report a CTM of words as an error."""
    problem = Problem(
        "the fifth column contains words, so this is a transcript and not turns: lines "
        "are short and names differ; if the names are speakers, convert the file with "
        "'sms-diar convert' and name the format ctm",
        str(path),
        kind="transcript",
    )
    builder.problems.append(problem)
    return builder.close_file(str(path))


def _turn_fields(fields: list[str]) -> TurnFields:
    if is_stm(fields):
        raise ValueError(STM)
    if len(fields) not in (5, 6):
        raise ValueError(
            f"{_LINE}, this one has {len(fields)}"
            + (f"; {ALIGNED_WORDS}" if len(fields) in (7, 8) else "")
        )
    check_fields(fields)
    return TurnFields(*fields[:5])
