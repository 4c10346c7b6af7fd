"""Transcripts as a table with a header: recording, start, end, speaker, text.

A row is a phrase, or a word if the column is called ``word``. ``duration`` may replace
``end``, other columns are ignored, and ``recording`` and ``speaker`` may be absent.
Columns are separated by commas or tabs; the table ``start, end, text`` with tabs, as
Whisper writes it, has times in milliseconds. Text that a spreadsheet would interpret as
a formula is written with an apostrophe before it, which is removed on reading.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from sms_diar._text import as_cell, check_id, clean_line, from_cell
from sms_diar.io.transcripts import _source, _words
from sms_diar.io.transcripts._source import Source
from sms_diar.io.turns._text import FaultError, plain_seconds
from sms_diar.timeline.transcript import Phrase, Word

_TEXTS = ("text", "word", "words", "transcript", "transcription")
_CONFIDENCES = ("confidence", "probability", "score")
_OF_WHISPER = ["start", "end", "text"]


def fits(source: Source) -> bool:
    """Recognise the columns of the header: start, and text or word."""
    names = _header(source)[1]
    return "start" in names and not set(names).isdisjoint(_TEXTS)


def read(source: Source) -> Iterator[Phrase]:
    """Yield the rows as phrases, or phrases of rows with a word each."""
    words: list[tuple[_words.Stream, Word]] = []
    for number, cells in _rows(source):
        try:
            recording = check_id(cells.get("recording") or source.recording)
            speaker = _words.known(clean_line(cells.get("speaker", "")))
            start = _words.time_of(cells["start"], "start")
            length = cells.get("duration", "0")
            end = start + _words.time_of(length, "duration")
            if "end" in cells:
                end = _words.time_of(cells["end"], "end")
            column = next(name for name in _TEXTS if name in cells)
            if column != "word":
                yield _source.text_phrase(recording, cells[column], start, end, speaker)
                continue
            sure = next((cells[name] for name in _CONFIDENCES if cells.get(name)), None)
            confidence = None if sure is None else _source.probability(float(sure))
            stream = (recording, cells.get("channel", ""), speaker)
            spoken = _source.timed_words(cells["word"], start, end, confidence)
            words += ((stream, word) for word in spoken)
        except ValueError as error:
            raise FaultError(str(error), number) from None
    yield from _words.phrases_of_words(words)


def text(phrases: Sequence[Phrase]) -> str:
    """Format phrases of any number of recordings, one per row."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("recording", "start", "end", "speaker", "text"))
    for phrase in phrases:
        times = (plain_seconds(time) for time in (phrase.start, phrase.end))
        cells = (phrase.speaker or _words.UNKNOWN, phrase.text)
        writer.writerow((as_cell(phrase.recording), *times, *map(as_cell, cells)))
    return stream.getvalue()


def _header(source: Source) -> tuple[str, list[str]]:
    """Return the separator and the names of the columns."""
    first = next((line for line in source.lines if line.strip()), "")
    mark = "\t" if "\t" in first else ","
    return mark, [name.strip(' "').lower() for name in first.split(mark)]


def _rows(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and cells of each row below the header."""
    mark, header = _header(source)
    names = set(header)
    if not ("start" in names and names & {"end", "duration"} and names & set(_TEXTS)):
        raise FaultError(
            f"the header must have the columns start, end or duration, and text or "
            f"word, got {mark.join(header)!r:.80}"
        )
    is_whisper = mark == "\t" and header == _OF_WHISPER
    reader = csv.reader(io.StringIO(source.text), delimiter=mark, strict=True)
    rows = (row for row in reader if "".join(row).strip())
    try:
        next(rows)
        for row in rows:
            if len(row) != len(header):
                problem = f"the row has {len(row)} fields, the header {len(header)}"
                raise FaultError(problem, reader.line_num)
            cells = dict(zip(header, map(from_cell, row), strict=True))
            if is_whisper:
                cells |= {key: f"{cells[key]}e-3" for key in ("start", "end")}
            yield reader.line_num, cells
    except csv.Error as error:
        raise FaultError(str(error), reader.line_num) from None
