"""Who of a few local speakers speaks in each frame, by a neural network.

`Segmenter` is what the rest of the package asks of one. Speakers are local: the first
of one window need not be the first of the next.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from sms_diar._parallel import ordered_map
from sms_diar._validation import check_count
from sms_diar.networks import store
from sms_diar.networks.pyannet import CLASSES, FIELD, STEP, PyanNet
from sms_diar.networks.registry import load_named, names
from sms_diar.types import AnyArray, FloatArray

RATE = 16000
_BATCH = 8


@runtime_checkable
class Segmenter(Protocol):
    """Something that tells who speaks in windows of samples."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def rate(self) -> int:
        """Samples per second that it wants."""
        ...

    @property
    def window(self) -> float:
        """Seconds of the windows that it was made for."""
        ...

    @property
    def frame_step(self) -> float:
        """Seconds between frames."""
        ...

    @property
    def frame_offset(self) -> float:
        """Seconds from the start of a window to the middle of its first frame."""
        ...

    @property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """The local speakers who speak in each class."""
        ...

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that follow from the network."""
        ...

    def log_probabilities(self, windows: AnyArray, *, workers: int = 1) -> FloatArray:
        """Of classes, (n_windows, n_samples) to (n_windows, n_frames, n_classes)."""
        ...


class PyanNetSegmenter:
    """Three local speakers and their pairs, every 17 ms of windows of 10 s.

    Parameters
    ----------
    network : PyanNet
        The network.
    fingerprint : str
        Stands for its weights.
    """

    name = "segmentation"
    rate = RATE
    window = 10.0
    frame_step = STEP / RATE
    frame_offset = FIELD / 2 / RATE
    classes = CLASSES

    def __init__(self, network: PyanNet, fingerprint: str) -> None:
        self._network = network
        self.fingerprint = fingerprint

    def log_probabilities(self, windows: AnyArray, *, workers: int = 1) -> FloatArray:
        """Log-probabilities of the classes.

        Parameters
        ----------
        windows : ndarray of shape (n_windows, n_samples)
            In [-1, 1) at `rate`; 10 s, or less for a shorter recording.
        workers : int, default=1
            Threads; results do not depend on it.

        Returns
        -------
        values : ndarray of shape (n_windows, n_frames, 7)
            589 frames of 10 s.
        """
        check_count("PyanNetSegmenter", "workers", workers)
        empty = self._network.log_probabilities(windows[:0])
        batches = (windows[at : at + _BATCH] for at in range(0, len(windows), _BATCH))
        found = ordered_map(self._network.log_probabilities, batches, workers=workers)
        return np.concatenate([empty, *found])


def load_segmentation() -> PyanNetSegmenter:
    """The segmenter ``segmentation`` from the cache folder."""
    model = store.load("segmentation")
    return PyanNetSegmenter(PyanNet(model.arrays), model.fingerprint)


GROUP = "sms_diar.segmenters"
_OWN = {"segmentation": load_segmentation}


def segmenter_names() -> list[str]:
    """Segmenters that have a name; their files need not be here."""
    return names(GROUP, _OWN)


def load_segmenter(name: str = "segmentation") -> Segmenter:
    """The segmenter of that name."""
    return load_named(GROUP, _OWN, name, Segmenter)  # type: ignore[type-abstract]
