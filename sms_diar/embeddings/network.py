"""Segments of a recording to vectors, by a neural network.

`Embedder` is what the rest of the package asks of one, `NetworkEmbedder` how a network
becomes one. `sms_diar.embeddings.registry` knows them by name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from sms_diar._parallel import ordered_map
from sms_diar._validation import check_count
from sms_diar.embeddings.network_input import NetworkInput
from sms_diar.errors import InvalidParameterError
from sms_diar.io.audio.files import Samples
from sms_diar.networks import store
from sms_diar.types import EmbeddingSet, FloatArray, Segment

_BATCH = 8  # segments of one length that are computed together


@runtime_checkable
class Embedder(Protocol):
    """Something that makes vectors of segments."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def rate(self) -> int:
        """Samples per second that it wants."""
        ...

    @property
    def dim(self) -> int:
        """Dimensions of the vectors."""
        ...

    @property
    def shortest(self) -> float:
        """Seconds that a segment must have."""
        ...

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that follow from all that shapes the vectors."""
        ...

    def embed(
        self, audio: Samples, segments: Sequence[Segment], *, workers: int = 1
    ) -> FloatArray:
        """Vectors of segments of one recording, shape (n, dim), in their order."""
        ...


class Forward(Protocol):
    """A network: the inputs of segments of one length to their vectors."""

    @property
    def dim(self) -> int:
        """Dimensions of the vectors."""
        ...

    def embed(self, inputs: FloatArray) -> FloatArray:
        """Vectors, (n, n_frames, n_filters) or (n, n_samples) to (n, dim)."""
        ...


class NetworkEmbedder:
    """An embedder that consists of an input and a network.

    Parameters
    ----------
    network : Forward
        The network.
    digest : str
        Stands for its weights.
    front : NetworkInput
        What it is given.
    name : str, default="network"
        What messages call it.
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
        del shaping["shortest"]  # which segments are refused changes no vector
        settings = {"network": digest, "input": shaping}
        text = json.dumps(settings, sort_keys=True)
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def rate(self) -> int:
        """Samples per second that it wants."""
        return self._front.rate

    @property
    def dim(self) -> int:
        """Dimensions of the vectors."""
        return self._network.dim

    @property
    def shortest(self) -> float:
        """Seconds that a segment must have."""
        return self._front.shortest_samples / self.rate

    def embed(
        self, audio: Samples, segments: Sequence[Segment], *, workers: int = 1
    ) -> FloatArray:
        """Vectors of segments of one recording.

        Parameters
        ----------
        audio : Samples
            One channel at `rate`.
        segments : sequence of Segment
            In seconds; what reaches beyond the recording is cut off.
        workers : int, default=1
            Threads; results do not depend on it.

        Returns
        -------
        vectors : ndarray of shape (n_segments, dim)
            Not normalised in length.
        """
        check_count("NetworkEmbedder", "workers", workers)
        if audio.rate != self.rate:
            raise InvalidParameterError(
                f"{self.name}: audio must have {self.rate} samples per second, got "
                f"{audio.rate}; resample first"
            )
        places = [self._place(audio, segment) for segment in segments]
        vectors = np.empty((len(segments), self.dim))
        # Read here, since a recording is read by one thread at a time.
        work = (
            (rows, [audio.read(*places[row]) for row in rows])
            for rows in _batches(places)
        )
        for rows, found in ordered_map(self._embed_batch, work, workers=workers):
            vectors[rows] = found
        return vectors

    def _place(self, audio: Samples, segment: Segment) -> tuple[int, int]:
        first = round(segment.start * self.rate)
        last = min(first + round(segment.duration * self.rate), audio.n_samples)
        if last - first < self._front.shortest_samples:
            raise InvalidParameterError(
                f"{self.name}: segments must have at least {self.shortest:g} s, got "
                f"{max(last - first, 0) / self.rate:g} s at {segment.start:g} s of "
                f"{segment.recording!r}"
            )
        return first, last

    def _embed_batch(
        self, work: tuple[list[int], list[FloatArray]]
    ) -> tuple[list[int], FloatArray]:
        rows, parts = work
        inputs = np.stack([self._front.of(part) for part in parts])
        return rows, self._network.embed(inputs)


def _batches(places: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Rows of segments of one length, in groups that follow from `places` alone."""
    waiting: dict[int, list[int]] = {}
    for row, (first, last) in enumerate(places):
        group = waiting.setdefault(last - first, [])
        group.append(row)
        if len(group) == _BATCH:
            yield waiting.pop(last - first)
    yield from waiting.values()


def embed_segments(
    embedder: Embedder,
    audio: Samples,
    segments: Mapping[str, Segment],
    *,
    workers: int = 1,
) -> EmbeddingSet:
    """Vectors of named segments that know their embedder, as back ends ask for.

    Parameters
    ----------
    embedder : Embedder
        Makes the vectors.
    audio : Samples
        One channel at the embedder's rate.
    segments : mapping from str to Segment
        In seconds.
    workers : int, default=1
        Threads; results do not depend on it.
    """
    vectors = embedder.embed(audio, list(segments.values()), workers=workers)
    return EmbeddingSet(tuple(segments), vectors, embedder.fingerprint, str(audio.path))


def load_campplus() -> NetworkEmbedder:
    """The embedder ``campplus`` from the cache folder."""
    from sms_diar.networks.campplus import (  # noqa: PLC0415 compiled code
        SHORTEST,
        CampPlus,
    )

    model = store.load("campplus")
    front = NetworkInput(shortest=SHORTEST)
    network = CampPlus(model.arrays)
    return NetworkEmbedder(network, model.fingerprint, front, name="campplus")
