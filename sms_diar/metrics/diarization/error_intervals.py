"""List the errors of an evaluation with their times and speakers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from sms_diar.metrics.diarization.evaluation import Evaluation
from sms_diar.metrics.diarization.sums import Swept
from sms_diar.metrics.diarization.sweep import Entries

ErrorKind: TypeAlias = Literal["missed", "false_alarm", "confusion"]


class ErrorInterval(NamedTuple):
    """Interval of a recording with an error of one kind.

    `start` and `end` are ticks. `reference` and `hypothesis` are the speakers without a
    correct partner at that time. The time counts `n_speakers` times, once for each
    speaker in error.
    """

    recording: str
    start: int
    end: int
    kind: ErrorKind
    reference: tuple[str, ...]
    hypothesis: tuple[str, ...]
    n_speakers: int


def error_intervals(evaluation: Evaluation) -> Iterator[ErrorInterval]:
    """Yield the errors, sorted by recording and time."""
    for part in evaluation.swept:
        yield from _errors_of(part)


def _errors_of(part: Swept) -> Iterator[ErrorInterval]:
    axis, sweep = part.axis, part.sweep
    inverse = {
        int(partner): speaker
        for speaker, partner in enumerate(part.mapped.tolist())
        if partner >= 0
    }
    ref_at, hyp_at = _lists(part.reference, sweep.n), _lists(part.hypothesis, sweep.n)
    for i in np.flatnonzero(part.is_scored).tolist():
        ref, hyp = ref_at(i), hyp_at(i)
        if not ref and not hyp:
            continue
        wrong_ref = list(ref)
        wrong_hyp = []
        for speaker in hyp:
            owner = inverse.get(speaker)
            if owner is not None and owner in wrong_ref:
                wrong_ref.remove(owner)
            else:
                wrong_hyp.append(speaker)
        names = (
            tuple(axis.reference_speakers.names[s] for s in wrong_ref),
            tuple(axis.hypothesis_speakers.names[s] for s in wrong_hyp),
        )
        unit = int(sweep.unit[i])
        zero = int(axis.zeros[unit])
        start, end = int(sweep.cuts[i]) - zero, int(sweep.cuts[i + 1]) - zero
        where = (axis.units[unit], start, end)
        both = min(len(wrong_ref), len(wrong_hyp))
        counts: dict[ErrorKind, int] = {
            "confusion": both,
            "missed": len(wrong_ref) - both,
            "false_alarm": len(wrong_hyp) - both,
        }
        for kind, count in counts.items():
            if count:
                yield ErrorInterval(*where, kind, *names, count)


def _lists(entries: Entries, n: int) -> Callable[[int], list[int]]:
    """Make a function that lists the speakers of an interval, once per counted turn."""
    first = np.searchsorted(entries.interval, np.arange(n + 1))

    def at(i: int) -> list[int]:
        part = slice(int(first[i]), int(first[i + 1]))
        speakers: list[int] = np.repeat(
            entries.speaker[part], entries.times[part]
        ).tolist()
        return speakers

    return at
