"""Back end: all steps from a raw embedding to the scores of pairs.

All back ends of this package have the same form. A vector is centred and scaled to unit
length; this is its *state*, which clustering moves. The state is again scaled to unit
length, mapped by a matrix and an offset, scaled, and mapped into the space where the
score of a pair is an inner product::

    state  = (x - center) / |x - center|
    phi    = out_length * v / |v|,  v = matrix @ state / |state| + offset
    u      = projection @ phi + shift          (scaled if the scorer requires it)
    score(i, j) = (g u_i) . (g u_j) + b(u_i) + b(u_j) + constant

This simple form lets compiled loops recompute a single moved point without calling back
into Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sms_diar.errors import InvalidParameterError
from sms_diar.io.kaldi.transform import (
    Centering,
    KaldiTransform,
    LinearTransform,
    Transform,
    VbxTransform,
)
from sms_diar.preprocessing import FoldedChain, scale_rows
from sms_diar.scoring._arrays import as_rows
from sms_diar.scoring.plda import pair_coefficients
from sms_diar.scoring.scorer import PairwiseTerms
from sms_diar.types import AnyArray, EmbeddingSet, FloatArray, PldaModel


@dataclass(frozen=True, eq=False)
class BackEnd:
    """Map from raw embeddings to scores of pairs.

    Parameters
    ----------
    center : ndarray of shape (d,)
        Vector that is subtracted first.
    matrix : ndarray of shape (q, d)
        Matrix applied to the state.
    offset : ndarray of shape (q,)
        Vector added after `matrix`.
    out_length : float
        Length of phi; 0 keeps the length.
    projection : ndarray of shape (r, q)
        Matrix that maps phi into the score space.
    shift : ndarray of shape (r,)
        Vector added after `projection`.
    norm_weights : ndarray of shape (r,)
        Weights of the length normalisation: u is scaled so that
        ``sum(norm_weights * u**2)`` is r, as in Kaldi. All zero for no normalisation.
    gain : ndarray of shape (r,)
        Square roots of the weights of ``u_i * u_j``.
    square : ndarray of shape (r,)
        Weights of ``u**2`` in the bias of each vector.
    constant : float
        Constant term of all scores.
    normalize_state : bool
        If True, states are scaled to unit length.
    kind : str
        Type of the scores, "plda" or "cosine".
    extractor : str or None
        Fingerprint of the extractor of the training vectors.
    """

    center: FloatArray
    matrix: FloatArray
    offset: FloatArray
    out_length: float
    projection: FloatArray
    shift: FloatArray
    norm_weights: FloatArray
    gain: FloatArray
    square: FloatArray
    constant: float
    normalize_state: bool = True
    kind: str = "plda"
    extractor: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        q, d = self.matrix.shape
        r = len(self.gain)
        shapes = {
            "center": (d,),
            "offset": (q,),
            "projection": (r, q),
            "shift": (r,),
            "norm_weights": (r,),
            "square": (r,),
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                problem = f"must be of shape {shape}, got {getattr(self, name).shape}"
                raise InvalidParameterError(problem, owner="BackEnd", parameter=name)

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""
        return int(self.matrix.shape[1])

    @property
    def score_dim(self) -> int:
        """Dimension of the score space."""
        return len(self.gain)

    def check_compatible(self, embeddings: EmbeddingSet) -> None:
        """Raise an error for vectors that do not match this back end."""
        if embeddings.dim != self.dim:
            raise InvalidParameterError(
                f"must have the {self.dim} dimensions of the back end, got "
                f"{embeddings.dim}; use the back end that was trained on this "
                f"extractor's vectors",
                owner=embeddings.source,
                parameter="vectors",
            )
        if (
            self.extractor is not None
            and embeddings.extractor is not None
            and self.extractor != embeddings.extractor
        ):
            raise InvalidParameterError(
                f"must come from the extractor of the back end ({self.extractor}), "
                f"got vectors of {embeddings.extractor}; use the back end that was "
                f"trained on this extractor's vectors",
                owner=embeddings.source,
                parameter="vectors",
            )

    def prepare(self, X: npt.ArrayLike) -> FloatArray:
        """Return the states of raw vectors, shape (n, d)."""
        rows = as_rows("BackEnd", "X", X, self.dim) - self.center
        return scale_rows(rows) if self.normalize_state else rows

    def features(self, states: FloatArray) -> PairwiseTerms:
        """Return the factored scores of all pairs of states."""
        rows = scale_rows(states) if self.normalize_state else states
        phi = rows @ self.matrix.T + self.offset  # shape: (n, q)
        if self.out_length > 0.0:
            phi = scale_rows(phi, self.out_length)
        u = phi @ self.projection.T + self.shift  # shape: (n, r)
        if self.norm_weights.any():
            energy = u**2 @ self.norm_weights
            energy[energy == 0.0] = 1.0
            u *= np.sqrt(self.score_dim / energy)[:, None]
        bias = u**2 @ self.square  # shape: (n,)
        if not np.isfinite(bias).all():
            row = int(np.argmin(np.isfinite(bias)))
            problem = (
                f"must have finite scores, got values that are too large in row "
                f"{row}; scale them like the vectors of the training"
            )
            raise InvalidParameterError(problem, owner="BackEnd", parameter="vectors")
        return PairwiseTerms(u * self.gain, bias, self.constant)

    def score_matrix(self, X: npt.ArrayLike) -> FloatArray:
        """Return the scores of all pairs of raw vectors, shape (n, n)."""
        return self.features(self.prepare(X)).matrix()

    def arrays(self) -> dict[str, AnyArray]:
        """Return all arrays and scalars, for a model file."""
        return {name: np.asarray(getattr(self, name)) for name in ARRAYS}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, AnyArray], words: Mapping[str, Any]
    ) -> Self:
        """Build a back end from `arrays` and the metadata of a model file."""
        numbers: dict[str, Any] = {
            name: array.astype(np.float64) if array.ndim else float(array)
            for name, array in arrays.items()
        }
        missing = [name for name in ARRAYS if name not in numbers]
        if missing:
            raise InvalidParameterError(
                f"model file must contain all arrays of a back end, got none named "
                f"{', '.join(missing)}",
                owner="BackEnd",
            )
        numbers["normalize_state"] = bool(numbers["normalize_state"])
        return cls(
            **numbers,
            kind=str(words["kind"]),
            extractor=words.get("extractor"),
            notes=dict(words.get("notes", {})),
        )

    def with_extractor(self, extractor: str | None) -> Self:
        """Return a copy that refers to the given extractor."""
        return replace(self, extractor=extractor)


ARRAYS = tuple(
    entry.name
    for entry in fields(BackEnd)
    if entry.name not in ("kind", "extractor", "notes")
)
"""Names of the arrays and scalars that define a back end."""


def plda_fields(model: PldaModel, *, normalize_length: bool) -> dict[str, Any]:
    """Return the fields of a back end that scores with a PLDA model."""
    weights = pair_coefficients(model.psi)
    expected = 1.0 / (model.psi + 1.0)
    return {
        "projection": model.transform,
        "shift": -model.transform @ model.mean,
        "norm_weights": expected if normalize_length else np.zeros(model.dim),
        "gain": np.sqrt(weights.cross),
        "square": weights.test,
        "constant": weights.constant,
        "kind": "plda",
    }


def cosine_fields(q: int) -> dict[str, Any]:
    """Return the fields of a back end whose scores are inner products of phi."""
    return {
        "projection": np.eye(q),
        "shift": np.zeros(q),
        "norm_weights": np.zeros(q),
        "gain": np.ones(q),
        "square": np.zeros(q),
        "constant": 0.0,
        "kind": "cosine",
    }


def build_backend(
    chain: FoldedChain,
    plda: PldaModel | None = None,
    *,
    center: FloatArray | None = None,
    normalize_length: bool = False,
    extractor: str | None = None,
) -> BackEnd:
    """Combine a chain of transforms and a scorer.

    Parameters
    ----------
    chain : FoldedChain
        Transforms from states to the vectors that are scored.
    plda : PldaModel or None, default=None
        Model for scoring by log-likelihood ratio; None scores by cosine.
    center : ndarray of shape (d,) or None, default=None
        Vector that is subtracted first.
    normalize_length : bool, default=False
        If True, normalise lengths in the space of the PLDA model as Kaldi does.
    extractor : str or None, default=None
        Fingerprint of the extractor.
    """
    q, d = chain.matrix.shape
    if plda is not None and plda.dim != q:
        problem = (
            f"must have the {q} dimensions of the transform's output, got "
            f"{plda.dim}; check that the transform is not missing and belongs to "
            f"this model"
        )
        raise InvalidParameterError(problem, owner="build_backend", parameter="plda")
    scoring = cosine_fields(q)
    if plda is not None:
        scoring = plda_fields(plda, normalize_length=normalize_length)
    return BackEnd(
        center=np.zeros(d) if center is None else center,
        matrix=chain.matrix * (chain.in_length or 1.0),
        offset=chain.offset,
        out_length=1.0 if plda is None else chain.out_length or 0.0,
        normalize_state=chain.in_length is not None,
        extractor=extractor,
        **scoring,
    )


def backend_from_transform(
    transform: Transform | None,
    plda: PldaModel | None,
    dim: int,
    *,
    normalize_length: bool = False,
) -> BackEnd:
    """Build a back end from files of another toolkit.

    Parameters
    ----------
    transform : Transform or None
        Result of ``sms_diar.io.kaldi.transform.read_transform``; None if the PLDA model
        applies to untransformed vectors.
    plda : PldaModel or None
        PLDA model; None scores by cosine.
    dim : int
        Dimension of the embeddings.
    normalize_length : bool, default=False
        If True, normalise lengths in the space of the PLDA model as Kaldi does.
    """
    center = None
    # Without a transform the PLDA model applies to raw vectors of any length.
    matrix, offset = np.eye(dim), np.zeros(dim)
    is_kaldi = isinstance(transform, KaldiTransform)
    steps = transform.steps if isinstance(transform, KaldiTransform) else (transform,)
    for step in steps:
        if isinstance(step, Centering):
            center = step.mean
        elif isinstance(step, LinearTransform):
            matrix, offset = step.matrix, np.zeros(len(step.matrix))
            if matrix.shape[1] == dim + 1:
                matrix, offset = matrix[:, :-1], matrix[:, -1]
    if not isinstance(transform, VbxTransform):
        length = float(np.sqrt(len(matrix))) if is_kaldi else None
        chain = FoldedChain(matrix, offset, out_length=length)
    else:
        scale_in, scale_out = 1.0, 1.0
        if transform.length == "sqrt-dim":
            scale_in, scale_out = (float(np.sqrt(n)) for n in transform.lda.shape)
        center = transform.mean1
        chain = FoldedChain(
            transform.lda.T, -transform.mean2, in_length=scale_in, out_length=scale_out
        )
    if chain.dim_in != dim or (center is not None and len(center) != dim):
        expected = chain.dim_in if center is None else len(center)
        raise InvalidParameterError(
            f"must take the {dim} dimensions of the embeddings, got one for {expected}",
            owner="backend_from_transform",
            parameter="transform",
        )
    return build_backend(chain, plda, center=center, normalize_length=normalize_length)
