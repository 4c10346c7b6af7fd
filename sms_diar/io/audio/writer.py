"""16-bit audio files, written block by block."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

from sms_diar._files import native_name, replacing
from sms_diar._validation import check_choice
from sms_diar.errors import OutputError

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
