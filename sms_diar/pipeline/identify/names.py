"""Who a speaker of a recording was found to be, and on what grounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sms_diar._validation import is_real
from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.identify.prints import VoicePrint

BY_VOICE, BY_LINK = "voice", "link"

PRIOR = 0.5
"""Probability, before anything is heard, that a speaker is an enrolled one at all, and
that a speaker of one recording speaks in another at all."""


@dataclass(frozen=True)
class NamingRules:
    """How names are given that hold for several recordings.

    Parameters
    ----------
    link : bool, default=False
        Whether speakers of several recordings are joined.
    link_threshold, enrol_threshold : float, default=0.5
        Probability above which two are one, and from which on a name is given.
    """

    link: bool = False
    link_threshold: float = 0.5
    enrol_threshold: float = 0.5

    def __post_init__(self) -> None:
        for name in ("link_threshold", "enrol_threshold"):
            value = getattr(self, name)
            if not is_real(value) or not 0.0 < value < 1.0:
                raise InvalidParameterError(
                    f"diarize: {name} must be a probability between 0 and 1, got "
                    f"{value!r}"
                )


@dataclass(frozen=True)
class Naming:
    """What was asked for, and what to tell about it.

    Parameters
    ----------
    rules : NamingRules
        What was asked for.
    enrolled : tuple of VoicePrint
        The known voices.
    notes : tuple of str
        Names given and not given, and doubts.
    """

    rules: NamingRules
    enrolled: tuple[VoicePrint, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
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
        Whose voice it is.
    score : float
        What the back end says, in its own unit.
    log_ratio : float
        Log-likelihood ratio of one person against two.
    probability : float
        That it is this voice, and not another enrolled or an unknown one, given the
        names of the other speakers of the recording.
    """

    name: str
    score: float
    log_ratio: float
    probability: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "name": self.name,
            "score": round(self.score, 4),
            "log_ratio": round(self.log_ratio, 4),
            "probability": round(self.probability, 4),
        }


@dataclass(frozen=True)
class Identity:
    """Who a speaker of a recording was found to be.

    Parameters
    ----------
    speaker : str
        The name in the turns.
    local : str
        The name that the recording by itself had given.
    named_by : {"voice", "link"} or None
        Whether an enrolled name was given for the voice, or because the speaker was
        linked to one of another recording who has it.
    linked : float or None
        Probability that this is the person whom the others with the name are: of the
        mean log odds; None where there are no others.
    matches : tuple of VoiceMatch
        Comparisons with all enrolled voices; none for a speaker without a voice print.
    """

    speaker: str
    local: str
    named_by: str | None = None
    linked: float | None = None
    matches: tuple[VoiceMatch, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "speaker": self.speaker,
            "local": self.local,
            "named_by": self.named_by,
            "linked": None if self.linked is None else round(self.linked, 4),
            "enrolled": [match.to_dict() for match in self.matches],
        }
