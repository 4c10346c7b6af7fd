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
from sms_diar.errors import InvalidParameterError
from sms_diar.networks.nnet3 import Nnet3Network
from sms_diar.types import AnyArray, Problem

_OWNER = "XvectorExtractor"


@dataclass(frozen=True, eq=False)
class XvectorExtractor:
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
    identity : mapping
        Digest of the network and options of the cepstra as plain JSON values, for the
        fingerprint.
    """

    network: Nnet3Network
    chunk_size: int = 10000
    min_chunk_size: int = 25
    identity: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.chunk_size != -1:
            check_count(_OWNER, "chunk_size", self.chunk_size)
        check_count(_OWNER, "min_chunk_size", self.min_chunk_size)

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify everything the vectors depend on."""
        chunks = [self.chunk_size, self.min_chunk_size]
        text = json.dumps([chunks, dict(self.identity)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def extract(self, frames: AnyArray) -> npt.NDArray[np.float32]:
        """Extract the x-vector, shape (dim,), of frames of shape (n, frame_dim)."""
        n = len(frames)
        if not n:
            problem = "must be at least one, got none"
            raise InvalidParameterError(problem, owner=_OWNER, parameter="frames")
        size = n if self.chunk_size == -1 else self.chunk_size
        total = np.zeros(self.network.dim)
        for start in range(0, n, size):
            rows = frames[start : start + size]
            missing = max(self.min_chunk_size - len(rows), 0)
            sides = (missing // 2, missing - missing // 2)
            padded = np.pad(rows, (sides, (0, 0)), mode="edge")
            total += len(rows) * self.network.output(padded).astype(np.float64)
        return (total / n).astype(np.float32)

    def vector_or_problem(
        self, segment: tuple[str, AnyArray] | Problem
    ) -> tuple[str, npt.NDArray[np.float32]] | Problem:
        """Return the id and the x-vector of a segment; problems are passed on."""
        if isinstance(segment, Problem):
            return segment
        name, frames = segment
        try:
            return name, self.extract(frames)
        except InvalidParameterError as error:
            return Problem.of(error, segment=name)
