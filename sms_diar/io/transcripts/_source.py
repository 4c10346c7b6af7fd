"""Source of a transcript: text, JSON and their checked values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from sms_diar._text import clean_line, is_name
from sms_diar.io.turns._text import FaultError, decoded, recording_named
from sms_diar.timeline.ticks import MAX_SECONDS
from sms_diar.timeline.transcript import Phrase, Word, words_of_text

_Value = TypeVar("_Value")

Step: TypeAlias = str | int
"""Key of an object or index of a list, as part of the path to an element of JSON."""

ROUNDING = 0.05
"""Time in seconds by which an end may precede its start; it is then set to the start.

Recognisers with steps of 20 ms round the two times of a word separately."""


@dataclass(frozen=True, eq=False)
class Source:
    """Content of a file, decoded once for the formats that look at it.

    Formats that name no recording use `recording`, the name of the file.
    """

    path: Path

    @property
    def recording(self) -> str:
        """Name of the file as a recording."""
        return recording_named(self.path)

    @cached_property
    def text(self) -> str:
        """Text with line ends converted to LF; raises `FaultError`.

        Tokens of whisper.cpp can be parts of letters, which are not UTF-8.
        """
        data = self.path.read_bytes()
        if b'"transcription"' in data and b'"tokens"' in data:
            data = data.decode("utf-8", "replace").encode()
        return decoded(data)

    @cached_property
    def lines(self) -> list[str]:
        """Lines of the text."""
        return self.text.split("\n")

    @property
    def is_like_json(self) -> bool:
        """True if the text begins like JSON."""
        return self.text.lstrip().startswith(("{", "["))

    @cached_property
    def content(self) -> Any:
        """Content as JSON, or None if the file is not JSON.

        JSON lines are also None, unless there is a single one; see `rows`.
        """
        try:
            return parsed(self.text) if self.is_like_json else None
        except FaultError:
            return None

    @cached_property
    def first_row(self) -> dict[str, Any]:
        """First of `rows`; empty if it is not an object of JSON."""
        try:
            return next((row.values for row in self.rows()), {})
        except FaultError:
            return {}

    def rows(self) -> Iterator[Element]:
        """Yield the objects of JSON lines, of a JSON list, or a single object."""
        if isinstance(self.content, list):
            yield from self.elements(self.content)
        elif self.content is not None:
            yield self._element(self.content, 1)
        elif self.is_like_json:
            for number, line in enumerate(self.lines, start=1):
                if line.strip():
                    yield self._element(parsed(line, number), number)

    def elements(
        self, values: Any, *path: Step, names: Sequence[str] = ()
    ) -> Iterator[Element]:
        """Yield the objects of a list in JSON; null is an empty list.

        With `names`, objects may be lists of their values.
        """
        if not isinstance(values, list | None):
            raise self.fault(f"must be a list, got {values!r:.40}", path)
        for index, value in enumerate(values or ()):
            is_values = bool(names) and isinstance(value, list)
            named = dict(zip(names, value, strict=False)) if is_values else value
            yield self._element(named, *path, index)

    def _element(self, value: Any, *path: Step) -> Element:
        if not isinstance(value, dict):
            raise self.fault(f"must be an object, got {value!r:.40}", path)
        return Element(self, path, value)

    def fault(self, problem: str, path: Sequence[Step] = ()) -> FaultError:
        """Return a fault that names an element of JSON and its line."""
        steps, line = list(path), 0
        if steps and isinstance(steps[0], int) and not isinstance(self.content, list):
            line = int(steps.pop(0))
        if self.content is not None:
            line = _line_of(self.text, steps)
        names = (f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)
        where = "".join(names).lstrip(".")
        return FaultError(f"{where}: {problem}" if where else problem, line)


class Element(NamedTuple):
    """An object in JSON; its values are checked, and faults name its line."""

    source: Source
    path: tuple[Step, ...]
    values: dict[str, Any]

    def fault(self, problem: str) -> FaultError:
        """Return a fault of this object."""
        return self.source.fault(problem, self.path)

    def elements(self, key: str, *, names: Sequence[str] = ()) -> Iterator[Element]:
        """Yield the objects of a list."""
        values = self.values.get(key)
        return self.source.elements(values, *self.path, key, names=names)

    def element(self, key: str) -> Element:
        """Return an object of this object; null is an empty object."""
        value = self.values.get(key)
        if not isinstance(value, dict | None):
            raise self.fault(f'"{key}" must be an object, got {value!r:.40}')
        return Element(self.source, (*self.path, key), value or {})

    def string(self, key: str) -> str:
        """Return text, empty for null."""
        value = self.values.get(key)
        if not isinstance(value, str | None):
            raise self.fault(f'"{key}" must be text, got {value!r:.40}')
        return value or ""

    def name(self, key: str) -> str | None:
        """Return a name, or None if it is missing, blank or "unknown"."""
        value = self.values.get(key)
        name = str(value) if type(value) in (int, str) else ""
        if value is None or value == "" or name.strip() == "unknown":
            return None
        if not is_name(name):
            raise self.fault(
                f'"{key}" must be a name without control characters, got {value!r:.40}'
            )
        return name

    def recording(self, key: str) -> str:
        """Return the name of a recording."""
        return self._given(key, self.name(key))

    def _given(self, key: str, value: _Value | None) -> _Value:
        if value is None:
            raise self.fault(f'"{key}" is missing')
        return value

    def number(self, key: str, *, unit: int = 1, default: float | None = None) -> float:
        """Return a number, or text of a number, in seconds; it may be negative."""
        value: Any = self._given(key, self.values.get(key, default))
        if isinstance(value, str):
            with suppress(ValueError):
                value = float(value)
        limit = MAX_SECONDS * unit
        if type(value) not in (int, float) or not -limit < value < limit:
            raise self.fault(f'"{key}" must be a number of seconds, got {value!r:.40}')
        return float(value / unit)

    def times(
        self, start: str = "start", end: str = "end", *, unit: int = 1
    ) -> tuple[float, float]:
        """Return two times in seconds."""
        first, last = (self.number(key, unit=unit) for key in (start, end))
        return self._ordered(first, last)

    def span(self, start: str, shift: float = 0.0) -> tuple[float, float]:
        """Return the times of an object with a duration, without float noise."""
        first = self.number(start, default=0.0) + shift
        last = first + self.number("duration")
        return self._ordered(round(first, 9), round(last, 9))

    def _ordered(self, start: float, end: float) -> tuple[float, float]:
        if start < 0 or end < start - ROUNDING:
            problem = f"times must satisfy 0 <= start <= end, got {start} and {end}"
            raise self.fault(problem)
        return start, max(start, end)

    def confidence(self, *keys: str) -> float | None:
        """Return the first probability under some keys."""
        values = (probability(self.values.get(key)) for key in keys)
        return next((value for value in values if value is not None), None)


def parsed(text: str, line: int = 1, **options: Any) -> Any:
    """Parse JSON that begins at a line, 0 if it is not named; raises `FaultError`."""
    try:
        return json.loads(text, strict=False, **options)
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} in column {error.colno}"
        raise FaultError(problem, max(line, 1) + error.lineno - 1) from None
    except RecursionError:
        raise FaultError("not read: values are nested too deeply", line) from None
    except (ValueError, ArithmeticError):
        raise FaultError("not read: a number has too many digits", line) from None


def _line_of(text: str, path: Sequence[Step]) -> int:
    """Return the line of an element of JSON, whose text has been parsed before."""
    decode = json.JSONDecoder(strict=False).raw_decode

    def skipped(position: int) -> int:
        while text[position] in " \t\n,:":
            position += 1
        return position

    position = skipped(0)
    for step in path:
        is_list = text[position] == "["
        begin, position, count = position, skipped(position + 1), 0
        while text[position] not in "]}":
            key: Step = count
            if not is_list:
                key, end = decode(text, position)
                position = skipped(end)
            if key == step:  # of equal keys, the last one counts
                begin = position
            position, count = skipped(decode(text, position)[1]), count + 1
        position = begin
    return text.count("\n", 0, position) + 1


def probability(value: Any) -> float | None:
    """Return a confidence, or None for values that are not a probability."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None


def text_phrase(
    recording: str, text: str, start: float, end: float, speaker: str | None = None
) -> Phrase:
    """Return a phrase whose words have no times of their own."""
    if end < start:
        raise ValueError(f"the end must not precede the start, got {start} and {end}")
    words = words_of_text(clean_line(text), start, end)
    return Phrase(recording, start, end, speaker, words)


def timed_words(
    text: str,
    start: float,
    end: float,
    confidence: float | None = None,
    *,
    is_joined: bool = False,
    is_estimated: bool = False,
) -> list[Word]:
    """Return the words of a text with common times; white space divides them."""
    words = [
        replace(word, confidence=confidence)
        for word in words_of_text(clean_line(text), start, end)
    ]
    if words:
        words[0] = replace(words[0], is_joined=is_joined)
    if len(words) == 1:
        words[0] = replace(words[0], start=start, end=end, is_estimated=is_estimated)
    return words
