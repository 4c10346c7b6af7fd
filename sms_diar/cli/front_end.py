"""Front-end settings for commands that compute features."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sms_diar.features.front_end import FrontEnd


CONFIG_HELP = (
    "Front end: a TOML file with tables mfcc, cmvn, deltas and vad, or the name of an "
    "included file such as mfcc_8k_full. The default is for telephone speech."
)


class VadMethod(StrEnum):
    """Speech detectors of `sms_diar.features.vad.METHODS`, without its import."""

    ENERGY = "energy"
    NEURAL = "neural"
    NONE = "none"


class CmvnMethod(StrEnum):
    """Scopes of normalisation in `sms_diar.features.cmvn`."""

    SESSION = "session"
    RECORDING = "recording"
    SEGMENT = "segment"
    SLIDING = "sliding"
    NONE = "none"


def read_front_end(path: Path | None) -> FrontEnd:
    """Read settings from a TOML file or an included file such as mfcc_8k_full."""
    from sms_diar.experiment.config import find_conf
    from sms_diar.features.front_end import FrontEnd
    from sms_diar.io.toml import read_toml

    if path is None:
        return FrontEnd()
    path = find_conf(path)
    return FrontEnd.from_dict(read_toml(path), origin=str(path))


def changed_front_end(
    front_end: FrontEnd,
    *,
    vad: VadMethod | None = None,
    cmvn: CmvnMethod | None = None,
    deltas: bool | None = None,
) -> FrontEnd:
    """Return settings with the specified options replaced."""
    from dataclasses import replace

    if vad is not None:
        front_end = replace(front_end, vad=replace(front_end.vad, method=vad.value))
    if cmvn is not None:
        front_end = replace(front_end, cmvn=replace(front_end.cmvn, method=cmvn.value))
    if deltas is not None and deltas != bool(front_end.deltas.order):
        order = 2 if deltas else 0
        front_end = replace(front_end, deltas=replace(front_end.deltas, order=order))
    return front_end
