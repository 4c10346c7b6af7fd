"""Corpora of read speech at 8 kHz, and the folder that holds them.

Each corpus is a data directory below that folder, with neural vectors beside its audio.
The location of the folder depends on the machine. In this order: a setting of the
recipe, the environment variable ``SMS_DIAR_DATA``, the key ``data`` of
``conf/site.toml`` in the working directory, and ``../shared/data`` beside it.
"""

from __future__ import annotations

import os
from pathlib import Path

from sms_diar.errors import ConfigError, MissingFileError
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.mfcc import MfccConfig
from sms_diar.features.vad import VadConfig
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.toml import read_toml
from sms_diar.pipeline.train.extraction import Speech

VARIABLE = "SMS_DIAR_DATA"
SITE = Path("conf") / "site.toml"
BESIDE = Path("..") / "shared" / "data"

TEST = "audiomnist8k"
# The segments of this corpus contain pauses; the other corpora are trimmed.
UNTRIMMED = "libri251-8k"
DEVELOPMENT = ("arabic8k", "libri-testother10-8k")
TRAINING = (UNTRIMMED, *DEVELOPMENT)
VECTORS = "ge2e_dvec_8k.npz"
"""Neural vectors of a corpus; the untrimmed one has none."""

BANDS = {
    "telephone": MfccConfig(),
    "full": MfccConfig(low_hz=0.0, high_hz=4000.0, n_filters=26),
}
"""Filter banks: 200 to 3700 Hz, or all frequencies up to 4 kHz."""


def speech_of(name: str, folder: Path, band: str) -> Speech[FrontEnd]:
    """Return a corpus as one session; speech is detected in the untrimmed one only."""
    vad = VadConfig(method="energy" if name == UNTRIMMED else "none")
    return Speech(DataDir(folder), FrontEnd(mfcc=BANDS[band], vad=vad))


def corpora_folder(setting: str = "") -> Path:
    """Return the folder of the corpora, which must exist.

    A `setting` that is not empty takes precedence.
    """
    folder = corpora_place(setting)
    if not folder.is_dir():
        raise MissingFileError(
            f"{folder}: no such folder of corpora; name it by the setting 'data', by "
            f'{VARIABLE}, or by data = "..." in {SITE} (see conf/site.example.toml)'
        )
    return folder


def corpora_place(setting: str = "") -> Path:
    """Return the folder of the corpora, which need not exist; see `corpora_folder`."""
    named = setting or os.environ.get(VARIABLE) or _site()
    return Path(named) if named else BESIDE


def _site() -> str:
    """Return the folder in conf/site.toml, or an empty string."""
    if not SITE.is_file():
        return ""
    content = read_toml(SITE)
    data = content.pop("data", "")
    if content:
        raise ConfigError(
            f"{SITE}: unknown key '{next(iter(content))}'; did you mean 'data'? Valid "
            f"keys: data"
        )
    if not isinstance(data, str):
        raise ConfigError(f"{SITE}: 'data' must be a text, got {data!r}")
    return data
