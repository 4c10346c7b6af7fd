"""Audio files, read in stretches: WAV, FLAC, OGG, Opus, MP3 and NIST SPHERE.

What else ffmpeg can decode (M4A, MP4, WebM, Matroska ...) is read where that is
installed, by way of a temporary file. The format is told from the content. Samples are
``float64`` in [-1, 1), so a 16-bit sample is its integer over 32768 (float files may
go beyond). Nothing here holds a whole file in memory, and what would quietly spoil
features later is refused: NaN, truncated data, two channels where one is needed.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import soundfile

from sms_diar._files import native_name
from sms_diar._text import shown
from sms_diar._validation import check_count
from sms_diar.errors import DataFormatError
from sms_diar.io._bytes import open_regular
from sms_diar.io.audio import ffmpeg
from sms_diar.io.audio.sphere import MAGIC as SPHERE_MAGIC
from sms_diar.io.audio.sphere import SphereFile
from sms_diar.io.audio.truncation import check_whole
from sms_diar.limits import (
    LARGEST_RATE,
    LEAST_RATE,
    LONGEST_RECORDING,
    MOST_CHANNELS,
)
from sms_diar.types import FloatArray

log = logging.getLogger(__name__)

BLOCK = 1 << 18
"""Samples read at a time: half a minute at 8 kHz, 2 MB."""

MAX_OVERSHOOT = 0.5
"""Segments that end less than this after the recording are shortened, as by Kaldi."""

READ_HERE = "WAV, FLAC, OGG, Opus, MP3 and NIST SPHERE"
"""What needs no other program."""

_OWN_SUFFIXES = "aif aiff au caf flac mp3 oga ogg opus rf64 sph w64 wav wave"
_FFMPEG_SUFFIXES = "3gp aac ac3 amr avi flv m4a m4b mka mkv mov mp4 mpg spx webm wma"
AUDIO_SUFFIXES = frozenset(
    f".{s}" for s in f"{_OWN_SUFFIXES} {_FFMPEG_SUFFIXES}".split()
)
"""Files of a folder that are taken for recordings, in small letters."""


class Decoder(Protocol):
    """All channels of a file, by sample number."""

    rate: int
    n_channels: int
    n_samples: int

    def read(self, first: int, last: int) -> FloatArray:
        """Samples `first` to `last` (exclusive), shape (n, channels)."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Samples(Protocol):
    """One channel that can be read by sample number."""

    @property
    def path(self) -> Path:
        """The file, for messages."""
        ...

    @property
    def rate(self) -> int:
        """Samples per second."""
        ...

    @property
    def n_samples(self) -> int:
        """Samples there are."""
        ...

    def read(self, first: int, last: int) -> FloatArray:
        """Samples `first` to `last` (exclusive)."""
        ...


