"""I-vector extractor: front end, background model and total variability matrix.

A note on normalisation: the mean and variance of the cepstra of one short segment
mostly reflect its speaker, so removing them removes what i-vectors represent (all-pairs
EER on short digits: 23 % against 10 %). By default, the front end of an extractor
therefore normalises over the session, i.e. over all segments of a data directory.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from sms_diar._parallel import ordered_map
from sms_diar._validation import check_choice, check_count
from sms_diar.embeddings.mixture import GaussianMixture, check_frames
from sms_diar.embeddings.statistics import (
    Segments,
    Statistics,
    batch_statistics,
)
from sms_diar.embeddings.total_variability import (
    BATCH,
    Ivectors,
    TotalVariability,
)
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._foreign import foreign_errors
from sms_diar.io.model import ModelFile
from sms_diar.types import AnyArray, EmbeddingSet, FloatArray

Batch: TypeAlias = list[tuple[str, AnyArray]]

KIND = "ivectors"
STORAGES = {"float": np.float32, "double": np.float64}
_OWNER = "IvectorExtractor"
_FRAMES = 1 << 16  # maximum number of frames in a batch
_ARRAYS = (
    "ubm_weights",
    "ubm_means",
    "ubm_covariances",
    "tv_matrix",
    "tv_means",
    "front_end",
    "top",
)


def round_mixture(mixture: GaussianMixture, storage: str = "float") -> GaussianMixture:
    """Round a mixture to values that a model file represents exactly."""
    return GaussianMixture(
        _rounded(mixture.weights, storage),
        _rounded(mixture.means, storage),
        _rounded(mixture.covariances, storage),
    )


def _rounded(array: FloatArray, storage: str) -> FloatArray:
    return array.astype(STORAGES[storage]).astype(np.float64)


class FrameExtractor(ABC):
    """Extractor of one i-vector from the frames of each segment."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Dimension of the i-vectors."""

    @property
    @abstractmethod
    def frame_dim(self) -> int:
        """Dimension of the frames."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify everything the vectors depend on."""

    @abstractmethod
    def prepare(self) -> None:
        """Compute cached values that are shared by threads."""

    @abstractmethod
    def solve(self, batch: Batch) -> tuple[tuple[str, ...], FloatArray]:
        """Return ids and i-vectors of a few segments."""

    def extract_all(
        self, segments: Segments, *, workers: int = 1, source: str = "i-vectors"
    ) -> EmbeddingSet:
        """Extract i-vectors of many segments; the input is consumed lazily.

        Parameters
        ----------
        segments : iterable of (str, ndarray of shape (n_frames, d))
            Segment ids with frames; each segment needs at least one frame.
        workers : int, default=1
            Number of threads; results do not depend on it.
        source : str, default="i-vectors"
            Name of the vectors in messages.
        """
        workers = check_count(_OWNER, "workers", workers)
        self.prepare()

        ids: list[str] = []
        vectors = [np.empty((0, self.dim))]
        batches = _batches(segments)
        for names, rows in ordered_map(self.solve, batches, workers=workers):
            ids.extend(names)
            vectors.append(rows)
        return EmbeddingSet(
            tuple(ids), np.concatenate(vectors), self.fingerprint, source
        )


def _batches(segments: Segments) -> Iterator[Batch]:
    batch: Batch = []
    n_frames = 0
    for name, frames in segments:
        if not len(frames):
            problem = (
                f"must have frames, got none for {name!r}; remove segments "
                f"without speech"
            )
            raise InvalidParameterError(problem, owner=_OWNER, parameter="segments")
        if batch and (len(batch) == BATCH or n_frames + len(frames) > _FRAMES):
            yield batch
            batch, n_frames = [], 0
        batch.append((name, frames))
        n_frames += len(frames)
    if batch:
        yield batch


