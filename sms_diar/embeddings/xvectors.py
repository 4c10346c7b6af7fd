"""X-vectors of networks that were trained in Kaldi, as by ``nnet3-xvector-compute``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sms_diar._validation import check_count
from sms_diar.embeddings.extractor import Batch, FrameExtractor
from sms_diar.errors import InvalidParameterError
from sms_diar.networks.nnet3 import Nnet3Network
from sms_diar.types import AnyArray, FloatArray

_OWNER = "XvectorExtractor"


@dataclass(frozen=True, eq=False)
class XvectorExtractor(FrameExtractor):
    """Extractor that maps frames to x-vectors.

    A segment is divided into chunks of `chunk_size` frames, of which the last may be
    shorter, and its vector is the mean of their vectors, weighted by their lengths.

    Parameters
    ----------
    network : Nnet3Network
        Network whose output is the x-vector.
    chunk_size : int, default=10000
        Frames per chunk; -1 for the whole segment.
    min_chunk_size : int, default=25
        Shorter chunks are lengthened on both sides by their first and last frame.
    pad_input : bool, default=True
        If false, shorter chunks are skipped instead.
    identity : mapping
        Digest of the network and settings of the front end as plain JSON values, for
        the fingerprint.
    """

    network: Nnet3Network
    chunk_size: int = 10000
    min_chunk_size: int = 25
    pad_input: bool = True
    identity: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.chunk_size != -1:
            check_count(_OWNER, "chunk_size", self.chunk_size)
        check_count(_OWNER, "min_chunk_size", self.min_chunk_size)
        name, least = "min_chunk_size", self.min_chunk_size
        if not self.pad_input and self.chunk_size != -1:
            least = min(least, self.chunk_size)
        if not self.network.accepts(least):
            problem = f"must be more than the context of the network, got {least}"
            raise InvalidParameterError(problem, owner=_OWNER, parameter=name)

    @property
    def dim(self) -> int:
        """Dimension of the x-vectors."""
        return self.network.dim

    @property
    def frame_dim(self) -> int:
        """Dimension of the frames."""
        return self.network.frame_dim

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify everything the vectors depend on."""
        chunks = [self.chunk_size, self.min_chunk_size, self.pad_input]
        text = json.dumps([chunks, dict(self.identity)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def prepare(self) -> None:
        """Do nothing; the network has no values to prepare."""

    def extract(self, frames: AnyArray) -> npt.NDArray[np.float32]:
        """Extract the x-vector, shape (dim,), of frames of shape (n, frame_dim)."""
        size = len(frames) if self.chunk_size == -1 else self.chunk_size
        total, n_used = np.zeros(self.dim), 0
        for start in range(0, len(frames), max(size, 1)):
            chunk = frames[start : start + size]
            missing = self.min_chunk_size - len(chunk)
            if missing > 0 and not self.pad_input:
                continue
            n_used += len(chunk)
            left = max(missing, 0) // 2
            sides = (left, max(missing, 0) - left)
            padded = np.pad(chunk, (sides, (0, 0)), mode="edge")
            total += len(chunk) * self.network.output(padded).astype(np.float64)
        if not n_used:
            problem = f"must be at least {self.min_chunk_size}, got {len(frames)}"
            raise InvalidParameterError(problem, owner=_OWNER, parameter="frames")
        return (total / n_used).astype(np.float32)

    def solve(self, batch: Batch) -> tuple[tuple[str, ...], FloatArray]:
        """Return ids and x-vectors of a few segments."""
        vectors = np.array([self.extract(frames) for _, frames in batch], np.float64)
        return tuple(name for name, _ in batch), vectors
