"""Detection of formats and kinds of files, from their first bytes and their suffix.

`embedding_format` and `turn_format` select the reader of a file. `kind_of` serves
messages about swapped input files, and `is_label_table` distinguishes tables of labels
from files of turns, both of which may be text, CSV or JSON.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import ByteSource
from sms_diar.io._hdf5 import HDF5_MAGIC
from sms_diar.io._lines import scan_lines, split_fields
from sms_diar.io.embeddings.arrays import names_in_npz
from sms_diar.io.embeddings.toolkits import alize_vector
from sms_diar.io.model import MODEL_MARK
from sms_diar.io.registry import BY_SUFFIX, TURN_FORMATS, WORDS, Format
from sms_diar.io.transcripts._source import Source, parsed
from sms_diar.io.transcripts.files import transcript_format
from sms_diar.io.turns._text import FaultError
from sms_diar.io.turns.json import holds_turns, names_speakers

KINDS = {
    "embeddings": "embeddings",
    "plda": "a PLDA model",
    "model": "a model of 'plda train' or 'ivectors train'",
    "transform": "a transform",
    "segments": "a segments table",
    "utt2spk": "utt2spk",
    "rttm": "turns (RTTM)",
    "audio": "a recording",
}
"""Kinds of files and their names in messages."""

_HEAD = 4096  # bytes from which a format is detected
_AUDIO = (b"RIFF", b"fLaC", b"OggS", b"NIST_1A", b"ID3", b"FORM", b"RF64")
_ARK = re.compile(rb"\s*[^\s\0]+[ \t]+(\0B|\[)")
_JSON = re.compile(rb"\s*\{\s*\"")
_JSON_LIST = re.compile(rb"\s*\[\s*[{\[]")
_TIME = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?")
_NUMBER = re.compile(r"[-+.]?\d|[-+]?(nan|inf)", re.IGNORECASE)
_SCP_TARGET = re.compile(r".*(\||:\d+(\[[^\]]*\])?|\.(ark|vec))")
_PICKLE = re.compile(
    rb"PK\x03\x04.{26}[^/\0]*/(data\.pkl|\.format_version|\.data/|byteorder|version)"
    rb"|\x80[\x02-\x05]",  # a PyTorch archive, or a bare pickle
    re.DOTALL,
)
_EMBEDDING_MAGIC = {
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"\x93NUMPY": "npy",
    b"PAR1": "parquet",
    HDF5_MAGIC: "hdf5",
    b"MATLAB 7.3 MAT-file": "hdf5",
    b"MATLAB 5.0 MAT-file": "mat",
}
_EMBEDDING_SUFFIXES = {
    ".ark": "ark",
    ".scp": "scp",
    ".csv": "table",
    ".tsv": "table",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
}
_NO_EMBEDDINGS = {
    b"\x1f\x8b": "is compressed with gzip; unpack it first",
    b"\0B": "is a single Kaldi object (a mean, a transform or a model), not a set of "
    "embeddings",
}


def embedding_format(source: ByteSource) -> str:
    """Detect the format of embeddings; the suffix decides between kinds of text.

    Returns one of ark, scp, npz, npy, parquet, hdf5, mat, alize, table, blanks and
    json lines; raises DataFormatError for any other content.
    """
    head = source.peek(_HEAD)
    suffix = source.name.suffix.lower() if isinstance(source.name, Path) else ""
    problem = _problem_of_embeddings(head)
    if problem:
        raise source.fault(problem)
    formats = (f for magic, f in _EMBEDDING_MAGIC.items() if head.startswith(magic))
    format = next(formats, None)
    if format is None and _JSON.match(head):
        format = "json lines"
    if format is None:
        format = "ark" if _ARK.match(head) else _EMBEDDING_SUFFIXES.get(suffix)
    line = _first_line(head)
    if format is None and b"\0" not in head:
        format = _format_of_row(line)
    if format == "table" and not re.search("[,\t]", line) and len(line.split()) > 1:
        format = "blanks"
    if format is None and alize_vector(source.peek(1 << 20)) is not None:
        format = "alize"
    if format is None:
        raise source.fault(
            "unknown format; expected Kaldi ark or scp, npz, npy, CSV, TSV, "
            "whitespace-separated columns, JSON lines, Parquet, HDF5 of SIDEKIT, a "
            "MAT-file or a vector of ALIZE"
        )
    return format


def _problem_of_embeddings(head: bytes) -> str | None:
    """Describe why a file that begins with `head` cannot contain embeddings."""
    if not head.strip():
        return "is empty"
    for magic, problem in _NO_EMBEDDINGS.items():
        if head.startswith(magic):
            return problem
    if _PICKLE.match(head):
        return (
            "is a PyTorch file or a pickle, which is not loaded because it can run any "
            "program; save the vectors as npz where they were computed: "
            "numpy.savez('x.npz', ids=ids, vectors=tensor.cpu().numpy())"
        )
    if _JSON_LIST.match(head):
        return "is a JSON list; write one object per line (JSON lines)"
    return None


def _format_of_row(line: str) -> str | None:
    rest = line.strip().split(maxsplit=1)[1:]
    if rest and _SCP_TARGET.fullmatch(rest[0]):
        return "scp"
    if "," in line or "\t" in line:
        return "table"
    # "id path" of a whole file, or a row of numbers, with or without an id.
    if not rest:
        return None
    return "blanks" if _NUMBER.match(rest[0]) else "scp"


def _first_line(head: bytes) -> str:
    """Return the first line that is neither blank nor a comment, else the first."""
    lines = head.decode("utf-8", "replace").strip().split("\n")
    content = (line for line in lines if line.strip() and not line.startswith("#"))
    return next(content, lines[0])


def turn_format(path: Path) -> Format:
    """Detect the format of turns from the start of a file, then from its suffix.

    Transcripts, which may have speakers, are detected by their content. Any other file
    is taken for RTTM, whose reader reports the error.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    is_wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    start = head.decode("utf-16" if is_wide else "utf-8-sig", "replace").lstrip()
    matching = (entry for entry in TURN_FORMATS.values() if entry.matches(start))
    matched = next(matching, None)
    doubtful = ("json",) if matched else ("ctm", "rttm")
    entry = matched or BY_SUFFIX.get(path.suffix.lower())
    if entry is not None and entry.name not in doubtful:
        return entry
    source = Source(path)
    try:
        words = transcript_format(source)
    except FaultError:  # the reader reports the error
        words = None
    if words is None or (words.name == "whisper" and names_speakers(source.content)):
        return entry or TURN_FORMATS["rttm"]
    return WORDS if words.name == "ctm" else words


