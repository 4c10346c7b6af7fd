"""Recordings that only one side has, or that the UEM lacks."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from sms_diar.metrics.diarization.conventions import Convention
from sms_diar.metrics.diarization.units import Key, Units
from sms_diar.timeline.annotation import Annotation
from sms_diar.types import Problem

_WITHOUT_REFERENCE = {
    "left out": "is left out",
    "rate only": "gets a DER of 1 that is not pooled",
    "false alarm": "counts as false alarm",
}
_WITHOUT_REGION = {
    "reference": "scored over the extent of its reference",
    "joint": "scored over the extent of reference and hypothesis",
    "left out": "left out",
}


def mismatch_remarks(
    units: Units,
    given: Collection[Key] | None,
    hypothesis: Annotation,
    convention: Convention,
    source: str,
) -> Iterator[Problem]:
    """Say which recordings are not everywhere, and what becomes of them.

    Parameters
    ----------
    units : Units
        What is scored apart.
    given : collection or None
        Units that the UEM has, where there is one.
    hypothesis : Annotation
        Where recordings without reference were read.
    convention : Convention
        Says what becomes of them.
    source : str
        File of the reference.
    """
    in_ref = set(units.in_reference.values())
    in_hyp = set(units.in_hypothesis.values())
    what = _WITHOUT_REFERENCE[convention.hypothesis_only]
    for key in sorted(in_hyp - in_ref):
        place = hypothesis.recordings.index(key[0])
        first = int(np.flatnonzero(hypothesis.recording == place)[0])
        yield Problem(
            f"recording {_shown(key)} is not in the reference and {what}",
            hypothesis.files[hypothesis.file[first]],
            int(hypothesis.line[first]) or None,
            severity="warning",
            kind="hypothesis only",
        )
    for key in sorted(in_ref - in_hyp):
        text = f"recording {_shown(key)} is not in the hypothesis: all is missed"
        yield Problem(text, source, severity="warning", kind="reference only")
    if given is None:
        return
    how = _WITHOUT_REGION[convention.without_region]
    scored = set(units.keys)
    for key in sorted((in_ref | in_hyp) - set(given)):
        if key in scored or convention.without_region == "left out":
            text = f"recording {_shown(key)} is not in the UEM and is {how}"
            yield Problem(text, source, severity="warning", kind="not in the UEM")


def _shown(key: Key) -> str:
    return repr(key[0]) + (f" (channel {key[1]})" if key[1] else "")
