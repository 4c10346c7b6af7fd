"""Development sessions of the fit of merging weights.

They are the sessions of the comparison without a PLDA model, and cuts of a meeting with
vectors of a further extractor. Doubled, repeated and long sessions are skipped: they
have few decisions that others do not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare import sources
from benchmarks.compare.conditions import Condition, draw, fitting
from benchmarks.compare.conversations import speaker_of
from benchmarks.compare.plan import (
    prepare_tasks,
    timed_of_development,
    untrained_of_development,
)
from benchmarks.compare.settings import Config
from benchmarks.compare.timed import MEETINGS, draw_timed, runnable_timed
from benchmarks.compare.vectors import KINDS
from benchmarks.fitting.merging import Session
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.io.turns.rttm import read_rttm

GROUPS = ("untrained", "changing", "isotropic", "windows", "lengths")
"""Groups of the comparison that are drawn."""

MEETING = "x-vectors"
"""Name of the extractor of the meeting."""

CROWDS = {
    "crowd-campplus-raw": (30, 100, 200),
    "pool-campplus-raw": (38,),
    "pool-ge2e-raw": (38,),
    "arabic8k-ivectors-raw": (28,),
}
"""Sources of crowds, and their numbers of speakers."""

CROWD_LAWS = ("2", "3", "4", "zipf")
"""Numbers of segments of the speakers of a crowd; see `Condition`."""

MAX_ROWS = 1400

MANY = 15
"""Speakers from which sessions of segments are a group of their own."""


def with_drawn_sources(config: Config, catalogue: Mapping[str, Any]) -> dict[str, Any]:
    """Add sources to a catalogue that need no preparation."""
    every = dict(catalogue)
    for name, task in prepare_tasks(config, Path()).items():
        if name not in every and task["kind"] in ("conversations", "isotropic"):
            every |= sources.prepare(**task)
    return every


def development_sessions(
    config: Config, catalogue: Mapping[str, Any], runs: int
) -> Iterator[Session]:
    """Return sessions without a PLDA model of all extractors.

    Parameters
    ----------
    config : Config
        Settings of the comparison; `GROUPS` that it has are drawn.
    catalogue : mapping
        Sources, as the stage "prepare" of the comparison leaves them.
    runs : int
        Sessions of each condition of segments; all of those in time are drawn.
    """
    every = with_drawn_sources(config, catalogue)
    for session in (*_of_segments(config, every, runs), *_of_windows(config, every)):
        if len(session.X) <= MAX_ROWS:
            yield session


def meeting_sessions(
    folder: Path, strides: Sequence[int] = (3, 6)
) -> Iterator[Session]:
    """Return cuts of the meeting, whole and in halves.

    One of each number in `strides` of windows is kept, at every phase.
    """
    embeddings = read_embeddings(folder / "xvectors.ark")
    windows = read_segments(folder / "segments")
    own = [windows[name] for name in embeddings.ids]
    reference = list(read_rttm(folder / "ref.rttm"))
    speakers = np.array([speaker_of(window, reference) for window in own])
    for stride in strides:
        for phase in range(stride):
            every = np.arange(phase, len(own), stride)
            half = len(every) // 2
            for part, rows in enumerate((every, every[:half], every[half:])):
                yield Session(
                    f"meeting {stride} {phase} {part}",
                    "meeting" if stride > 1 else "meeting, all windows",
                    MEETING,
                    embeddings.vectors[rows].astype(np.float64),
                    speakers[rows],
                    [own[row] for row in rows],
                )


def crowd_sessions(
    config: Config, catalogue: Mapping[str, Any], runs: int
) -> Iterator[Session]:
    """Return sessions of many speakers, most of whom have few segments."""
    for source, numbers in CROWDS.items():
        for speakers, law in product(numbers, CROWD_LAWS):
            if source not in catalogue:
                continue
            kind = next(word for key, word in KINDS.items() if f"-{key}" in source)
            name = f"{source} {speakers} x {law}"
            condition = Condition(name, f"crowd, {kind}", source, speakers, law, runs)
            for run in range(runs):
                drawn = draw(condition, catalogue[source], run, config.seed)
                yield Session(
                    f"{name}/{run}", condition.group, kind, drawn.X, drawn.speakers
                )


def _of_segments(
    config: Config, catalogue: Mapping[str, Any], runs: int
) -> Iterator[Session]:
    speakers = {name: int(one["speakers"]) for name, one in catalogue.items()}
    for condition in fitting(untrained_of_development(config), speakers):
        if condition.part != "untrained":
            continue
        known = [word for word in KINDS.values() if word in condition.name]
        for run in range(min(condition.runs, runs)):
            drawn = draw(condition, catalogue[condition.source], run, config.seed)
            yield Session(
                f"{condition.name}/{run}",
                condition.group + (", many" if condition.speakers >= MANY else ""),
                known[0] if known else condition.group,
                drawn.X,
                drawn.speakers,
            )


def _of_windows(config: Config, catalogue: Mapping[str, Any]) -> Iterator[Session]:
    for condition in runnable_timed(timed_of_development(config), catalogue):
        if condition.doubles:
            continue
        source = catalogue[condition.source]
        extractor = "ResNet152" if condition.source == MEETINGS else KINDS["campplus"]
        for number, (recording, run) in enumerate(condition.sessions(source)):
            drawn = draw_timed(condition, source, recording, run, config.seed)
            yield Session(
                f"{condition.name}/{number}",
                condition.group,
                extractor,
                drawn.X,
                drawn.speakers,
                drawn.segments,
            )
