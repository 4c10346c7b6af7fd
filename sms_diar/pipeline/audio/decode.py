"""A recording as one channel at the rate that a model wants."""

from __future__ import annotations

from sms_diar._progress import Progress
from sms_diar.errors import DataFormatError
from sms_diar.features.mono import MonoAudio
from sms_diar.io.kaldi.recordings import Recording
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
    """One channel at the rate of the model, and what the user should know.

    Parameters
    ----------
    recording : Recording or GivenRecording
        It is opened and decoded once.
    rate : int
        Samples per second that the model wants.
    channel : int, optional
        Which one, from 1; otherwise all are mixed.
    allow_commands : bool, default=False
        Run the command of a `wav.scp`.
    upsample : bool, default=False
        Whether the model knows speech of telephones: 8000 samples per second are
        then enough.
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
    """Refuse a recording of too few samples per second; see `decode`."""
    least = min(rate, _LEAST_RATE) if upsample else rate
    if found < least:
        raise DataFormatError(
            f"{found} samples per second are fewer than the {least} that the model "
            f"was trained on; record at {least} Hz or more",
            path=place,
        )


def check_length(duration: float, least: float, place: str) -> None:
    """Refuse a recording of too few seconds."""
    if duration < least:
        raise DataFormatError(
            f"{duration:.3g} s are too short to tell who speaks; at least {least:g} s "
            f"are needed",
            path=place,
        )
