"""Audio files, read in blocks: WAV, FLAC, OGG, Opus, MP3 and NIST SPHERE.

Other formats (M4A, MP4, WebM, Matroska ...) are decoded by ffmpeg, if it is installed,
to a temporary file. The format is detected from the content. Samples are ``float64`` in
[-1, 1), so a 16-bit sample is its integer over 32768 (float files may exceed this
range). No file is held in memory as a whole. Data that would silently corrupt features
is refused: NaN, truncated files, several channels if one is needed.
"""

from __future__ import annotations

import logging
import struct
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt
import soundfile

from sms_diar._files import native_name, replacing
from sms_diar._text import shown
from sms_diar._validation import check_choice, check_count
from sms_diar.errors import DataFormatError, OutputError
from sms_diar.io._bytes import open_regular
from sms_diar.io.audio import ffmpeg
from sms_diar.io.audio.sphere import MAGIC as SPHERE_MAGIC
from sms_diar.io.audio.sphere import SphereFile
from sms_diar.limits import (
    LARGEST_RATE,
    LEAST_RATE,
    LONGEST_RECORDING,
    MOST_CHANNELS,
    MOST_CHUNKS,
)
from sms_diar.types import FloatArray

log = logging.getLogger(__name__)

BLOCK = 1 << 18
"""Number of samples per block: half a minute at 8 kHz, 2 MB."""

MAX_OVERSHOOT = 0.5
"""Maximum time in seconds by which a segment may exceed its recording, as in Kaldi."""

READ_HERE = "WAV, FLAC, OGG, Opus, MP3 and NIST SPHERE"
"""Formats that are read without other programs."""

_LIBSNDFILE_SUFFIXES = "aif aiff au caf flac mp3 oga ogg opus rf64 sph w64 wav wave"
_FFMPEG_SUFFIXES = "3gp aac ac3 amr avi flv m4a m4b mka mkv mov mp4 mpg spx webm wma"
AUDIO_SUFFIXES = frozenset(
    f".{s}" for s in f"{_LIBSNDFILE_SUFFIXES} {_FFMPEG_SUFFIXES}".split()
)
"""Suffixes, in lower case, of the files of a folder that are read as recordings."""


class Decoder(Protocol):
    """Decoder of an audio file with random access to all channels."""

    rate: int
    n_channels: int
    n_samples: int

    def read(self, first: int, last: int) -> FloatArray:
        """Read samples `first` to `last` (exclusive), shape (n, n_channels)."""

    def close(self) -> None:
        """Close the file."""


class Samples(Protocol):
    """One channel of audio with random access."""

    @property
    def path(self) -> Path:
        """File name for messages."""

    @property
    def rate(self) -> int:
        """Samples per second."""

    @property
    def n_samples(self) -> int:
        """Number of samples."""

    def read(self, first: int, last: int) -> FloatArray:
        """Read samples `first` to `last` (exclusive)."""


