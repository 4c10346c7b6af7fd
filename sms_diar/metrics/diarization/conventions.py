"""Rules on which scoring tools disagree, each as a named choice.

``CONVENTIONS.md`` in this folder explains them with examples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from sms_diar._validation import check_choice, check_not_negative
from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.ticks import MAX_SECONDS, TICKS_PER_SECOND, seconds_of, ticks_of

Extent: TypeAlias = Literal["reference", "joint"]
WithoutRegion: TypeAlias = Literal["reference", "joint", "left out"]
UemId: TypeAlias = Literal["exact", "first part removed", "extension removed"]
HypothesisOnly: TypeAlias = Literal["left out", "rate only", "false alarm"]
Merging: TypeAlias = Literal["none", "overlapping", "touching"]
Jer: TypeAlias = Literal["own mapping", "frames", "scored time"]


@dataclass(frozen=True)
class Convention:
    """Complete set of scoring rules.

    Parameters
    ----------
    name : str
        Short name by which options refer to the convention.
    extent : {"reference", "joint"}
        Region scored without a UEM: from the first to the last boundary of the
        reference, or of reference and hypothesis together.
    without_region : {"reference", "joint", "left out"}
        Region scored in a recording that is not in the UEM; "left out" does not score
        the recording.
    uem_id : {"exact", "first part removed", "extension removed"}
        Conversion of ids of the UEM to ids of recordings.
    by_channel : bool
        If True, channels are matched by name and scored separately.
    hypothesis_only : {"left out", "rate only", "false alarm"}
        Treatment of a recording without reference: it is not scored, gets a DER of 1
        that does not enter pooled metrics, or is entirely false alarm.
    merging : {"none", "overlapping", "touching"}
        Turns of one speaker that are joined before scoring.
    trims : bool
        If True, turns are cut to the UEM first, so that cuts become boundaries.
    counts_turns : bool
        If True, a speaker whose turns overlap counts once per turn.
    zero_turns : bool
        If True, turns of length zero have collars and extend the extent.
    shortest : int
        Turns of at most this many ticks are dropped, and turns of length zero.
    decimals : int or None
        Number of decimals to which onsets and durations are rounded.
    maps_scored : bool
        If True, speakers are mapped on the time that remains after removing collars
        and overlap, otherwise on all time of the UEM.
    jer : {"own mapping", "frames", "scored time"}
        JER on exact time with its optimal mapping; the same on frames of 10 ms; or
        JER on the scored time with the mapping of DER.
    purity_everywhere : bool
        If True, purity and coverage ignore the UEM.
    zero_rate : bool
        If True, a DER without scored speech is 1 (or 0 without errors) instead of
        undefined.
    refuses_overlapping_uem : bool
        If True, overlapping regions of the UEM are an error, otherwise they are joined.
    scans_overlap : bool
        If True, ignored overlap is removed by the scan of md-eval, which keeps parts
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
"""Default: exact ids, joint extent, all false alarms count, turns may be split."""

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
"""pyannote.metrics 4.2.0, applied to each recording of the reference."""

CONVENTIONS = {c.name: c for c in (SMS_DIAR, NIST, DSCORE, PYANNOTE)}


@dataclass(frozen=True)
class Settings:
    """Scoring rules together with the options of one run.

    Parameters
    ----------
    convention : Convention
        Rules on which scoring tools disagree.
    collar : int
        Ticks that are not scored on each side of a reference boundary.
    ignore_overlap : bool
        If True, time with several reference speakers is not scored.
    has_uem : bool
        True if the regions to score were given by a UEM.
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
        """Create settings from user input; `extent` overrides the convention."""
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
            problem = f"must be at most {MAX_SECONDS} seconds, got {collar!r}"
            raise InvalidParameterError(problem, owner="Settings", parameter="collar")
        return cls(convention, ticks_of(float(collar)), bool(ignore_overlap), has_uem)

    def as_dict(self) -> dict[str, object]:
        """Settings for a results file."""
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
        """Summary of collar, overlap and regions in one line."""
        side = seconds_of(self.collar)
        return ", ".join(
            [
                f"collar {side:g} s per side" if self.collar else "no collar",
                f"overlap {'ignored' if self.ignore_overlap else 'scored'}",
                "UEM" if self.has_uem else f"{self.convention.extent} extent",
            ]
        )

    def sentences(self) -> list[str]:
        """Description of the settings in words."""
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
                "left out": "recordings without reference not scored",
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
