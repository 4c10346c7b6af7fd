"""Speaker names across recordings: enrolled voices and linked speakers.

The speakers of each recording are first compared with the enrolled voices; each name is
assigned at most once per recording. Then, if linking is requested, speakers of
different recordings with matching voices are linked. Speakers with the same enrolled
name are always linked; speakers with different names, or of the same recording, never.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import expit, logit

from sms_diar.clustering.agglomerate import constrained_groups
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.identify import prints
from sms_diar.pipeline.identify.enrol import Enrolment
from sms_diar.scoring.same_voice import VoiceComparison, open_set_posteriors
from sms_diar.timeline.naming import name_in_recording, name_speakers
from sms_diar.types import AnyArray, FloatArray, IntArray

_NOBODY = -1
_WORTH = 10.0  # pseudo-count of the prior, in pairs of speaker and recording
_ROUNDS = 50  # iterations of expectation maximisation
_SUREST = 30.0  # maximum log-likelihood ratio


def match_voices(
    speakers: Sequence[prints.VoicePrint],
    known: Sequence[prints.VoicePrint],
    comparison: VoiceComparison,
    *,
    threshold: float = 0.5,
) -> list[tuple[str | None, tuple[prints.VoiceMatch, ...]]]:
    """Match enrolled voices with the speakers of one recording.

    Return the name of each speaker, or None, and all comparisons. Speakers are
    different people, and so are the enrolled voices.

    The first step is the most probable assignment in which each name and each speaker
    is used at most once. The probability of a name is then computed for an open set:
    the prior of an unknown speaker is one half, and the enrolled voices share the other
    half, except for voices that are assigned to other speakers of the recording. A name
    needs at least the probability `threshold`.
    """
    scores, ratios = prints.compare_prints(speakers, known, comparison)
    chosen = _assignment(ratios)
    found = []
    for row, column in enumerate(chosen.tolist()):
        free = ~np.isin(np.arange(len(known)), np.delete(chosen, row))
        posteriors = open_set_posteriors(ratios[row], prior=prints.PRIOR, free=free)
        matches = tuple(
            prints.VoiceMatch(voice.speaker, *map(float, figures))
            for voice, *figures in zip(
                known, scores[row], ratios[row], posteriors, strict=True
            )
        )
        is_named = column != _NOBODY and posteriors[column] >= threshold
        found.append((known[column].speaker if is_named else None, matches))
    return found


def _assignment(ratios: FloatArray) -> IntArray:
    """Return the most probable enrolled voice of each speaker, or `_NOBODY`."""
    n, m = ratios.shape
    # Odds relative to an unknown speaker; one zero column per speaker for these.
    odds = ratios + np.log(prints.PRIOR / max(m, 1) / (1.0 - prints.PRIOR))
    rows, columns = linear_sum_assignment(
        np.hstack((odds, np.zeros((n, n)))), maximize=True
    )
    chosen = np.full(n, _NOBODY, dtype=np.int64)
    chosen[rows] = np.where(columns < m, columns, _NOBODY)
    return chosen


@dataclass(frozen=True)
class _Met:
    """A speaker of a recording, in order of appearance."""

    recording: int
    identity: prints.Identity
    voice: prints.VoicePrint | None


def identify(
    recordings: Sequence[DiarizedRecording],
    comparison: VoiceComparison,
    enrolment: Enrolment | None = None,
    rules: prints.NamingRules | None = None,
) -> tuple[list[DiarizedRecording], prints.Naming]:
    """Assign speaker names that are consistent across recordings.

    Return the recordings with new names and the evidence for them, and the rules with
    notes: assigned names, voices without a match, and the number of people in several
    recordings. Speakers are numbered in the order of `recordings`.
    """
    chosen, voices = rules or prints.NamingRules(), (enrolment or Enrolment()).voices
    met = [
        speaker
        for number, recording in enumerate(recordings)
        for speaker in _recognised(recording, number, voices, comparison, chosen)
    ]
    notes = [comparison.note] if comparison.note else []
    if enrolment is not None:
        notes += enrolment.notes
    if voices:
        notes += _enrolment_notes(recordings, met, voices, chosen)
    if chosen.link:
        met = _linked(met, comparison, chosen, {voice.speaker for voice in voices})
        notes += _link_notes(recordings, met)
    named = [
        _renamed(
            recording,
            [speaker.identity for speaker in met if speaker.recording == number],
        )
        for number, recording in enumerate(recordings)
    ]
    return named, prints.Naming(chosen, voices, tuple(notes))


def _recognised(
    recording: DiarizedRecording,
    number: int,
    known: Sequence[prints.VoicePrint],
    comparison: VoiceComparison,
    rules: prints.NamingRules,
) -> list[_Met]:
    """Assign enrolled names to the speakers of a recording.

    A speaker whose own name is also the name of an enrolled voice gets the recording's
    name in front of it.
    """
    taken = {voice.speaker for voice in known}
    voices = {voice.speaker: voice for voice in recording.voices}
    found = match_voices(
        recording.voices, known, comparison, threshold=rules.enrol_threshold
    )
    matched = dict(zip(voices, found, strict=True))
    met = []
    for local in dict.fromkeys(turn.speaker for turn in recording.turns):
        name, matches = matched.get(local, (None, ()))
        by = None if name is None else prints.BY_VOICE
        local_name = (
            name_in_recording(recording.recording, local) if local in taken else local
        )
        identity = prints.Identity(name or local_name, local, by, None, matches)
        met.append(_Met(number, identity, voices.get(local)))
    return met


def _linked(
    met: Sequence[_Met],
    comparison: VoiceComparison,
    rules: prints.NamingRules,
    taken: Collection[str],
) -> list[_Met]:
    """Link speakers and give them the same name in all recordings."""
    heard = [number for number, speaker in enumerate(met) if speaker.voice is not None]
    names = [
        met[number].identity.speaker if met[number].identity.named_by else None
        for number in heard
    ]
    people, chances = link_voices(
        [voice for speaker in met if (voice := speaker.voice) is not None],
        [met[number].recording for number in heard],
        comparison,
        names=names,
        threshold=rules.link_threshold,
    )
    named = {
        person: name
        for person, name in zip(people.tolist(), names, strict=True)
        if name is not None
    }
    person_of = dict(zip(heard, people.tolist(), strict=True))
    chance_of = dict(zip(heard, chances, strict=True))
    # Speakers without a voice print get negative numbers.
    persons = [person_of.get(number, -1 - number) for number in range(len(met))]
    unknown = [person for person in persons if person not in named]
    fresh = dict(zip(unknown, name_speakers(unknown, taken=taken), strict=True))
    linked = []
    for number, (person, speaker) in enumerate(zip(persons, met, strict=True)):
        by = speaker.identity.named_by
        name = fresh.get(person) or named[person]
        if person in named:
            by = by or prints.BY_LINK
        identity = replace(
            speaker.identity, speaker=name, named_by=by, linked=chance_of.get(number)
        )
        linked.append(replace(speaker, identity=identity))
    return linked


def _renamed(
    recording: DiarizedRecording, identities: Sequence[prints.Identity]
) -> DiarizedRecording:
    names = {identity.local: identity.speaker for identity in identities}
    return replace(recording.renamed(names), identities=tuple(identities))


def _enrolment_notes(
    recordings: Sequence[DiarizedRecording],
    met: Sequence[_Met],
    known: Sequence[prints.VoicePrint],
    rules: prints.NamingRules,
) -> list[str]:
    """Describe the matches of each enrolled name, and ambiguous speakers."""
    notes = []
    for voice in known:
        places, best = [], 0.0
        for speaker in met:
            for match in speaker.identity.matches:
                if match.name != voice.speaker:
                    continue
                best = max(best, match.probability)
                if speaker.identity.speaker == match.name and speaker.identity.named_by:
                    recording = recordings[speaker.recording].recording
                    places.append(f"{recording} ({match.probability:.0%})")
        if places:
            notes.append(f"enrol {voice.speaker}: found in {', '.join(places)}")
        else:
            notes.append(
                f"enrol {voice.speaker}: no match (best candidate {best:.0%}, "
                f"threshold {rules.enrol_threshold:.0%})"
            )
    for speaker in met:
        identity = speaker.identity
        # A probability of zero: the name was assigned to a better match.
        second = [m for m in identity.matches if m.log_ratio > 0.0 == m.probability]
        notes += [
            f"{recordings[speaker.recording].recording}: {identity.local} sounds like "
            f"{match.name}, but another speaker has this name"
            for match in second
            if not identity.named_by
        ]
    return notes


def _link_notes(
    recordings: Sequence[DiarizedRecording], met: Sequence[_Met]
) -> list[str]:
    places: dict[str, int] = {}
    for speaker in met:
        places[speaker.identity.speaker] = places.get(speaker.identity.speaker, 0) + 1
    recur = sum(number > 1 for number in places.values())
    notes = [
        f"link: {len(met)} speakers of {len(recordings)} recordings are {len(places)} "
        f"people, {recur} of them in several recordings"
    ]
    notes += [
        f"{recordings[speaker.recording].recording}: {speaker.identity.local} has too "
        f"little non-overlapped speech to be linked; it is {speaker.identity.speaker}"
        for speaker in met
        if speaker.voice is None
    ]
    return notes


def link_voices(
    voices: Sequence[prints.VoicePrint],
    recordings: Sequence[int],
    comparison: VoiceComparison,
    *,
    names: Sequence[str | None] | None = None,
    threshold: float = 0.5,
) -> tuple[IntArray, list[float | None]]:
    """Group the speakers of all recordings that are the same person.

    `recordings` has the recording of each speaker; speakers of one recording are never
    grouped. Speakers with equal `names` are one person, and speakers with different
    names are not. Groups are merged while the probability of the mean log odds of their
    pairs is above `threshold`.

    Return the group of each speaker, shape (n,), numbered from 0 by their first
    speakers, and the probability that a speaker is the same person as the rest of the
    group, None for groups of one speaker.
    """
    if not voices:
        return np.zeros(0, dtype=np.int64), []
    recording_of = np.asarray(recordings)
    codes = _codes(names if names is not None else [None] * len(voices))
    has_name = codes >= 0
    apart = recording_of[:, None] == recording_of
    apart |= has_name[:, None] & has_name & (codes[:, None] != codes)
    odds = _log_odds(voices, recording_of, comparison)
    people = constrained_groups(
        odds, apart, threshold=float(logit(threshold)), together=codes
    )
    same = people[:, None] == people
    np.fill_diagonal(same, val=False)
    chances = [
        float(expit(odds[one, own].mean())) if own.any() else None
        for one, own in enumerate(same)
    ]
    return people, chances


def _log_odds(
    voices: Sequence[prints.VoicePrint],
    recordings: AnyArray,
    comparison: VoiceComparison,
) -> FloatArray:
    """Return the log odds that two speakers are one person, shape (n, n)."""
    _, one_way = prints.compare_prints(voices, voices, comparison)
    ratios = (one_way + one_way.T) / 2.0  # exactly symmetric
    # A priori, each speaker of the other recording is equally likely.
    company = np.bincount(recordings)[recordings].astype(np.float64)
    prior = recurrence(ratios, recordings) / np.maximum(company[:, None], company)
    odds: FloatArray = ratios + logit(prior)
    return odds


def recurrence(ratios: FloatArray, recordings: AnyArray) -> float:
    """Estimate the probability that a speaker also speaks in another recording.

    `ratios` are the log-likelihood ratios of all pairs of speakers, shape (n, n), and
    `recordings` the recording of each speaker, shape (n,). The result is the maximum a
    posteriori estimate by expectation maximisation. The prior `PRIOR` has the
    pseudo-count `_WORTH`, so it dominates for two recordings and has little weight for
    many.
    """
    n_recordings = int(recordings.max()) + 1
    member = np.zeros((len(recordings), n_recordings))
    member[np.arange(len(recordings)), recordings] = 1.0
    # Mean likelihood ratio of each speaker over the speakers of each recording.
    sizes = member.sum(axis=0)
    likely = np.exp(np.minimum(ratios, _SUREST)) @ member / np.maximum(sizes, 1.0)
    looked_for = likely[(member == 0.0) & (sizes > 0.0)]
    share = prints.PRIOR
    for _ in range(_ROUNDS):
        present = share * looked_for / (share * looked_for + 1.0 - share)
        share = (prints.PRIOR * _WORTH + present.sum()) / (_WORTH + len(present))
    return float(share)


def _codes(names: Sequence[str | None]) -> IntArray:
    numbers = {name: n for n, name in enumerate(dict.fromkeys(names)) if name}
    return np.array([numbers.get(name or "", -1) for name in names], dtype=np.int64)
