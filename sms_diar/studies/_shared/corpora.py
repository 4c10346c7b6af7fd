"""Corpora of read speech at 8 kHz, as studies use them.

Each is a data directory below the folder of the corpora (`sms_diar.datasets.corpora`),
with neural vectors beside its audio.
"""

from __future__ import annotations

from pathlib import Path

from sms_diar.features.front_end import FrontEnd
from sms_diar.features.mfcc import MfccConfig
from sms_diar.features.vad import VadConfig
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.pipeline.train.extraction import Speech

TEST = "audiomnist8k"
# Cut without regard to pauses, so its silence has to be found; the others have none.
UNTRIMMED = "libri251-8k"
DEVELOPMENT = ("arabic8k", "libri-testother10-8k")
TRAINING = (UNTRIMMED, *DEVELOPMENT)
VECTORS = "ge2e_dvec_8k.npz"
"""Neural vectors of a corpus; the untrimmed one has none."""

BANDS = {
    "telephone": MfccConfig(),
    "full": MfccConfig(low_hz=0.0, high_hz=4000.0, n_filters=26),
}
"""Filter banks to choose from: 200 to 3700 Hz, or all that 8 kHz can hold."""


def speech_of(name: str, folder: Path, band: str) -> Speech:
    """A corpus as one session, with speech detection where it is needed."""
    vad = VadConfig(method="energy" if name == UNTRIMMED else "none")
    return Speech(DataDir(folder), FrontEnd(mfcc=BANDS[band], vad=vad))
