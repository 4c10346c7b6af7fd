"""Detection of the kind of a file, for commands that accept several kinds.

`kind_of` serves messages about swapped input files; readers do not depend on it.
`is_label_table` distinguishes tables of labels from files of turns, both of which may
be text, CSV or JSON.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sms_diar.errors import DataFormatError
from sms_diar.io._lines import scan_lines, split_fields
from sms_diar.io.embeddings.arrays import names_in_npz
from sms_diar.io.model import MODEL_MARK
from sms_diar.io.turns._text import FaultError
from sms_diar.io.turns.files import format_of_file
from sms_diar.io.turns.json import holds_turns, loaded
from sms_diar.io.turns.registry import BY_SUFFIX

_HEAD = 4096
_AUDIO = (b"RIFF", b"fLaC", b"OggS", b"NIST_1A", b"ID3", b"FORM", b"RF64")
_ARK = re.compile(rb"[^\s\0]+[ \t]+(\0B|\[)")
_JSON_LIST = re.compile(rb"\s*\[\s*[{\[]")
_NUMBER = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?")

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


def kind_of(path: str | Path) -> str | None:
    """Guess which of `KINDS` a file is from its first bytes; None if unclear."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return None
    if head.startswith(b"PK"):
        return _kind_of_archive(path)
    kind = _kind_of_bytes(head)
    if kind is not None or b"\0" in head:
        return kind
    lines = head.decode("utf-8", "replace").splitlines()
    first = next((line for line in lines if line.strip()), "")
    return _kind_of_line(first.split(), path.parent)


def _kind_of_bytes(head: bytes) -> str | None:
    if head.startswith(_AUDIO):
        return "audio"
    if head.startswith(b"\x89HDF"):
        return "transform"
    if _JSON_LIST.match(head):
        return None
    if head.startswith(b"\0B") or head.lstrip().startswith((b"[", b"<Plda>")):
        return "plda" if b"<Plda>" in head[:32] else "transform"
    return "embeddings" if _ARK.match(head) else None


def _kind_of_archive(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            names = set(names_in_npz(file, path))
    except (OSError, DataFormatError):
        return None
    if MODEL_MARK in names:
        return "model"
    return "transform" if {"mean1", "lda", "mean2"} <= names else "embeddings"


def _kind_of_line(fields: list[str], folder: Path) -> str | None:
    if fields[:1] == ["SPEAKER"] and len(fields) in (9, 10):
        return "rttm"
    if len(fields) == 4 and not _NUMBER.fullmatch(fields[1]):
        is_times = all(_NUMBER.fullmatch(field) for field in fields[2:])
        return "segments" if is_times else None
    if len(fields) == 2 and not _NUMBER.fullmatch(fields[1]):
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
    format = format_of_file(path).name
    if format == "json":
        return _is_label_json(path)
    return format in ("rttm", "csv") and _begins_with_label(path)


def _begins_with_label(path: Path) -> bool:
    for line in scan_lines(path):
        if not line.is_readable or line.text.lstrip().startswith((";", "#")):
            continue
        if path.suffix == ".csv":
            return "start" not in line.text.split(",")
        return len(split_fields(line.text)) == 2
    return False


def _is_label_json(path: Path) -> bool:
    try:
        return not holds_turns(loaded(path))
    except FaultError:  # the reader reports the error
        return path.suffix == ".json"
