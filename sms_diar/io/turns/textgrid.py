"""Praat TextGrid: one tier of intervals per speaker.

The name of a tier is the speaker, and each interval with any text is a turn. Both of
Praat's text formats, long and short, are read: the tokens of either are quoted texts,
separate numbers, and flags such as ``<exists>``. Point tiers contain no turns and are
skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sms_diar.io.turns._text import FaultError, Spoken, decoded, plain_seconds
from sms_diar.timeline.ticks import parse_one

_TOKEN = re.compile(
    r'"(?P<text>(?:[^"]|"")*)"'
    r"|(?<!\S)(?P<number>[-+]?[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?)(?!\S)"
    r"|(?<!\S)<(?P<flag>exists|absent)>"
    r"|(?<!\S)!(?P<comment>[^\n]*)"
    r'|(?P<open>")'
)


def grid_text(
    tiers: Mapping[str, Sequence[tuple[float, float, str]]], duration: float = 0.0
) -> str:
    """Format the intervals of each tier, which must not overlap within it.

    The grid ends at `duration` in seconds, or with the last interval if that is later.
    """
    last = max([duration, *(end for rows in tiers.values() for _, end, _ in rows)])
    end = plain_seconds(last)
    lines = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "xmin = 0",
        f"xmax = {end}",
        "tiers? <exists>" if tiers else "tiers? <absent>",
    ]
    if tiers:
        lines += [f"size = {len(tiers)}", "item []:"]
    for number, (name, rows) in enumerate(tiers.items(), start=1):
        intervals = list(_intervals(rows, last))
        lines += [
            f"    item [{number}]:",
            '        class = "IntervalTier"',
            f"        name = {_quoted(name)}",
            "        xmin = 0",
            f"        xmax = {end}",
            f"        intervals: size = {len(intervals)}",
        ]
        for index, (start, stop, text) in enumerate(intervals, start=1):
            lines += [
                f"        intervals [{index}]:",
                f"            xmin = {plain_seconds(start)}",
                f"            xmax = {plain_seconds(stop)}",
                f"            text = {_quoted(text)}",
            ]
    return "\n".join(lines) + "\n"


def _intervals(
    rows: Sequence[tuple[float, float, str]], last: float
) -> Iterator[tuple[float, float, str]]:
    """Yield the intervals of a tier, which cover it without gaps."""
    at = 0.0
    for start, end, text in rows:
        if start > at:
            yield at, start, ""
        yield start, end, text
        at = end
    if at < last:
        yield at, last, ""


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


class _Token(NamedTuple):
    kind: str
    value: str
    line: int


class _Tokens:
    """Stream of the tokens of a file."""

    def __init__(self, text: str) -> None:
        self._tokens = self._scan(text)
        self.line = 1

    @staticmethod
    def _scan(text: str) -> Iterator[_Token]:
        line, at = 1, 0
        for match in _TOKEN.finditer(text):
            line += text.count("\n", at, match.start())
            at = match.start()
            kind = match.lastgroup or ""
            if kind != "comment":
                yield _Token(kind, match[kind], line)

    def next(self, kind: str, what: str) -> str:
        token = next(self._tokens, None)
        if token is None:
            raise FaultError(f"the file ends where {what} should be; it is truncated")
        self.line = token.line
        if token.kind != kind:
            shown = "a quote that is not closed" if token.kind == "open" else token[1]
            raise FaultError(f"expected {what}, got {shown!r}", token.line)
        return token.value.replace('""', '"') if kind == "text" else token.value

    def count(self, what: str) -> int:
        text = self.next("number", what)
        if not text.isdecimal():
            raise FaultError(f"{what} must be a whole number, got {text}", self.line)
        return int(text)

    def time(self, what: str) -> int:
        text = self.next("number", what)
        try:
            return parse_one(what, text)[0]
        except ValueError as error:
            raise FaultError(str(error), self.line) from None


def intervals(data: bytes) -> Iterator[Spoken]:
    """Yield the intervals with text of all tiers; raises `FaultError`."""
    if data.startswith(b"ooBinaryFile"):
        raise FaultError("is a binary TextGrid; save it in Praat as a text file")
    tokens = _Tokens(decoded(data))
    tokens.next("text", "the file type")
    kind = tokens.next("text", "the class of the object")
    if kind != "TextGrid":
        raise FaultError(f"contains a Praat {kind!r}, expected a TextGrid", tokens.line)
    tokens.time("xmin")
    tokens.time("xmax")
    if tokens.next("flag", "whether there are tiers") == "absent":
        return
    for _ in range(tokens.count("the number of tiers")):
        yield from _tier(tokens)


def _tier(tokens: _Tokens) -> Iterator[Spoken]:
    kind = tokens.next("text", "the class of a tier")
    if kind not in ("IntervalTier", "TextTier"):
        raise FaultError(f"unknown tier class {kind!r}", tokens.line)
    speaker = tokens.next("text", "the name of a tier").strip()
    line = tokens.line
    tokens.time("xmin")
    tokens.time("xmax")
    for _ in range(tokens.count("the number of intervals")):
        start = tokens.time("xmin")
        at = tokens.line
        end = tokens.time("xmax") if kind == "IntervalTier" else start
        text = tokens.next("text", "the text of an interval")
        if kind == "TextTier" or not text.strip():
            continue
        if not speaker:
            raise FaultError("the tier has no name; it must be the speaker's", line)
        if start < 0:
            raise FaultError("times must not be negative", at)
        yield Spoken(at, speaker, start, end, text)
