"""Reading and writing embeddings in any supported format.

The formats are Kaldi ark and scp, npz, npy, CSV, TSV, whitespace-separated columns,
JSON lines and Parquet. The format is detected from the content; the suffix only
decides between kinds of text. No format can store the name of the model that computed
the vectors, so it is stored in ``<file>.json`` as ``{"extractor": "..."}``, with the
digest of the file that it describes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np

from sms_diar._files import replacing_all, write_plain
from sms_diar._json import json_text, parse_json
from sms_diar._validation import refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import ByteSource, Readable, check_readable, open_source
from sms_diar.io.embeddings.arrays import read_npy, read_npz, write_npz_into
from sms_diar.io.embeddings.json import read_json_lines
from sms_diar.io.embeddings.tables import (
    read_blank_table,
    read_embedding_table,
    read_parquet,
    write_embedding_table_into,
)
from sms_diar.io.kaldi.ark import iterate_ark, write_ark_into
from sms_diar.io.kaldi.scp import iterate_scp
from sms_diar.types import AnyArray, EmbeddingSet

_HEAD = 4096
_WHOLE_FILE = {
    "npz": read_npz,
    "npy": read_npy,
    "parquet": read_parquet,
    "table": read_embedding_table,
    "blanks": read_blank_table,
    "json lines": read_json_lines,
}
_MAGIC = {
    b"PK\x03\x04": "npz",
    b"PK\x05\x06": "npz",
    b"\x93NUMPY": "npy",
    b"PAR1": "parquet",
}
_REFUSED = {
    b"\x1f\x8b": "is compressed with gzip; unpack it first",
    b"\x89HDF": "is HDF5; embeddings are read from ark, scp, npz, npy, CSV, TSV or "
    "Parquet",
    b"\0B": "is a single Kaldi object (a mean, a transform or a model), not a set of "
    "embeddings",
}
_PICKLE = re.compile(
    rb"PK\x03\x04.{26}[^/\0]*/(data\.pkl|\.format_version|\.data/|byteorder|version)"
    rb"|\x80[\x02-\x05]",  # a PyTorch archive, or a bare pickle
    re.DOTALL,
)
_JSON_LIST = re.compile(rb"\s*\[\s*\{")
_ARK = re.compile(rb"\s*[^\s\0]+[ \t]+(\0B|\[)")
_SCP_TARGET = re.compile(r".*(\||:\d+(\[[^\]]*\])?|\.(ark|vec))")
_NUMBER = re.compile(r"[-+.]?\d|[-+]?(nan|inf)", re.IGNORECASE)
_JSON = re.compile(rb"\s*\{\s*\"")
_TEXT_SUFFIXES = {
    ".ark": "ark",
    ".scp": "scp",
    ".csv": "table",
    ".tsv": "table",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
}


def read_embeddings(source: Readable, *, allow_commands: bool = False) -> EmbeddingSet:
    """Read one vector per id from a file of any supported format.

    Parameters
    ----------
    source : str, Path or binary stream
        File to read, or ``-`` for standard input.
    allow_commands : bool, default=False
        Run the commands in an scp; see `read_scp`.

    Returns
    -------
    EmbeddingSet
        Vectors as ``float64`` in the order of the file.

    Raises
    ------
    MissingFileError
        If the file does not exist.
    DataFormatError
        If the file is damaged or contains no embeddings; the message gives the
        position.
    """
    check_readable("read_embeddings", source)
    with open_source(source) as opened:
        path = opened.name
        kind = _kind(opened)
        if kind == "ark":
            embeddings = _collect(iterate_ark(opened), path)
        elif kind == "scp":
            entries = iterate_scp(opened, allow_commands=allow_commands)
            embeddings = _collect(entries, path)
        elif isinstance(path, Path):
            embeddings = _WHOLE_FILE[kind](path)
        else:
            embeddings = _WHOLE_FILE[kind](BytesIO(opened.rest()), name=path)
    if not len(embeddings):
        raise DataFormatError("contains no embeddings", path=path)
    if isinstance(path, Path):
        return replace(embeddings, extractor=_read_extractor(path))
    return embeddings


def embedding_files(path: str | Path) -> list[Path]:
    """List the files that `write_embeddings` may write."""
    path = Path(path)
    is_ark = path.suffix.lower() == ".ark"
    files = [path, path.with_suffix(".scp")] if is_ark else [path]
    return [*files, *(_extractor_file(file) for file in files)]


def write_embeddings(
    path: str | Path, embeddings: EmbeddingSet, *, dtype: str = "double"
) -> None:
    """Write embeddings in the format given by the suffix.

    Parameters
    ----------
    path : str or Path
        File to write, with the suffix ``.ark`` (an ``.scp`` is also written),
        ``.npz``, ``.csv`` or ``.tsv``.
    embeddings : EmbeddingSet
        Embeddings to write. The extractor is stored in ``<path>.json``; without an
        extractor, an existing ``<path>.json`` is removed.
    dtype : {'double', 'float'}, default='double'
        Precision of the numbers. Doubles are restored exactly.
    """
    rule, remedy = "an EmbeddingSet", "read it with read_embeddings"
    refuse_path("write_embeddings", "embeddings", embeddings, rule, remedy)
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".ark", ".npz", ".csv", ".tsv"):
        raise InvalidParameterError(
            f"must end in .ark, .npz, .csv or .tsv, got {str(path)!r}",
            owner="write_embeddings",
            parameter="path",
        )
    written = embedding_files(path)
    scp = written[1] if suffix == ".ark" else None
    beside = written[len(written) // 2 :]
    records = [] if embeddings.extractor is None else beside
    # Descriptions are written before the file and contain its digest, so that a new
    # description beside an old file is detected.
    with replacing_all([*records, path], index=scp) as temporaries:
        notes, files = temporaries[: len(records)], temporaries[len(records) :]
        if suffix == ".npz":
            write_npz_into(files[0], embeddings, dtype=dtype)
        elif scp is None:
            separator = "," if suffix == ".csv" else "\t"
            write_embedding_table_into(
                files[0], embeddings, separator=separator, dtype=dtype
            )
        else:
            listing = write_ark_into(
                files[0], path, embeddings.ids, embeddings.vectors, dtype=dtype
            )
            write_plain(files[1], listing)
        for note, file in zip(notes, files, strict=False):
            record = {"extractor": embeddings.extractor, "sha256": _digest(file)}
            write_plain(note, json_text(record) + "\n")
        if not records:
            for old in beside:
                old.unlink(missing_ok=True)


def _collect(entries: Iterator[tuple[str, AnyArray]], path: str | Path) -> EmbeddingSet:
    ids, vectors = [], []
    for name, vector in entries:
        ids.append(name)
        vectors.append(vector)
    table = np.array(vectors, dtype=np.float64) if ids else np.empty((0, 0))
    return EmbeddingSet(tuple(ids), table, source=str(path))


def _kind(source: ByteSource) -> str:
    """Detect the format from the first bytes, and from the suffix if ambiguous."""
    head = source.peek(_HEAD)
    suffix = source.name.suffix.lower() if isinstance(source.name, Path) else ""
    if not head.strip():
        raise DataFormatError("is empty", path=source.name)
    for magic, problem in _REFUSED.items():
        if head.startswith(magic):
            raise DataFormatError(problem, path=source.name)
    if _PICKLE.match(head):
        raise DataFormatError(
            "is a PyTorch file or a pickle, which is not loaded because it can run any "
            "program; save the vectors as npz where they were computed: "
            "numpy.savez('x.npz', ids=ids, vectors=tensor.cpu().numpy())",
            path=source.name,
        )
    if _JSON_LIST.match(head):
        raise DataFormatError(
            "is a JSON list; write one object per line (JSON lines)",
            path=source.name,
        )
    kind = next(
        (kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None
    )
    if kind is None and _JSON.match(head):
        kind = "json lines"
    if kind is None:
        kind = "ark" if _ARK.match(head) else _TEXT_SUFFIXES.get(suffix)
    if kind is None and b"\0" not in head:
        lines = head.decode("utf-8", "replace").strip().split("\n")
        content = (x for x in lines if x.strip() and not x.startswith("#"))
        kind = _kind_of_line(next(content, lines[0]))
    if kind == "table" and _is_between_blanks(head):
        kind = "blanks"
    if kind is None:
        raise DataFormatError(
            "unknown format; expected Kaldi ark or scp, npz, npy, CSV, TSV, "
            "whitespace-separated columns, JSON lines or Parquet",
            path=source.name,
        )
    return kind


def _kind_of_line(line: str) -> str | None:
    rest = line.strip().split(maxsplit=1)[1:]
    if rest and _SCP_TARGET.fullmatch(rest[0]):
        return "scp"
    if "," in line or "\t" in line:
        return "table"
    # "id path" of a whole file, or a row of numbers, with or without an id.
    if not rest:
        return None
    return "blanks" if _NUMBER.match(rest[0]) else "scp"


def _is_between_blanks(head: bytes) -> bool:
    """Return true if a table with the suffix of CSV has only blanks as separators."""
    lines = [line for line in head.split(b"\n") if line.strip()]
    first = next((line for line in lines if not line.startswith(b"#")), b"")
    return b"," not in first and b"\t" not in first and len(first.split()) > 1


def _extractor_file(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_extractor(path: Path) -> str | None:
    beside = _extractor_file(path)
    if not beside.is_file():
        return None
    try:
        record = parse_json(beside.read_text(encoding="utf-8"))
        extractor, digest = record["extractor"], record.get("sha256")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataFormatError(
            f'must be {{"extractor": "..."}} ({error!r})', path=beside
        ) from None
    if digest is not None and digest != _digest(path):
        raise DataFormatError(
            f"does not match {path.name}, which was changed later, or whose writing "
            f"was interrupted; write both again, or remove 'sha256' if the description "
            f"still applies",
            path=beside,
        )
    if not isinstance(extractor, str):
        raise DataFormatError(
            f"extractor must be a string, got {extractor!r}", path=beside
        )
    return extractor
