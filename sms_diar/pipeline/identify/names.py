"""Identities of speakers, and the evidence for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sms_diar._validation import is_real
from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.identify.prints import VoicePrint

BY_VOICE, BY_LINK = "voice", "link"

PRIOR = 0.5
"""Prior probability that a speaker is enrolled, and that a speaker of one recording
also speaks in another one."""


@dataclass(frozen=True)
class NamingRules:
    """Rules for names across recordings.

    Parameters
    ----------
    link : bool, default=False
        Link speakers of several recordings.
    link_threshold, enrol_threshold : float, default=0.5
        Minimum probability to link two speakers, and to assign a name.
    """

    link: bool = False
    link_threshold: float = 0.5
    enrol_threshold: float = 0.5

    def __post_init__(self) -> None:
        for name in ("link_threshold", "enrol_threshold"):
            value = getattr(self, name)
            if not is_real(value) or not 0.0 < value < 1.0:
                raise InvalidParameterError(
                    f"must be a probability between 0 and 1, got {value!r}",
                    owner="diarize",
                    parameter=name,
                )


@dataclass(frozen=True)
class Naming:
    """Rules for names, and notes about the result.

    Parameters
    ----------
    rules : NamingRules
        Rules that were applied.
    enrolled : tuple of VoicePrint
        Enrolled voices.
    notes : tuple of str
        Assigned names, enrolled names without a match, and doubts.
    """

    rules: NamingRules
    enrolled: tuple[VoicePrint, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "link": self.rules.link,
            "link_threshold": self.rules.link_threshold,
            "enrol_threshold": self.rules.enrol_threshold,
            "prior": PRIOR,
            "enrolled": [
                {"name": voice.speaker, **voice.to_dict()} for voice in self.enrolled
            ],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class VoiceMatch:
    """A speaker compared with one enrolled voice.

    Parameters
    ----------
    name : str
        Name of the enrolled voice.
    score : float
        Score of the back end.
    log_ratio : float
        Log-likelihood ratio of same speaker against different speakers.
    probability : float
        Probability of this voice among all enrolled voices and unknown speakers,
        given the names of the other speakers of the recording.
    """

    name: str
    score: float
    log_ratio: float
    probability: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "name": self.name,
            "score": round(self.score, 4),
            "log_ratio": round(self.log_ratio, 4),
            "probability": round(self.probability, 4),
        }


@dataclass(frozen=True)
class Identity:
    """Identity of a speaker of a recording.

    Parameters
    ----------
    speaker : str
        Name in the turns.
    local : str
        Name before identification.
    named_by : {"voice", "link"} or None
        Source of an enrolled name: the voice, or a link to a speaker of another
        recording who has this name.
    linked : float or None
        Probability that this is the same person as the others with this name, from
        the mean log odds; None without others.
    matches : tuple of VoiceMatch
        Comparisons with all enrolled voices; none for a speaker without a voice print.
    """

    speaker: str
    local: str
    named_by: str | None = None
    linked: float | None = None
    matches: tuple[VoiceMatch, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "speaker": self.speaker,
            "local": self.local,
            "named_by": self.named_by,
            "linked": None if self.linked is None else round(self.linked, 4),
            "enrolled": [match.to_dict() for match in self.matches],
        }
