"""The one registry of formats that hold turns: names, suffixes, readers, writers.

What a file begins with decides first, its suffix where that says nothing; anything
else is taken for RTTM, whose reader knows how to complain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sms_diar._files import write_text
from sms_diar._validation import check_choice
from sms_diar.errors import InvalidParameterError
from sms_diar.io.audacity import audacity_text, scan_audacity
from sms_diar.io.ctm import holds_words, refuse_words, scan_ctm
from sms_diar.io.eaf import eaf_text, scan_eaf
from sms_diar.io.file_names import file_names
from sms_diar.io.rttm import rttm_text, scan_rttm
from sms_diar.io.srt import scan_srt, srt_text
from sms_diar.io.textgrid import scan_textgrid, textgrid_text
from sms_diar.io.turn_csv import scan_turn_csv, turn_csv_text
from sms_diar.io.turn_json import scan_turn_json, turn_json_text
from sms_diar.io.webvtt import scan_webvtt, webvtt_text
from sms_diar.timeline.annotation import AnnotationBuilder, refuse_turns_path
from sms_diar.types import Turn


@dataclass(frozen=True)
class TurnFormat:
    """A format that holds turns.

    Parameters
    ----------
    name : str
        As options call it.
    title : str
        As people call it.
    suffixes : tuple of str
        Ends of file names in small letters; the first is written.
    scan : callable
        Adds the turns of a file to a builder, and counts them.
    text : callable, optional
        Text of turns, given the seconds of the recording (0 if they are unknown).
        None where nothing is written.
    names_recordings : bool
        Whether a file says of which recordings its turns are. Others hold one
        recording, named like the file.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    scan: Callable[[Path, AnnotationBuilder], int]
    text: Callable[[Sequence[Turn], float], str] | None
    names_recordings: bool = False


_ENTRIES = (
    TurnFormat(
        "rttm",
        "NIST RTTM",
        (".rttm",),
        scan_rttm,
        lambda turns, _: rttm_text(turns),
        names_recordings=True,
    ),
    TurnFormat(
        "json",
        "JSON",
        (".json",),
        scan_turn_json,
        lambda turns, _: turn_json_text(turns),
        names_recordings=True,
    ),
    TurnFormat(
        "csv",
        "CSV",
        (".csv",),
        scan_turn_csv,
        lambda turns, _: turn_csv_text(turns),
        names_recordings=True,
    ),
    TurnFormat(
        "audacity",
        "Audacity labels",
        (".txt",),
        scan_audacity,
        lambda turns, _: audacity_text(turns),
    ),
    TurnFormat(
        "textgrid", "Praat TextGrid", (".textgrid",), scan_textgrid, textgrid_text
    ),
    TurnFormat("eaf", "ELAN", (".eaf",), scan_eaf, lambda turns, _: eaf_text(turns)),
    TurnFormat(
        "srt",
        "SubRip subtitles",
        (".srt",),
        scan_srt,
        lambda turns, _: srt_text(turns),
    ),
    TurnFormat(
        "vtt",
        "WebVTT subtitles",
        (".vtt",),
        scan_webvtt,
        lambda turns, _: webvtt_text(turns),
    ),
    TurnFormat("ctm", "CTM", (".ctm",), scan_ctm, None, names_recordings=True),
)

_WORDS = TurnFormat("words", "CTM of words", (), refuse_words, None)
"""A transcript, which is recognised in order to be refused."""

TURN_FORMATS = {entry.name: entry for entry in _ENTRIES}
"""Formats by name."""

WRITTEN_FORMATS = tuple(entry.name for entry in _ENTRIES if entry.text is not None)
"""Names of those that are written."""

BY_SUFFIX = {
    suffix: entry for entry in _ENTRIES for suffix in entry.suffixes if suffix != ".txt"
}
"""Formats by suffix; ``.txt`` may be anything when it is read."""

_SUFFIX_WRITTEN = {"textgrid": ".TextGrid"}  # as Praat spells it
_HEAD = 4096
_SIGNS = (
    ("vtt", re.compile(r"WEBVTT(?:\s|$)")),
    ("eaf", re.compile(r"(?:<\?xml|<!DOCTYPE|<!--|<ANNOTATION_DOCUMENT)")),
    ("textgrid", re.compile(r'File type = "oo|"?ooTextFile|ooBinaryFile|"Praat')),
    ("json", re.compile(r"[{\[]")),
    ("srt", re.compile(r"(?:[0-9]+[ \t]*\r?\n)?[0-9:.,]+[ \t]+-->[ \t]")),
    ("audacity", re.compile(r"[0-9.]+\t[0-9.]+\t[^\t\n]*(?:\r?\n|$)")),
    ("rttm", re.compile(r"SPEAKER[ \t]", re.IGNORECASE)),
)
"""How files begin, byte order marks and blank lines apart."""


