"""Waveform and MP3 audio of a recording for a page.

Every browser plays MP3 of a constant rate and can seek in it. 40 kbit/s is 300 kB per
minute and enough to distinguish voices. Frames of lower rates are too small for the
header with the encoder delay, and playback would be a tenth of a second late.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import soundfile

from sms_diar._progress import Progress, Silence
from sms_diar.features.mono import MonoAudio
from sms_diar.io.audio.files import BLOCK, blocks
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.inputs import GivenRecording, open_channels
from sms_diar.report.html_page import PageAudio, Waveform
from sms_diar.types import FloatArray

_COMPRESSION = {8000: 0.7, 16000: 0.8}
"""Compression level for each sampling rate: 24 and 40 kbit/s."""

_PER_SECOND = 50  # peaks per second of short recordings
_MOST_PEAKS = 40_000
_LOUD = 0.9  # level of the loudest sample after scaling


def listen_to(
    recording: Recording | GivenRecording,
    *,
    sound: bool = True,
    allow_commands: bool = False,
    progress: Progress | None = None,
) -> tuple[float, Waveform, PageAudio | None]:
    """Return the duration, the waveform and the audio of a recording.

    Parameters
    ----------
    recording : Recording or GivenRecording
        Recording; its channels are mixed.
    sound : bool, default=True
        Encode the audio, which takes a while.
    allow_commands : bool, default=False
        Run entries of `wav.scp` that are commands.
    progress : Progress, optional
        Receives progress.
    """
    with open_channels(recording, allow_commands=allow_commands) as channels:
        low, high = _COMPRESSION
        rate = high if channels[0].rate >= high else low
        with MonoAudio(channels, rate, progress=progress) as audio:
            waveform, loudest = _waveform(audio)
            if not sound:
                return audio.duration, waveform, None
            # Distant microphones are quiet, and the page has no volume control.
            gain = _LOUD / (loudest or 1.0)
            return audio.duration, waveform, _encoded(audio, gain, progress)


def _waveform(audio: MonoAudio) -> tuple[Waveform, float]:
    """Return the peaks and the level of the loudest sample."""
    size = max(audio.rate // _PER_SECOND, -(-audio.n_samples // _MOST_PEAKS))
    peaks: FloatArray = np.concatenate(list(_peaks(audio, size)))
    loudest = float(peaks.max())
    levels = np.rint(255.0 * peaks / (loudest or 1.0)).astype(np.uint8)
    return Waveform(levels, audio.rate / size), loudest


def _peaks(audio: MonoAudio, size: int) -> Iterator[FloatArray]:
    per_block = size * max(1, (1 << 18) // size)
    for block in blocks(audio, 0, audio.n_samples, size=per_block):
        padded = np.zeros(-(-len(block) // size) * size)
        padded[: len(block)] = np.abs(block)
        yield padded.reshape(-1, size).max(axis=1)


def _encoded(audio: MonoAudio, gain: float, progress: Progress | None) -> PageAudio:
    content = io.BytesIO()
    count = -(-audio.n_samples // BLOCK)
    with (
        soundfile.SoundFile(
            content,
            "w",
            audio.rate,
            1,
            "MPEG_LAYER_III",
            format="MP3",
            compression_level=_COMPRESSION[audio.rate],
            bitrate_mode="CONSTANT",
        ) as file,
        (progress or Silence()).track("sound", count) as advance,
    ):
        for block in blocks(audio, 0, audio.n_samples):
            file.write(block * gain)
            advance()
    return PageAudio(content.getvalue())
