"""Audio files of 16 bits, written block after block."""

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
    """Write one channel, whole or not at all.

    Parameters
    ----------
    path : str or Path
        Its suffix, ``.wav`` or ``.flac``, is the format.
    blocks : iterable of ndarray of int16
        The samples.
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
                    # It says no more than that; a full disk is the usual reason.
                    said = str(error) or "is the disk full?"
                    raise OutputError(f"{path}: cannot be written ({said})") from error
