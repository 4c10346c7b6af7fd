"""WebVTT subtitles, whose voice tags say who speaks: ``<v ann>ann``.

A cue with several voices is a turn of each. Cues without voices are read as those of
SRT are (``[ann]: words``, ``ann: words``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape, unescape
from pathlib import Path

from sms_diar.io._cues import Cue, cue_text, cues, nobody, speaker_of
from sms_diar.io._turn_text import FaultError, Spoken, check_name, decoded, scan_whole
from sms_diar.timeline.annotation import AnnotationBuilder
from sms_diar.types import Turn

_TITLE = "WebVTT"
_HEAD = "WEBVTT"
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>]*)>")


def webvtt_text(turns: Sequence[Turn]) -> str:
    """Turns of one recording as subtitles with voices."""
    body = cue_text(_TITLE, turns, _payload, mark=".", numbered=False)
    return f"{_HEAD}\n\n{body}" if body else f"{_HEAD}\n"


def _payload(speaker: str) -> str:
    name = escape(check_name(_TITLE, "speaker", speaker), quote=False)
    return f"<v {name}>{name}"


def scan_webvtt(path: Path, builder: AnnotationBuilder) -> int:
    """Add the cues of a file to an annotation, and count them."""
    return scan_whole(path, builder, _parse)


def _parse(data: bytes) -> Iterator[Spoken]:
    lines = decoded(data).split("\n")
    if lines[0] != _HEAD and not lines[0].startswith((f"{_HEAD} ", f"{_HEAD}\t")):
        raise FaultError(f"the first line must be {_HEAD}, got {lines[0][:40]!r}", 1)
    # What stands right below the head belongs to it.
    first = next((at for at, line in enumerate(lines) if not line.strip()), len(lines))
    for cue in cues(lines, first):
        for speaker in _speakers(cue):
            yield Spoken(cue.line, speaker, cue.start, cue.end)


def _speakers(cue: Cue) -> list[str]:
    names = (unescape(name).strip() for name in _VOICE.findall("\n".join(cue.text)))
    found = list(dict.fromkeys(name for name in names if name))
    if not found and cue.text and (speaker := speaker_of(unescape(cue.text[0]))):
        found = [speaker]
    if not found:
        raise nobody(cue)
    return found
