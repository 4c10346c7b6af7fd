"""Turns and transcripts as a table with a header: recording, start, end, speaker, text.

A row is a turn, a phrase, or a word if the column is called ``word``. ``duration`` may
replace ``end``, ``channel`` and other columns are optional, and transcripts need
neither ``recording`` nor ``speaker``. Columns are separated by commas or tabs; the
table ``start, end, text`` with tabs, as Whisper writes it, has times in milliseconds.
Text that a spreadsheet would interpret as a formula is written with an apostrophe
before it, which is removed on reading.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sms_diar._text import as_cell, check_id, clean_line, from_cell
from sms_diar.io.transcripts import _source, _words
from sms_diar.io.transcripts._source import Source
from sms_diar.io.turns._text import (
    NO_SPEAKERS,
    FaultError,
    Spoken,
    check_name,
    not_negative,
    plain_seconds,
)
from sms_diar.timeline.ticks import TICKS_PER_SECOND
from sms_diar.timeline.transcript import Phrase, Word
from sms_diar.types import Turn

_TEXTS = ("text", "word", "words", "transcript", "transcription")
_CONFIDENCES = ("confidence", "probability", "score")
_OF_WHISPER = ["start", "end", "text"]
_COLUMNS = ["recording", "start", "end", "speaker"]


def fits(source: Source) -> bool:
    """Recognise the columns of the header: start, and text or word."""
    names = _header(source)[1]
    return "start" in names and not set(names).isdisjoint(_TEXTS)


def spoken(source: Source) -> Iterator[Spoken]:
    """Yield the rows as turns."""
    if fits(source) and "speaker" not in _header(source)[1]:
        raise FaultError(NO_SPEAKERS, 1)
    for line, cells in _rows(source, "recording", "speaker"):
        names = cells["recording"], cells.get("channel", "1")
        yield Spoken(line, cells["speaker"], *_ticks(line, cells), "", *names)


def read(source: Source) -> Iterator[Phrase]:
    """Yield the rows as phrases, or phrases of rows with a word each."""
    words: list[tuple[_words.Stream, Word]] = []
    for line, cells in _rows(source, *(() if fits(source) else ("text",))):
        start, end = (ticks / TICKS_PER_SECOND for ticks in _ticks(line, cells))
        column = next(name for name in _TEXTS if name in cells)
        try:
            recording = check_id(cells.get("recording") or source.recording)
            speaker = _words.known(clean_line(cells.get("speaker", "")))
            if column != "word":
                yield _source.text_phrase(recording, cells[column], start, end, speaker)
                continue
            sure = next((cells[name] for name in _CONFIDENCES if cells.get(name)), None)
            confidence = None if sure is None else _source.probability(float(sure))
            stream = (recording, cells.get("channel", ""), speaker)
            spoken = _source.timed_words(cells["word"], start, end, confidence)
            words += ((stream, word) for word in spoken)
        except ValueError as error:
            raise FaultError(str(error), line) from None
    yield from _words.phrases_of_words(words)


def text(phrases: Sequence[Phrase]) -> str:
    """Format phrases of any number of recordings, one per row."""
    rows = [
        (p.recording, p.start, p.end, p.speaker or _words.UNKNOWN, p.text)
        for p in phrases
    ]
    return _table([*_COLUMNS, "text"], rows)


def turns_text(turns: Sequence[Turn], _: float) -> str:
    """Format turns of any number of recordings."""
    rows = []
    for turn in sorted(turns):
        recording = check_name("CSV", "recording", turn.segment.recording)
        speaker = check_name("CSV", "speaker", turn.speaker)
        rows.append((recording, turn.segment.start, turn.segment.end, speaker))
    return _table(_COLUMNS, rows)


def _table(names: Sequence[str], rows: Iterable[Sequence[str | float]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        cells = (as_cell(c) if isinstance(c, str) else plain_seconds(c) for c in row)
        writer.writerow(cells)
    return stream.getvalue()


def _header(source: Source) -> tuple[str, list[str]]:
    """Return the separator and the names of the columns."""
    first = next((line for line in source.lines if line.strip()), "")
    mark = "\t" if "\t" in first else ","
    return mark, [name.strip(' "').lower() for name in first.split(mark)]


def _rows(source: Source, *needed: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and cells of each row below the header."""
    mark, header = _header(source)
    if not {"start", *needed} <= {*header} or {"end", "duration"}.isdisjoint(header):
        columns = ", ".join(dict.fromkeys((*needed, "start")))
        raise FaultError(
            f"the header must have the columns {columns}, and end or duration, got "
            f"{mark.join(header)!r:.80}",
            1,
        )
    is_whisper = mark == "\t" and header == _OF_WHISPER
    reader = csv.reader(io.StringIO(source.text), delimiter=mark, strict=True)
    rows = (row for row in reader if "".join(row).strip())
    try:
        next(rows)
        for row in rows:
            if len(row) != len(header):
                problem = f"this row has {len(row)} fields, the header {len(header)}"
                raise FaultError(problem, reader.line_num)
            cells = dict(zip(header, map(from_cell, row), strict=True))
            if is_whisper:
                cells |= {key: f"{cells[key]}e-3" for key in ("start", "end")}
            yield reader.line_num, cells
    except csv.Error as error:
        raise FaultError(str(error), reader.line_num) from None


def _ticks(line: int, cells: Mapping[str, str]) -> tuple[int, int]:
    """Return start and end of a row."""
    try:
        start = not_negative("start", cells["start"])
        if "end" in cells:
            return start, not_negative("end", cells["end"])
        return start, start + not_negative("duration", cells["duration"])
    except ValueError as error:
        raise FaultError(str(error), line) from None
