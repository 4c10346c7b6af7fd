"""Transforms of embeddings in the formats of other toolkits.

The kinds are detected from the content. Kaldi stores a mean in a vector file
(``mean.vec``) and a projection in a matrix file (``transform.mat``) whose last column
may be an offset. Its recipes apply both and then normalise the length; a folder with
these files represents this sequence. VBx stores ``mean1``, ``lda`` and ``mean2`` in an
HDF5 or npz file and applies them between two length normalisations.

The length differs between toolkits. VBx scales to length one, both times, and its PLDA
models expect that. pyannote.audio uses arrays of the same names but scales to the
square root of the dimension, as Kaldi does. The file does not contain the length, and
with the wrong one all PLDA scores are meaningless; see `VbxTransform.length`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sms_diar._files import replacing
from sms_diar._validation import check_choice, check_path, refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import ByteSource, open_source
from sms_diar.io._hdf5 import opened_hdf5
from sms_diar.io.embeddings.arrays import as_doubles, load_arrays
from sms_diar.io.kaldi.ark import BINARY, BLANK, object_bytes, read_object
from sms_diar.types import AnyArray, FloatArray

_VBX_PARTS = ("mean1", "lda", "mean2")


@dataclass(frozen=True, eq=False)
class Centering:
    """Subtract a mean of shape (d,): Kaldi's ``mean.vec``."""

    mean: FloatArray

    def __post_init__(self) -> None:
        _check_part("Centering", "mean", self.mean, ndim=1)

    def apply(self, vectors: npt.ArrayLike) -> FloatArray:
        """Centre the rows of `vectors`, of shape (n, d)."""
        return _rows("Centering", vectors, len(self.mean)) - self.mean


@dataclass(frozen=True, eq=False)
class LinearTransform:
    """Project, and shift if there is an offset: Kaldi's ``transform.mat``.

    The last column of a matrix of shape (k, d + 1) is the offset, as in
    ``transform-vec``.
    """

    matrix: FloatArray

    def __post_init__(self) -> None:
        _check_part("LinearTransform", "matrix", self.matrix, ndim=2)

    def apply(self, vectors: npt.ArrayLike) -> FloatArray:
        """Map vectors of shape (n, d) to shape (n, k): ``A x``, or ``A x + b``."""
        width = self.matrix.shape[1]
        rows = _rows("LinearTransform", vectors, width, width - 1)
        if rows.shape[1] == width:
            return rows @ self.matrix.T
        return rows @ self.matrix[:, :-1].T + self.matrix[:, -1]


@dataclass(frozen=True, eq=False)
class KaldiTransform:
    """Centre, project, normalise: ``mean.vec`` and ``transform.mat`` in one folder.

    Kaldi's recipes score vectors after ``ivector-subtract-global-mean``,
    ``transform-vec`` and ``ivector-normalize-length``, which scales to the square root
    of the dimension. `steps` are a `Centering`, a `LinearTransform`, or both in this
    order.
    """

    steps: tuple[Centering | LinearTransform, ...]

    def apply(self, vectors: npt.ArrayLike) -> FloatArray:
        """Transform the rows of `vectors`, of shape (n, d), to shape (n, k)."""
        rows = np.asarray(vectors, dtype=np.float64)
        for step in self.steps:
            rows = step.apply(rows)
        return _scaled("KaldiTransform", rows, np.sqrt(rows.shape[1]))


@dataclass(frozen=True, eq=False)
class VbxTransform:
    """Centre, normalise, project, centre, normalise: VBx's ``transform.h5``.

    The projection `lda` of shape (d, k) has one *column* per output dimension. The
    `length` after both normalisations is "unit", as in VBx, or "sqrt-dim", the square
    root of the dimension (of d, then of k), as in pyannote.audio. The files of one
    toolkit are wrong for the other: on an AMI meeting, VBx vectors have a mean variance
    of 1.8 in the space of their PLDA model, which expects 2.3, and would have 235 with
    ``sqrt-dim``.
    """

    mean1: FloatArray
    lda: FloatArray
    mean2: FloatArray
    length: str = "unit"

    def __post_init__(self) -> None:
        check_choice("VbxTransform", "length", self.length, ("unit", "sqrt-dim"))
        _check_part("VbxTransform", "mean1", self.mean1, ndim=1)
        _check_part("VbxTransform", "lda", self.lda, ndim=2)
        _check_part("VbxTransform", "mean2", self.mean2, ndim=1)
        if self.lda.shape != (len(self.mean1), len(self.mean2)):
            problem = (
                f"must have shape (len(mean1), len(mean2)), got lda, mean1, mean2 of "
                f"shapes {self.lda.shape}, {self.mean1.shape} and {self.mean2.shape}"
            )
            raise InvalidParameterError(problem, owner="VbxTransform", parameter="lda")

    def apply(self, vectors: npt.ArrayLike) -> FloatArray:
        """Transform the rows of `vectors`, of shape (n, d), to shape (n, k)."""
        rows = _rows("VbxTransform", vectors, len(self.mean1))
        projected = self._normalised(rows - self.mean1) @ self.lda
        return self._normalised(projected - self.mean2)

    def _normalised(self, rows: FloatArray) -> FloatArray:
        scale = 1.0 if self.length == "unit" else float(np.sqrt(rows.shape[1]))
        return _scaled("VbxTransform", rows, scale)


def _scaled(owner: str, rows: FloatArray, length: float) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        raise InvalidParameterError(
            f"must differ from the mean, got row {int(np.argmin(lengths))} equal "
            f"to it, which has no direction",
            owner=owner,
            parameter="vectors",
        )
    return np.asarray(length * rows / lengths)


