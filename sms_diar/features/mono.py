"""One channel of a recording, decoded once and read often.

Decoding, mixing and resampling cost more than reading, and a command can be run
only once, so the result is kept: in memory, or, of long recordings, in a temporary
file. Samples are held as 32-bit floats, which is half the size and exact for
recordings of up to 24 bits that need neither mixing nor resampling.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sms_diar._progress import Progress, Silence
from sms_diar._validation import check_count
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.features.resample import at_rate
from sms_diar.io.audio.files import BLOCK, Samples, blocks
from sms_diar.types import AnyArray, FloatArray

IN_MEMORY = 1 << 26
"""Bytes held in memory: half an hour at 8 kHz; what is longer goes to a file."""


class MonoAudio:
    """Samples of one channel at one rate, in memory or in a temporary file.

    It satisfies `sms_diar.io.audio.files.Samples`. Use it in a ``with`` statement, or
    close it.

    Parameters
    ----------
    channels : sequence of Samples
        Channels of one recording; several are mixed.
    rate : int
        Samples per second; the channels are brought there.
    progress : Progress, optional
        Receives progress.
    """

    def __init__(
        self,
        channels: Sequence[Samples],
        rate: int,
        *,
        progress: Progress | None = None,
    ) -> None:
        mono = at_rate(channels[0] if len(channels) == 1 else _Mix(channels), rate)
        self.path = mono.path
        self.rate = rate
        self.n_samples = mono.n_samples
        # It lives as long as this object, so there is no `with` here.
        self._file = tempfile.SpooledTemporaryFile(  # noqa: SIM115
            IN_MEMORY, prefix="sms-diar-"
        )
        try:
            count = -(-mono.n_samples // BLOCK)
            with (progress or Silence()).track("audio", count) as advance:
                for number, block in enumerate(blocks(mono, 0, mono.n_samples)):
                    self._file.write(_narrow(block, number * BLOCK, self.path))
                    advance()
        except BaseException:
            self.close()
            raise

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.n_samples / self.rate

    def read(self, first: int, last: int) -> FloatArray:
        """Samples `first` to `last` (exclusive)."""
        size = np.dtype(np.float32).itemsize
        self._file.seek(first * size)
        held = self._file.read((last - first) * size)
        return np.frombuffer(held, dtype=np.float32).astype(np.float64)

    def close(self) -> None:
        """Let go of the samples."""
        self._file.close()

    def __enter__(self) -> MonoAudio:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


class ArraySamples:
    """One channel in memory, to be read like that of a file.

    Parameters
    ----------
    samples : ndarray of shape (n,)
        In [-1, 1), or integers of 16 or 32 bits, which are brought there.
    rate : int
        Samples per second.
    name : str, default="samples"
        What messages call them.
    """

    def __init__(
        self, samples: npt.ArrayLike, rate: int, *, name: str = "samples"
    ) -> None:
        self._samples = _checked(np.asarray(samples), name)
        self.rate = check_count(name, "rate", rate)
        self.n_samples = len(self._samples)
        self.path = Path(name)

    def read(self, first: int, last: int) -> FloatArray:
        """Samples `first` to `last` (exclusive)."""
        part = self._samples[first:last]
        found: FloatArray = part.astype(np.float64)
        if part.dtype.kind == "i":
            found /= -float(np.iinfo(part.dtype).min)
        return found


def _checked(samples: AnyArray, name: str) -> AnyArray:
    if samples.ndim != 1 or not len(samples):
        raise InvalidParameterError(
            f"{name}: must be one or more numbers in a row, got shape {samples.shape}"
        )
    if samples.dtype not in (np.int16, np.int32) and samples.dtype.kind != "f":
        raise InvalidParameterError(
            f"{name}: must be floating-point numbers in [-1, 1), or integers of 16 or "
            f"32 bits, got {samples.dtype}"
        )
    if not np.isfinite(samples).all():
        at = int(np.argmin(np.isfinite(samples)))
        what = "NaN" if np.isnan(samples[at]) else "infinity"
        raise InvalidParameterError(f"{name}: must be finite, got {what} at {at}")
    return samples


class _Mix:
    """Mean of all channels of a recording."""

    def __init__(self, channels: Sequence[Samples]) -> None:
        self._channels = channels
        self.path = channels[0].path
        self.rate = channels[0].rate
        self.n_samples = channels[0].n_samples

    def read(self, first: int, last: int) -> FloatArray:
        parts = [channel.read(first, last) for channel in self._channels]
        mean: FloatArray = np.mean(parts, axis=0)
        return mean


def _narrow(block: FloatArray, first: int, path: Path) -> bytes:
    with np.errstate(over="ignore"):
        narrow = block.astype(np.float32)
    if not np.isfinite(narrow).all():
        at = int(np.argmin(np.isfinite(narrow)))
        raise DataFormatError(
            f"sample {first + at} is {block[at]:g}, beyond 32-bit floating-point "
            f"numbers; samples should lie in [-1, 1)",
            path=path,
        )
    return narrow.tobytes()
