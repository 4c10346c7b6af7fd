"""A recording as one channel at one rate, decoded once and read often."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import soundfile

from sms_diar._progress import Progress
from sms_diar.errors import DataFormatError
from sms_diar.features.resample import at_rate
from sms_diar.io.audio import BLOCK, AudioFile, blocks
from sms_diar.io.command import parse_unpacking
from sms_diar.io.kaldi.recordings import Recording, open_recording
from sms_diar.io.kaldi.tables import AudioSource
from sms_diar.types import FloatArray


def decode_mono(
    recording: Recording,
    target: Path,
    rate: int,
    *,
    channel: int | None,
    allow_commands: bool,
    progress: Progress,
) -> tuple[float, list[str]]:
    """Write one channel of a recording as WAV.

    Parameters
    ----------
    recording : Recording
        Its source is opened once, so commands run once.
    target : Path
        File to write.
    rate : int
        Samples per second to write; the recording must have as many.
    channel : int or None
        Which channel; None for the mean of all, unless a command picks one.
    allow_commands : bool
        As in `open_recording`.
    progress : Progress
        Who wants to know.

    Returns
    -------
    duration : float
        Seconds written.
    notes : list of str
        What the user should know.
    """
    notes = []
    with ExitStack() as stack:
        first = stack.enter_context(
            open_recording(
                recording,
                channel=channel or 1,
                allow_commands=allow_commands,
            )
        )
        if first.rate < rate:
            raise DataFormatError(
                f"{first.rate} samples per second are fewer than the {rate} that the "
                f"model was trained on; record at {rate} Hz or more",
                path=recording.source.text,
            )
        channels = [first]
        if channel is None and not _picks_channel(recording.source):
            channels += _other_channels(first, stack)
        if len(channels) > 1:
            notes.append(
                f"{len(channels)} channels were mixed into one; --channel chooses one, "
                f"such as a side of a telephone call"
            )
        mono = at_rate(_Mix(channels), rate)
        count = -(-mono.n_samples // BLOCK)
        out = stack.enter_context(
            soundfile.SoundFile(target, "w", rate, 1, subtype="FLOAT", format="WAV")
        )
        with progress.track("audio", count) as advance:
            for block in blocks(mono, 0, mono.n_samples):
                out.write(block)
                advance()
        return mono.n_samples / rate, notes


class _Mix:
    """Mean of all channels of a recording."""

    def __init__(self, channels: Sequence[AudioFile]) -> None:
        self._channels = channels
        self.path = channels[0].path
        self.rate = channels[0].rate
        self.n_samples = channels[0].n_samples

    def read(self, first: int, last: int) -> FloatArray:
        parts = [channel.read(first, last) for channel in self._channels]
        mean: FloatArray = np.mean(parts, axis=0)
        return mean


def _other_channels(first: AudioFile, stack: ExitStack) -> list[AudioFile]:
    """Open the second and further channels of a file whose first one is open."""
    channels: list[AudioFile] = []
    while True:
        try:
            channel = AudioFile(first.path, channel=len(channels) + 2)
        except DataFormatError:  # there is no such channel: the file itself is fine
            return channels
        channels.append(stack.enter_context(channel))


def _picks_channel(source: AudioSource) -> bool:
    """Whether the source is a command that picks a channel."""
    if not source.is_command:
        return False
    unpacking = parse_unpacking(source.text[:-1].strip())
    return unpacking is not None and unpacking.channel is not None
