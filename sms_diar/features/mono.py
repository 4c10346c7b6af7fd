"""Single-channel audio at a given rate.

Decoding, mixing and resampling are slower than reading, and a command can be run only
once, so `MonoAudio` stores the result in memory or, for long recordings, in a temporary
file. Samples are stored as 32-bit floats. This halves the size and is exact for
recordings of up to 24 bits that need neither mixing nor resampling.

`Resampled` changes the rate without holding the audio in memory. It uses the filter of
``scipy.signal.resample_poly``: a Kaiser window (beta 5) with ten zero crossings on
either side. Each stretch is computed from the samples that it depends on, starting
where an input sample coincides with an output sample, so any stretch is bit-identical
to the same stretch of the whole resampled file.
"""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.signal import firwin, resample_poly

from sms_diar._progress import Progress, Silence
from sms_diar._validation import check_count
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io.audio.files import BLOCK, Samples, blocks
from sms_diar.types import AnyArray, FloatArray

IN_MEMORY = 1 << 24
"""Number of bytes held in memory (four minutes at 16 kHz) before using a file."""


class MonoAudio:
    """Samples of one channel at one rate, in memory or in a temporary file.

    Several channels of a recording are averaged; all are resampled to `rate`. It
    implements `sms_diar.io.audio.files.Samples`. Use it in a ``with`` statement, or
    call `close`.
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
        # The file lives as long as this object, so there is no `with` statement.
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
        """Duration in seconds."""
        return self.n_samples / self.rate

    def read(self, first: int, last: int) -> FloatArray:
        """Return the samples from `first` to `last` (exclusive)."""
        size = np.dtype(np.float32).itemsize
        self._file.seek(first * size)
        data = self._file.read((last - first) * size)
        return np.frombuffer(data, dtype=np.float32).astype(np.float64)

    def close(self) -> None:
        """Release the samples."""
        self._file.close()

    def __enter__(self) -> MonoAudio:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


class ArraySamples:
    """One channel in memory with the interface of an audio file.

    Samples are floats in [-1, 1), or integers of 16 or 32 bits, which are scaled to
    that range. The `name` is used in error messages.
    """

    def __init__(
        self, samples: npt.ArrayLike, rate: int, *, name: str = "samples"
    ) -> None:
        self._samples = _checked(np.asarray(samples), name)
        self.rate = check_count(name, "rate", rate)
        self.n_samples = len(self._samples)
        self.path = Path(name)

    def read(self, first: int, last: int) -> FloatArray:
        """Return the samples from `first` to `last` (exclusive)."""
        part = self._samples[first:last]
        scaled: FloatArray = part.astype(np.float64)
        if part.dtype.kind == "i":
            scaled /= -float(np.iinfo(part.dtype).min)
        return scaled


def _checked(samples: AnyArray, name: str) -> AnyArray:
    if samples.ndim != 1 or not len(samples):
        raise InvalidParameterError(
            f"{name}: must be a non-empty row of numbers, got shape {samples.shape}"
        )
    if samples.dtype not in (np.int16, np.int32) and samples.dtype.kind != "f":
        raise InvalidParameterError(
            f"{name}: must be floating-point numbers in [-1, 1), or integers of 16 or "
            f"32 bits, got {samples.dtype}"
        )
    if not np.isfinite(samples).all():
        index = int(np.argmin(np.isfinite(samples)))
        value = "NaN" if np.isnan(samples[index]) else "infinity"
        raise InvalidParameterError(f"{name}: must be finite, got {value} at {index}")
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
        index = int(np.argmin(np.isfinite(narrow)))
        raise DataFormatError(
            f"sample {first + index} is {block[index]:g}, beyond 32-bit floating-point "
            f"numbers; samples should be in [-1, 1)",
            path=path,
        )
    return narrow.tobytes()


class Resampled:
    """Recording resampled to another rate."""

    def __init__(self, audio: Samples, rate: int) -> None:
        check_count("Resampled", "rate", rate)
        common = math.gcd(audio.rate, rate)
        self._up, self._down = rate // common, audio.rate // common
        self._audio = audio
        self.rate = rate
        self.n_samples = -(-audio.n_samples * self._up // self._down)

    @property
    def path(self) -> Path:
        """Path of the file, for error messages."""
        return self._audio.path

    def read(self, first: int, last: int) -> FloatArray:
        """Return the samples from `first` to `last` (exclusive)."""
        up, down, half = self._up, self._down, _half_length(self._up, self._down)
        low = max((first * down - half) // up, 0)
        low -= low % down  # here an input sample coincides with an output sample
        high = min(((last - 1) * down + half) // up + 2, self._audio.n_samples)
        source = self._audio.read(low, high)
        out: FloatArray = resample_poly(source, up, down, window=_filter(up, down))
        offset = low * up // down
        return out[first - offset : last - offset]


def at_rate(audio: Samples, rate: int) -> Samples:
    """Return the recording at the given rate, resampled only if necessary."""
    return audio if audio.rate == rate else Resampled(audio, rate)


def _half_length(up: int, down: int) -> int:
    return 10 * max(up, down)


@functools.lru_cache(maxsize=8)
def _filter(up: int, down: int) -> FloatArray:
    taps = firwin(
        2 * _half_length(up, down) + 1, 1.0 / max(up, down), window=("kaiser", 5.0)
    )
    return np.asarray(taps, dtype=np.float64)
