"""Audio files of 16 bits, written block after block."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

from sms_diar._files import replacing
from sms_diar._validation import check_choice

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
    with (
        replacing(path) as temporary,
        soundfile.SoundFile(
            str(temporary), "w", rate, 1, "PCM_16", format=suffix.upper()
        ) as file,
    ):
        for block in blocks:
            file.write(block)
