"""Layouts of corpora by name, with the usual rules of scoring each.

>>> LAYOUTS["callhome"].rules
Rules(collar=0.25, overlap='ignored', uem='ignored')
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from sms_diar.errors import ConfigError

from .corpus import Conversation, Place
from .readers import (
    read_ami,
    read_dihard,
    read_folder,
    read_msdwild,
    read_voxconverse,
)
from .simulated import read_simulated
from .transcripts import (
    CALLHOME_SPLITS,
    DISTANT,
    ICSI_MICROPHONES,
    read_callhome_calls,
    read_icsi,
    read_rt,
)

SIMULATED = "simulated"
OVERLAPS = ("scored", "ignored")
UEMS = ("used", "ignored")


@dataclass(frozen=True)
class Rules:
    """Scoring rules."""

    collar: float  # seconds on each side of a reference boundary that are not scored
    overlap: str  # overlapping reference speech is "scored" or "ignored"
    uem: str  # regions of the corpus are "used" or "ignored"


@dataclass(frozen=True)
class Layout:
    """Layout of a corpus: its reader, its usual rules, parts and microphones.

    The first of the parts (`splits`) and of the `microphones` is the default. With
    `is_open`, a microphone may be any part of a file name.
    """

    read: Callable[[Place], list[Conversation]]
    rules: Rules
    splits: tuple[str, ...] = ("",)
    microphones: tuple[str, ...] = ("",)
    is_open: bool = False

    def split(self, name: str, wanted: str) -> str:
        """Return the selected part, or the default of the layout `name`."""
        if not wanted:
            return self.splits[0]
        if wanted not in self.splits:
            known = [split for split in self.splits if split]
            expected = f"one of {', '.join(known)}" if known else "left empty"
            raise ConfigError(
                f"'split' must be {expected} with layout {name!r}, got {wanted!r}"
            )
        return wanted

    def microphone(self, name: str, wanted: str) -> str:
        """Return the selected microphone, or the default of the layout `name`."""
        if wanted and wanted not in self.microphones and not self.is_open:
            known = [microphone for microphone in self.microphones if microphone]
            expected = f"one of {', '.join(known)}" if known else "left empty"
            raise ConfigError(
                f"'microphone' must be {expected} with layout {name!r}, got {wanted!r}"
            )
        return wanted or self.microphones[0]


LAYOUTS = MappingProxyType(
    {
        "folder": Layout(read_folder, Rules(0.25, "scored", "used")),
        "ami": Layout(
            read_ami,
            Rules(0.0, "scored", "used"),
            ("test", "dev", "train"),
            ("Mix-Headset", "Array1-01"),
        ),
        "icsi": Layout(
            read_icsi,
            Rules(0.25, "scored", "ignored"),
            ("test", "dev", "train"),
            ICSI_MICROPHONES,
        ),
        "rt": Layout(
            read_rt, Rules(0.25, "scored", "used"), microphones=DISTANT, is_open=True
        ),
        "voxconverse": Layout(
            read_voxconverse, Rules(0.25, "scored", "ignored"), ("test", "dev")
        ),
        "dihard": Layout(
            read_dihard, Rules(0.0, "scored", "used"), ("", "core", "full")
        ),
        "callhome": Layout(read_folder, Rules(0.25, "ignored", "ignored")),
        "callhome-calls": Layout(
            read_callhome_calls, Rules(0.25, "ignored", "used"), CALLHOME_SPLITS
        ),
        "msdwild": Layout(
            read_msdwild,
            Rules(0.25, "scored", "ignored"),
            ("few.val", "many.val", "few.train", "all"),
        ),
        SIMULATED: Layout(read_simulated, Rules(0.25, "scored", "ignored")),
    }
)
"""Values of the setting ``layout``."""
