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

    Parameters
    ----------
    labels : sequence of length n
        Speaker of each segment in any form; the values are only compared.
    durations : array-like of length n, optional
        Seconds of each segment. The speaker with the longest total speech is
        then number 1; equal totals count by first appearance, as all do without
        durations.
    prefix : str, default="spk-"
        Text before the number.
    taken : collection of str
        Names that are not given.

    Returns
    -------
    names : list of str
        Name for each segment; numbers have two digits, or more if needed, so
        that names sort like numbers.

    Examples
    --------
    >>> name_speakers([7, 7, 0])
    ['spk-01', 'spk-01', 'spk-02']
    >>> name_speakers([7, 7, 0], durations=[1.0, 1.0, 5.0])
    ['spk-02', 'spk-02', 'spk-01']
    """
    rule, remedy = "a sequence of labels", "read it with read_labels"
    refuse_path("name_speakers", "labels", labels, rule, remedy)
    listed = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    order = list(dict.fromkeys(listed))
    if durations is not None:
        seconds = np.asarray(durations, dtype=np.float64)
        if seconds.shape != (len(listed),):
            raise InvalidParameterError(
                f"name_speakers: durations must be one number for each of "
                f"{len(listed)} labels, got shape {seconds.shape}"
            )
        if not (np.isfinite(seconds) & (seconds >= 0.0)).all():
            raise InvalidParameterError(
                "name_speakers: durations must be finite and >= 0"
            )
        total = dict.fromkeys(order, 0.0)
        for label, length in zip(listed, seconds.tolist(), strict=True):
            total[label] += length
        order.sort(key=lambda label: -total[label])  # stable: ties keep their order
    width = max(2, len(str(len(order))))
    numbered = (f"{prefix}{number:0{width}d}" for number in count(1))
    free = (name for name in numbered if name not in taken)
    names = dict(zip(order, free, strict=False))
    return [names[label] for label in listed]


def rename_speakers(turns: Iterable[Turn], rename: Mapping[str, str]) -> list[Turn]:
    """Give speakers other names, all at once, so that two can swap names.

    Parameters
    ----------
    turns : iterable of Turn
        Turns of any number of recordings; a name means the same speaker in all.
    rename : mapping from str to str
        New name of each old one. A new name must not belong to another speaker;
        `merge_speakers` joins two.

    Examples
    --------
    >>> rename_speakers([Turn(Segment("call", 0.0, 1.0), "spk-01")], {"spk-01": "ann"})
    [Turn(segment=Segment(recording='call', start=0.0, end=1.0), speaker='ann')]
    """
    turns = list(turns)
    speakers = _check_speakers("rename_speakers", "rename", rename, turns)
    taken: dict[str, str] = {}
    for old in speakers:
        new = rename.get(old, old)
        if new in taken:
            raise InvalidParameterError(
                f"rename_speakers: rename must keep speakers apart, got {new!r} for "
                f"{taken[new]!r} and {old!r}; merge them instead"
            )
        taken[new] = old
    return [replace(t, speaker=rename.get(t.speaker, t.speaker)) for t in turns]


def merge_speakers(turns: Iterable[Turn], merge: Sequence[str]) -> list[Turn]:
    """Give several speakers the name of the first, and join their overlapping turns.

    Parameters
    ----------
    turns : iterable of Turn
        Turns of any number of recordings; a name means the same speaker in all.
    merge : sequence of str
        Speakers. A single one keeps its name, and its overlapping turns are joined.

    Returns
    -------
    turns : list of Turn
        The turns of other speakers are unchanged. Turns that only touch stay apart.
    """
    turns = list(turns)
    _check_speakers("merge_speakers", "merge", merge, turns)
    merged: list[Turn] = []
    latest: dict[str, int] = {}  # place of the last merged turn of each recording
    for turn in sorted(turns):
        if turn.speaker not in merge:
            merged.append(turn)
            continue
        segment = turn.segment
        place = latest.get(segment.recording)
        if place is not None and segment.start < merged[place].segment.end:
            last = merged[place].segment
            end = max(last.end, segment.end)
            joined = Segment(last.recording, last.start, end)
            merged[place] = Turn(joined, merge[0])
            continue
        latest[segment.recording] = len(merged)
        merged.append(Turn(segment, merge[0]))
    return merged


def _check_speakers(
    owner: str, name: str, asked: Iterable[str], turns: Sequence[Turn]
) -> list[str]:
    """Return the speakers of turns, sorted, if all of `asked` are among them."""
    speakers = sorted({turn.speaker for turn in turns})
    for speaker in asked:
        if speaker not in speakers:
            listed = ", ".join(map(repr, speakers[:_MOST_LISTED]))
            more = ", ..." if len(speakers) > _MOST_LISTED else ""
            raise InvalidParameterError(
                f"{owner}: {name} must name speakers of the turns, got {speaker!r}; "
                f"the speakers are {listed}{more}"
            )
    return speakers


def name_in_recording(recording: str, name: str) -> str:
    """Name of a speaker among speakers of other recordings, with one prefix at most."""
    begins = name == recording or name.startswith(f"{recording}-")
    return name if begins else f"{recording}-{name}"
