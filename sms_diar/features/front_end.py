"""All settings of the front end in one value.

The order is fixed: cepstra, then speech detection, then normalisation (with
statistics of the speech frames only), then derivatives of the normalised
cepstra, and last the frames without speech are dropped, so that derivatives never
reach across a gap.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sms_diar.errors import ConfigError, InvalidParameterError
from sms_diar.features.cmvn import CmvnConfig
from sms_diar.features.decisions import FrameGrid
from sms_diar.features.deltas import DeltaConfig
from sms_diar.features.mfcc import MfccConfig
from sms_diar.features.vad import VadConfig

_SECTIONS: dict[str, type] = {
    "mfcc": MfccConfig,
    "cmvn": CmvnConfig,
    "deltas": DeltaConfig,
    "vad": VadConfig,
}


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """From samples to frames: 60 numbers every 10 ms by default.

    Parameters
    ----------
    mfcc : MfccConfig
        Cepstra.
    cmvn : CmvnConfig
        Normalisation.
    deltas : DeltaConfig
        Derivatives.
    vad : VadConfig
        Speech detection.
    """

    mfcc: MfccConfig = field(default_factory=MfccConfig)
    cmvn: CmvnConfig = field(default_factory=CmvnConfig)
    deltas: DeltaConfig = field(default_factory=DeltaConfig)
    vad: VadConfig = field(default_factory=VadConfig)

    @property
    def dim(self) -> int:
        """Numbers in a frame."""
        return self.mfcc.dim * (self.deltas.order + 1)

    @property
    def grid(self) -> FrameGrid:
        """Where the frames lie in time."""
        rate = self.mfcc.rate
        return FrameGrid(self.mfcc.frame_length / rate, self.mfcc.frame_shift / rate)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values, for TOML, JSON and models."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(
        cls, settings: Mapping[str, Any], *, origin: str = "front end"
    ) -> FrontEnd:
        """Build from plain values, strictly; what is not named has its default.

        Parameters
        ----------
        settings : mapping
            Tables ``mfcc``, ``cmvn``, ``deltas`` and ``vad``.
        origin : str
            Where the settings come from, for messages.
        """
        parts = {}
        for section, values in settings.items():
            check_known(section, _SECTIONS, origin, "")
            if not isinstance(values, Mapping):
                raise ConfigError(
                    f"{origin}: '{section}' must be a table [{section}], got {values!r}"
                )
            kind = _SECTIONS[section]
            known = {entry.name: entry.type for entry in dataclasses.fields(kind)}
            converted = {}
            for key, value in values.items():
                check_known(key, known, origin, f"{section}.")
                whole = isinstance(value, int) and not isinstance(value, bool)
                is_float = known[key] == "float"
                if whole and abs(value) >= _LARGEST_WHOLE:
                    raise ConfigError(
                        f"{origin}: '{section}.{key}' must be below {_LARGEST_WHOLE}, "
                        f"got {value}"
                    )
                converted[key] = float(value) if whole and is_float else value
            try:
                parts[section] = kind(**converted)
            except InvalidParameterError as error:
                raise ConfigError(f"{origin}: [{section}] {error}") from error
        return cls(**parts)


_LARGEST_WHOLE = 1 << 53  # beyond it a float is another number


def check_known(key: str, known: Mapping[str, Any], origin: str, prefix: str) -> None:
    """Refuse a key that is not known, and name the nearest one that is."""
    if key not in known:
        [near] = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
        raise ConfigError(
            f"{origin}: unknown key '{prefix}{key}'; did you mean '{prefix}{near}'? "
            f"Valid keys: {', '.join(sorted(known))}"
        )