def kind_of(path: str | Path) -> str | None:
    """Guess which of `KINDS` a file is from its first bytes; None if unclear."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            names = set(names_in_npz(file, path)) if head.startswith(b"PK") else None
    except (OSError, DataFormatError):
        return None
    if names is not None:
        if MODEL_MARK in names:
            return "model"
        return "transform" if {"mean1", "lda", "mean2"} <= names else "embeddings"
    kind = _kind_of_bytes(head)
    if kind is not None or b"\0" in head:
        return kind
    lines = head.decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    return _kind_of_row(first.split(), path.parent)


def _kind_of_bytes(head: bytes) -> str | None:
    if head.startswith(_AUDIO):
        return "audio"
    if head.startswith(HDF5_MAGIC):
        return "transform" if b"mean1" in head else None
    if _JSON_LIST.match(head):
        return None
    if head.startswith(b"\0B") or head.lstrip().startswith((b"[", b"<Plda>")):
        return "plda" if b"<Plda>" in head[:32] else "transform"
    return "embeddings" if _ARK.match(head) else None


def _kind_of_row(fields: list[str], folder: Path) -> str | None:
    if fields[:1] == ["SPEAKER"] and len(fields) in (9, 10):
        return "rttm"
    if len(fields) == 4 and not _TIME.fullmatch(fields[1]):
        is_times = all(_TIME.fullmatch(field) for field in fields[2:])
        return "segments" if is_times else None
    if len(fields) == 2 and not _TIME.fullmatch(fields[1]):
        name = fields[1]
        is_path = re.search(r"[/\\|:;,{\[]|\.(ark|vec|npy|wav|flac|sph)$", name)
        if is_path or "," in fields[0]:
            return None
        # os.access is false for names that the system does not accept.
        is_file = any(os.access(path, os.F_OK) for path in (name, folder / name))
        return None if is_file else "utt2spk"
    return None


def is_label_table(path: str | Path) -> bool:
    """Return true for a table of the speaker of each id, without times.

    Such tables are read by `sms_diar.io.labels.read_labels`: utt2spk, JSON, and CSV
    without a column of start times.
    """
    path = Path(path)
    if not path.is_file() or path.suffix == ".gz":
        return False
    if path.suffix == ".utt2spk" or path.name == "utt2spk":
        return True
    if path.suffix in BY_SUFFIX and path.suffix not in (".json", ".csv"):
        return False
    if not path.read_bytes().strip():
        return False
    format = turn_format(path).name
    if format == "json":
        return _is_label_json(path)
    return format in ("rttm", "csv") and _begins_with_label(path)


def _is_label_json(path: Path) -> bool:
    try:
        return not holds_turns(parsed(Source(path).text))
    except FaultError:  # the reader reports the error
        return path.suffix == ".json"


def _begins_with_label(path: Path) -> bool:
    for line in scan_lines(path):
        if not line.is_readable or line.text.lstrip().startswith((";", "#")):
            continue
        if path.suffix == ".csv":
            return "start" not in line.text.split(",")
        return len(split_fields(line.text)) == 2
    return False
