"""Transcripts of simulated conversations, as a speech recogniser would write them.

Turns come from `sms_diar.synthetic`, and words of realistic length fill them. Of
overlapped speech the recogniser writes one of the speakers, or both mixed; it neither
knows the speakers nor ends its phrases where they change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sms_diar.synthetic.conversation import Passage, TurnTaking, plan_conversation
from sms_diar.timeline.transcript import Phrase, Word, words_of_text
from sms_diar.types import Segment, Turn

RECORDING = "conversation"
SECONDS = 600
END_WRITTEN = 0.85  # ends of sentences that get a full stop
CUT_WRITTEN = 0.5  # the same where another speaker's words begin inside a sentence
END_INVENTED = 0.02  # full stops after other words
SHARED = 0.6  # s.d. of the time error that a phrase shares, as a part of all


@dataclass(frozen=True)
class Spoken:
    """A word that was spoken, and whether it is the last one of a sentence."""

    start: float
    end: float
    speaker: str
    ends_sentence: bool


@dataclass(frozen=True)
class Condition:
    """Properties of the transcript and of the turns; times in seconds."""

    overlap: float = 0.0
    jitter: float = 0.0
    turn_errors: bool = False
    punctuation: bool = True
    word_times: bool = True
    mixed: bool = False  # words of both speakers are written in overlap


OVERLAPS = (0.0, 0.1, 0.25)
JITTERS = (0.0, 0.05, 0.1, 0.2)
MAIN = [Condition(overlap, jitter) for overlap in OVERLAPS for jitter in JITTERS]
ERRORS = [replace(condition, turn_errors=True) for condition in MAIN]
OTHERS = {
    "no punctuation": [Condition(o, 0.1, punctuation=False) for o in OVERLAPS],
    "no times of words": [Condition(o, 0.1, word_times=False) for o in OVERLAPS],
    "words of both in overlap": [Condition(o, 0.1, mixed=True) for o in OVERLAPS[1:]],
}


@dataclass(frozen=True)
class Simulated:
    """Phrases of a recogniser, the true speaker of each word, and given turns."""

    phrases: list[Phrase]
    speakers: list[str]
    turns: list[Turn]


def simulate(condition: Condition, seed: int) -> Simulated:
    """Draw a conversation; the speech depends on seed and overlap only."""
    speech, writing, errors = np.random.default_rng(seed).spawn(3)
    names = [f"speaker-{index}" for index in range(int(speech.integers(2, 5)))]
    passages = {
        name: [Passage(f"{name}-{i}", name, 0, 60_000) for i in range(20)]
        for name in names
    }
    style = TurnTaking(
        turn_mean=3.0, turn_min=0.3, pause_mean=0.4, overlap=condition.overlap
    )
    plan = plan_conversation(
        passages,
        style,
        recording=RECORDING,
        length=SECONDS * 1000,
        grain_ms=1,
        rng=speech,
    )
    turns = list(plan.turns)
    spoken = [word for turn in turns for word in _words_of(turn, speech)]
    if not condition.mixed:
        spoken = _without_losers(spoken, turns, writing)
    spoken.sort(key=lambda word: word.start)
    phrases = _phrases(spoken, condition, writing)
    if condition.turn_errors:
        turns = _damaged(turns, errors)
    return Simulated(phrases, [word.speaker for word in spoken], turns)


def _words_of(turn: Turn, rng: np.random.Generator) -> list[Spoken]:
    """Fill a turn with words of 0.1 to 0.5 s, in sentences of 8 words on average."""
    times, ends, at = [], [], 0.0
    while not times or at < turn.segment.duration:
        length = float(np.clip(rng.lognormal(np.log(0.23), 0.4), 0.1, 0.5))
        times.append((at, at + length))
        ends.append(bool(rng.random() < 1 / 8))
        at += length
        if ends[-1]:
            at += rng.exponential(0.3)
        elif rng.random() < 0.2:
            at += rng.exponential(0.15)
    ends[-1] = True
    scale = turn.segment.duration / times[-1][1]
    return [
        Spoken(
            turn.segment.start + scale * start,
            turn.segment.start + scale * end,
            turn.speaker,
            is_last,
        )
        for (start, end), is_last in zip(times, ends, strict=True)
    ]


def _without_losers(
    spoken: Sequence[Spoken], turns: Sequence[Turn], rng: np.random.Generator
) -> list[Spoken]:
    """Drop the words of one of two speakers in each overlap."""
    dropped = set()
    for index, turn in enumerate(turns):
        for other in turns[index + 1 :]:
            if other.segment.start >= turn.segment.end:
                break
            begin = other.segment.start
            end = min(turn.segment.end, other.segment.end)
            loser = (turn, other)[rng.integers(2)].speaker
            dropped |= {
                word
                for word in spoken
                if word.speaker == loser and begin < (word.start + word.end) / 2 < end
            }
    return [word for word in spoken if word not in dropped]


def _phrases(
    spoken: Sequence[Spoken], condition: Condition, rng: np.random.Generator
) -> list[Phrase]:
    groups: list[list[tuple[str, Spoken]]] = [[]]
    for word, following in zip(spoken, [*spoken[1:], None], strict=True):
        is_cut = following is None or following.speaker != word.speaker
        chance = CUT_WRITTEN if is_cut else END_INVENTED
        stop = rng.random() < (END_WRITTEN if word.ends_sentence else chance)
        text = "word" + "." * (stop and condition.punctuation)
        groups[-1].append((text, word))
        pause = 0.0 if following is None else following.start - word.end
        length = word.end - groups[-1][0][1].start
        if rng.random() < 0.7 * (pause > 0.3) + 0.25 * stop or length > 12:
            groups.append([])
    groups = [group for group in groups if group]
    shifts = np.concatenate(
        [
            condition.jitter
            * (SHARED * rng.normal() + np.sqrt(1 - SHARED**2) * rng.normal(size=len(g)))
            for g in groups
        ]
    )
    start = np.array([word.start for word in spoken]) + shifts
    start = np.maximum.accumulate(np.maximum(start, 0.0))
    end = start + np.array([word.end - word.start for word in spoken])
    if condition.jitter:  # a recogniser writes one word at a time
        end[:-1] = np.minimum(end[:-1], start[1:])
    phrases, first = [], 0
    for group in groups:
        last = first + len(group)
        words = tuple(
            Word(text, float(begin), float(finish))
            for (text, _), begin, finish in zip(
                group, start[first:last], end[first:last], strict=True
            )
        )
        extent = words[0].start, max(word.end for word in words)
        if not condition.word_times:
            words = words_of_text(" ".join(word.text for word in words), *extent)
        phrases.append(Phrase(RECORDING, *extent, words=words))
        first = last
    return phrases


def _damaged(turns: Sequence[Turn], rng: np.random.Generator) -> list[Turn]:
    """Move boundaries by 100 to 200 ms, and miss half of the turns below 0.6 s."""
    damaged = []
    for turn in turns:
        shift = rng.uniform(0.1, 0.2, 2) * rng.choice([-1, 1], 2)
        start = max(turn.segment.start + shift[0], 0.0)
        end = turn.segment.end + shift[1]
        is_missed = turn.segment.duration < 0.6 and rng.random() < 0.5
        if not is_missed and end > start:
            damaged.append(
                replace(turn, segment=Segment(RECORDING, float(start), float(end)))
            )
    return damaged
