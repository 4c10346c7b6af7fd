r"""PLDA models in Kaldi's format.

A file consists of ``<Plda>``, the mean, the transform, psi and ``</Plda>``, after
``\0B`` in binary files. Kaldi writes doubles; floats are also supported. Reading and
writing a file of Kaldi restores the same bytes.
"""

from __future__ import annotations

from pathlib import Path

from sms_diar._files import replacing
from sms_diar._validation import check_path, refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import ByteSource, open_source
from sms_diar.io.embeddings.arrays import as_doubles
from sms_diar.io.kaldi.ark import (
    BINARY,
    BLANK,
    object_bytes,
    read_binary,
    read_text,
    read_token,
)
from sms_diar.types import PldaModel

_OTHER_OBJECTS = {
    "FV": "a plain vector",
    "DV": "a plain vector",
    "FM": "a plain matrix",
    "DM": "a plain matrix",
    "[": "a plain vector or matrix",
}


def read_plda(path: str | Path) -> PldaModel:
    """Read a model, binary or text, floats or doubles.

    Parameters
    ----------
    path : str or Path
        File written by Kaldi's ``ivector-compute-plda`` or by `write_plda`.

    Raises
    ------
    DataFormatError
        If the file is not a PLDA model or damaged, or if the shapes of its parts do
        not match.
    """
    check_path("read_plda", "path", path)
    with open_source(path) as source:
        binary = source.peek(2) == BINARY
        if binary:
            source.read(2)
        _expect_start(source)
        read = read_binary if binary else read_text
        mean = read(source, "the mean", ndim=1)
        transform = read(source, "the transform", ndim=2)
        psi = read(source, "psi", ndim=1)
        _expect_end(source)
        try:
            return PldaModel(as_doubles(mean), as_doubles(transform), as_doubles(psi))
        except InvalidParameterError as error:
            raise DataFormatError(str(error), path=path) from None


def write_plda(
    path: str | Path, model: PldaModel, *, binary: bool = True, dtype: str = "double"
) -> None:
    """Write a model in Kaldi's format.

    Parameters
    ----------
    path : str or Path
        File to write.
    model : PldaModel
        Model to write.
    binary : bool, default=True
        Write binary, otherwise text with enough digits to restore every number.
    dtype : {'double', 'float'}, default='double'
        Precision of the numbers. ``float`` restores a file of floats, and rounds any
        other model.
    """
    rule, remedy = "a PldaModel", "read it with read_plda"
    refuse_path("write_plda", "model", model, rule, remedy)
    parts = [BINARY if binary else b"", b"<Plda> "]
    parts += [
        object_bytes(part, owner="write_plda", dtype=dtype, binary=binary)
        for part in (model.mean, model.transform, model.psi)
    ]
    parts.append(b"</Plda> ")
    with replacing(path) as temporary:
        temporary.write_bytes(b"".join(parts))


def _expect_start(source: ByteSource) -> None:
    source.skip(BLANK)
    token = read_token(source)
    if token == "<Plda>":  # noqa: S105 - a token of the format, not a secret
        return
    if token in _OTHER_OBJECTS:
        start = f"{_OTHER_OBJECTS[token]} ({token})"
    else:
        start = f"{token!r} at its start" if token else "nothing"
    raise source.fault(f"not a Kaldi PLDA model: expected <Plda>, found {start}")


def _expect_end(source: ByteSource) -> None:
    source.skip(BLANK)
    start = source.position
    token = read_token(source)
    if token != "</Plda>":  # noqa: S105
        problem = f"found {token!r}" if token else "the file ends"
        raise source.fault(
            f"{problem} at byte {start}, expected </Plda>; it is truncated or damaged"
        )
    source.skip(BLANK)
    if source.peek(1):
        raise source.fault(
            f"the model ends with </Plda>, but more follows at byte {source.position}"
        )