@dataclass(frozen=True, eq=False)
class IvectorExtractor(FrameExtractor):
    """Extractor that maps frames to i-vectors.

    Parameters
    ----------
    model : TotalVariability
        Background model and T. The values are immediately rounded to `storage`, so
        that a model read from a file gives bit-identical vectors.
    front_end : mapping
        Settings of the front end as plain JSON values. They are part of the
        fingerprint.
    top : int or None, default=None
        Number of components used for each frame; None uses all.
    storage : {'float', 'double'}, default='float'
        Precision of the values in a model file. 128 components with 60 dimensions and
        rank 100 take 3 MB as floats.
    notes : mapping, optional
        Additional information, such as the training data. Not in the fingerprint.
    """

    model: TotalVariability
    front_end: Mapping[str, Any] = field(default_factory=dict)
    top: int | None = None
    storage: str = "float"
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_choice(_OWNER, "storage", self.storage, tuple(STORAGES))
        if self.top is not None:
            check_count(_OWNER, "top", self.top)
        try:
            json.dumps([dict(self.front_end), dict(self.notes)], allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(
                f"front_end and notes must be plain JSON values, got others ({error})",
                owner=_OWNER,
            ) from None
        rounded = TotalVariability(
            _rounded(self.model.matrix, self.storage),
            _rounded(self.model.means, self.storage),
            round_mixture(self.model.mixture, self.storage),
        )
        object.__setattr__(self, "model", rounded)

    @property
    def dim(self) -> int:
        """Dimension of the i-vectors."""
        return self.model.rank

    @property
    def frame_dim(self) -> int:
        """Dimension of the frames."""
        return self.model.mixture.dim

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify everything the vectors depend on."""
        return ModelFile(KIND, self._arrays(), {}).fingerprint

    def extract(self, frames: AnyArray) -> FloatArray:
        """Return the i-vector of one segment, shape (r,)."""
        vector: FloatArray = self.posterior(frames).means[0]
        return vector

    def posterior(self, frames: AnyArray) -> Ivectors:
        """Return the i-vector of one segment with its covariance, as a batch of one."""
        check_frames(_OWNER, frames, self.frame_dim)
        if not len(frames):
            problem = "must not be empty, got none; this segment contains no speech"
            raise InvalidParameterError(problem, owner=_OWNER, parameter="frames")
        return self.model.posterior(self._statistics([("segment", frames)]))

    def prepare(self) -> None:
        """Compute cached values that are shared by threads."""
        self.model.prepare()

    def solve(self, batch: Batch) -> tuple[tuple[str, ...], FloatArray]:
        """Return ids and i-vectors of a few segments."""
        statistics = self._statistics(batch)
        return statistics.ids, self.model.solve(statistics)

    def _statistics(self, batch: Batch) -> Statistics:
        return batch_statistics(self.model.mixture, batch, top=self.top)

    def _arrays(self) -> dict[str, AnyArray]:
        mixture = self.model.mixture
        dtype = STORAGES[self.storage]
        return {
            "ubm_weights": mixture.weights.astype(dtype),
            "ubm_means": mixture.means.astype(dtype),
            "ubm_covariances": mixture.covariances.astype(dtype),
            "tv_matrix": self.model.matrix.astype(dtype),
            "tv_means": self.model.means.astype(dtype),
            "front_end": np.array(json.dumps(dict(self.front_end), sort_keys=True)),
            "top": np.array(-1 if self.top is None else self.top, dtype=np.int64),
        }

    def to_model(self) -> ModelFile:
        """Convert to a model file."""
        metadata = {"extractor": self.fingerprint, "notes": dict(self.notes)}
        return ModelFile(KIND, self._arrays(), metadata)

    @classmethod
    def from_model(cls, model: ModelFile, *, path: str = "model") -> IvectorExtractor:
        """Build from ``read_model(path, KIND)``; additional arrays are ignored."""
        missing = [name for name in _ARRAYS if name not in model.arrays]
        if missing:
            problem = f"an i-vector model without {', '.join(missing)}"
            raise DataFormatError(problem, path=path)
        arrays = model.arrays
        with foreign_errors(path, "an i-vector model that makes no sense"):
            numbers = {name: arrays[name].astype(np.float64) for name in _ARRAYS[:5]}
            wide = arrays["tv_matrix"].dtype == np.float64
            top = int(arrays["top"])
            mixture = GaussianMixture(
                numbers["ubm_weights"], numbers["ubm_means"], numbers["ubm_covariances"]
            )
            return cls(
                TotalVariability(numbers["tv_matrix"], numbers["tv_means"], mixture),
                front_end=dict(json.loads(str(arrays["front_end"]))),
                top=None if top < 0 else top,
                storage="double" if wide else "float",
                notes=dict(model.words.get("notes", {})),
            )
