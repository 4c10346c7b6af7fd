"""Conditions whose rows are windows in time: conversations, cuts, repeats, splices.

Like other conditions they are plain values, and their sessions follow from the seed,
the condition and the number of the run. Sessions of conversations are recordings, so
how many there are is known once the source is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.conversations import (
    STEP,
    Conversation,
    load_conversations,
)
from benchmarks.compare.lengths import cut, repeat, splice, voices_of
from sms_diar._random import named_generator
from sms_diar._validation import check_choice, check_count

CONVERSATIONS = "conversations"
SIMULATED, CLIPS = "simulated conversations", "AMI clips"
MEETINGS = "meetings-resnet152"
CLIP_SECONDS = 30.0
TIMED_LAWS = ("whole", "quarter", "cut", "repeat", "splice")

_MEAN_WINDOWS = 180  # of a whole conversation, about


@dataclass(frozen=True)
class TimedSettings:
    """Windows in time: conversations, cuts of them, and spliced recordings.

    Parameters
    ----------
    stand_in : int
        Simulated conversations per number of speakers that replace the corpus; 0: use
        the corpus.
    cuts : tuple of float
        Lengths of cuts of conversations, in seconds.
    crowded : float
        Seconds; cuts of at least this length come from any conversation.
    most : int
        Maximum number of speakers of a conversation with shorter cuts: in half a
        minute, more speakers would say almost nothing.
    runs_cuts : int
        Cuts of each recording.
    repeated : float
        Length of the cut that is repeated, in seconds; one of `cuts`, or 0 for none.
    repeats : int
        Number of repetitions of that cut.
    minutes : tuple of float
        Lengths of spliced recordings, in minutes of speech.
    speakers : tuple of int
        Numbers of speakers of spliced recordings.
    runs : int
        Spliced recordings of each kind.
    longest : float
        Minutes; of recordings at least this long there is only one of each kind.
    """

    stand_in: int
    cuts: tuple[float, ...]
    crowded: float
    most: int
    runs_cuts: int
    repeated: float
    repeats: int
    minutes: tuple[float, ...]
    speakers: tuple[int, ...]
    runs: int
    longest: float


@dataclass(frozen=True)
class TimedCondition:
    """One row of a table of windows in time.

    Parameters
    ----------
    name : str
        Unique.
    group : str
        Rows that are averaged together.
    source : str
        Name of the prepared source.
    part : str
        Section of the report: "windows" or "lengths".
    law : str
        "whole": a recording; "quarter": each quarter of its windows, one in each of 4
        runs; "cut": `seconds` of it; "repeat": the same cut `times` times;
        "splice": `seconds` of speech of drawn speakers.
    seconds : float
        Length; of whole recordings, which may begin and end in silence, the least.
    speakers : int, default=0
        Number of speakers of a spliced recording.
    times : int, default=1
        Number of repetitions of a cut.
    runs : int, default=1
        Sessions, for each recording if there are some.
    doubles : str, default=""
        Condition of which each session is repeated.
    most : int, default=0
        Speakers of a recording at most; 0 for any number.
    """

    name: str
    group: str
    source: str
    part: str
    law: str
    seconds: float
    speakers: int = 0
    times: int = 1
    runs: int = 1
    doubles: str = ""
    most: int = 0

    def __post_init__(self) -> None:
        check_choice("TimedCondition", "law", self.law, TIMED_LAWS)
        check_count("TimedCondition", "runs", self.runs)

    @property
    def expected_segments(self) -> int:
        """Windows of a session, about."""
        if self.law in ("whole", "quarter"):
            return _MEAN_WINDOWS
        return round(self.times * self.seconds / STEP)

    def recordings(self, source: Mapping[str, Any]) -> list[str]:
        """Recordings of a source that can be taken; none for splices."""
        if self.law == "splice":
            return []
        least = self.seconds if self.law in ("cut", "repeat") else 0.0
        return [
            name
            for name, one in source["recordings"].items()
            if one["seconds"] >= least
            and (one["speakers"] <= self.most or not self.most)
        ]

    def sessions(self, source: Mapping[str, Any]) -> list[tuple[str, int]]:
        """Recording and number of each session."""
        names = [""] if self.law == "splice" else self.recordings(source)
        return [(name, run) for run in range(self.runs) for name in names]


def draw_timed(
    condition: TimedCondition,
    source: Mapping[str, Any],
    recording: str,
    run: int,
    seed: int,
) -> Conversation:
    """Draw one session.

    Parameters
    ----------
    condition : TimedCondition
        Description of the condition.
    source : mapping
        Its entry of the catalogue.
    recording : str
        Name of the recording; empty for splices.
    run, seed : int
        Number of the session.
    """
    found = load_conversations(source)
    if condition.law == "splice":
        rng = named_generator(seed, "compare", condition.name, run)
        windows = round(condition.seconds / STEP)
        return splice(voices_of(found.values()), condition.speakers, windows, rng)
    conversation = found[recording]
    if condition.law == "whole":
        return conversation
    if condition.law == "quarter":
        n = len(conversation.X) // 4
        return conversation.take(np.arange(run * n, (run + 1) * n))
    # Not by the name of the condition: what is repeated is what was cut.
    rng = named_generator(
        seed, "compare", "cut", recording, str(condition.seconds), run
    )
    shorter = cut(conversation, condition.seconds, rng)
    return shorter if condition.law == "cut" else repeat(shorter, condition.times)


def timed_sources(root: Path, settings: TimedSettings, seed: int) -> dict[str, Any]:
    """Arguments of `prepare_conversations`, by name of the source."""
    if settings.stand_in:
        # A world far from hard, in few dimensions: trials are about the way.
        world = {"dim": 16, "eer": 0.01}
        drawn = {"world": world, "each": settings.stand_in, "seed": seed}
        return {SIMULATED: ({"stand_in": drawn}, "stand-in for conversations")}
    folder = root / CONVERSATIONS
    meetings: dict[str, Any] = {}
    if (root / MEETINGS).is_dir():
        words = "ResNet152 vectors of meetings"
        meetings[MEETINGS] = ({"folder": str(root / MEETINGS)}, words)
    return meetings | {
        name: (
            {
                "windows": str(place / "campplus_windows.npz"),
                "reference": str(place / "ref.rttm"),
            },
            f"CAM++ windows of {words}",
        )
        for name, place, words in (
            (SIMULATED, folder / "simulated", "joined segments"),
            (CLIPS, folder, "AMI meetings"),
        )
    }


def window_conditions() -> list[TimedCondition]:
    """Recordings: conversations of joined segments, clips of meetings, and meetings."""
    return [
        TimedCondition(SIMULATED, SIMULATED, SIMULATED, "windows", "whole", 0.0),
        TimedCondition(CLIPS, CLIPS, CLIPS, "windows", "whole", CLIP_SECONDS),
        TimedCondition(MEETINGS, MEETINGS, MEETINGS, "windows", "whole", 0.0),
        TimedCondition(
            f"{MEETINGS}, quarters",
            MEETINGS,
            MEETINGS,
            "windows",
            "quarter",
            0.0,
            runs=4,
        ),
    ]


def length_conditions(settings: TimedSettings) -> list[TimedCondition]:
    """Cuts, a cut repeated, and spliced recordings of hours."""
    rows = [
        TimedCondition(
            f"{seconds:g} s",
            "cuts",
            SIMULATED,
            "lengths",
            "cut",
            seconds,
            runs=settings.runs_cuts,
            most=settings.most if seconds < settings.crowded else 0,
        )
        for seconds in settings.cuts
    ]
    if settings.repeats > 1 and settings.repeated:
        once = f"{settings.repeated:g} s"
        rows.append(
            TimedCondition(
                f"{once} x {settings.repeats}",
                "repeats",
                SIMULATED,
                "lengths",
                "repeat",
                settings.repeated,
                times=settings.repeats,
                doubles=once,
                most=settings.most if settings.repeated < settings.crowded else 0,
            )
        )
    return rows + [
        TimedCondition(
            f"{_long(minutes)}, {count} spk",
            f"spliced, {_long(minutes)}",
            SIMULATED,
            "lengths",
            "splice",
            60.0 * minutes,
            speakers=count,
            runs=1 if minutes >= settings.longest else settings.runs,
        )
        for minutes in settings.minutes
        for count in settings.speakers
    ]


def runnable_timed(
    conditions: Sequence[TimedCondition], catalogue: Mapping[str, Any]
) -> list[TimedCondition]:
    """Conditions whose sources exist and have recordings that long."""
    return [
        condition
        for condition in conditions
        if condition.source in catalogue
        and condition.sessions(catalogue[condition.source])
    ]


def _long(minutes: float) -> str:
    return f"{minutes / 60:g} h" if minutes >= 60 else f"{minutes:g} min"