class AudioFile:
    """One channel of an audio file, read on demand.

    Use it in a ``with`` statement, or close it.

    Parameters
    ----------
    path : str or Path
        Audio file.
    channel : int, optional
        1-based channel, as in ``sph2pipe -c``. Required for files with several
        channels.
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
            raise DataFormatError(problem, path=self.path, mentions=("channel=1",))
        self._column = (channel or 1) - 1

    def _problem(self, channel: int | None) -> str | None:
        n_channels = self.n_channels
        problem = self._implausible()
        if problem is not None:
            return problem
        if channel is None and n_channels > 1:
            return f"has {n_channels} channels; choose channel=1 to {n_channels}"
        if channel is not None and channel > n_channels:
            return f"has {n_channels} channel(s), channel {channel} does not exist"
        return None

    def _implausible(self) -> str | None:
        """Describe an implausible value of the header, if any."""
        if self.n_samples <= 0:
            return "contains no samples"
        if not LEAST_RATE <= self.rate <= LARGEST_RATE:
            return (
                f"the header gives a sampling rate of {self.rate} Hz, expected "
                f"{LEAST_RATE} to {LARGEST_RATE}; it is damaged"
            )
        if not 1 <= self.n_channels <= MOST_CHANNELS:
            return f"has {self.n_channels} channels; the maximum is {MOST_CHANNELS}"
        if self.n_samples > LONGEST_RECORDING * self.rate:
            return (
                "the header gives no plausible number of samples; convert the file, "
                "for instance with sox"
            )
        return None

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.n_samples / self.rate

    def other(self, channel: int) -> AudioFile:
        """Open another channel without decoding the file again.

        This object must stay open while the other one is in use.
        """
        decoded = getattr(self._decoder, "decoded", None)
        return AudioFile(self.path, channel=channel, _decoded=decoded)

    def read(self, first: int, last: int) -> FloatArray:
        """Read samples `first` to `last` (exclusive), which must exist."""
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
    """Convert a time span in seconds to sample numbers; an end of None is the end.

    As in Kaldi, an end that exceeds the recording by less than half a second is
    moved to the last sample, with a warning in the log. `owner` names the span in
    messages.
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
            f"{owner} from {start:g} s to {end:g} s contains no samples at "
            f"{audio.rate} Hz; remove it",
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
    """Decoder based on libsndfile."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = soundfile.SoundFile(native_name(path))
        except (soundfile.SoundFileError, OSError) as error:
            raise DataFormatError(
                f"cannot be read as audio ({_reason(error)}); expected {READ_HERE}",
                path=path,
            ) from error
        self.rate: int = self._file.samplerate
        self.n_channels: int = self._file.channels
        self.n_samples: int = self._file.frames

    def read(self, first: int, last: int) -> FloatArray:
        try:
            if self._file.tell() != first:
                self._file.seek(first)
            samples: FloatArray = self._file.read(
                last - first, dtype="float64", always_2d=True
            )
        except (soundfile.SoundFileError, OSError) as error:
            raise DataFormatError(
                f"cannot be decoded near {first / self.rate:.3f} s ({_reason(error)}); "
                f"it is truncated or damaged",
                path=self._path,
            ) from error
        return samples

    def close(self) -> None:
        self._file.close()


class _Decoded(_SoundFile):
    """Decoder based on ffmpeg; the decoded file is deleted on closing."""

    def __init__(self, path: Path, problem: DataFormatError) -> None:
        if not ffmpeg.is_installed():
            raise DataFormatError(
                f"{problem.problem}; others need ffmpeg: install it, or convert the "
                f"file elsewhere: {ffmpeg.advice(path)}",
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
            message = f"{problem.problem}, and ffmpeg cannot decode it ({reason})"
            raise DataFormatError(message, path=path) from error
        self._path = path  # for messages

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


def _reason(error: Exception) -> str:
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


HEAD = 12
"""Number of bytes at the start of a file that identify its container."""

_UNKNOWN = {4: 0x7F000000, 8: 1 << 62}
"""Smallest 4-byte and 8-byte values that are not sizes but placeholders, as of sox."""

_W64_SAMPLES = b"data\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"
_LARGEST_PAGE = 27 + 255 + 255 * 255
_LAST_PAGE = 4  # flag of an Ogg page
_FLV_TAGS = (8, 9, 18)  # sound, picture, description


@dataclass(frozen=True, slots=True)
class _Layout:
    """A container of chunks, each of which begins with its tag and its size."""

    name: str
    first: int  # byte at which the first chunk begins
    head: str  # tag and size of a chunk, as `struct` writes them
    samples: bytes = b"data"
    align: int = 2
    counts_head: bool = False  # if true, a size includes the tag and the size


_LAYOUTS = {
    (b"RIFF", b"WAVE"): _Layout("WAV", 12, "<4sI"),
    (b"RIFX", b"WAVE"): _Layout("WAV", 12, ">4sI"),
    (b"RF64", b"WAVE"): _Layout("RF64", 12, "<4sI"),
    (b"BW64", b"WAVE"): _Layout("BW64", 12, "<4sI"),
    (b"RIFF", b"AVI "): _Layout("AVI", 0, "<4sI", b"RIFF"),
    (b"FORM", b"AIFF"): _Layout("AIFF", 12, ">4sI", b"SSND"),
    (b"FORM", b"AIFC"): _Layout("AIFF", 12, ">4sI", b"SSND"),
    (b"caff", b""): _Layout("CAF", 8, ">4sq", align=1),
    (b"riff", b""): _Layout("W64", 40, "<16sQ", _W64_SAMPLES, 8, counts_head=True),
}


def check_whole(stream: BinaryIO, path: Path) -> None:
    """Refuse a truncated audio file, if its container reveals the truncation."""
    stream.seek(0)
    start = stream.read(HEAD)
    end = stream.seek(0, 2)
    kind, form = start[:4], start[8:12]
    layout = _LAYOUTS.get((kind, form)) or _LAYOUTS.get((kind, b""))
    if len(start) < HEAD and kind == b"RIFF":
        layout = _LAYOUTS[kind, b"WAVE"]
    if layout is not None:
        _check_chunks(stream, end, layout, path)
    elif kind in (b".snd", b"dns.") and len(start) == HEAD:
        offset, size = struct.unpack(">II" if kind == b".snd" else "<II", start[4:])
        _compare("AU", size, 4, end - offset, path)
    elif kind == b"OggS":
        _check_ogg(stream, end, path)
    elif kind[:3] == b"FLV" and len(start) == HEAD:
        _check_flv(stream, int.from_bytes(start[5:9], "big") + 4, end, path)


def _compare(name: str, size: int, width: int, held: int, path: Path) -> None:
    """Compare the size of the samples in the header with the bytes that follow."""
    if held < size < _UNKNOWN[width]:
        raise DataFormatError(
            f"the {name} header promises {size} bytes of samples, but the file ends "
            f"after {max(held, 0)} of them; it is truncated, copy it again",
            path=path,
        )


def _check_chunks(stream: BinaryIO, end: int, layout: _Layout, path: Path) -> None:
    head = struct.Struct(layout.head)
    position, long_size = layout.first, None
    for _ in range(MOST_CHUNKS):
        if position + head.size > end:
            raise DataFormatError(
                f"the {layout.name} header ends before the samples begin; the file is "
                f"truncated",
                path=path,
            )
        stream.seek(position)
        tag, size = head.unpack(stream.read(head.size))
        position += head.size
        size -= head.size if layout.counts_head else 0
        if tag == layout.samples:
            width = head.size - len(tag)
            if long_size is not None:
                size, width = long_size, 8
            _compare(layout.name, size, width, end - position, path)
            return
        if tag == b"ds64":  # of RF64: sizes of the file and of its samples
            long_size = int.from_bytes(stream.read(16)[8:], "little")
        if size < 0:
            return  # other damage, which the decoder reports
        position += size + -size % layout.align
    raise DataFormatError(
        f"the {layout.name} header has over {MOST_CHUNKS} parts and no samples yet; "
        f"the file is damaged",
        path=path,
    )


def _check_ogg(stream: BinaryIO, end: int, path: Path) -> None:
    stream.seek(max(0, end - 2 * _LARGEST_PAGE))
    tail = stream.read()
    page = tail[max(0, tail.rfind(b"OggS\0")) :]
    sizes = page[27 : 27 + page[26]] if len(page) > 26 else b""
    if len(page) < 27 or len(page) < 27 + page[26] + sum(sizes):
        raise DataFormatError(
            f"ends after {len(page)} bytes of an Ogg page that is longer, at byte "
            f"{end}; it is truncated, copy it again",
            path=path,
        )
    if not page[5] & _LAST_PAGE:
        log.warning(
            "%s: no page is marked as the last one of the Ogg stream; if more was "
            "recorded, the file is truncated",
            path,
        )


def _check_flv(stream: BinaryIO, position: int, end: int, path: Path) -> None:
    while position < end:
        stream.seek(position)
        tag = stream.read(11)
        if tag[0] not in _FLV_TAGS:
            return
        size = len(tag) + int.from_bytes(tag[1:4], "big")
        if len(tag) < 11 or position + size > end:
            raise DataFormatError(
                f"ends after {end - position} of {size} bytes of an FLV tag, at byte "
                f"{end}; it is truncated, copy it again",
                path=path,
            )
        position += size + 4


AUDIO_FORMATS = ("wav", "flac")


def write_audio(
    path: str | Path, blocks: Iterable[npt.NDArray[np.int16]], rate: int
) -> None:
    """Write one channel atomically.

    Parameters
    ----------
    path : str or Path
        File to write; its suffix, ``.wav`` or ``.flac``, selects the format.
    blocks : iterable of ndarray of int16, shape (n,)
        Samples.
    rate : int
        Samples per second.
    """
    suffix = Path(path).suffix.removeprefix(".")
    check_choice("write_audio", "suffix", suffix, AUDIO_FORMATS)
    with replacing(path) as temporary:
        file = soundfile.SoundFile(
            native_name(temporary), "w", rate, 1, "PCM_16", format=suffix.upper()
        )
        with file:
            for block in blocks:
                try:
                    file.write(block)
                    file.flush()
                except (soundfile.SoundFileError, AssertionError) as error:
                    # An empty message usually means a full disk.
                    reason = str(error) or "is the disk full?"
                    message = f"{path}: cannot be written ({reason})"
                    raise OutputError(message) from error
