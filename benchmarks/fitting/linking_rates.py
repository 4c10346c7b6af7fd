"""Error rates of linking and enrolment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from benchmarks.fitting.linking_pairs import true_speakers
from sms_diar.metrics.diarization.evaluation import score_diarization
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.types import Turn


def link_rates(
    recordings: Sequence[DiarizedRecording], reference: Sequence[Turn]
) -> dict[str, float]:
    """Compute precision and recall of linked pairs, and DER over all recordings.

    Pairs are speakers of different recordings. The true person of a speaker is
    who says most of what it says, so errors within recordings count only in the DER,
    where all recordings share one mapping of names ("der"; "der_alone" is that of each
    recording with a mapping of its own).
    """
    met = [
        (number, name, person)
        for number, recording in enumerate(recordings)
        for name, person in true_speakers(recording, reference).items()
    ]
    linked = right = true = 0
    for one, other in combinations(met, 2):
        if one[0] == other[0]:
            continue
        same = one[2] == other[2]
        true += same
        linked += one[1] == other[1]
        right += same and one[1] == other[1]
    found = [turn for recording in recordings for turn in recording.turns]
    alone = score_diarization(reference, found, collar=0.25).overall["der"]
    laid = _laid_out(recordings)
    joint = score_diarization(
        _shifted(reference, laid), _shifted(found, laid), collar=0.25
    ).overall["der"]
    return {
        "pairs": float(true),
        "precision": right / linked if linked else 1.0,
        "recall": right / true if true else 1.0,
        "der": float(joint or 0.0),
        "der_alone": float(alone or 0.0),
        "people": float(len({turn.speaker for turn in found})),
    }


def name_rates(
    recordings: Sequence[DiarizedRecording],
    reference: Sequence[Turn],
    enrolled: Sequence[str],
) -> dict[str, float]:
    """Compute the shares of speakers with right, wrong and no names.

    Of those whose person is enrolled: "rejected" have no name, "confused" have that of
    somebody else. Of those whose person is not: "accepted" have a name.
    """
    known = unknown = rejected = confused = accepted = 0
    for recording in recordings:
        true = true_speakers(recording, reference)
        for one in recording.identities:
            if one.speaker not in true:
                continue
            person = true[one.speaker]
            named = one.named_by is not None
            if person in enrolled:
                known += 1
                rejected += not named
                confused += named and one.speaker != person
            else:
                unknown += 1
                accepted += named
    return {
        "known": float(known),
        "rejected": rejected / max(known, 1),
        "confused": confused / max(known, 1),
        "unknown": float(unknown),
        "accepted": accepted / max(unknown, 1),
    }


def _laid_out(recordings: Sequence[DiarizedRecording]) -> dict[str, float]:
    """Return the start of each recording in their concatenation."""
    starts, at = {}, 0.0
    for recording in recordings:
        starts[recording.recording] = at
        at += recording.duration + 1.0
    return starts


def _shifted(turns: Sequence[Turn], starts: Mapping[str, float]) -> list[Turn]:
    found = []
    for turn in turns:
        at, one = starts[turn.segment.recording], turn.segment
        moved = replace(one, recording="all", start=one.start + at, end=one.end + at)
        found.append(replace(turn, segment=moved))
    return found
