"""Neural network embeddings of the segments of a recording.

`Embedder` is the interface that the rest of the package uses; `NetworkEmbedder`
implements it for a network, and `FusedEmbedder` for two embedders. `load_embedder`
finds embedders by name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from sms_diar._parallel import ordered_map
from sms_diar._validation import check_count, check_positive
from sms_diar.errors import InvalidParameterError
from sms_diar.features.filterbank import FilterbankConfig, filterbank
from sms_diar.io.audio.files import Samples
from sms_diar.networks import store
from sms_diar.networks.registry import load_named
from sms_diar.types import FloatArray, Segment

GROUP = "sms_diar.embedders"
_BATCH = 8  # segments of equal length that are processed together


@dataclass(frozen=True, slots=True)
class NetworkInput:
    """Conversion of the samples of a segment to the input of a network.

    `filterbank` is None for networks that take samples. If `subtract_mean`, the mean
    of each filter over the segment is subtracted. Samples are multiplied by `scale`,
    32768 for networks trained on 16-bit integers. `shortest` is the minimum number of
    frames, or of samples, that the network needs.
    """

    rate: int = 16000
    filterbank: FilterbankConfig | None = field(default_factory=FilterbankConfig)
    subtract_mean: bool = True
    scale: float = 1.0
    shortest: int = 3

    def __post_init__(self) -> None:
        check_count("NetworkInput", "rate", self.rate)
        check_count("NetworkInput", "shortest", self.shortest)
        check_positive("NetworkInput", "scale", self.scale)
        if self.filterbank is not None and self.filterbank.rate != self.rate:
            raise InvalidParameterError(
                f"the filterbank must have the rate {self.rate}, got "
                f"{self.filterbank.rate}",
                owner="NetworkInput",
            )

    @property
    def shortest_samples(self) -> int:
        """Minimum length of a segment in samples."""
        if self.filterbank is None:
            return self.shortest
        frames = (self.shortest - 1) * self.filterbank.shift_samples
        return frames + self.filterbank.frame_samples

    def of(self, samples: FloatArray) -> FloatArray:
        """Return the input of one segment: (n_frames, n_filters) or (n_samples,)."""
        scaled = samples * self.scale
        if self.filterbank is None:
            return scaled
        frames = filterbank(scaled, self.filterbank)
        if self.subtract_mean:
            frames -= np.mean(frames, axis=0)
        return frames


@runtime_checkable
class Embedder(Protocol):
    """Interface of models that compute embeddings of segments."""

    @property
    def name(self) -> str:
        """Name used in messages."""

    @property
    def rate(self) -> int:
        """Required sampling rate in hertz."""

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""

    @property
    def shortest(self) -> float:
        """Minimum duration of a segment in seconds."""

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify everything the vectors depend on."""

    def embed(
        self, audio: Samples, segments: Sequence[Segment], *, workers: int = 1
    ) -> FloatArray:
        """Embed segments of one recording, in their order, shape (n, dim)."""


class Forward(Protocol):
    """Interface of networks that embed segments of equal length."""

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""

    def embed(self, inputs: FloatArray) -> FloatArray:
        """Map (n, n_frames, n_filters) or (n, n_samples) to (n, dim)."""


class NetworkEmbedder:
    """Embedder that consists of an input conversion and a network.

    `digest` identifies the weights; `name` is used in messages.
    """

    def __init__(
        self,
        network: Forward,
        digest: str,
        front: NetworkInput,
        *,
        name: str = "network",
    ) -> None:
        self.name = name
        self._network = network
        self._front = front
        shaping = dataclasses.asdict(front)
        del shaping["shortest"]  # the minimum length does not influence the vectors
        if front.filterbank is not None and front.filterbank.window == "povey":
            del shaping["filterbank"]["window"]  # as in stored vectors and back ends
        settings = {"network": digest, "input": shaping}
        text = json.dumps(settings, sort_keys=True)
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def rate(self) -> int:
        """Required sampling rate in hertz."""
        return self._front.rate

    @property
    def dim(self) -> int:
        """Dimension of the embeddings."""
        return self._network.dim

    @property
    def shortest(self) -> float:
        """Minimum duration of a segment in seconds."""
        return self._front.shortest_samples / self.rate

    def embed(
        self, audio: Samples, segments: Sequence[Segment], *, workers: int = 1
    ) -> FloatArray:
        """Embed segments of one recording, shape (n_segments, dim), at any length.

        The audio is one channel at `rate`; parts of segments beyond the recording are
        cut off. The vectors are not length-normalised. Results do not depend on the
        number of threads, `workers`.
        """
        check_count("NetworkEmbedder", "workers", workers)
        if audio.rate != self.rate:
            problem = (
                f"must have {self.rate} samples per second, got {audio.rate}; "
                f"resample first"
            )
            raise InvalidParameterError(problem, owner=self.name, parameter="audio")
        spans = [self._span(audio, segment) for segment in segments]
        vectors = np.empty((len(segments), self.dim))
        # Samples are read here, because a recording must be read by a single thread.
        work = (
            (rows, [audio.read(*spans[row]) for row in rows])
            for rows in _batches(spans)
        )
        for rows, embedded in ordered_map(self._embed_batch, work, workers=workers):
            vectors[rows] = embedded
        return vectors

    def _span(self, audio: Samples, segment: Segment) -> tuple[int, int]:
        first = round(segment.start * self.rate)
        last = min(first + round(segment.duration * self.rate), audio.n_samples)
        if last - first < self._front.shortest_samples:
            problem = (
                f"must have at least {self.shortest:g} s, got "
                f"{max(last - first, 0) / self.rate:g} s at {segment.start:g} s of "
                f"{segment.recording!r}"
            )
            raise InvalidParameterError(problem, owner=self.name, parameter="segments")
        return first, last

    def _embed_batch(
        self, work: tuple[list[int], list[FloatArray]]
    ) -> tuple[list[int], FloatArray]:
        rows, parts = work
        inputs = np.stack([self._front.of(part) for part in parts])
        return rows, self._network.embed(inputs)


