"""Label tables: the speaker of each segment, as text, CSV or JSON.

Text is Kaldi's `utt2spk`, which other tools read. CSV, for spreadsheets, also has times
and confidences. JSON can represent names that the other two cannot. The CSV files of
NIST's i-vector challenges and IdMaps of SIDEKIT (HDF5) are read as well.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from sms_diar._files import write_text
from sms_diar._json import json_text, parse_json
from sms_diar._text import as_cell, check_id, from_cell
from sms_diar._validation import check_choice, check_path, refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._hdf5 import is_hdf5, opened_hdf5
from sms_diar.io._lines import check_is_file, read_text, scan_lines
from sms_diar.io.kaldi.tables import read_utt2spk, write_utt2spk
from sms_diar.timeline.ticks import format_seconds
from sms_diar.types import Segment

_IDS = re.compile(r"id|ivectorid|model_ivectorids\[[0-9]+\]")
_SPEAKERS = re.compile(r"speaker|speaker_id|target_speaker_modelid")

LabelFormat: TypeAlias = Literal["utt2spk", "csv", "json"]

FORMATS: tuple[LabelFormat, ...] = ("utt2spk", "csv", "json")
_SUFFIXES: dict[str, LabelFormat] = {
    "": "utt2spk",
    ".txt": "utt2spk",
    ".utt2spk": "utt2spk",
    ".csv": "csv",
    ".json": "json",
}


def write_labels(
    path: str | Path,
    labels: Mapping[str, str],
    *,
    segments: Mapping[str, Segment] | None = None,
    confidence: Mapping[str, float] | None = None,
    format: LabelFormat | None = None,
) -> None:
    """Write the speaker of each segment, sorted by id.

    Parameters
    ----------
    path : str or Path
        File to write.
    labels : mapping
        Speaker of each segment id.
    segments : mapping, optional
        Segment of each id; other ids are ignored. CSV then also has the columns
        recording, start and end, and JSON a key ``"segments"``.
    confidence : mapping, optional
        Probability that the speaker of each id is correct. CSV then has a last column
        confidence, and JSON a key ``"confidence"``.
    format : {"utt2spk", "csv", "json"}, optional
        Format of the file. By default, it follows from the suffix: ``.csv``,
        ``.json``, or text for ``.txt``, ``.utt2spk`` and no suffix.
    """
    for argument, value in (("labels", labels), ("segments", segments)):
        rule, remedy = "a mapping", f"read it with read_{argument}"
        refuse_path("write_labels", argument, value, rule, remedy)
    for name, speaker in labels.items():
        if not isinstance(name, str) or not isinstance(speaker, str):
            raise InvalidParameterError(
                f"must map text to text, got {name!r}: {speaker!r}; name the clusters "
                f"with name_speakers",
                owner="write_labels",
                parameter="labels",
            )
    for argument, values in (("segments", segments), ("confidence", confidence)):
        missing = [] if values is None else [n for n in labels if n not in values]
        if missing:
            raise InvalidParameterError(
                f"must contain all ids of labels, but {missing[0]!r} is missing "
                f"({len(missing)} of {len(labels)})",
                owner="write_labels",
                parameter=argument,
            )
    chosen = _format_of(Path(path), format)
    if chosen == "utt2spk":
        write_utt2spk(path, labels)
    elif chosen == "csv":
        write_text(path, _csv_text(labels, segments, confidence))
    else:
        write_text(path, _json_text(labels, segments, confidence))


def read_labels(path: str | Path) -> dict[str, str]:
    """Read the speaker of each segment from any of the formats.

    The format follows from the suffix. A file with another suffix is JSON if it begins
    with a brace, CSV if its first line is a header with the columns id and speaker, and
    text otherwise.
    """
    check_path("read_labels", "path", path)
    path = Path(path)
    check_is_file(path)
    if is_hdf5(path):
        return _read_id_map(path)
    if path.suffix == ".csv":
        return _read_csv(path)
    if path.suffix == ".json":
        return _read_json(path)
    first = next((line.text for line in scan_lines(path)), "")
    if path.suffix != ".utt2spk" and path.name != "utt2spk":
        if first.lstrip().startswith("{"):
            return _read_json(path)
        if {"id", "speaker"} <= set(first.split(",")):
            return _read_csv(path)
    return read_utt2spk(path)


def _format_of(path: Path, format: str | None) -> LabelFormat:
    if format is not None:
        return cast(
            LabelFormat, check_choice("write_labels", "format", format, FORMATS)
        )
    if path.suffix not in _SUFFIXES:
        problem = (
            f"must be given for the suffix {path.suffix!r}, one of "
            f"{', '.join(repr(name) for name in FORMATS)}"
        )
        raise InvalidParameterError(problem, owner="write_labels", parameter="format")
    return _SUFFIXES[path.suffix]


def _csv_text(
    labels: Mapping[str, str],
    segments: Mapping[str, Segment] | None,
    confidence: Mapping[str, float] | None,
) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = ["id", "speaker"]
    if segments is not None:
        header += ["recording", "start", "end"]
    if confidence is not None:
        header.append("confidence")
    writer.writerow(header)
    for name in sorted(labels):
        row = [as_cell(name), as_cell(labels[name])]
        if segments is not None:
            segment = segments[name]
            row.append(as_cell(segment.recording))
            row.extend(format_seconds(time) for time in (segment.start, segment.end))
        if confidence is not None:
            row.append(f"{confidence[name]:.4g}")
        writer.writerow(row)
    return text.getvalue()


def _json_text(
    labels: Mapping[str, str],
    segments: Mapping[str, Segment] | None,
    confidence: Mapping[str, float] | None,
) -> str:
    content: dict[str, Any] = {
        "labels": {name: labels[name] for name in sorted(labels)}
    }
    if segments is not None:
        content["segments"] = {
            name: {
                "recording": segments[name].recording,
                "start": float(segments[name].start),
                "end": float(segments[name].end),
            }
            for name in sorted(labels)
        }
    if confidence is not None:
        content["confidence"] = {n: float(confidence[n]) for n in sorted(labels)}
    return json_text(content) + "\n"


def _read_csv(path: Path) -> dict[str, str]:
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    labels: dict[str, str] = {}
    header: list[str] | None = None
    try:
        for row in reader:
            if header is None:
                header = row
                id_column = _column(header, _IDS)
                speaker_column = _column(header, _SPEAKERS)
                if id_column < 0 or speaker_column < 0:
                    raise ValueError(
                        f"the header must have the columns id and speaker, got "
                        f"{','.join(header)!r}"
                    )
                continue
            if len(row) != len(header):
                raise ValueError(
                    f"expected {len(header)} fields as in the header, this row has "
                    f"{len(row)}"
                )
            speaker = from_cell(row[speaker_column])
            is_list = header[id_column].endswith("]")
            for name in row[id_column].split() if is_list else [row[id_column]]:
                name = from_cell(name)  # noqa: PLW2901
                _check_names(name, speaker)
                if name in labels:
                    raise ValueError(f"id {name!r} is given twice")
                labels[name] = speaker
    except (ValueError, csv.Error) as error:
        raise DataFormatError(str(error), path=path, line=reader.line_num) from error
    if header is None:
        raise DataFormatError("the file is empty; expected a header", path=path)
    return labels


def _column(header: list[str], pattern: re.Pattern[str]) -> int:
    return next((c for c, name in enumerate(header) if pattern.fullmatch(name)), -1)


def _read_id_map(path: Path) -> dict[str, str]:
    """Read an IdMap of SIDEKIT: models are ``leftids``, segments ``rightids``."""
    with opened_hdf5(path) as file:
        file.require(("leftids", "rightids"), "an IdMap")
        speakers, ids = file.strings("leftids"), file.strings("rightids")
        for name in (*ids, *speakers):
            check_id(name)
    if not len(set(ids)) == len(ids) == len(speakers):
        problem = f"rightids must be {len(speakers)} different ids, one per left id"
        raise DataFormatError(problem, path=path)
    return dict(zip(ids, speakers, strict=True))


def _read_json(path: Path) -> dict[str, str]:
    text = read_text(path)
    try:
        content = parse_json(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} in column {error.colno}"
        raise DataFormatError(problem, path=path, line=error.lineno) from error
    except ValueError as error:
        raise DataFormatError(str(error), path=path) from error
    labels = content.get("labels") if isinstance(content, dict) else None
    if not isinstance(labels, dict):
        problem = 'expected an object with the key "labels", which maps ids to speakers'
        raise DataFormatError(problem, path=path)
    for name, speaker in labels.items():
        if not isinstance(speaker, str):
            problem = f"the speaker of {name!r} must be text, got {speaker!r}"
            raise DataFormatError(problem, path=path)
        try:
            _check_names(name, speaker)
        except ValueError as error:
            raise DataFormatError(str(error), path=path) from None
    return labels


def _check_names(name: str, speaker: str) -> None:
    if not name or not speaker:
        raise ValueError("id and speaker must not be empty")
    check_id(name)
    check_id(speaker)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"id {twice!r} is given twice")
    return content