Transform: TypeAlias = Centering | LinearTransform | KaldiTransform | VbxTransform


def read_transform(path: str | Path) -> Transform:
    """Read a transform of any kind.

    Parameters
    ----------
    path : str or Path
        Kaldi vector or matrix, binary or text, a folder with ``mean.vec`` or
        ``transform.mat`` or both, or a VBx npz or HDF5 file.

    Returns
    -------
    Centering, LinearTransform, KaldiTransform or VbxTransform
        A ``VbxTransform`` has unit length; use ``dataclasses.replace(transform,
        length="sqrt-dim")`` for a file of pyannote.audio.

    Raises
    ------
    DataFormatError
        If the file is damaged or not a transform.
    MissingExtraError
        If the file is HDF5, and h5py is not installed.
    """
    check_path("read_transform", "path", path)
    path = Path(path)
    if path.is_dir():
        return _read_folder(path)
    with open_source(path) as source:
        head = source.peek(9)
        if head[:4] not in (b"PK\x03\x04", b"PK\x05\x06", b"\x89HDF"):
            return _checked(path, _read_kaldi(source))
    arrays = load_arrays(path) if head.startswith(b"PK") else _load_hdf5(path)
    missing = [name for name in _VBX_PARTS if name not in arrays]
    if missing:
        raise DataFormatError(
            f"a VBx transform has mean1, lda and mean2, but {' and '.join(missing)} "
            f"is not among {', '.join(arrays) or 'no arrays at all'}",
            path=path,
        )
    return _checked(path, [arrays[name] for name in _VBX_PARTS])


def _read_folder(folder: Path) -> KaldiTransform:
    steps: list[Centering | LinearTransform] = []
    for name, kind in (("mean.vec", Centering), ("transform.mat", LinearTransform)):
        if (folder / name).is_file():
            step = read_transform(folder / name)
            if not isinstance(step, kind):
                rule = "a vector" if kind is Centering else "a matrix"
                raise DataFormatError(f"must be {rule}", path=folder / name)
            steps.append(step)
    if not steps:
        problem = "is a folder without mean.vec and transform.mat"
        raise DataFormatError(problem, path=folder)
    return KaldiTransform(tuple(steps))


def write_transform(
    path: str | Path,
    transform: Centering | LinearTransform | VbxTransform,
    *,
    dtype: str = "double",
    binary: bool = True,
) -> None:
    """Write a transform in the format of its toolkit; a VBx transform as npz.

    The ``length`` of a VbxTransform is not stored. `dtype`, double or float, is the
    precision of a Kaldi file; an npz has doubles.
    """
    rule, remedy = "a transform", "read it with read_transform"
    refuse_path("write_transform", "transform", transform, rule, remedy)
    if isinstance(transform, VbxTransform):
        parts = {name: getattr(transform, name) for name in _VBX_PARTS}
        with replacing(path) as temporary, temporary.open("wb") as out:
            np.savez(out, **parts)
        return
    array = transform.mean if isinstance(transform, Centering) else transform.matrix
    body = object_bytes(array, owner="write_transform", dtype=dtype, binary=binary)
    with replacing(path) as temporary:
        temporary.write_bytes((BINARY if binary else b"") + body)


def _read_kaldi(source: ByteSource) -> list[AnyArray]:
    head = source.peek(64)
    if head.startswith(BINARY + b"<") or head.lstrip().startswith(b"<"):
        token = head.removeprefix(BINARY).split()[0].decode("latin-1")
        remedy = "; it is a PLDA model" if token == "<Plda>" else ""  # noqa: S105
        raise source.fault(f"expected a vector or matrix, found {token!r}{remedy}")
    if not head.startswith(BINARY) and not head.lstrip().startswith(b"["):
        raise source.fault(
            "neither a Kaldi vector or matrix nor a VBx transform (npz or HDF5)"
            if head
            else "is empty"
        )
    array = read_object(source, "the transform")
    source.skip(BLANK)
    if source.peek(1):
        raise source.fault(
            f"expected one vector or matrix, but more follows at byte {source.position}"
        )
    return [array]


def _checked(path: Path, parts: list[AnyArray]) -> Transform:
    try:
        arrays = [as_doubles(part) for part in parts]
        if len(arrays) == len(_VBX_PARTS):
            mean1, lda, mean2 = arrays
            return VbxTransform(mean1, lda, mean2)
        (array,) = arrays
        return Centering(array) if array.ndim == 1 else LinearTransform(array)
    except (ValueError, TypeError) as error:  # or an array of text
        raise DataFormatError(str(error), path=path) from None


def _load_hdf5(path: Path) -> dict[str, AnyArray]:
    with opened_hdf5(path) as file:
        return {n: file.array(n) for n in file.names() if n in _VBX_PARTS}


def _check_part(owner: str, name: str, array: FloatArray, *, ndim: int) -> None:
    if array.ndim != ndim or not array.size:
        rule = "a vector" if ndim == 1 else "a matrix"
        problem = f"must be {rule}, got shape {array.shape}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    if not np.isfinite(array).all():
        problem = "must be finite, got NaN or infinity"
        raise InvalidParameterError(problem, owner=owner, parameter=name)


def _rows(owner: str, vectors: npt.ArrayLike, *dims: int) -> FloatArray:
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] not in dims:
        rule = " or ".join(f"(n, {dim})" for dim in dims)
        problem = f"must have shape {rule}, got {rows.shape}"
        raise InvalidParameterError(problem, owner=owner, parameter="vectors")
    return rows
