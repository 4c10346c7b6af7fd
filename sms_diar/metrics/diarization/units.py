"""Units of scoring: recordings, or channels of recordings.

A convention that matches channels by name scores each channel separately. Other
conventions ignore channels.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sms_diar.metrics.diarization.conventions import Convention
from sms_diar.metrics.diarization.sweep import EMPTY
from sms_diar.timeline.annotation import Annotation
from sms_diar.timeline.ticks import distinct
from sms_diar.types import BoolArray, IntArray

Key: TypeAlias = tuple[str, str]
"""Recording and channel of a unit; the channel is "" if channels are ignored."""


@dataclass(frozen=True, eq=False)
class UnitTurns:
    """Turns of one side with their units, in ticks of the recordings.

    `speaker` indexes `names`; all arrays have shape (n_turns,).
    """

    unit: IntArray
    speaker: IntArray
    start: IntArray
    end: IntArray
    names: tuple[str, ...]

    def select(self, keep: BoolArray) -> UnitTurns:
        """Select turns by a mask."""
        return UnitTurns(
            self.unit[keep],
            self.speaker[keep],
            self.start[keep],
            self.end[keep],
            self.names,
        )


@dataclass(frozen=True)
class Units:
    """Units to score, and the units that occur on each side.

    `keys` are sorted. `in_reference` and `in_hypothesis` are the units of each side by
    their codes in its annotation, including units that are not scored. `by_channel` is
    True if each channel is a unit.
    """

    keys: tuple[Key, ...]
    in_reference: Mapping[int, Key]
    in_hypothesis: Mapping[int, Key]
    by_channel: bool

    @classmethod
    def of(
        cls,
        reference: Annotation,
        hypothesis: Annotation,
        given: Collection[Key] | None,
        convention: Convention,
    ) -> Units:
        """Find the units of two annotations; `given` are the units of a UEM."""
        by_channel = convention.by_channel
        in_ref = _keys_of(reference, by_channel=by_channel)
        in_hyp = _keys_of(hypothesis, by_channel=by_channel)
        if convention.without_region == "left out" and given is not None:
            chosen = set(given)
        elif convention.hypothesis_only == "left out":
            chosen = set(in_ref.values())
        else:
            chosen = {*in_ref.values(), *in_hyp.values()}
        return cls(tuple(sorted(chosen)), in_ref, in_hyp, by_channel)

    @property
    def names(self) -> tuple[str, ...]:
        """Recording of each unit."""
        return tuple(recording for recording, _ in self.keys)

    def reference_turns(self, reference: Annotation) -> UnitTurns:
        """Turns of the reference that belong to a unit."""
        return self._turns(reference, self.in_reference)

    def hypothesis_turns(self, hypothesis: Annotation) -> UnitTurns:
        """Turns of the hypothesis that belong to a unit."""
        return self._turns(hypothesis, self.in_hypothesis)

    def _turns(self, annotation: Annotation, key_of: Mapping[int, Key]) -> UnitTurns:
        index = {key: unit for unit, key in enumerate(self.keys)}
        codes, n_codes = _codes_of(annotation, by_channel=self.by_channel)
        table = np.full(n_codes, -1, dtype=np.int64)
        for code, key in key_of.items():
            table[code] = index.get(key, -1)
        unit = table[codes] if n_codes else EMPTY
        turns = UnitTurns(
            unit,
            annotation.speaker,
            annotation.start,
            annotation.end,
            annotation.speakers,
        )
        return turns.select(unit >= 0)


def _codes_of(annotation: Annotation, *, by_channel: bool) -> tuple[IntArray, int]:
    """Code of each turn's recording (and channel), and the number of codes."""
    if not by_channel:
        return annotation.recording, len(annotation.recordings)
    n = max(len(annotation.channels), 1)
    codes = annotation.recording * n + annotation.channel
    return codes, len(annotation.recordings) * n


def _keys_of(annotation: Annotation, *, by_channel: bool) -> dict[int, Key]:
    """Unit of each code that occurs."""
    codes = distinct(_codes_of(annotation, by_channel=by_channel)[0])[0].tolist()
    if not by_channel:
        return {code: (annotation.recordings[code], "") for code in codes}
    n = max(len(annotation.channels), 1)
    return {
        code: (annotation.recordings[code // n], annotation.channels[code % n].lower())
        for code in codes
    }
