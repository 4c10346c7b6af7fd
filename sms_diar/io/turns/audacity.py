r"""Audacity labels: ``start TAB end TAB speaker``, one turn per line.

Lines that begin with a backslash contain frequencies of the label above them and are
skipped. Times are in seconds, with a decimal point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sms_diar.io.turns._text import (
    FaultError,
    Spoken,
    check_name,
    decoded,
    one_recording,
    plain_seconds,
    scan_whole,
)
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.ticks import parse_one
from sms_diar.types import Turn

_TITLE = "Audacity labels"


def audacity_text(turns: Sequence[Turn]) -> str:
    """Format turns of one recording as labels."""
    lines = []
    for turn in one_recording(_TITLE, turns):
        name = check_name(_TITLE, "speaker", turn.speaker)
        times = (turn.segment.start, turn.segment.end)
        lines.append("\t".join((*map(plain_seconds, times), name)) + "\n")
    return "".join(lines)


def scan_audacity(path: Path, builder: AnnotationBuilder) -> int:
    """Add the labels of a file to an annotation; return their number."""
    return scan_whole(path, builder, _parse)


def _parse(data: bytes) -> Iterator[Spoken]:
    for number, line in enumerate(decoded(data).split("\n"), start=1):
        if not line.strip() or line.startswith("\\"):
            continue
        fields = line.split("\t")
        if len(fields) != 3:
            raise FaultError(
                f"a label has 3 fields (start, end, speaker) with a tab between them, "
                f"this one has {len(fields)}",
                number,
            )
        start, end, speaker = fields[0], fields[1], fields[2].strip()
        if not speaker:
            problem = "the label is empty; it must be the speaker's name"
            raise FaultError(problem, number)
        try:
            times = parse_one("start", start)[0], parse_one("end", end)[0]
        except ValueError as error:
            raise FaultError(str(error), number) from None
        if times[0] < 0:
            raise FaultError(f"start must not be negative, got {start}", number)
        yield Spoken(number, speaker, *times)