def format_of_file(path: Path) -> TurnFormat:
    """Format of a file that is there, told from its start and its suffix."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    is_wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    start = head.decode("utf-16" if is_wide else "utf-8-sig", "replace").lstrip()
    for name, sign in _SIGNS:
        if sign.match(start):
            return TURN_FORMATS[name]
    chosen = BY_SUFFIX.get(path.suffix.lower(), TURN_FORMATS["rttm"])
    return _WORDS if chosen.name == "ctm" and holds_words(path) else chosen


def format_to_write(path: str | Path | None, format: str | None) -> TurnFormat:
    """Format that is asked for by name, or else by the suffix of a file.

    Raises
    ------
    InvalidParameterError
        If neither says it.
    """
    if format is not None:
        check_choice("write_turns", "format", format, WRITTEN_FORMATS)
        return TURN_FORMATS[format]
    suffix = Path(path or "").suffix.lower()
    for name in WRITTEN_FORMATS:
        if suffix in TURN_FORMATS[name].suffixes:
            return TURN_FORMATS[name]
    known = ", ".join(written_suffix(TURN_FORMATS[name]) for name in WRITTEN_FORMATS)
    raise InvalidParameterError(
        f"{path}: the suffix must say which format is meant, got {suffix!r}, known are "
        f"{known}; or name the format"
    )


def written_suffix(format: TurnFormat) -> str:
    """Suffix of files that are written."""
    return _SUFFIX_WRITTEN.get(format.name, format.suffixes[0])


def turns_text(
    turns: Iterable[Turn], format: str, *, durations: Mapping[str, float] | None = None
) -> str:
    """Turns as the text of a file; see `write_turns`."""
    refuse_turns_path("turns_text", turns)
    listed = list(turns)
    chosen = format_to_write(None, format)
    known = durations or {}
    longest = max((known.get(t.segment.recording, 0.0) for t in listed), default=0.0)
    if chosen.text is None:
        raise InvalidParameterError(f"turns_text: {chosen.title} is not written")
    return chosen.text(listed, longest)


def write_turns(
    path: str | Path,
    turns: Iterable[Turn],
    format: str | None = None,
    *,
    durations: Mapping[str, float] | None = None,
) -> list[Path]:
    """Write turns in any of the formats.

    Parameters
    ----------
    path : str or Path
        File to be replaced; or a folder that is there, in which each recording gets
        a file of its name.
    turns : iterable of Turn
        Who speaks when.
    format : {"rttm", "json", "csv", "audacity", "textgrid", "eaf", "srt", "vtt"}
        By default what the suffix says; a folder has none.
    durations : mapping from str to float, optional
        Seconds of recordings, for formats that say how long they are.

    Returns
    -------
    written : list of Path
        The files.

    Raises
    ------
    InvalidParameterError
        If the format cannot hold a name; or turns of several recordings, where the
        path is not a folder.

    Examples
    --------
    >>> from sms_diar.types import Segment
    >>> print(turns_text([Turn(Segment("call", 0.5, 2.0), "ann")], "srt"), end="")
    1
    00:00:00,500 --> 00:00:02,000
    [ann]
    """
    refuse_turns_path("write_turns", turns)
    texts = turn_files(path, turns, format, durations=durations)
    for file, text in texts.items():
        write_text(file, text)
    return list(texts)


def turn_files(
    path: str | Path,
    turns: Iterable[Turn],
    format: str | None = None,
    *,
    durations: Mapping[str, float] | None = None,
) -> dict[Path, str]:
    """Make the text of each file that `write_turns` writes with these arguments."""
    path = Path(path)
    chosen = format_to_write(None if path.is_dir() else path, format)
    texts: dict[Path, str] = {}
    if path.is_dir():
        parts: dict[str, list[Turn]] = {}
        for turn in turns:
            parts.setdefault(turn.segment.recording, []).append(turn)
        names = file_names(parts)
        for recording, own in parts.items():
            file = path / f"{names[recording]}{written_suffix(chosen)}"
            texts[file] = turns_text(own, chosen.name, durations=durations)
    else:
        texts[path] = turns_text(turns, chosen.name, durations=durations)
    return texts
