r"""Background models and i-vector extractors in Kaldi's format.

``final.dubm`` and ``final.ubm`` contain Gaussian mixtures with diagonal and full
covariances, ``final.ie`` contains an extractor. All exist in binary, after ``\0B``, and
in text. Kaldi stores the inverses of covariances, and means multiplied by them. The
constants of a mixture are computed again when it is read, as in Kaldi.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from sms_diar._files import replacing
from sms_diar._validation import check_finite, check_path, check_real, refuse_path
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import open_source
from sms_diar.io.kaldi.ark import (
    BINARY,
    BLANK,
    object_bytes,
    symmetric_bytes,
)
from sms_diar.io.kaldi.model_reader import ModelReader
from sms_diar.types import AnyArray, FloatArray


@dataclass(frozen=True, eq=False)
class KaldiMixture:
    """Mixture of c Gaussians in d dimensions as Kaldi stores it.

    Parameters
    ----------
    weights : ndarray of shape (c,)
        Weights of the components.
    linear : ndarray of shape (c, d)
        Means multiplied by the inverses of the covariances.
    precisions : ndarray of shape (c, d) or (c, d, d)
        Inverses of diagonal or full covariances.
    """

    weights: FloatArray
    linear: FloatArray
    precisions: FloatArray

    def __post_init__(self) -> None:
        c, d = self.linear.shape if self.linear.ndim == 2 else (0, 0)
        _check("KaldiMixture", "linear", self.linear, (c, d))
        _check("KaldiMixture", "weights", self.weights, (c,))
        _check("KaldiMixture", "precisions", self.precisions, (c, d), (c, d, d))
        if (self.weights < 0.0).any():
            problem = f"must be >= 0, got {float(self.weights.min())!r}"
            raise InvalidParameterError(
                problem, owner="KaldiMixture", parameter="weights"
            )

    @classmethod
    def of(
        cls, weights: FloatArray, means: FloatArray, covariances: FloatArray
    ) -> KaldiMixture:
        """Convert means, shape (c, d), and covariances, (c, d) or (c, d, d)."""
        if covariances.ndim == 2:
            return cls(weights, means / covariances, 1.0 / covariances)
        inverses = inverses_of(covariances)
        return cls(weights, (inverses @ means[:, :, None])[:, :, 0], inverses)

    @property
    def is_full(self) -> bool:
        """True if the covariances are full matrices."""
        return self.precisions.ndim == 3

    @cached_property
    def covariances(self) -> FloatArray:
        """Covariances, shape (c, d) or (c, d, d)."""
        return inverses_of(self.precisions) if self.is_full else 1.0 / self.precisions

    @cached_property
    def means(self) -> FloatArray:
        """Means, shape (c, d)."""
        if not self.is_full:
            return self.linear * self.covariances
        means: FloatArray = (self.covariances @ self.linear[:, :, None])[:, :, 0]
        return means

    def diagonal(self) -> KaldiMixture:
        """Drop the correlations, as ``fgmm-global-to-gmm`` does."""
        if not self.is_full:
            return self
        variances = np.diagonal(self.covariances, axis1=1, axis2=2)
        return KaldiMixture.of(self.weights, self.means, variances)

    @property
    def constants(self) -> FloatArray:
        """Log-densities at zero, with the log weights, shape (c,)."""
        if self.is_full:
            determinants: FloatArray = np.linalg.slogdet(self.precisions)[1]
        else:
            determinants = np.log(self.precisions).sum(axis=1)
        d = self.linear.shape[1]
        # A component may have no weight, and numbers may be too large for a file.
        with np.errstate(divide="ignore", over="ignore"):
            squares = (self.means * self.linear).sum(axis=1)
            log_weights = np.log(self.weights)
        normal = determinants - d * math.log(2.0 * math.pi)
        constants: FloatArray = log_weights + 0.5 * (normal - squares)
        return constants


@dataclass(frozen=True, eq=False)
class KaldiExtractor:
    """I-vector extractor of Kaldi, with c Gaussians, d dimensions and rank r.

    Frames of component c have the mean ``matrices[c] @ x`` for an x whose prior is
    normal with unit covariance around ``(offset, 0, ..., 0)``.

    Parameters
    ----------
    matrices : ndarray of shape (c, d, r)
        Projections ``M`` to the means.
    precisions : ndarray of shape (c, d, d)
        Inverse covariances ``SigmaInv``.
    weights : ndarray of shape (c,) or (c, r)
        Weights of the components (``w_vec``), or a projection to their logarithms
        (``w``) if they depend on x.
    offset : float
        Mean of the first coordinate of x.
    """

    matrices: FloatArray
    precisions: FloatArray
    weights: FloatArray
    offset: float

    def __post_init__(self) -> None:
        owner = "KaldiExtractor"
        c, d, r = self.matrices.shape if self.matrices.ndim == 3 else (0, 0, 0)
        _check(owner, "matrices", self.matrices, (c, d, r))
        _check(owner, "precisions", self.precisions, (c, d, d))
        _check(owner, "weights", self.weights, (c,), (c, r))
        check_real(owner, "offset", self.offset)

    @property
    def has_weight_projection(self) -> bool:
        """True if the weights of the components depend on x."""
        return self.weights.ndim == 2


def _check(owner: str, name: str, array: FloatArray, *shapes: tuple[int, ...]) -> None:
    """Check shape and numbers; precisions must also be positive (definite)."""
    if array.shape not in shapes or not array.size:
        rule = " or ".join(map(str, shapes)) if all(shapes[0]) else "not empty"
        problem = f"must be of shape {rule}, got {array.shape}"
        raise InvalidParameterError(problem, owner=owner, parameter=name)
    check_finite(owner, name, array)
    if name != "precisions":
        return
    try:
        if array.ndim == 3:
            np.linalg.cholesky(array)
        elif (array <= 0.0).any():
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        problem = "must be positive definite, got one that is not"
        raise InvalidParameterError(problem, owner=owner, parameter=name) from None


def inverses_of(matrices: FloatArray) -> FloatArray:
    """Return the inverses of symmetric matrices, shape (c, d, d)."""
    inverses = np.asarray(np.linalg.inv(matrices), dtype=np.float64)
    symmetric: FloatArray = 0.5 * (inverses + inverses.transpose(0, 2, 1))
    return symmetric


def _stacked(
    read: Callable[[str], AnyArray], parts: ModelReader, owner: str, count: int
) -> FloatArray:
    """Read `count` matrices of the same shape, shape (count, rows, columns)."""
    matrices: list[FloatArray] = []
    for number in range(count):
        name = f"{owner} {number + 1} of {count}"
        matrix = read(name)
        if not matrix.size or (matrices and matrix.shape != matrices[0].shape):
            rule = matrices[0].shape if matrices else "at least 1 x 1"
            raise parts.fault(f"{name} has shape {matrix.shape}, expected {rule}")
        matrices.append(_doubles(matrix))
    return np.stack(matrices)


def _end(parts: ModelReader) -> None:
    parts.source.skip(BLANK)
    if parts.source.peek(1):
        raise parts.fault("the model ends, but more follows")


def _doubles(array: AnyArray) -> FloatArray:
    with np.errstate(invalid="ignore"):  # NaN is refused later
        return array.astype(np.float64)


def _rounded(array: AnyArray) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):  # refused later
        return array.astype(np.float32).astype(np.float64)


def read_mixture(path: str | Path) -> KaldiMixture:
    """Read a background model, ``final.dubm`` or ``final.ubm``, binary or text.

    Numbers are rounded to floats, as in Kaldi.

    Raises
    ------
    DataFormatError
        If the file is not a mixture or damaged, or if its parts do not match.
    """
    check_path("read_mixture", "path", path)
    with open_source(path) as source:
        parts = ModelReader(source)
        start = parts.token(
            "<DiagGMM>", "<FullGMM>", "<DiagGMMBegin>", "<FullGMMBegin>"
        )
        name = start.strip("<>").removesuffix("Begin")
        kind = "VARS" if name == "DiagGMM" else "COVARS"
        if parts.token("<GCONSTS>", "<WEIGHTS>") == "<GCONSTS>":
            parts.array("the constants", 1)
            parts.token("<WEIGHTS>")
        weights = parts.array("the weights", 1)
        parts.token(f"<MEANS_INV{kind}>")
        linear = parts.array("the means", 2)
        parts.token(f"<INV_{kind}>")
        if not len(weights):
            raise source.fault("the mixture has no components")
        if name == "DiagGMM":
            precisions = parts.array("the inverse variances", 2)
        else:
            owner = "inverse covariance"
            precisions = _stacked(parts.symmetric, parts, owner, len(weights))
        parts.token(f"</{name}>", f"<{name}End>")
        _end(parts)
        try:
            # Kaldi's mixtures are floats, also if text has more digits.
            return KaldiMixture(*map(_rounded, (weights, linear, precisions)))
        except InvalidParameterError as error:
            raise DataFormatError(str(error), path=path) from None


def write_mixture(path: str | Path, mixture: KaldiMixture) -> None:
    """Write a background model as ``final.dubm`` or ``final.ubm``, in floats."""
    rule, remedy = "a KaldiMixture", "read it with read_mixture"
    refuse_path("write_mixture", "mixture", mixture, rule, remedy)
    array = partial(object_bytes, owner="write_mixture", dtype="float")
    symmetric = partial(symmetric_bytes, owner="write_mixture", dtype="float")
    name = b"FullGMM> " if mixture.is_full else b"DiagGMM> "
    kind = b"COVARS> " if mixture.is_full else b"VARS> "
    body = [BINARY, b"<", name, b"<GCONSTS> ", array(mixture.constants)]
    body += [b"<WEIGHTS> ", array(mixture.weights)]
    body += [b"<MEANS_INV", kind, array(mixture.linear), b"<INV_", kind]
    if mixture.is_full:
        body += map(symmetric, mixture.precisions)
    else:
        body.append(array(mixture.precisions))
    with replacing(path) as temporary:
        temporary.write_bytes(b"".join([*body, b"</", name]))


def read_extractor(path: str | Path) -> KaldiExtractor:
    """Read an i-vector extractor, ``final.ie``, binary or text.

    Raises
    ------
    DataFormatError
        If the file is not an extractor or damaged, or if its parts do not match.
    """
    check_path("read_extractor", "path", path)
    with open_source(path) as source:
        parts = ModelReader(source)
        parts.token("<IvectorExtractor>")
        parts.token("<w>")
        projection = parts.array("the projection to weights", 2)
        parts.token("<w_vec>")
        weights = parts.array("the weights", 1)
        parts.token("<M>")
        count = int(parts.number("the number of Gaussians", "i"))
        if count < 1:
            raise parts.fault(f"the number of Gaussians must be >= 1, got {count}")
        read_matrix = partial(parts.array, ndim=2)
        matrices = _stacked(read_matrix, parts, "matrix M", count)
        parts.token("<SigmaInv>")
        precisions = _stacked(parts.symmetric, parts, "inverse covariance", count)
        parts.token("<IvectorOffset>")
        offset = parts.number("the offset of the prior", "f")
        parts.token("</IvectorExtractor>")
        _end(parts)
        chosen = _doubles(projection if projection.size else weights)
        try:
            return KaldiExtractor(matrices, precisions, chosen, offset)
        except InvalidParameterError as error:
            raise DataFormatError(str(error), path=path) from None


def write_extractor(path: str | Path, extractor: KaldiExtractor) -> None:
    """Write an i-vector extractor as ``final.ie``, in doubles as in Kaldi."""
    rule, remedy = "a KaldiExtractor", "read it with read_extractor"
    refuse_path("write_extractor", "extractor", extractor, rule, remedy)
    array = partial(object_bytes, owner="write_extractor")
    symmetric = partial(symmetric_bytes, owner="write_extractor", dtype="double")
    projection, weights = np.empty((0, 0)), extractor.weights
    if extractor.has_weight_projection:
        projection, weights = extractor.weights, np.empty(0)
    with replacing(path) as temporary, temporary.open("wb") as out:
        out.write(BINARY + b"<IvectorExtractor> <w> " + array(projection))
        out.write(b"<w_vec> " + array(weights) + b"<M> ")
        out.write(struct.pack("<bi", 4, len(extractor.matrices)))
        out.writelines(map(array, extractor.matrices))
        out.write(b"<SigmaInv> ")
        out.writelines(map(symmetric, extractor.precisions))
        out.write(b"<IvectorOffset> " + struct.pack("<bd", 8, extractor.offset))
        out.write(b"</IvectorExtractor> ")
