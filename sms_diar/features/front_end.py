"""Settings of the complete front end.

The order of the steps is fixed: cepstra, speech detection, normalisation (with
statistics of the speech frames only), derivatives of the normalised cepstra. Frames
without speech are dropped last, so that derivatives are computed from adjacent frames.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sms_diar.errors import ConfigError, InvalidParameterError
from sms_diar.features.cmvn import CmvnConfig
from sms_diar.features.mfcc import DeltaConfig, MfccConfig
from sms_diar.features.vad import FrameGrid, VadConfig

_SECTIONS: dict[str, type] = {
    "mfcc": MfccConfig,
    "cmvn": CmvnConfig,
    "deltas": DeltaConfig,
    "vad": VadConfig,
}


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """Front end that turns samples into frames (60 values every 10 ms by default)."""

    mfcc: MfccConfig = field(default_factory=MfccConfig)
    cmvn: CmvnConfig = field(default_factory=CmvnConfig)
    deltas: DeltaConfig = field(default_factory=DeltaConfig)
    vad: VadConfig = field(default_factory=VadConfig)

    @property
    def dim(self) -> int:
        """Dimension of a frame."""
        return self.mfcc.dim * (self.deltas.order + 1)

    @property
    def grid(self) -> FrameGrid:
        """Time grid of the frames."""
        rate = self.mfcc.rate
        return FrameGrid(self.mfcc.frame_length / rate, self.mfcc.frame_shift / rate)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Return plain values for TOML, JSON and model files."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(
        cls, settings: Mapping[str, Any], *, origin: str = "front end"
    ) -> FrontEnd:
        """Build from tables ``mfcc``, ``cmvn``, ``deltas`` and ``vad`` of plain values.

        Missing keys get their defaults; `origin` names the source in error messages.
        """
        parts = {}
        for section, values in settings.items():
            check_known(section, _SECTIONS, origin, "")
            if not isinstance(values, Mapping):
                raise ConfigError(
                    f"{origin}: '{section}' must be a table [{section}], got {values!r}"
                )
            kind = _SECTIONS[section]
            types = {entry.name: entry.type for entry in dataclasses.fields(kind)}
            converted = {}
            for key, value in values.items():
                check_known(key, types, origin, f"{section}.")
                is_integer = isinstance(value, int) and not isinstance(value, bool)
                is_float = types[key] == "float"
                if is_integer and abs(value) >= _LARGEST_WHOLE:
                    raise ConfigError(
                        f"{origin}: '{section}.{key}' must be below {_LARGEST_WHOLE}, "
                        f"got {value}"
                    )
                converted[key] = float(value) if is_integer and is_float else value
            try:
                parts[section] = kind(**converted)
            except InvalidParameterError as error:
                raise ConfigError(f"{origin}: [{section}] {error}") from error
        return cls(**parts)


_LARGEST_WHOLE = 1 << 53  # larger integers cannot be represented exactly as float


def check_known(key: str, known: Mapping[str, Any], origin: str, prefix: str) -> None:
    """Raise an error for an unknown key, and suggest the closest valid one."""
    if key not in known:
        [near] = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
        raise ConfigError(
            f"{origin}: unknown key '{prefix}{key}'; did you mean '{prefix}{near}'? "
            f"Valid keys: {', '.join(sorted(known))}"
        )
