"""Split a diarized recording into one audio file per speaker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sms_diar._files import protecting
from sms_diar._validation import check_count
from sms_diar.errors import InvalidParameterError
from sms_diar.io.audio.files import BLOCK, Samples, write_audio
from sms_diar.io.file_names import file_names
from sms_diar.io.input_files import input_files
from sms_diar.pipeline.audio.inputs import (
    AudioInput,
    open_channels,
    paths_of,
    recordings_of,
)
from sms_diar.pipeline.diarize.diarizer import EACH, channel_name
from sms_diar.timeline.naming import name_in_recording
from sms_diar.types import Segment, Turn


def split_speakers(
    turns: Iterable[Turn],
    source: AudioInput,
    folder: str | Path,
    *,
    channel: int | str | None = None,
    allow_commands: bool = False,
) -> list[Path]:
    """Write the turns of each speaker to a 16-bit WAV file, one after another.

    A file is named after its recording and speaker and has the rate of the recording.
    Overlapped speech is in the files of both speakers. `source` has the recordings in
    any form that `diarize` takes; none of their files is overwritten. With the channel
    "each", the file of a speaker has only the channel of that speaker; otherwise
    channels are mixed. The folder is created if necessary. Return the files, ordered by
    recording and speaker.
    """
    if channel is not None and channel != EACH:
        check_count("split_speakers", "channel", channel)
    folder = Path(folder)
    inputs = {recording.id: recording for recording in recordings_of(source)}
    spoken: dict[tuple[str, str], list[Segment]] = {}
    for turn in sorted(turns):
        if turn.segment.recording not in inputs:
            raise InvalidParameterError(
                f"must have all recordings of the turns, got none named "
                f"{turn.segment.recording!r}",
                owner="split_speakers",
                parameter="source",
            )
        key = (turn.segment.recording, turn.speaker)
        spoken.setdefault(key, []).append(turn.segment)
    titles = {key: name_in_recording(*key) for key in sorted(spoken)}
    names = file_names(titles.values())
    paths = {title: folder / f"{names[title]}.wav" for title in names}
    folder.mkdir(exist_ok=True)
    written = []
    for recording in dict.fromkeys(name for name, _ in titles):
        with (
            protecting(input_files(paths_of(source))),
            open_channels(
                inputs[recording],
                channel=channel if isinstance(channel, int) else None,
                allow_commands=allow_commands,
            ) as channels,
        ):
            channel_of = {channel_name(n): [c] for n, c in enumerate(channels, start=1)}
            for key, title in titles.items():
                if key[0] != recording:
                    continue
                sources = (
                    channel_of.get(key[1], channels) if channel == EACH else channels
                )
                path = paths[title]
                write_audio(path, _blocks(sources, spoken[key]), channels[0].rate)
                written.append(path)
    return written


def _blocks(
    channels: Sequence[Samples], segments: Sequence[Segment]
) -> Iterator[npt.NDArray[np.int16]]:
    rate, n_samples = channels[0].rate, channels[0].n_samples
    for segment in segments:
        first = min(round(segment.start * rate), n_samples)
        last = min(round(segment.end * rate), n_samples)
        for start in range(first, last, BLOCK):
            stop = min(start + BLOCK, last)
            mixed = sum(part.read(start, stop) for part in channels) / len(channels)
            scaled = np.clip(np.rint(32768.0 * mixed), -32768, 32767)
            yield scaled.astype(np.int16)
