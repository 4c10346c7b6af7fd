"""Names of speakers: ``spk-01``, ``spk-02`` and so on.

A name identifies a person within one recording. Where several recordings share a file,
the name of the recording precedes it (``monday-spk-01``), so that equal names mean the
same person. Linked speakers need no such prefix.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
import numpy.typing as npt

from sms_diar._validation import refuse_path
from sms_diar.errors import InvalidParameterError
from sms_diar.types import Segment, Turn

_MOST_LISTED = 20


def name_speakers(
    labels: Sequence[Hashable] | npt.NDArray[np.integer],
    *,
    durations: npt.ArrayLike | None = None,
    prefix: str = "spk-",
    taken: Collection[str] = (),
) -> list[str]:
    """Name the speaker of each segment.

    Labels are only compared. If `durations` are given, in seconds, speakers are
    numbered by decreasing total speech. Ties, and all speakers without durations, are
    ordered by first appearance. Names in `taken` are not assigned. Numbers have at
    least two digits and equal width, so that names sort like numbers.
    """
    rule, remedy = "a sequence of labels", "read it with read_labels"
    refuse_path("name_speakers", "labels", labels, rule, remedy)
    listed = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    order = list(dict.fromkeys(listed))
    if durations is not None:
        seconds = np.asarray(durations, dtype=np.float64)
        if seconds.shape != (len(listed),):
            raise InvalidParameterError(
                f"must be one number for each of {len(listed)} labels, got shape "
                f"{seconds.shape}",
                owner="name_speakers",
                parameter="durations",
            )
        if not (np.isfinite(seconds) & (seconds >= 0.0)).all():
            raise InvalidParameterError(
                "must be finite and >= 0", owner="name_speakers", parameter="durations"
            )
        total = dict.fromkeys(order, 0.0)
        for label, length in zip(listed, seconds.tolist(), strict=True):
            total[label] += length
        order.sort(key=lambda label: -total[label])  # stable, so ties keep their order
    width = max(2, len(str(len(order))))
    numbered = (f"{prefix}{number:0{width}d}" for number in count(1))
    free = (name for name in numbered if name not in taken)
    names = dict(zip(order, free, strict=False))
    return [names[label] for label in listed]


def rename_speakers(turns: Iterable[Turn], rename: Mapping[str, str]) -> list[Turn]:
    """Rename speakers simultaneously, so that two speakers can swap names.

    Parameters
    ----------
    turns : iterable of Turn
        Turns of any number of recordings; a name means the same speaker in all.
    rename : mapping from str to str
        New name of each old name. A new name must not belong to another speaker; use
        `merge_speakers` to merge two speakers.

    Examples
    --------
    >>> rename_speakers([Turn(Segment("call", 0.0, 1.0), "spk-01")], {"spk-01": "ann"})
    [Turn(segment=Segment(recording='call', start=0.0, end=1.0), speaker='ann')]
    """
    turns = list(turns)
    speakers = _check_speakers("rename_speakers", "rename", rename, turns)
    owners: dict[str, str] = {}
    for old in speakers:
        new = rename.get(old, old)
        if new in owners:
            raise InvalidParameterError(
                f"must keep speakers apart, got {new!r} for {owners[new]!r} and "
                f"{old!r}; merge them instead",
                owner="rename_speakers",
                parameter="rename",
            )
        owners[new] = old
    return [replace(t, speaker=rename.get(t.speaker, t.speaker)) for t in turns]


def merge_speakers(turns: Iterable[Turn], merge: Sequence[str]) -> list[Turn]:
    """Rename several speakers to the first one, and merge their overlapping turns.

    Parameters
    ----------
    turns : iterable of Turn
        Turns of any number of recordings; a name means the same speaker in all.
    merge : sequence of str
        Speakers to merge. With a single speaker, only its overlapping turns are merged.

    Returns
    -------
    turns : list of Turn
        Turns of other speakers are unchanged. Turns that only touch are not merged.
    """
    turns = list(turns)
    _check_speakers("merge_speakers", "merge", merge, turns)
    merged: list[Turn] = []
    latest: dict[str, int] = {}  # index of the last merged turn of each recording
    for turn in sorted(turns):
        if turn.speaker not in merge:
            merged.append(turn)
            continue
        segment = turn.segment
        index = latest.get(segment.recording)
        if index is not None and segment.start < merged[index].segment.end:
            last = merged[index].segment
            end = max(last.end, segment.end)
            joined = Segment(last.recording, last.start, end)
            merged[index] = Turn(joined, merge[0])
            continue
        latest[segment.recording] = len(merged)
        merged.append(Turn(segment, merge[0]))
    return merged


def _check_speakers(
    owner: str, name: str, requested: Iterable[str], turns: Sequence[Turn]
) -> list[str]:
    """Return the sorted speakers of the turns, which must include all `requested`."""
    speakers = sorted({turn.speaker for turn in turns})
    for speaker in requested:
        if speaker not in speakers:
            listed = ", ".join(map(repr, speakers[:_MOST_LISTED]))
            more = ", ..." if len(speakers) > _MOST_LISTED else ""
            problem = (
                f"must name speakers of the turns, got {speaker!r}; the speakers are "
                f"{listed}{more}"
            )
            raise InvalidParameterError(problem, owner=owner, parameter=name)
    return speakers


def name_in_recording(recording: str, name: str) -> str:
    """Name of a speaker among speakers of other recordings, with one prefix at most."""
    begins = name == recording or name.startswith(f"{recording}-")
    return name if begins else f"{recording}-{name}"
