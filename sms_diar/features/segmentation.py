"""Neural segmentation: local speaker activity in each frame of a window.

`Segmenter` is the interface that the rest of the package uses. Speakers are local: the
first speaker of one window need not be the first speaker of the next.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from sms_diar._parallel import ordered_map
from sms_diar._validation import check_count
from sms_diar.networks import store
from sms_diar.networks.pyannet import FIELD, STEP, PyanNet
from sms_diar.networks.registry import load_named
from sms_diar.types import AnyArray, FloatArray

RATE = 16000
_BATCH = 8


@runtime_checkable
class Segmenter(Protocol):
    """Interface of models that detect speaker activity in windows of samples."""

    @property
    def name(self) -> str:
        """Name used in messages."""

    @property
    def rate(self) -> int:
        """Required sampling rate in hertz."""

    @property
    def window(self) -> float:
        """Window length in seconds that the model was trained for."""

    @property
    def frame_step(self) -> float:
        """Distance between frames in seconds."""

    @property
    def frame_offset(self) -> float:
        """Middle of the first frame, in seconds from the start of the window."""

    @property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """Local speakers that are active in each class."""

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that identify the network."""

    def log_probabilities(self, windows: AnyArray, *, workers: int = 1) -> FloatArray:
        """Map (n_windows, n_samples) to (n_windows, n_frames, n_classes)."""


class PyanNetSegmenter:
    """Segmenter for up to three local speakers, with a frame every 17 ms.

    `fingerprint` identifies the weights of the network, and `window` is the length of
    its windows in seconds.
    """

    rate = RATE
    frame_step = STEP / RATE
    frame_offset = FIELD / 2 / RATE

    def __init__(
        self,
        network: PyanNet,
        fingerprint: str,
        *,
        name: str = "segmentation",
        window: float = 10.0,
    ) -> None:
        self._network = network
        self.fingerprint = fingerprint
        self.name = name
        self.window = window
        self.classes = network.classes

    def log_probabilities(self, windows: AnyArray, *, workers: int = 1) -> FloatArray:
        """Compute log-probabilities of the classes, shape (n_windows, n_frames, c).

        `windows` of shape (n_windows, n_samples) are samples in [-1, 1) at `rate`: 10
        s give 589 frames. Results do not depend
        on the number of threads, `workers`.
        """
        check_count("PyanNetSegmenter", "workers", workers)
        empty = self._network.log_probabilities(windows[:0])
        batches = (windows[at : at + _BATCH] for at in range(0, len(windows), _BATCH))
        results = ordered_map(self._network.log_probabilities, batches, workers=workers)
        return np.concatenate([empty, *results])


def load_segmentation() -> PyanNetSegmenter:
    """Load the segmenter ``segmentation`` from the cache folder."""
    model = store.load("segmentation")
    return PyanNetSegmenter(PyanNet(model.arrays), model.fingerprint)


def load_segmentation_2022() -> PyanNetSegmenter:
    """Load the segmenter ``segmentation-2022`` from the cache folder."""
    model = store.load("segmentation-2022")
    network = PyanNet(model.arrays)
    return PyanNetSegmenter(
        network, model.fingerprint, name="segmentation-2022", window=5.0
    )


GROUP = "sms_diar.segmenters"
_BUILT_IN = {
    "segmentation": load_segmentation,
    "segmentation-2022": load_segmentation_2022,
}


def load_segmenter(name: str = "segmentation") -> Segmenter:
    """Load the segmenter with the given name."""
    return load_named(GROUP, _BUILT_IN, name, Segmenter)  # type: ignore[type-abstract]
