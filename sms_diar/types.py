"""Common data types of the package.

They are immutable and validate themselves, so later stages need not check again. Ids
are opaque: recordings, channels and speakers are never derived from an id. The only
exception is `sms_diar.timeline.windows.times_of_ids`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sms_diar._text import is_name
from sms_diar.errors import InvalidParameterError, SmsDiarError

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None

Severity: TypeAlias = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Problem or remark concerning an input.

    Readers that do not stop at the first problem collect these. With an error, the
    input cannot be used; a warning may change a result or cause trouble in other tools;
    a note only informs.
    """

    text: str  # one sentence
    path: str | None = None
    line: int | None = None  # 1-based; None if it concerns the whole file
    recording: str | None = None
    segment: str | None = None
    severity: Severity = "error"
    kind: str = ""  # the same short name for all problems of a kind
    content: str | None = None  # offending line
    error: SmsDiarError | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        error: Exception,
        *,
        recording: str | None = None,
        segment: str | None = None,
    ) -> Problem:
        """Convert an exception about one recording or segment.

        A failure of one of many items must not affect the others, including bugs and
        lack of memory.
        """
        if isinstance(error, SmsDiarError | OSError):
            text = str(error)
        elif isinstance(error, MemoryError):
            text = "needs more memory than there is"
        else:
            text = (
                f"{type(error).__name__}: {error}; this is a fault of sms_diar, please "
                f"report it"
            )
        # Its traceback would keep the arrays of the failed work in memory.
        ours = error if isinstance(error, SmsDiarError) else None
        cause = ours and ours.with_traceback(None)
        return cls(text, recording=recording, segment=segment, error=cause)

    @property
    def where(self) -> str | None:
        """Location: a segment, a recording, or a file with an optional line."""
        item = self.segment or self.recording
        if item is not None or self.path is None or self.line is None:
            return item or self.path
        return f"{self.path}:{self.line}"

    def __str__(self) -> str:
        """Return the location and the text."""
        return self.text if self.where is None else f"{self.where}: {self.text}"

    def with_severity(self) -> str:
        """Return the location, the severity and the text."""
        text = f"{self.severity}: {self.text}"
        return text if self.where is None else f"{self.where}: {text}"


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """Half-open interval ``[start, end)`` of one recording, in seconds."""

    recording: str
    start: float
    end: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.start < self.end < float("inf"):
            raise InvalidParameterError(
                f"segment of {self.recording!r} must satisfy 0 <= start < end, "
                f"got start={self.start!r}, end={self.end!r}"
            )

    @property
    def duration(self) -> float:
        """Duration in seconds, always positive."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """Interval of a recording in which a speaker talks."""

    segment: Segment
    speaker: str


@dataclass(frozen=True, eq=False)
class EmbeddingSet:
    """Embeddings of segments.

    Parameters
    ----------
    ids : tuple of str
        Segment ids, all distinct.
    vectors : ndarray of shape (n, d)
        One finite row per id.
    extractor : str, optional
        Fingerprint of the model that computed the vectors, if known. Back ends compare
        it with the fingerprint of their training data.
    source : str, optional
        Origin of the vectors, for messages.
    """

    ids: tuple[str, ...]
    vectors: FloatArray
    extractor: str | None = None
    source: str = "embeddings"

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.ids) != len(self.vectors):
            message = (
                f"must be one row for each of the {len(self.ids)} ids, got shape "
                f"{self.vectors.shape}"
            )
            raise InvalidParameterError(message, owner=self.source, parameter="vectors")
        wrong = next((name for name in self.ids if not is_name(name)), None)
        if wrong is not None:
            message = (
                f"must be names, got {wrong!r}, which is blank or has characters that "
                f"do not show; rename it"
            )
            raise InvalidParameterError(message, owner=self.source, parameter="ids")
        if len(set(self.ids)) != len(self.ids):
            name, times = Counter(self.ids).most_common(1)[0]
            message = f"must be unique, got {name!r} {times} times"
            raise InvalidParameterError(message, owner=self.source, parameter="ids")
        finite = np.isfinite(self.vectors).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            problem = "NaN" if np.isnan(self.vectors[row]).any() else "infinity"
            message = (
                f"must be finite, got {problem} in the vector of {self.ids[row]!r} "
                f"({np.count_nonzero(~finite)} of {len(self.ids)} vectors are "
                f"affected); remove or repair them"
            )
            raise InvalidParameterError(message, owner=self.source, parameter="vectors")

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self.vectors.shape[1])

    def select(self, rows: Sequence[int] | IntArray) -> EmbeddingSet:
        """Select the vectors of the given rows, in that order."""
        indices = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            ids=tuple(self.ids[row] for row in indices),
            vectors=self.vectors[indices],
        )


@dataclass(frozen=True, eq=False)
class PldaModel:
    """Two-covariance PLDA in the diagonalised form that Kaldi stores.

    A vector is ``x = mean + speaker + residual``. ``transform @ (x - mean)`` has
    identity covariance within speakers and ``diag(psi)`` between speakers; psi is not
    negative.
    """

    mean: FloatArray
    transform: FloatArray
    psi: FloatArray

    def __post_init__(self) -> None:
        d = self.mean.shape[0] if self.mean.ndim == 1 else -1
        if d < 1 or self.transform.shape != (d, d) or self.psi.shape != (d,):
            raise InvalidParameterError(
                f"mean, transform and psi must be of shapes (d,), (d, d) and (d,), "
                f"got {self.mean.shape}, {self.transform.shape} and {self.psi.shape}",
                owner="PldaModel",
            )
        for name in ("mean", "transform", "psi"):
            if not np.isfinite(getattr(self, name)).all():
                problem = "must be finite, got NaN or infinity"
                raise InvalidParameterError(problem, owner="PldaModel", parameter=name)
        if (self.psi < 0.0).any():
            problem = f"must not be negative, got {self.psi.min()!r}"
            raise InvalidParameterError(problem, owner="PldaModel", parameter="psi")

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self.mean.shape[0])
