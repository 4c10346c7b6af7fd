"""The rules on which scoring tools disagree, each a named choice.

``CONVENTIONS.md`` beside this file explains them one by one, with examples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sms_diar._validation import check_choice, check_not_negative
from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.ticks import (
    MAX_SECONDS,
    TICKS_PER_SECOND,
    seconds_of,
    ticks_of,
)

Extent: TypeAlias = Literal["reference", "joint"]
WithoutRegion: TypeAlias = Literal["reference", "joint", "left out"]
UemId: TypeAlias = Literal["exact", "first part removed", "extension removed"]
HypothesisOnly: TypeAlias = Literal["left out", "rate only", "false alarm"]
Merging: TypeAlias = Literal["none", "overlapping", "touching"]
Jer: TypeAlias = Literal["own mapping", "frames", "scored time"]


@dataclass(frozen=True)
class Convention:
    """One answer to every question of scoring that has several.

    Parameters
    ----------
    name : str
        Short name.
    extent : {"reference", "joint"}
        What is scored without a UEM: from the first to the last boundary of the
        reference, or of reference and hypothesis together.
    without_region : {"reference", "joint", "left out"}
        What is scored of a recording that the UEM lacks.
    uem_id : {"exact", "first part removed", "extension removed"}
        How ids of the UEM become ids of recordings.
    by_channel : bool
        Whether channels are scored apart and matched by name.
    hypothesis_only : {"left out", "rate only", "false alarm"}
        A recording without reference: not scored; given a DER of 1 that does not
        enter the pooled figures; or all false alarm.
    merging : {"none", "overlapping", "touching"}
        Which turns of one speaker become one before anything else.
    trims : bool
        Whether turns are cut to the UEM first, so that cuts become boundaries.
    counts_turns : bool
        Whether a speaker whose turns overlap counts once per turn.
    zero_turns : bool
        Whether turns without length carry collars and stretch the extent.
    shortest : int
        Turns of at most this many ticks are dropped (besides those without length).
    decimals : int or None
        Decimals to which onsets and durations are rounded.
    maps_scored : bool
        Whether speakers are mapped on the time left after collars and overlap, or
        on all time of the UEM.
    jer : {"own mapping", "frames", "scored time"}
        JER of exact time with the mapping that is best for it; the same on 10 ms
        frames; or of the scored time with the mapping of DER.
    purity_everywhere : bool
        Whether purity and coverage disregard the UEM.
    zero_rate : bool
        Whether a DER without scored speech is 1 (or 0 without errors) instead of
        undefined.
    refuses_overlapping_uem : bool
        Whether regions of the UEM that overlap are refused; else they are joined.
    scans_overlap : bool
        Whether ignored overlap is removed by the scan of md-eval, which keeps some
        of it at the edges of regions (`scored_regions.scanned_regions`).
    """

    name: str
    extent: Extent = "joint"
    without_region: WithoutRegion = "joint"
    uem_id: UemId = "exact"
    by_channel: bool = False
    hypothesis_only: HypothesisOnly = "false alarm"
    merging: Merging = "touching"
    trims: bool = False
    counts_turns: bool = False
    zero_turns: bool = False
    shortest: int = 0
    decimals: int | None = None
    maps_scored: bool = False
    jer: Jer = "own mapping"
    purity_everywhere: bool = False
    zero_rate: bool = False
    refuses_overlapping_uem: bool = False
    scans_overlap: bool = False


SMS_DIAR = Convention("sms-diar")
"""Ours: exact ids, joint extent, no false alarm lost, cuts in turns without effect."""

NIST = Convention(
    "nist",
    extent="reference",
    without_region="reference",
    uem_id="first part removed",
    by_channel=True,
    hypothesis_only="left out",
    merging="none",
    zero_turns=True,
    refuses_overlapping_uem=True,
    scans_overlap=True,
)
"""md-eval-22."""

DSCORE = Convention(
    "dscore",
    without_region="left out",
    uem_id="extension removed",
    hypothesis_only="rate only",
    merging="overlapping",
    trims=True,
    decimals=3,
    jer="frames",
    scans_overlap=True,
)
"""dscore 1.1.0, which hands cut, merged and rounded turns to md-eval."""

PYANNOTE = Convention(
    "pyannote",
    hypothesis_only="left out",
    merging="none",
    counts_turns=True,
    shortest=TICKS_PER_SECOND // 10**6,
    maps_scored=True,
    jer="scored time",
    purity_everywhere=True,
    zero_rate=True,
)
"""pyannote.metrics 4.2.0, looping over the recordings of the reference."""

CONVENTIONS = {c.name: c for c in (SMS_DIAR, NIST, DSCORE, PYANNOTE)}


@dataclass(frozen=True)
class Settings:
    """A convention with the options of one run.

    Parameters
    ----------
    convention : Convention
        The rules.
    collar : int
        Ticks left unscored on each side of a reference boundary.
    ignore_overlap : bool
        Whether time with several reference speakers is left unscored.
    has_uem : bool
        Whether regions were given.
    """

    convention: Convention
    collar: int
    ignore_overlap: bool
    has_uem: bool

    @classmethod
    def of(
        cls,
        convention: str | Convention = SMS_DIAR,
        *,
        collar: float = 0.0,
        ignore_overlap: bool = False,
        extent: Extent | None = None,
        has_uem: bool = False,
    ) -> Settings:
        """Settings from what users say; `extent` overrides the convention's."""
        if not isinstance(convention, Convention):
            check_choice("Settings", "convention", convention, list(CONVENTIONS))
            convention = CONVENTIONS[convention]
        check_not_negative("Settings", "collar", collar)
        if extent is not None:
            check_choice("Settings", "extent", extent, ["reference", "joint"])
            lacking = convention.without_region
            convention = replace(
                convention,
                extent=extent,
                without_region=lacking if lacking == "left out" else extent,
            )
        if collar > MAX_SECONDS:
            raise InvalidParameterError(
                f"Settings: collar must be at most {MAX_SECONDS} seconds, got "
                f"{collar!r}"
            )
        return cls(convention, ticks_of(float(collar)), bool(ignore_overlap), has_uem)

    def as_dict(self) -> dict[str, object]:
        """What was in force, for a results file."""
        c = self.convention
        return {
            "convention": c.name,
            "collar": seconds_of(self.collar),
            "collar_total": seconds_of(2 * self.collar),
            "overlap": "ignored" if self.ignore_overlap else "scored",
            "uem": "given" if self.has_uem else f"{c.extent} extent",
            "recordings_without_region": c.without_region,
            "uem_ids": c.uem_id,
            "channels": "matched" if c.by_channel else "ignored",
            "hypothesis_only": c.hypothesis_only,
            "turns_joined": c.merging,
            "mapping": "scored time" if c.maps_scored else "all time of the UEM",
            "jer": c.jer,
        }

    def summary(self) -> str:
        """Collar, overlap and regions in one line."""
        side = seconds_of(self.collar)
        return ", ".join(
            [
                f"collar {side:g} s per side" if self.collar else "no collar",
                f"overlap {'ignored' if self.ignore_overlap else 'scored'}",
                "UEM" if self.has_uem else f"{self.convention.extent} extent",
            ]
        )

    def sentences(self) -> list[str]:
        """What was in force, in words."""
        c = self.convention
        side = seconds_of(self.collar)
        lines = [
            f"convention {c.name}",
            f"collar {side:g} s on each side of a reference boundary ({2 * side:g} s "
            f"in all)"
            if self.collar
            else "no collar",
            "overlapped reference speech ignored"
            if self.ignore_overlap
            else "overlapped speech scored",
            self._regions(),
            {
                "none": "turns of one speaker kept as they are",
                "overlapping": "overlapping turns of one speaker joined",
                "touching": "overlapping and touching turns of one speaker joined",
            }[c.merging]
            + (", each counted" if c.counts_turns else ""),
            "speakers mapped on "
            + ("the scored time" if c.maps_scored else "all time of the regions"),
            {
                "left out": "recordings without reference left out",
                "rate only": "recordings without reference given DER 1, not pooled",
                "false alarm": "recordings without reference are false alarm",
            }[c.hypothesis_only],
        ]
        if c.decimals is not None:
            lines.append(f"times rounded to {c.decimals} decimals")
        return lines

    def _regions(self) -> str:
        c = self.convention
        words = {
            "reference": "from the first to the last boundary of the reference",
            "joint": "from the first to the last boundary of reference and hypothesis",
            "left out": "not at all",
        }
        if not self.has_uem:
            return f"no UEM, each recording scored {words[c.extent]}"
        return f"UEM given, recordings it lacks scored {words[c.without_region]}"

    def md_eval(
        self, reference: str = "REF", hypothesis: str = "HYP", uem: str | None = None
    ) -> str:
        """Command line of md-eval with the same collar, overlap and regions."""
        words = ["md-eval-22.pl", "-a f", f"-c {seconds_of(self.collar):g}"]
        words += [f"-r {reference}", f"-s {hypothesis}"]
        if uem or self.convention.extent == "joint":
            words.append(f"-u {uem or 'UEM_OF_THE_JOINT_EXTENT'}")
        if self.ignore_overlap:
            words.append("-1")
        return " ".join(words)
