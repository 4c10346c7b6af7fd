"""Corpora of telephone speech as LDC ships them: speakers of all sides.

Two forms exist. Tables of calls have a line for each conversation, with both speakers;
columns differ between corpora. For the SREs of 2004 to 2006, whose keys are scattered
over many files, ``speaker_list`` (openslr.org/15) has a line for each side: speaker,
gender, ``sre2004``, segment, and A or B.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from sms_diar._text import check_id
from sms_diar.errors import DataFormatError
from sms_diar.io._lines import scan_lines

from .._common.nist import Side

SPEAKER_LIST = "speaker_list"


class Voice(NamedTuple):
    """Speaker of a side; the gender is "f", "m", or empty if it is unknown."""

    side: Side
    speaker: str
    gender: str


@dataclass(frozen=True)
class Calls:
    """Corpus with a table of calls.

    Parameters
    ----------
    title : str
        Name for people.
    catalogue : tuple of str
        Catalogue numbers of LDC.
    table : str
        Name of the table of calls; its fields are separated by commas.
    file, speakers, genders : int, tuple of int
        Columns, from 0; no genders if another table has them.
    prefix : str, default=""
        What file names have before the number of a call.
    broken : tuple of str, default=()
        Calls whose audio is known to be broken.
    calls : str, default=""
        Table that has the file in the second of two lines per call, if `table` lacks
        it.
    subjects : str, default=""
        Table of the gender of each speaker.
    name_part : int, default=0
        Part of a file name, between underscores and from 1, that is the number of the
        call; 0 for the whole name.
    """

    title: str
    catalogue: tuple[str, ...]
    table: str
    file: int
    speakers: tuple[int, int]
    genders: tuple[int, int] | None
    prefix: str = ""
    broken: tuple[str, ...] = ()
    calls: str = ""
    subjects: str = ""
    name_part: int = 0

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all tables."""
        return tuple(name for name in (self.table, self.calls, self.subjects) if name)


@dataclass(frozen=True)
class Listed:
    """Corpus whose sides are in ``speaker_list`` under the name `key`."""

    title: str
    catalogue: tuple[str, ...]
    key: str
    name_part: int = 0


LAYOUTS: Mapping[str, Calls | Listed] = MappingProxyType(
    {
        "sre04": Listed("SRE 2004", ("LDC2006S44",), "sre2004"),
        "sre05": Listed("SRE 2005", ("LDC2011S01", "LDC2011S04"), "sre2005"),
        "sre06": Listed(
            "SRE 2006", ("LDC2011S09", "LDC2011S10", "LDC2012S01"), "sre2006"
        ),
        "swb2p1": Calls(
            "Switchboard-2 phase 1", ("LDC98S75",), "callstat.tbl", 0, (2, 3), (5, 6)
        ),
        "swb2p2": Calls(
            "Switchboard-2 phase 2",
            ("LDC99S79",),
            "callstat.tbl",
            0,
            (2, 3),
            (4, 5),
            calls="callinfo.tbl",
        ),
        "swb2p3": Calls(
            "Switchboard-2 phase 3",
            ("LDC2002S06",),
            "callstat.tbl",
            0,
            (3, 4),
            (5, 6),
            prefix="sw_",
        ),
        "swbc1": Calls(
            "Switchboard Cellular part 1",
            ("LDC2001S13",),
            "swb_callstats.tbl",
            0,
            (1, 2),
            (3, 4),
            prefix="sw_",
            broken=("40019", "45024", "40022"),
        ),
        "swbc2": Calls(
            "Switchboard Cellular part 2",
            ("LDC2004S07",),
            "swb_callstats.tbl",
            0,
            (1, 2),
            (3, 4),
            prefix="sw_",
            broken=("45024", "40022"),
        ),
        "mixer6": Calls(
            "Mixer 6, calls",
            ("LDC2013S03",),
            "mx6_calls.csv",
            0,
            (4, 12),
            None,
            subjects="mx6_subjs.csv",
            name_part=3,
        ),
    }
)
"""Corpora by name."""


def read_calls(paths: dict[str, Path], layout: Calls) -> Iterator[Voice]:
    """Yield both sides of every call; `paths` are the tables by name."""
    path = paths[layout.table]
    genders = _subjects(paths[layout.subjects]) if layout.subjects else {}
    rows = list(_rows(path))
    files = [row[layout.file] if len(row) > layout.file else "" for _, row in rows]
    if layout.calls:
        files = [row[0] for _, row in _rows(paths[layout.calls])][1::2]
        if len(files) != len(rows):
            raise DataFormatError(
                f"must have two lines for each of the {len(rows)} calls in {path}, got "
                f"{len(files)} second lines",
                path=paths[layout.calls],
            )
    for (number, row), file in zip(rows, files, strict=True):
        try:
            yield from _voices(row, file, layout, genders)
        except ValueError as error:
            if number > 1 or layout.genders:
                raise DataFormatError(str(error), path=path, line=number) from error


def read_speaker_list(path: Path, key: str) -> Iterator[Voice]:
    """Yield the sides of one evaluation, ``sre2004`` to ``sre2006``."""
    for number, row in _rows(path, separator=None):
        try:
            if len(row) != 5 or row[4].upper() not in ("A", "B"):
                raise ValueError(
                    f"a line has a speaker, a gender, an evaluation, a segment and A "
                    f"or B, got {' '.join(row)!r}"
                )
            speaker, gender, evaluation, segment, channel = row
            if evaluation == key:
                side = Side(check_id(segment), "AB".index(channel.upper()) + 1)
                yield Voice(side, check_id(speaker), _gender(gender))
        except ValueError as error:
            raise DataFormatError(str(error), path=path, line=number) from error


def _voices(
    row: list[str], file: str, layout: Calls, genders: dict[str, str]
) -> Iterator[Voice]:
    needed = max(*layout.speakers, *(layout.genders or ()))
    if len(row) <= needed:
        raise ValueError(f"a call has at least {needed + 1} fields, got {len(row)}")
    if layout.name_part and not file.isdigit():
        raise ValueError(f"a call begins with its number, got {file!r}")
    name = file.partition(".")[0]
    if name in layout.broken:
        return
    # Switchboard has the personal number of a speaker, which all parts share.
    owner = "" if layout.name_part else "sw_"
    for channel, column in enumerate(layout.speakers, 1):
        speaker = row[column]
        if not speaker.isalnum():
            continue  # the speaker of this side is unknown
        gender = genders.get(speaker, "")
        if layout.genders:
            gender = _gender(row[layout.genders[channel - 1]])
        side = Side(check_id(f"{layout.prefix}{name}"), channel)
        yield Voice(side, f"{owner}{speaker}", gender)


def _subjects(path: Path) -> dict[str, str]:
    rows = [row for _, row in _rows(path) if len(row) > 1]
    known = {row[0]: row[1].lower() for row in rows}
    return {name: gender for name, gender in known.items() if gender in ("f", "m")}


def _gender(text: str) -> str:
    if text.lower() not in ("f", "m"):
        raise ValueError(f"gender must be F or M, got {text!r}")
    return text.lower()


def _rows(path: Path, separator: str | None = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield number and fields of lines that are not blank; bytes may be of any kind."""
    for line in scan_lines(path):
        text = line.text.strip()
        if text:
            fields = text.split(separator)
            yield line.number, [entry.strip().strip('"') for entry in fields]
