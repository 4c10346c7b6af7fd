"""Reading and writing embeddings in any supported format.

The formats are Kaldi ark and scp, npz, npy, CSV, TSV, whitespace-separated columns,
JSON lines, Parquet, and those of `sms_diar.io.embeddings.toolkits`. The format is
detected from the content; the suffix only decides between kinds of text. No format can
store the name of the model that computed the vectors, so it is stored in
``<file>.json`` as ``{"extractor": "..."}``, with the digest of the file that it
describes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np

from sms_diar._files import replacing_all, write_plain
from sms_diar._json import json_text, parse_json
from sms_diar._validation import refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import Readable, check_readable, open_source
from sms_diar.io.detect import embedding_format
from sms_diar.io.embeddings.arrays import read_npy, read_npz, write_npz_into
from sms_diar.io.embeddings.tables import (
    read_embedding_table,
    read_json_lines,
    read_parquet,
    write_table_into,
)
from sms_diar.io.embeddings.toolkits import read_alize, read_hdf5, read_mat
from sms_diar.io.kaldi.ark import iterate_ark, write_ark_into
from sms_diar.io.kaldi.scp import iterate_scp
from sms_diar.types import AnyArray, EmbeddingSet

_WHOLE_FILE: dict[str, Callable[..., EmbeddingSet]] = {
    "npz": read_npz,
    "npy": read_npy,
    "parquet": read_parquet,
    "hdf5": read_hdf5,
    "mat": read_mat,
    "alize": read_alize,
    "table": read_embedding_table,
    "blanks": partial(read_embedding_table, blanks=True),
    "json lines": read_json_lines,
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
        format = embedding_format(opened)
        if format == "ark":
            embeddings = _collect(iterate_ark(opened), path)
        elif format == "scp":
            entries = iterate_scp(opened, allow_commands=allow_commands)
            embeddings = _collect(entries, path)
        elif isinstance(path, Path):
            embeddings = _WHOLE_FILE[format](path)
        else:
            embeddings = _WHOLE_FILE[format](BytesIO(opened.rest()), name=path)
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
        problem = f"must end in .ark, .npz, .csv or .tsv, got {str(path)!r}"
        raise InvalidParameterError(problem, owner="write_embeddings", parameter="path")
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
            write_table_into(files[0], embeddings, separator=separator, dtype=dtype)
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
        problem = f'must be {{"extractor": "..."}} ({error!r})'
        raise DataFormatError(problem, path=beside) from None
    if digest is not None and digest != _digest(path):
        raise DataFormatError(
            f"does not match {path.name}, which was changed later, or whose writing "
            f"was interrupted; write both again, or remove 'sha256' if the description "
            f"still applies",
            path=beside,
        )
    if not isinstance(extractor, str):
        problem = f"extractor must be a string, got {extractor!r}"
        raise DataFormatError(problem, path=beside)
    return extractor
