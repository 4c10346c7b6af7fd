"""Decoding of a recording to one channel at the sampling rate of a model."""

from __future__ import annotations

from sms_diar._progress import Progress
from sms_diar.errors import DataFormatError
from sms_diar.features.mono import MonoAudio
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.inputs import GivenRecording, open_channels, place_of

_LEAST_RATE = 8000


def decode(
    recording: Recording | GivenRecording,
    rate: int,
    *,
    channel: int | str | None = None,
    allow_commands: bool = False,
    upsample: bool = False,
    progress: Progress | None = None,
) -> tuple[MonoAudio, list[str]]:
    """Decode a recording to one channel at the rate of the model.

    Parameters
    ----------
    recording : Recording or GivenRecording
        Recording to open; it is decoded once.
    rate : int
        Sampling rate of the model in Hz.
    channel : int, optional
        Channel to use, counted from 1. By default all channels are mixed.
    allow_commands : bool, default=False
        Run the command of a `wav.scp`.
    upsample : bool, default=False
        Accept telephone speech of 8000 Hz, which the model can handle.
    progress : Progress, optional
        Receives progress.
    """
    chosen = channel if isinstance(channel, int) else None
    with open_channels(
        recording, channel=chosen, allow_commands=allow_commands
    ) as channels:
        check_rate(channels[0].rate, rate, place_of(recording), upsample=upsample)
        notes = []
        if len(channels) > 1:
            notes.append(
                f"{len(channels)} channels were mixed into one; --channel chooses one, "
                f"such as a side of a telephone call"
            )
        return MonoAudio(channels, rate, progress=progress), notes


def check_rate(found: int, rate: int, place: str, *, upsample: bool) -> None:
    """Raise an error if the sampling rate is too low; see `decode`."""
    least = min(rate, _LEAST_RATE) if upsample else rate
    if found < least:
        raise DataFormatError(
            f"{found} samples per second are fewer than the {least} that the model "
            f"was trained on; record at {least} Hz or more",
            path=place,
        )


def check_length(duration: float, least: float, place: str) -> None:
    """Raise an error if the recording is too short."""
    if duration < least:
        raise DataFormatError(
            f"recording too short ({duration:.3g} s); the minimum is {least:g} s",
            path=place,
        )
