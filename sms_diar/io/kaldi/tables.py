"""Kaldi text tables: one id per line, followed by its values.

Ids are opaque. Readers refuse content that other tools would silently misread (CR LF
line ends, a byte order mark, blank lines, repeated ids) and report its line;
:func:`sms_diar.io.kaldi.validate.validate_data_dir` lists all problems at once.
Writers sort by id in C locale order, which Kaldi requires.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from sms_diar._files import write_text
from sms_diar._validation import check_path, refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._lines import check_field, check_fields, split_fields, strict_lines
from sms_diar.io.audio.recording import AudioSource
from sms_diar.timeline.ticks import format_seconds, parse_seconds
from sms_diar.types import Segment

V = TypeVar("V")
Parser = Callable[[str], tuple[str, V]]
"""Parses a line into id and value; raises a plain ValueError without the line."""

TO_THE_END = -1.0
"""End time that means the end of the recording in Kaldi's extract-segments."""


class Span(NamedTuple):
    """Recording, start and end as written; `end` may be ``TO_THE_END``."""

    recording: str
    start: float
    end: float


def parse_span(text: str) -> tuple[str, Span]:
    """Parse a line of `segments`."""
    fields = split_fields(text)
    if len(fields) == 5:
        raise ValueError(
            "a segments line has 4 fields, this one has 5; a channel in the fifth is "
            "not supported, store one file per channel"
        )
    name, recording, *times = exactly(fields, 4, "segments")
    start, end = (
        float(parse_seconds(what, time))
        for what, time in zip(("start", "end"), times, strict=True)
    )
    if start < 0.0 or (end <= start and end != TO_THE_END):
        raise ValueError(
            f"a segment must satisfy 0 <= start < end, got start={start!r}, end={end!r}"
        )
    return name, Span(recording, start, end)


def parse_pair(table: str) -> Parser[str]:
    """Return a parser of lines with an id and one other name."""

    def parse(text: str) -> tuple[str, str]:
        key, value = exactly(split_fields(text), 2, table)
        return key, value

    return parse


