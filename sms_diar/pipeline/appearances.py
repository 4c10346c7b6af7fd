"""Who appears in several recordings, counted and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

_SHOWN = 10  # speakers that a summary names


def appearances(
    labels: Mapping[str, str], recordings: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """Segments that each speaker has in each recording.

    Parameters
    ----------
    labels, recordings : mapping from str to str
        Speaker and recording of each segment id.

    Examples
    --------
    >>> speakers = {"s1": "spk-01", "s2": "spk-02", "s3": "spk-01"}
    >>> appearances(speakers, {"s1": "monday", "s2": "monday", "s3": "tuesday"})
    {'spk-01': {'monday': 1, 'tuesday': 1}, 'spk-02': {'monday': 1}}
    """
    found: dict[str, Counter[str]] = {}
    for name, speaker in labels.items():
        found.setdefault(speaker, Counter())[recordings[name]] += 1
    return {speaker: dict(found[speaker]) for speaker in sorted(found)}


def appearance_lines(found: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Say how many appear in several recordings, and name those in most."""
    several = {name: where for name, where in found.items() if len(where) > 1}
    total = len({recording for where in found.values() for recording in where})
    lines = [
        f"{len(several)} of {len(found)} speakers appear in several of {total} "
        f"recordings"
    ]
    order = sorted(several, key=lambda name: -len(several[name]))
    for name in order[:_SHOWN]:
        segments = sum(several[name].values())
        lines.append(f"  {name}: {len(several[name])} recordings, {segments} segments")
    if len(order) > _SHOWN:
        lines.append(f"  ... and {len(order) - _SHOWN} more")
    return lines
