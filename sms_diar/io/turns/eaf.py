"""ELAN annotation format (EAF): one tier per speaker, times in milliseconds.

Each annotation of a top-level tier is a turn; the speaker is the participant of the
tier, or its name if it has no participant. Tiers with a parent comment on it and
contain no turns.

XML is read as a stream of elements, without building a tree. A file with a document
type is refused, because it could declare entities, and EAF has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

# XML attacks need a document type, which is refused below.
from xml.parsers import expat

from sms_diar.io.turns._text import TICKS_PER_MILLISECOND, FaultError, Spoken
from sms_diar.timeline.ticks import MAX_SECONDS

HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="sms_diar" DATE="1970-01-01T00:00:00+00:00" FORMAT="3.0" \
VERSION="3.0" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:noNamespaceSchemaLocation="http://www.mpi.nl/tools/elan/EAFv3.0.xsd">
    <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"/>
"""
TAIL = """\
    <LINGUISTIC_TYPE GRAPHIC_REFERENCES="false" LINGUISTIC_TYPE_ID="turns" \
TIME_ALIGNABLE="true"/>
</ANNOTATION_DOCUMENT>
"""


def document_text(tiers: Mapping[str, Sequence[tuple[int, int, str]]]) -> str:
    """Format the annotations of each tier: times in milliseconds, and text."""
    slots: list[int] = []
    body: list[str] = []
    n_turns = 0
    for tier, rows in tiers.items():
        name = escape(tier)
        body.append(
            f'    <TIER LINGUISTIC_TYPE_REF="turns" PARTICIPANT="{name}" '
            f'TIER_ID="{name}">\n'
        )
        for start, end, text in rows:
            slots += (start, end)
            n_turns += 1
            body.append(
                f"        <ANNOTATION>\n"
                f'            <ALIGNABLE_ANNOTATION ANNOTATION_ID="a{n_turns}" '
                f'TIME_SLOT_REF1="ts{len(slots) - 1}" '
                f'TIME_SLOT_REF2="ts{len(slots)}">\n'
                f"                <ANNOTATION_VALUE>{escape(text)}</ANNOTATION_VALUE>\n"
                f"            </ALIGNABLE_ANNOTATION>\n"
                f"        </ANNOTATION>\n"
            )
        body.append("    </TIER>\n")
    # ELAN expects the slots in order of time.
    order = sorted(range(len(slots)), key=lambda index: slots[index])
    times = [
        f'        <TIME_SLOT TIME_SLOT_ID="ts{index + 1}" '
        f'TIME_VALUE="{slots[index]}"/>\n'
        for index in order
    ]
    order_of_times = ["    <TIME_ORDER>\n", *times, "    </TIME_ORDER>\n"]
    return "".join([HEAD, *order_of_times, *body, TAIL])


@dataclass
class _Aligned:
    line: int
    speaker: str
    slots: tuple[str, str]
    text: str = ""


class _Document:
    """Collects time slots and annotations while the XML is parsed."""

    def __init__(self) -> None:
        self.slots: dict[str, int | None] = {}
        self.aligned: list[_Aligned] = []
        self._speaker: str | None = None
        self._depth = 0
        self._is_value = False
        self._parser = expat.ParserCreate()
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.buffer_text = True

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

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != "ANNOTATION_DOCUMENT":
            problem = f"is XML, but its root is <{name}>, not an ELAN document"
            raise FaultError(problem, self._line)
        if name == "HEADER":
            unit = attributes.get("TIME_UNITS", "milliseconds")
            if unit != "milliseconds":
                problem = f"times must be in milliseconds, got {unit}"
                raise FaultError(problem, self._line)
        elif name == "TIME_SLOT":
            self._slot(attributes)
        elif name == "TIER":
            named = attributes.get("PARTICIPANT", "").strip() or attributes.get(
                "TIER_ID", ""
            )
            self._speaker = None if "PARENT_REF" in attributes else named.strip()
        elif name == "ALIGNABLE_ANNOTATION" and self._speaker is not None:
            if not self._speaker:
                problem = "the tier has neither participant nor name"
                raise FaultError(problem, self._line)
            first, last = (attributes.get(f"TIME_SLOT_REF{n}", "") for n in (1, 2))
            self.aligned.append(_Aligned(self._line, self._speaker, (first, last)))
        self._is_value = name == "ANNOTATION_VALUE" and self._speaker is not None

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._is_value = False

    def _text(self, text: str) -> None:
        if self._is_value and self.aligned:
            self.aligned[-1].text += text

    def time(self, slot: str, line: int) -> int:
        """Return the ticks of a time slot; `line` is named if it has none."""
        if slot not in self.slots:
            raise FaultError(f"time slot {slot!r} does not exist", line)
        time = self.slots[slot]
        if time is None:
            raise FaultError(
                f"time slot {slot!r} has no time; align the annotation in ELAN", line
            )
        return time * TICKS_PER_MILLISECOND

    def _slot(self, attributes: dict[str, str]) -> None:
        text = attributes.get("TIME_VALUE")
        if text is None:
            self.slots[attributes.get("TIME_SLOT_ID", "")] = None
            return
        if not (text.isascii() and text.isdecimal() and len(text) <= 12):
            problem = f"TIME_VALUE must be milliseconds, got {text!r}"
            raise FaultError(problem, self._line)
        if int(text) >= MAX_SECONDS * 1000:
            raise FaultError(f"times must be below {MAX_SECONDS} seconds", self._line)
        self.slots[attributes.get("TIME_SLOT_ID", "")] = int(text)


def intervals(data: bytes) -> Iterator[Spoken]:
    """Yield the annotations of all top-level tiers; raises `FaultError`."""
    document = _Document()
    document.read(data)
    for aligned in document.aligned:
        first, last = (document.time(slot, aligned.line) for slot in aligned.slots)
        yield Spoken(aligned.line, aligned.speaker, first, last, aligned.text)
