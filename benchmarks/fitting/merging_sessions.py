"""Development sessions for the training of the merging weights.

Drawn as the comparison draws them, and cuts of the meeting, whose vectors are those of
a fourth extractor. Doubled and repeated sessions are left out, which teach nothing that
is not in those that they repeat, and long ones, of which few pairs would be looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.conditions import draw, fitting
from benchmarks.compare.conversations import speaker_of
from benchmarks.compare.plan import (
    timed_of_development,
    untrained_of_development,
)
from benchmarks.compare.settings import Config
from benchmarks.compare.timed import draw_timed, runnable_timed
from benchmarks.compare.vectors import KINDS
from benchmarks.fitting.merging import Session
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.io.turns.rttm import read_rttm

MEETING = "meeting"
"""Name of the extractor of the meeting."""

RUNS = 3
"""Sessions of each condition of segments; all of those in time are taken."""

MOST_ROWS = 850

_CONVERSATIONS = KINDS["campplus"]  # what made the windows of conversations
_STRIDES = (3, 6)  # windows of the meeting of which one is kept


def development_sessions(
    config: Config, catalogue: Mapping[str, Any]
) -> Iterator[Session]:
    """Return sessions without a PLDA model of all extractors.

    Parameters
    ----------
    config : Config
        Settings of the comparison; the groups "untrained", "windows" and "lengths"
        that it has are drawn.
    catalogue : mapping
        Sources, as the stage "prepare" of the comparison leaves them.
    """
    for session in (*_of_segments(config, catalogue), *_of_windows(config, catalogue)):
        if len(session.X) <= MOST_ROWS:
            yield session


def meeting_sessions(folder: Path) -> Iterator[Session]:
    """Return cuts of the meeting: thinned at every phase, whole and in halves."""
    embeddings = read_embeddings(folder / "xvectors.ark")
    windows = read_segments(folder / "segments")
    own = [windows[name] for name in embeddings.ids]
    reference = list(read_rttm(folder / "ref.rttm"))
    speakers = np.array([speaker_of(window, reference) for window in own])
    for stride in _STRIDES:
        for phase in range(stride):
            every = np.arange(phase, len(own), stride)
            half = len(every) // 2
            for part, rows in enumerate((every, every[:half], every[half:])):
                yield Session(
                    f"{MEETING} {stride} {phase} {part}",
                    MEETING,
                    embeddings.vectors[rows].astype(np.float64),
                    speakers[rows],
                    [own[row] for row in rows],
                )


def _of_segments(config: Config, catalogue: Mapping[str, Any]) -> Iterator[Session]:
    speakers = {name: int(one["speakers"]) for name, one in catalogue.items()}
    for condition in fitting(untrained_of_development(config), speakers):
        if condition.part != "untrained":
            continue
        known = [word for word in KINDS.values() if word in condition.group]
        for run in range(min(condition.runs, RUNS)):
            drawn = draw(condition, catalogue[condition.source], run, config.seed)
            yield Session(
                f"{condition.name}/{run}",
                known[0] if known else condition.group,
                drawn.X,
                drawn.speakers,
            )


def _of_windows(config: Config, catalogue: Mapping[str, Any]) -> Iterator[Session]:
    for condition in runnable_timed(timed_of_development(config), catalogue):
        if condition.doubles:
            continue
        source = catalogue[condition.source]
        for number, (recording, run) in enumerate(condition.sessions(source)):
            drawn = draw_timed(condition, source, recording, run, config.seed)
            yield Session(
                f"{condition.name}/{number}",
                _CONVERSATIONS,
                drawn.X,
                drawn.speakers,
                drawn.segments,
            )
