"""What ``simulate`` can be asked for."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sms_diar._validation import check_choice, check_count, check_positive
from sms_diar.errors import InvalidParameterError
from sms_diar.features.vad import METHODS, VadConfig
from sms_diar.io.audio.writer import AUDIO_FORMATS
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.synthetic.acoustics import Acoustics
from sms_diar.synthetic.channel import BAND_HZ
from sms_diar.synthetic.conversation import TurnTaking

TELEPHONE_RATE = 8000
_LOWEST_RATE = 1000


@dataclass(frozen=True)
class SimulateSettings:
    """How conversations are made; see `sms_diar.pipeline.simulate.simulate`."""

    speakers: int = 2
    duration: float = 120.0
    conversations: int = 1
    style: TurnTaking = field(default_factory=TurnTaking)
    acoustics: Acoustics = field(default_factory=Acoustics)
    noise: str | Path | DataDir = "white"
    rate: int | None = None
    format: str = "wav"
    prefix: str = "sim"
    vad: str = "energy"
    channel: int | None = None
    seed: int = 0
    allow_commands: bool = False

    def __post_init__(self) -> None:
        for name in ("speakers", "conversations"):
            check_count("simulate", name, getattr(self, name))
        check_count("simulate", "seed", self.seed, least=0)
        check_positive("simulate", "duration", self.duration)
        check_choice("simulate", "format", self.format, AUDIO_FORMATS)
        check_choice("simulate", "vad", self.vad, METHODS)
        if self.style.overlap and self.speakers == 1:
            raise InvalidParameterError(
                f"simulate: overlap must be 0 for one speaker, got "
                f"{self.style.overlap!r}"
            )
        if self.noise != "white" and self.acoustics.snr is None:
            raise InvalidParameterError(
                f"simulate: noise needs an snr, got noise {str(self.noise)!r} without; "
                f"say how far it is below speech, such as --snr 20 (snr=20)"
            )
        if not re.fullmatch(r"[\w.+-]+", self.prefix):
            raise InvalidParameterError(
                f"simulate: prefix must be letters, digits and any of '_.+-', got "
                f"{self.prefix!r}"
            )
        if self.rate is not None:
            check_count("simulate", "rate", self.rate, least=_LOWEST_RATE)
            if self.acoustics.telephone and self.rate <= 2 * BAND_HZ[1]:
                raise InvalidParameterError(
                    f"simulate: rate must be more than {2 * BAND_HZ[1]:g} for a "
                    f"telephone's band, got {self.rate}; leave it out"
                )

    @property
    def wanted_rate(self) -> int | None:
        """Samples per second; None for those of the source."""
        if self.rate is None and self.acoustics.telephone:
            return TELEPHONE_RATE
        return self.rate

    @property
    def detector(self) -> VadConfig | None:
        """Looks for speech in the segments, as `diarize` does."""
        if self.vad == "none":
            return None
        return VadConfig(self.vad, min_speech=0.2, min_pause=0.3, padding=0.05)

    def to_dict(self) -> dict[str, Any]:
        """Plain values by the names of the options."""
        noise = self.noise.path if isinstance(self.noise, DataDir) else self.noise
        return {
            "speakers": self.speakers,
            "duration": float(self.duration),
            "conversations": self.conversations,
            **asdict(self.style),
            **asdict(self.acoustics),
            "noise": None if self.acoustics.snr is None else str(noise),
            "rate": self.wanted_rate,
            "format": self.format,
            "prefix": self.prefix,
            "vad": self.vad,
            "channel": self.channel,
            "seed": self.seed,
        }
