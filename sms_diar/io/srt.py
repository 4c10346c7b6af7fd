"""SubRip subtitles (SRT), in which each cue is the name of who speaks: ``[ann]``.

Of files of others, ``[ann]: words`` and ``ann: words`` are understood, too. SRT knows
no way to write down a name with an arrow (``-->``), which is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sms_diar.errors import InvalidParameterError
from sms_diar.io._cues import cue_text, cues, nobody, speaker_of
from sms_diar.io._turn_text import Spoken, check_name, decoded, scan_whole
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.types import Turn

_TITLE = "SRT"


def srt_text(turns: Sequence[Turn]) -> str:
    """Turns of one recording as subtitles."""
    return cue_text(_TITLE, turns, _payload, mark=",", numbered=True)


def _payload(speaker: str) -> str:
    shown = f"[{check_name(_TITLE, 'speaker', speaker)}]"
    if "-->" in speaker or speaker_of(shown) != speaker:
        raise InvalidParameterError(
            f"{_TITLE}: speaker must be a name that subtitles can hold, got "
            f"{speaker!r}; rename it, or write WebVTT"
        )
    return shown


def scan_srt(path: Path, builder: AnnotationBuilder) -> int:
    """Add the cues of a file to an annotation, and count them."""
    return scan_whole(path, builder, _parse)


def _parse(data: bytes) -> Iterator[Spoken]:
    for cue in cues(decoded(data).split("\n")):
        speaker = speaker_of(cue.text[0]) if cue.text else None
        if speaker is None:
            raise nobody(cue)
        yield Spoken(cue.line, speaker, cue.start, cue.end)
