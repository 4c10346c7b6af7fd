"""Hard sessions made of easy ones: short cuts, noise, a telephone's band.

Recordings of one speaker each are cut into pieces of one length, whatever is said
there. A share of the pieces, drawn at random, is then disturbed, so that pieces of
one speaker differ by their channel and those of several speakers agree in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import wavfile
from scipy.signal import sosfiltfilt

from sms_diar._files import replacing
from sms_diar._random import named_generator
from sms_diar._validation import check_count, check_positive
from sms_diar.errors import InvalidParameterError
from sms_diar.io.audio.files import AudioFile
from sms_diar.io.audio.recording import AudioSource
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.tables import write_segments, write_utt2spk, write_wav_scp
from sms_diar.synthetic.acoustics import as_int16, band_filter, noise_level
from sms_diar.types import FloatArray, Segment


@dataclass(frozen=True)
class Disturbance:
    """Processing of a corpus.

    Parameters
    ----------
    seconds : float
        Length of the pieces.
    share : float, default=0.0
        Share of the pieces that are disturbed, 0 to 1.
    snr_db : float or None, default=None
        White noise, this many decibels below the piece's own level.
    band : bool, default=False
        Whether to apply the telephone band, 300 to 3400 Hz.
    """

    seconds: float
    share: float = 0.0
    snr_db: float | None = None
    band: bool = False

    def __post_init__(self) -> None:
        check_positive("Disturbance", "seconds", self.seconds)
        if not 0.0 <= self.share <= 1.0:
            raise InvalidParameterError(
                f"must be a number in [0, 1], got {self.share!r}",
                owner="Disturbance",
                parameter="share",
            )

    def apply(
        self, piece: FloatArray, rate: int, rng: np.random.Generator
    ) -> FloatArray:
        """Disturb one piece."""
        disturbed = piece
        if self.band:
            disturbed = sosfiltfilt(band_filter(rate), disturbed)
        if self.snr_db is not None:
            level = noise_level(np.sqrt(np.mean(piece**2)), self.snr_db)
            disturbed = disturbed + level * rng.standard_normal(len(piece))
        return disturbed


def write_disturbed(
    data: DataDir, folder: Path, disturbance: Disturbance, *, most: int, seed: int
) -> DataDir:
    """Write a data directory of disturbed pieces.

    Parameters
    ----------
    data : DataDir
        Recordings that hold one speaker each.
    folder : Path
        Output folder.
    disturbance : Disturbance
        Processing.
    most : int
        Maximum number of pieces of a recording, from its start.
    seed : int
        Draws the pieces to be disturbed, and the noise.
    """
    check_count("write_disturbed", "most", most)
    folder.mkdir(parents=True, exist_ok=True)
    owners = {data.segments[i].recording: name for i, name in data.utt2spk.items()}
    segments: dict[str, Segment] = {}
    sources, speakers = {}, {}
    for recording in data.audio:
        rng = named_generator(seed, "disturbance", recording)
        with AudioFile(data.wav_path(recording)) as audio:
            rate, signal = audio.rate, audio.read(0, audio.n_samples)
        size = round(disturbance.seconds * rate)
        count = min(most, len(signal) // size)
        signal = signal[: count * size].copy()
        for number in range(count):
            name = f"{recording}-{number:03d}"
            start = number * size
            segments[name] = Segment(recording, start / rate, (start + size) / rate)
            speakers[name] = owners[recording]
            if rng.random() < disturbance.share:
                piece = signal[start : start + size]
                signal[start : start + size] = disturbance.apply(piece, rate, rng)
        path = folder / f"{recording}.wav"
        with replacing(path) as temporary:
            wavfile.write(temporary, rate, as_int16(signal))
        sources[recording] = AudioSource(path.name)
    write_wav_scp(folder / "wav.scp", sources)
    write_segments(folder / "segments", segments)
    write_utt2spk(folder / "utt2spk", speakers)
    return DataDir(folder)