class AudioFile:
    """One channel of an audio file, read where it is asked for.

    Use it in a ``with`` statement, or close it.

    Parameters
    ----------
    path : str or Path
        The file.
    channel : int, optional
        Which channel, counted from 1 as in ``sph2pipe -c``. Must be given for
        files with more than one.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        channel: int | None = None,
        _decoded: Path | None = None,
    ) -> None:
        if channel is not None:
            check_count("AudioFile", "channel", channel)
        self.path = Path(path)
        self._decoder = _open(self.path) if _decoded is None else _SoundFile(_decoded)
        self.rate = self._decoder.rate
        self.n_channels = self._decoder.n_channels
        self.n_samples = self._decoder.n_samples
        problem = self._problem(channel)
        if problem:
            self.close()
            raise DataFormatError(problem, path=self.path)
        self._column = (channel or 1) - 1

    def _problem(self, channel: int | None) -> str | None:
        n_channels = self.n_channels
        problem = self._implausible()
        if problem is not None:
            return problem
        if channel is None and n_channels > 1:
            return (
                f"has {n_channels} channels; choose one with --channel 1 (channel=1) "
                f"to {n_channels}"
            )
        if channel is not None and channel > n_channels:
            return f"has {n_channels} channel(s), there is no channel {channel}"
        return None

    def _implausible(self) -> str | None:
        """What no recording can be like, if the header says so."""
        if self.n_samples <= 0:
            return "holds no samples"
        if not LEAST_RATE <= self.rate <= LARGEST_RATE:
            return (
                f"says {self.rate} samples per second, which no recording has "
                f"({LEAST_RATE} to {LARGEST_RATE}); the header is damaged"
            )
        if not 1 <= self.n_channels <= MOST_CHANNELS:
            return f"says {self.n_channels} channels, at most {MOST_CHANNELS} are read"
        if self.n_samples > LONGEST_RECORDING * self.rate:
            return (
                "does not say how many samples it holds, or too many; write it anew, "
                "for instance with sox"
            )
        return None

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.n_samples / self.rate

    def other(self, channel: int) -> AudioFile:
        """Open another channel; what was decoded for this one is not decoded again.

        This one must stay open as long.
        """
        decoded = getattr(self._decoder, "decoded", None)
        return AudioFile(self.path, channel=channel, _decoded=decoded)

    def read(self, first: int, last: int) -> FloatArray:
        """Samples `first` to `last` (exclusive), which must be in the file."""
        samples = np.ascontiguousarray(self._decoder.read(first, last)[:, self._column])
        if len(samples) < last - first:
            raise DataFormatError(
                f"ends after {first + len(samples)} of {self.n_samples} samples; it is "
                f"truncated or damaged",
                path=self.path,
            )
        finite = np.isfinite(samples)
        if not finite.all():
            at = int(np.argmin(finite))
            what = "NaN" if np.isnan(samples[at]) else "infinity"
            raise DataFormatError(
                f"sample {first + at} ({(first + at) / self.rate:.3f} s) is {what}; "
                f"repair the file",
                path=self.path,
            )
        return samples

    def close(self) -> None:
        """Close the file."""
        self._decoder.close()

    def __enter__(self) -> AudioFile:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def stretch(
    audio: Samples, start: float, end: float | None, *, owner: str
) -> tuple[int, int]:
    """Sample numbers of a stretch given in seconds.

    As in Kaldi, an end that overshoots the recording by less than half a second
    is moved to its last sample, with a warning in the log.

    Parameters
    ----------
    audio : Samples
        The recording.
    start, end : float
        Seconds; an end of None is the end of the recording.
    owner : str
        What messages call the stretch, such as ``segment 'a'``.
    """
    length = audio.n_samples / audio.rate
    first = round(start * audio.rate)
    last = audio.n_samples if end is None else round(end * audio.rate)
    if first >= audio.n_samples:
        raise DataFormatError(
            f"{owner} starts at {start:g} s, but the recording ends at {length:g} s; "
            f"correct its times",
            path=audio.path,
        )
    over = (last - audio.n_samples) / audio.rate
    if over >= MAX_OVERSHOOT:
        raise DataFormatError(
            f"{owner} ends at {end:g} s, {over:g} s after the end of the recording "
            f"({length:g} s); correct its times",
            path=audio.path,
        )
    if over > 0:
        log.warning(
            "%s: %s ends %g s after the recording, cut", shown(audio.path), owner, over
        )
        last = audio.n_samples
    if last <= first:
        raise DataFormatError(
            f"{owner} from {start:g} s to {end:g} s holds no samples at {audio.rate} "
            f"Hz; remove it",
            path=audio.path,
        )
    return first, last


def blocks(
    audio: Samples, first: int, last: int, *, size: int = BLOCK
) -> Iterator[FloatArray]:
    """Yield samples `first` to `last` (exclusive) in blocks of at most `size`."""
    for start in range(first, last, size):
        yield audio.read(start, min(start + size, last))


class _SoundFile:
    """What libsndfile can read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = soundfile.SoundFile(native_name(path))
        except (soundfile.SoundFileError, OSError) as error:
            raise DataFormatError(
                f"cannot be read as audio ({_said(error)}); {READ_HERE} can",
                path=path,
            ) from error
        self.rate: int = self._file.samplerate
        self.n_channels: int = self._file.channels
        self.n_samples: int = self._file.frames

    def read(self, first: int, last: int) -> FloatArray:
        try:
            if self._file.tell() != first:
                self._file.seek(first)
            found: FloatArray = self._file.read(
                last - first, dtype="float64", always_2d=True
            )
        except (soundfile.SoundFileError, OSError) as error:
            raise DataFormatError(
                f"cannot be decoded near {first / self.rate:.3f} s ({_said(error)}); "
                f"it is truncated or damaged",
                path=self._path,
            ) from error
        return found

    def close(self) -> None:
        self._file.close()


class _Decoded(_SoundFile):
    """What ffmpeg can decode, as a file that is gone when it is closed."""

    def __init__(self, path: Path, problem: DataFormatError) -> None:
        if not ffmpeg.is_installed():
            raise DataFormatError(
                f"{problem.problem}, and others where ffmpeg is installed; install it, "
                f"or convert the file elsewhere: {ffmpeg.advice(path)}",
                path=path,
            ) from problem
        self._folder = tempfile.TemporaryDirectory(prefix="sms-diar-")
        self.decoded = Path(self._folder.name) / "decoded.wav"
        try:
            ffmpeg.decode_to_wav(path, self.decoded)
            super().__init__(self.decoded)
        except (ValueError, DataFormatError) as error:
            self._folder.cleanup()
            reason = getattr(error, "problem", str(error))
            raise DataFormatError(
                f"{problem.problem}, and others that ffmpeg can decode ({reason})",
                path=path,
            ) from error
        self._path = path  # for messages

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


def _said(error: Exception) -> str:
    text = getattr(error, "error_string", None) or str(error)
    return str(text).strip().rstrip(".") or "no reason given"


def _open(path: Path) -> Decoder:
    with open_regular(path) as stream:
        start = stream.read(len(SPHERE_MAGIC))
        if not start:
            raise DataFormatError("is empty (0 bytes)", path=path)
        check_whole(stream, path)
    if start == SPHERE_MAGIC:
        return SphereFile(path)
    try:
        return _SoundFile(path)
    except DataFormatError as problem:
        return _Decoded(path, problem)
