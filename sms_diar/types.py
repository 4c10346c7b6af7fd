"""The few small values that travel through the whole package.

They are frozen and check themselves, so that later stages need not check
again. Ids are opaque: no recording, channel or speaker is recovered from one. The only
exception is `sms_diar.timeline.windows.times_of_ids`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """Something that is wrong with an input, or worth knowing about it.

    Readers that do not stop at the first problem collect these.

    Parameters
    ----------
    text : str
        What it is, in a sentence.
    path : str, optional
        The file it is in.
    line : int, optional
        1-based line; None where it concerns the whole file.
    recording, segment : str, optional
        What it concerns, where that is known by name rather than by place.
    severity : {"error", "warning", "note"}
        With an error the input cannot be used; a warning may change a figure or
        trouble other tools; a note only informs.
    kind : str, optional
        Short name, the same for all problems of a kind.
    content : str, optional
        The offending line.
    """

    text: str
    path: str | None = None
    line: int | None = None
    recording: str | None = None
    segment: str | None = None
    severity: Severity = "error"
    kind: str = ""
    content: str | None = None

    @classmethod
    def of(
        cls,
        error: Exception,
        *,
        recording: str | None = None,
        segment: str | None = None,
    ) -> Problem:
        """What an exception says about one recording or segment.

        Whatever goes wrong with one of many must not cost the others, bugs and lack
        of memory included.
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
        return cls(text, recording=recording, segment=segment)

    @property
    def where(self) -> str | None:
        """What it concerns: a segment, a recording, or a file and perhaps a line."""
        named = self.segment or self.recording
        if named is not None or self.path is None or self.line is None:
            return named or self.path
        return f"{self.path}:{self.line}"

    def __str__(self) -> str:
        """Where it is, then what it is."""
        return self.text if self.where is None else f"{self.where}: {self.text}"

    def with_severity(self) -> str:
        """Where it is, how serious it is, then what it is."""
        text = f"{self.severity}: {self.text}"
        return text if self.where is None else f"{self.where}: {text}"


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A half-open stretch of one recording, ``[start, end)`` in seconds."""

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
        """Length in seconds, always positive."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, order=True)
class Turn:
    """A stretch of a recording in which one speaker speaks."""

    segment: Segment
    speaker: str


@dataclass(frozen=True, eq=False)
class EmbeddingSet:
    """One vector for each segment.

    Parameters
    ----------
    ids : tuple of str
        Segment ids, all different.
    vectors : ndarray of shape (n, d)
        One row per id, finite.
    extractor : str, optional
        Fingerprint of the model that made the vectors, where it is known. Back
        ends compare it with the one they were trained on.
    source : str, optional
        Where the vectors came from, for messages.
    """

    ids: tuple[str, ...]
    vectors: FloatArray
    extractor: str | None = None
    source: str = "embeddings"

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.ids) != len(self.vectors):
            raise InvalidParameterError(
                f"{self.source}: vectors must be one row for each of the "
                f"{len(self.ids)} ids, got shape {self.vectors.shape}"
            )
        wrong = next((name for name in self.ids if not is_name(name)), None)
        if wrong is not None:
            raise InvalidParameterError(
                f"{self.source}: ids must be names, got {wrong!r}, which is blank or "
                f"has characters that do not show; rename it"
            )
        if len(set(self.ids)) != len(self.ids):
            name, times = Counter(self.ids).most_common(1)[0]
            raise InvalidParameterError(
                f"{self.source}: ids must be unique, got {name!r} {times} times"
            )
        finite = np.isfinite(self.vectors).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            what = "NaN" if np.isnan(self.vectors[row]).any() else "infinity"
            raise InvalidParameterError(
                f"{self.source}: vectors must be finite, got {what} in the vector of "
                f"{self.ids[row]!r} ({np.count_nonzero(~finite)} of {len(self.ids)} "
                f"vectors are affected); remove or repair them"
            )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int:
        """Dimensions of the vectors."""
        return int(self.vectors.shape[1])

    def select(self, rows: Sequence[int] | IntArray) -> EmbeddingSet:
        """Pick the vectors of the given rows, in that order."""
        chosen = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            ids=tuple(self.ids[row] for row in chosen),
            vectors=self.vectors[chosen],
        )


@dataclass(frozen=True, eq=False)
class PldaModel:
    """Two-covariance PLDA in the diagonalised form that Kaldi stores.

    A vector is ``x = mean + speaker + residual``. ``transform @ (x - mean)`` has
    identity covariance within speakers and ``diag(psi)`` between them.

    Parameters
    ----------
    mean : ndarray of shape (d,)
        Centre of all speakers.
    transform : ndarray of shape (d, d)
        Diagonalises both covariances.
    psi : ndarray of shape (d,)
        Between-speaker variances in the transformed space, not negative.
    """

    mean: FloatArray
    transform: FloatArray
    psi: FloatArray

    def __post_init__(self) -> None:
        d = self.mean.shape[0] if self.mean.ndim == 1 else -1
        if d < 1 or self.transform.shape != (d, d) or self.psi.shape != (d,):
            raise InvalidParameterError(
                f"PldaModel: mean, transform and psi must be of shapes (d,), (d, d) "
                f"and (d,), got {self.mean.shape}, {self.transform.shape} and "
                f"{self.psi.shape}"
            )
        for name in ("mean", "transform", "psi"):
            if not np.isfinite(getattr(self, name)).all():
                raise InvalidParameterError(
                    f"PldaModel: {name} must be finite, got NaN or infinity"
                )
        if (self.psi < 0.0).any():
            raise InvalidParameterError(
                f"PldaModel: psi must not be negative, got {self.psi.min()!r}"
            )

    @property
    def dim(self) -> int:
        """Dimensions of the vectors the model scores."""
        return int(self.mean.shape[0])
