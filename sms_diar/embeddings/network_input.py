"""What a speaker network is given: frames of a filterbank, or the samples."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sms_diar._validation import check_count, check_positive
from sms_diar.errors import InvalidParameterError
from sms_diar.features.filterbank import FilterbankConfig, filterbank
from sms_diar.types import FloatArray


@dataclass(frozen=True, slots=True)
class NetworkInput:
    """How the input of a network is made from the samples of a segment.

    Parameters
    ----------
    rate : int, default=16000
        Samples per second.
    filterbank : FilterbankConfig or None
        How frames are made; None for networks that take the samples.
    subtract_mean : bool, default=True
        Whether each filterbank's mean over the segment is taken away.
    scale : float, default=1
        Factor of the samples; 32768 for networks that learned from whole numbers.
    shortest : int, default=3
        Frames, or samples, that the network needs.
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
                f"NetworkInput: the filterbank must have the rate {self.rate}, got "
                f"{self.filterbank.rate}"
            )

    @property
    def shortest_samples(self) -> int:
        """Samples of the shortest segment."""
        if self.filterbank is None:
            return self.shortest
        frames = (self.shortest - 1) * self.filterbank.shift_samples
        return frames + self.filterbank.frame_samples

    def of(self, samples: FloatArray) -> FloatArray:
        """Input of one segment: (n_frames, n_filters), or (n_samples,)."""
        scaled = samples * self.scale
        if self.filterbank is None:
            return scaled
        frames = filterbank(scaled, self.filterbank)
        if self.subtract_mean:
            frames -= np.mean(frames, axis=0)
        return frames
