"""Turns in the manner of NIST's CTM: ``recording channel onset duration speaker``.

A confidence may follow the speaker, where a CTM of words has one.
"""

from __future__ import annotations

from pathlib import Path

from sms_diar.io._lines import check_fields
from sms_diar.io._turn_lines import TurnFields, scan_turn_lines
from sms_diar.timeline.annotation import AnnotationBuilder


def scan_ctm(path: Path, builder: AnnotationBuilder) -> int:
    """Add the lines of a file to an annotation, and count those with turns."""
    return scan_turn_lines(path, _turn_fields, builder)


def _turn_fields(fields: list[str]) -> TurnFields:
    if len(fields) not in (5, 6):
        raise ValueError(
            f"a line has 5 or 6 fields (recording, channel, onset, duration, speaker, "
            f"perhaps a confidence), this one has {len(fields)}"
        )
    check_fields(fields)
    return TurnFields(*fields[:5])