def parse_speaker(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse a line of `spk2utt`."""
    speaker, *ids = check_fields(split_fields(text))
    if not ids:
        raise ValueError("a spk2utt line has a speaker and at least one id, got no id")
    return speaker, tuple(ids)


def parse_count(text: str) -> tuple[str, int]:
    """Parse a line of `reco2num_spk`."""
    recording, count = exactly(split_fields(text), 2, "reco2num_spk")
    if not re.fullmatch("[0-9]{1,9}", count) or int(count) < 1:
        raise ValueError(f"number of speakers must be whole and >= 1, got {count!r}")
    return recording, int(count)


def parse_gender(text: str) -> tuple[str, str]:
    """Parse a line of `spk2gender`."""
    speaker, gender = exactly(split_fields(text), 2, "spk2gender")
    if gender not in ("f", "m"):
        raise ValueError(f"gender must be 'f' or 'm', got {gender!r}")
    return speaker, gender


def parse_duration(text: str) -> tuple[str, float]:
    """Parse a line of `reco2dur`."""
    recording, duration = exactly(split_fields(text), 2, "reco2dur")
    seconds = float(parse_seconds("duration", duration))
    if seconds <= 0.0:
        raise ValueError(f"duration must be > 0 seconds, got {duration!r}")
    return recording, seconds


def parse_audio(text: str) -> tuple[str, AudioSource]:
    """Parse a line of `wav.scp`."""
    [recording] = check_fields(split_fields(text)[:1])
    source = text.strip(" \t")[len(recording) :].strip(" \t")
    if not source:
        raise ValueError("a wav.scp line has an id and a path or command, got no path")
    return recording, AudioSource(source)


def end_of(span: Span, durations: Mapping[str, float] | None) -> Segment:
    """Convert a line to a segment; an end of -1 is looked up in `durations`."""
    end = span.end
    if end == TO_THE_END:
        if durations is None or span.recording not in durations:
            raise ValueError(
                f"an end of -1 means the end of recording {span.recording!r}, whose "
                f"length is unknown; add it to reco2dur or write the end in seconds"
            )
        end = durations[span.recording]
        if end <= span.start:
            raise ValueError(
                f"the segment starts at {span.start!r}, after the end of recording "
                f"{span.recording!r} at {end!r}"
            )
    return Segment(span.recording, span.start, end)


def read_segments(
    path: str | Path, *, durations: Mapping[str, float] | None = None
) -> dict[str, Segment]:
    """Read `segments`: id, recording, start and end in seconds.

    Parameters
    ----------
    path : str or Path
        Table to read.
    durations : mapping, optional
        Length of each recording in seconds. As in Kaldi's extract-segments, an end of
        -1 is the end of the recording; it is an error if the length is unknown.

    Returns
    -------
    segments : dict
        Segment of each id, in file order.
    """
    segments = {}
    for number, text, name, span in _rows(path, parse_span, "segments"):
        try:
            segments[name] = end_of(span, durations)
        except ValueError as error:
            raise DataFormatError(
                str(error), path=path, line=number, text=text
            ) from error
    return segments


def read_utt2spk(path: str | Path) -> dict[str, str]:
    """Read `utt2spk`: the speaker of each segment id."""
    return _read(path, parse_pair("utt2spk"), "utt2spk")


def read_spk2utt(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Read `spk2utt`: the segment ids of each speaker; no id has two speakers."""
    speakers = {}
    owner: dict[str, str] = {}
    for number, text, speaker, ids in _rows(path, parse_speaker, "spk2utt"):
        for name in ids:
            if name in owner:
                problem = (
                    f"id {name!r} is listed twice, first for speaker {owner[name]!r}"
                )
                raise DataFormatError(problem, path=path, line=number, text=text)
            owner[name] = speaker
        speakers[speaker] = ids
    return speakers


def read_reco2num_spk(path: str | Path) -> dict[str, int]:
    """Read `reco2num_spk`: the number of speakers of each recording."""
    return _read(path, parse_count, "reco2num_spk")


def read_spk2gender(path: str | Path) -> dict[str, str]:
    """Read `spk2gender`: ``"f"`` or ``"m"`` for each speaker."""
    return _read(path, parse_gender, "spk2gender")


def read_reco2dur(path: str | Path) -> dict[str, float]:
    """Read `reco2dur`: the length of each recording in seconds."""
    return _read(path, parse_duration, "reco2dur")


def read_wav_scp(path: str | Path) -> dict[str, AudioSource]:
    """Read `wav.scp`: the audio source of each recording."""
    return _read(path, parse_audio, "wav_scp")


def write_segments(path: str | Path, segments: Mapping[str, Segment]) -> None:
    """Write `segments`; times are restored exactly on reading."""
    _check_mapping("write_segments", "segments", segments, "read_segments")
    rows = {}
    for name, segment in segments.items():
        check_field("write_segments", "recording", segment.recording, format="segments")
        times = (format_seconds(time) for time in (segment.start, segment.end))
        rows[name] = " ".join((segment.recording, *times))
    _write(path, rows, "segments")


def write_utt2spk(path: str | Path, speakers: Mapping[str, str]) -> None:
    """Write `utt2spk` from the speaker of each segment id."""
    _check_mapping("write_utt2spk", "speakers", speakers, "read_utt2spk")
    for speaker in speakers.values():
        check_field("write_utt2spk", "speaker", speaker, format="utt2spk")
    _write(path, speakers, "utt2spk")


def write_spk2utt(path: str | Path, speakers: Mapping[str, str]) -> None:
    """Write `spk2utt` from the speaker of each segment id."""
    _check_mapping("write_spk2utt", "speakers", speakers, "read_utt2spk")
    for name in speakers:
        check_field("write_spk2utt", "id", name, format="spk2utt")
    rows = {speaker: " ".join(ids) for speaker, ids in invert(speakers).items()}
    _write(path, rows, "spk2utt")


def write_reco2num_spk(path: str | Path, counts: Mapping[str, int]) -> None:
    """Write `reco2num_spk` from the number of speakers of each recording."""
    _check_mapping("write_reco2num_spk", "counts", counts, "read_reco2num_spk")
    _write(path, {name: str(count) for name, count in counts.items()}, "reco2num_spk")


def write_spk2gender(path: str | Path, genders: Mapping[str, str]) -> None:
    """Write `spk2gender` from ``"f"`` or ``"m"`` for each speaker."""
    _check_mapping("write_spk2gender", "genders", genders, "read_spk2gender")
    _write(path, genders, "spk2gender")


def write_reco2dur(path: str | Path, durations: Mapping[str, float]) -> None:
    """Write `reco2dur` from the length of each recording in seconds."""
    _check_mapping("write_reco2dur", "durations", durations, "read_reco2dur")
    rows = {name: format_seconds(seconds) for name, seconds in durations.items()}
    _write(path, rows, "reco2dur")


def write_wav_scp(path: str | Path, sources: Mapping[str, AudioSource]) -> None:
    """Write `wav.scp` from the source of each recording."""
    _check_mapping("write_wav_scp", "sources", sources, "read_wav_scp")
    for name, source in sources.items():
        if not source.text or re.search("[\r\n]", source.text):
            raise InvalidParameterError(
                f"source of {name!r} must be one line of text, got {source.text!r}",
                owner="write_wav_scp",
            )
    _write(path, {name: source.text for name, source in sources.items()}, "wav.scp")


def invert(speakers: Mapping[str, str]) -> dict[str, list[str]]:
    """Convert the speaker of each id to the sorted ids of each speaker."""
    ids: dict[str, list[str]] = {}
    for name in sorted(speakers):
        ids.setdefault(speakers[name], []).append(name)
    return ids


def exactly(fields: list[str], count: int, table: str) -> list[str]:
    """Return the fields of a line after checking their number and characters."""
    if len(fields) != count:
        raise ValueError(
            f"a {table} line has {count} fields, this one has {len(fields)}"
        )
    return check_fields(fields)


def _rows(
    path: str | Path, parse: Parser[V], table: str
) -> Iterator[tuple[int, str, str, V]]:
    check_path(f"read_{table}", "path", path)
    first: dict[str, int] = {}
    for line in strict_lines(path):
        try:
            key, value = parse(line.text)
            if key in first:
                raise ValueError(
                    f"id {key!r} is given twice, first on line {first[key]}"
                )
        except ValueError as error:
            raise DataFormatError(
                str(error), path=path, line=line.number, text=line.text
            ) from error
        first[key] = line.number
        yield line.number, line.text, key, value


def _read(path: str | Path, parse: Parser[V], table: str) -> dict[str, V]:
    return {key: value for _, _, key, value in _rows(path, parse, table)}


def _check_mapping(owner: str, name: str, values: object, reader: str) -> None:
    refuse_path(owner, name, values, "a mapping", f"read it with {reader}")


def _write(path: str | Path, rows: Mapping[str, str], table: str) -> None:
    # Code point order equals the order of UTF-8 bytes, as in the C locale.
    owner = f"write_{table.replace('.', '_')}"
    for key in rows:
        check_field(owner, "id", key, format=table)
    write_text(path, "".join(f"{key} {rows[key]}\n" for key in sorted(rows)))
