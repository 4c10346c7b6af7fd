"""ELAN's annotation format (EAF): a tier for each speaker, times in milliseconds.

Of files of others, tiers that stand for themselves are read, each annotation in them
being a turn; the speaker is the participant of the tier, or else its name. Tiers below
another one comment on it and hold no turns.

XML is read as a stream of elements, no tree is made of it, and a file with a document
type is refused: that is where entities would be declared, and EAF has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

# What could do harm needs a document type, which is refused below.
from xml.parsers import expat

from sms_diar.io.turns._text import (
    TICKS_PER_MILLISECOND,
    FaultError,
    Spoken,
    milliseconds,
    scan_whole,
    tiers,
)
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.timeline.ticks import MAX_SECONDS
from sms_diar.types import Turn

_TITLE = "EAF"
_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="sms_diar" DATE="1970-01-01T00:00:00+00:00" FORMAT="3.0" \
VERSION="3.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:noNamespaceSchemaLocation="http://www.mpi.nl/tools/elan/EAFv3.0.xsd">
    <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"/>
"""
_TAIL = """\
    <LINGUISTIC_TYPE GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="turns" \
TIME_ALIGNABLE="true"/>
</ANNOTATION_DOCUMENT>
"""


def eaf_text(turns: Sequence[Turn]) -> str:
    """Turns of one recording as an ELAN document, the same every time."""
    slots: list[int] = []
    body: list[str] = []
    n_turns = 0
    for speaker, own in tiers(_TITLE, turns).items():
        name = escape(speaker)
        body.append(
            f'    <TIER LINGUISTIC_TYPE_REF="turns" PARTICIPANT="{name}" '
            f'TIER_ID="{name}">\n'
        )
        for turn in own:
            slots += milliseconds(_TITLE, turn)
            n_turns += 1
            body.append(
                f"        <ANNOTATION>\n"
                f'            <ALIGNABLE_ANNOTATION ANNOTATION_ID="a{n_turns}" '
                f'TIME_SLOT_REF1="ts{len(slots) - 1}" '
                f'TIME_SLOT_REF2="ts{len(slots)}">\n'
                f"                <ANNOTATION_VALUE>{name}</ANNOTATION_VALUE>\n"
                f"            </ALIGNABLE_ANNOTATION>\n"
                f"        </ANNOTATION>\n"
            )
        body.append("    </TIER>\n")
    # ELAN wants the slots in order of time.
    order = sorted(range(len(slots)), key=lambda place: slots[place])
    times = [
        f'        <TIME_SLOT TIME_SLOT_ID="ts{place + 1}" '
        f'TIME_VALUE="{slots[place]}"/>\n'
        for place in order
    ]
    order_of_times = ["    <TIME_ORDER>\n", *times, "    </TIME_ORDER>\n"]
    return "".join([_HEAD, *order_of_times, *body, _TAIL])


def scan_eaf(path: Path, builder: AnnotationBuilder) -> int:
    """Add the annotations of a file to an annotation, and count them."""
    return scan_whole(path, builder, _parse)


class _Aligned(NamedTuple):
    line: int
    speaker: str
    first: str
    last: str


class _Document:
    """Elements that matter, as they come."""

    def __init__(self) -> None:
        self.slots: dict[str, int | None] = {}
        self.found: list[_Aligned] = []
        self._speaker: str | None = None
        self._depth = 0
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def read(self, data: bytes) -> None:
        try:
            self._parser.Parse(data, True)  # noqa: FBT003
        except expat.ExpatError as error:
            problem = expat.ErrorString(error.code)
            raise FaultError(f"not whole XML ({problem})", error.lineno) from None
        except FaultError:
            raise
        except (LookupError, ValueError) as error:  # of the encoding that it names
            raise FaultError(f"cannot be read ({error}); save it as UTF-8") from None

    @property
    def _line(self) -> int:
        return self._parser.CurrentLineNumber

    def _doctype(self, *_: object) -> None:
        raise FaultError(
            "has a document type (DOCTYPE), which EAF does not need and which can "
            "declare entities; remove it",
            self._line,
        )

    def _start(self, name: str, given: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != "ANNOTATION_DOCUMENT":
            raise FaultError(f"is XML, but of <{name}> and not of ELAN", self._line)
        if name == "HEADER":
            unit = given.get("TIME_UNITS", "milliseconds")
            if unit != "milliseconds":
                raise FaultError(
                    f"times must be in milliseconds, got {unit}", self._line
                )
        elif name == "TIME_SLOT":
            self._slot(given)
        elif name == "TIER":
            named = given.get("PARTICIPANT", "").strip() or given.get("TIER_ID", "")
            self._speaker = None if "PARENT_REF" in given else named.strip()
        elif name == "ALIGNABLE_ANNOTATION" and self._speaker is not None:
            if not self._speaker:
                raise FaultError(
                    "the tier has neither participant nor name", self._line
                )
            first, last = (given.get(f"TIME_SLOT_REF{n}", "") for n in (1, 2))
            self.found.append(_Aligned(self._line, self._speaker, first, last))

    def _end(self, name: str) -> None:
        self._depth -= 1

    def _slot(self, given: dict[str, str]) -> None:
        text = given.get("TIME_VALUE")
        if text is None:
            self.slots[given.get("TIME_SLOT_ID", "")] = None
            return
        if not (text.isascii() and text.isdecimal() and len(text) <= 12):
            raise FaultError(
                f"TIME_VALUE must be milliseconds, got {text!r}", self._line
            )
        if int(text) >= MAX_SECONDS * 1000:
            raise FaultError(f"times must be below {MAX_SECONDS} seconds", self._line)
        self.slots[given.get("TIME_SLOT_ID", "")] = int(text)


def _parse(data: bytes) -> Iterator[Spoken]:
    document = _Document()
    document.read(data)
    for line, speaker, first, last in document.found:
        ticks = []
        for slot in (first, last):
            if slot not in document.slots:
                raise FaultError(f"there is no time slot {slot!r}", line)
            time = document.slots[slot]
            if time is None:
                raise FaultError(
                    f"time slot {slot!r} has no time; align the annotation in ELAN",
                    line,
                )
            ticks.append(time * TICKS_PER_MILLISECOND)
        yield Spoken(line, speaker, *ticks)
