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
        Digest of the network and options of the cepstra as plain JSON values, for the
        fingerprint.
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

    def accepts(self, n_frames: int) -> bool:
        """Return true if a segment of this length has chunks that are long enough."""
        chunks = self._chunks(n_frames)
        return bool(chunks) and all(
            self.network.accepts(max(len(chunk), self.min_chunk_size))
            for chunk in (chunks[0], chunks[-1])
        )

    def extract(self, frames: AnyArray) -> npt.NDArray[np.float32]:
        """Extract the x-vector, shape (dim,), of frames of shape (n, frame_dim)."""
        if not self.accepts(len(frames)):
            problem = f"must be enough for the network, got {len(frames)}"
            raise InvalidParameterError(problem, owner=_OWNER, parameter="frames")
        total, n_used = np.zeros(self.dim), 0
        for chunk in self._chunks(len(frames)):
            missing = max(self.min_chunk_size - len(chunk), 0)
            sides = (missing // 2, missing - missing // 2)
            rows = np.pad(
                frames[chunk.start : chunk.stop], (sides, (0, 0)), mode="edge"
            )
            total += len(chunk) * self.network.output(rows).astype(np.float64)
            n_used += len(chunk)
        return (total / n_used).astype(np.float32)

    def _chunks(self, n_frames: int) -> list[range]:
        """Return the frames of each chunk."""
        size = n_frames if self.chunk_size == -1 else self.chunk_size
        shortest = 1 if self.pad_input else self.min_chunk_size
        chunks = (
            range(start, min(start + size, n_frames))
            for start in range(0, n_frames, max(size, 1))
        )
        return [chunk for chunk in chunks if len(chunk) >= shortest]

    def solve(self, batch: Batch) -> tuple[tuple[str, ...], FloatArray]:
        """Return ids and x-vectors of a few segments."""
        vectors = np.array([self.extract(frames) for _, frames in batch], np.float64)
        return tuple(name for name, _ in batch), vectors
