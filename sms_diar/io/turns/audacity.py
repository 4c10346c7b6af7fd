r"""Audacity labels: ``start TAB end TAB speaker``, one turn per line.

Lines that begin with a backslash contain frequencies of the label above them and are
skipped. Times are in seconds, with a decimal point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sms_diar.io.transcripts._source import Source
from sms_diar.io.turns._text import (
    FaultError,
    Spoken,
    check_name,
    not_negative,
    one_recording,
    plain_seconds,
)
from sms_diar.timeline.ticks import parse_one
from sms_diar.types import Turn

_TITLE = "Audacity labels"


def turns_text(turns: Sequence[Turn], _: float) -> str:
    """Format turns of one recording as labels."""
    lines = []
    for turn in one_recording(_TITLE, turns):
        name = check_name(_TITLE, "speaker", turn.speaker)
        times = (turn.segment.start, turn.segment.end)
        lines.append("\t".join((*map(plain_seconds, times), name)) + "\n")
    return "".join(lines)


def spoken(source: Source) -> Iterator[Spoken]:
    """Yield the labels of a file."""
    for number, line in enumerate(source.lines, start=1):
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
            times = not_negative("start", start), parse_one("end", end)[0]
        except ValueError as error:
            raise FaultError(str(error), number) from None
        yield Spoken(number, speaker, *times)