def _batches(spans: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Group rows of segments of equal length; the groups depend only on `spans`."""
    waiting: dict[int, list[int]] = {}
    for row, (first, last) in enumerate(spans):
        group = waiting.setdefault(last - first, [])
        group.append(row)
        if len(group) == _BATCH:
            yield waiting.pop(last - first)
    yield from waiting.values()


class FusedEmbedder:
    """Embedder that concatenates the vectors of two embedders of one sampling rate.

    At unit length, cosines are the mean of the cosines of both, of which the second has
    `weight` (above 0 and below 1). The first columns are the vectors of the first
    embedder, unchanged, so that its back end can be used.
    """

    def __init__(self, first: Embedder, second: Embedder, weight: float) -> None:
        if first.rate != second.rate:
            problem = f"must have the rate {first.rate} of the first, got {second.rate}"
            raise InvalidParameterError(
                problem, owner="FusedEmbedder", parameter="second"
            )
        self._both = first, second
        self._ratio = math.sqrt(weight / (1.0 - weight))
        self.name = f"{first.name} + {second.name}"
        self.rate = first.rate
        self.dim = first.dim + second.dim
        self.shortest = max(first.shortest, second.shortest)
        text = f"{first.fingerprint} {second.fingerprint} {weight!r}"
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]

    def embed(
        self, audio: Samples, segments: Sequence[Segment], *, workers: int = 1
    ) -> FloatArray:
        """Embed segments with both embedders, shape (n_segments, dim)."""
        first, second = (
            embedder.embed(audio, segments, workers=workers) for embedder in self._both
        )
        first_lengths, second_lengths = (
            np.linalg.norm(rows, axis=1, keepdims=True) for rows in (first, second)
        )
        scale = (
            self._ratio * first_lengths / np.where(second_lengths, second_lengths, 1)
        )
        return np.concatenate([first, scale * second], axis=1)


def load_campplus() -> NetworkEmbedder:
    """Load the embedder ``campplus`` from the cache folder."""
    from sms_diar.networks.campplus import (  # noqa: PLC0415 compiled code
        SHORTEST,
        CampPlus,
    )

    model = store.load("campplus")
    front = NetworkInput(shortest=SHORTEST)
    network = CampPlus(model.arrays)
    return NetworkEmbedder(network, model.fingerprint, front, name="campplus")


def load_resnet34() -> NetworkEmbedder:
    """Load the embedder ``resnet34`` from the cache folder."""
    from sms_diar.networks.resnet34 import (  # noqa: PLC0415 compiled code
        SHORTEST,
        ResNet34,
    )

    model = store.load("resnet34")
    bank = FilterbankConfig(window="hamming")
    front = NetworkInput(filterbank=bank, scale=32768.0, shortest=SHORTEST)
    network = ResNet34(model.arrays)
    return NetworkEmbedder(network, model.fingerprint, front, name="resnet34")


_BUILT_IN = {"campplus": load_campplus, "resnet34": load_resnet34}


def load_embedder(name: str | Path) -> Embedder:
    """Load an embedder by name.

    The path of a TOML file that describes an ONNX network is also accepted (see
    `sms_diar.embeddings.onnx_network`).
    """
    if isinstance(name, Path) or name.endswith(".toml"):
        from sms_diar.embeddings.onnx_network import (  # noqa: PLC0415 an extra
            load_onnx_embedder,
        )

        return load_onnx_embedder(name)
    return load_named(GROUP, _BUILT_IN, name, Embedder)  # type: ignore[type-abstract]
