"""Convert annotations to axes, by the rules of a convention.

Recordings that not all inputs have are reported as warnings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from sms_diar.metrics.diarization.axis import Axis, lay_out
from sms_diar.metrics.diarization.conventions import Convention, Settings
from sms_diar.metrics.diarization.scored_regions import given_regions, scored_regions
from sms_diar.metrics.diarization.sweep import merge_turns
from sms_diar.metrics.diarization.units import Key, Units, UnitTurns
from sms_diar.timeline.annotation import Annotation, turn_problems
from sms_diar.timeline.regions import Uem
from sms_diar.types import Problem

_WITHOUT_REFERENCE = {
    "left out": "is not scored",
    "rate only": "gets a DER of 1 that is not pooled",
    "false alarm": "counts as false alarm",
}
_WITHOUT_REGION = {
    "reference": "scored over the extent of its reference",
    "joint": "scored over the extent of reference and hypothesis",
    "left out": "not scored",
}


def mismatch_remarks(
    units: Units,
    given: Collection[Key] | None,
    hypothesis: Annotation,
    convention: Convention,
    source: str,
) -> Iterator[Problem]:
    """Report recordings that are not in all inputs, and how they are scored.

    `given` are the units of the UEM, None without a UEM; `source` is the file of the
    reference.
    """
    in_ref = set(units.in_reference.values())
    in_hyp = set(units.in_hypothesis.values())
    treatment = _WITHOUT_REFERENCE[convention.hypothesis_only]
    for key in sorted(in_hyp - in_ref):
        recording = hypothesis.recordings.index(key[0])
        first = int(np.flatnonzero(hypothesis.recording == recording)[0])
        yield Problem(
            f"recording {_shown(key)} is not in the reference and {treatment}",
            hypothesis.files[hypothesis.file[first]],
            int(hypothesis.line[first]) or None,
            severity="warning",
            kind="hypothesis only",
        )
    for key in sorted(in_ref - in_hyp):
        text = f"recording {_shown(key)} is not in the hypothesis and is missed"
        yield Problem(text, source, severity="warning", kind="reference only")
    if given is None:
        return
    treatment = _WITHOUT_REGION[convention.without_region]
    scored = set(units.keys)
    for key in sorted((in_ref | in_hyp) - set(given)):
        if key in scored or convention.without_region == "left out":
            text = f"recording {_shown(key)} is not in the UEM and is {treatment}"
            yield Problem(text, source, severity="warning", kind="not in the UEM")


def _shown(key: Key) -> str:
    return repr(key[0]) + (f" (channel {key[1]})" if key[1] else "")


def prepare(
    reference: Annotation, hypothesis: Annotation, uem: Uem | None, settings: Settings
) -> tuple[list[Axis], list[Problem]]:
    """Lay out all turns and regions to be scored, usually on a single axis.

    Also returns warnings that matter for the interpretation of the scores.
    """
    convention = settings.convention
    source = reference.files[0] if reference.files else "reference"
    remarks = [*reference.problems, *hypothesis.problems]
    remarks += turn_problems(reference) + turn_problems(hypothesis)
    given = None
    if uem is not None:
        given, uem_remarks = given_regions(uem, convention)
        remarks += uem_remarks
    units = Units.of(reference, hypothesis, given, convention)
    remarks += mismatch_remarks(units, given, hypothesis, convention, source)
    ref = _valid(units.reference_turns(reference), convention, is_reference=True)
    hyp = _valid(units.hypothesis_turns(hypothesis), convention, is_reference=False)
    regions = scored_regions(units, given, ref, hyp, convention)
    axes = lay_out(units.names, ref, hyp, regions, settings)
    if convention.merging == "overlapping" and settings.collar:
        remarks += _touching_remarks(axes, source)
    return axes, remarks


def _valid(
    turns: UnitTurns, convention: Convention, *, is_reference: bool
) -> UnitTurns:
    """Drop turns that the convention ignores."""
    if convention.zero_turns and is_reference:
        return turns.select(turns.end >= turns.start)
    return turns.select(turns.end - turns.start > convention.shortest)


def _touching_remarks(axes: Sequence[Axis], source: str) -> list[Problem]:
    """Report touching turns, which dscore joins or not depending on rounding."""
    count = 0
    for axis in axes:
        joined = merge_turns(axis.reference, touching=True)
        count += len(axis.reference.start) - len(joined.start)
    if not count:
        return []
    text = (
        f"turns of one speaker touch in {count} places and keep their collars; dscore "
        f"joins some of them, depending on rounding of floats"
    )
    return [Problem(text, source, severity="warning", kind="touching turns")]
