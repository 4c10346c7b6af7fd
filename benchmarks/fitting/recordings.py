"""Simulated recordings and AMI clips: their windows, and constants of the turns.

Recordings are diarized once. `scripts/fit-merging` uses their windows as sessions.
`scripts/constants --recordings` keeps the output of the networks and the clusters, and
makes the turns with every constant of ``pipeline/diarize/voices.py`` halved and
doubled.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import sms_diar
from benchmarks.compare.conversations import speaker_of
from benchmarks.fitting.constants import documented_names
from benchmarks.fitting.merging import Session, changed
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.metrics.diarization.evaluation import score_diarization
from sms_diar.pipeline.diarize import neural, voices
from sms_diar.report.tables import Table
from sms_diar.timeline.turns import MAX_GAP, MIN_TURN, tidy_turns
from sms_diar.types import Turn

CORPORA = ("arabic8k", "libri-testother10-8k")
CLIPS = "conversations"
DURATIONS = (30.0, 60.0, 120.0, 300.0)
SPEAKERS = range(1, 7)

STEPS = {
    "merging of split clusters": (voices, "ALIKE", np.inf),
    "voices of missed speakers": (voices, "MIN_SOLO_SHARE", np.inf),
}
"""Steps, and the changes that turn them off."""


@dataclass(frozen=True, eq=False)
class Clustered:
    """A recording whose windows are clustered.

    Parameters
    ----------
    group : str
        "simulated" or "AMI".
    reference : sequence of Turn
        True turns.
    arguments, options : tuple and mapping
        Arguments of `turns_of_voices`.
    """

    group: str
    reference: Sequence[Turn]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]


@dataclass
class _Sums:
    error: float = 0.0
    scored: float = 0.0
    right: int = 0
    near: int = 0


def clustered_recordings(folder: Path) -> Iterator[Clustered]:
    """Simulate recordings from the corpora in a folder, and cluster their windows.

    One half is clean. The other half is in a room with a reverberation time of 0.35 or
    0.6 s and pink noise at 20 dB. Half of them have 10 % overlap.
    """
    with tempfile.TemporaryDirectory() as top:
        for seed, (corpus, duration, n) in enumerate(_conditions()):
            room = seed % 2 == 1
            out = Path(top) / str(seed)
            sms_diar.simulate(
                folder / corpus,
                out,
                speakers=n,
                duration=duration,
                overlap=0.1 if n > 1 and seed % 4 < 2 else 0.0,
                rt60=(0.35, 0.6)[n % 2] if room else None,
                snr=20.0 if room else None,
                noise="pink" if room else "white",
                seed=seed,
            )
            yield from _clustered("simulated", out)
    yield from _clustered("AMI", folder / CLIPS)


def _conditions() -> Iterator[tuple[str, float, int]]:
    for duration in DURATIONS:
        for n in SPEAKERS:
            for corpus in CORPORA:
                yield corpus, duration, n


def _clustered(group: str, folder: Path) -> Iterator[Clustered]:
    reference: dict[str, list[Turn]] = {}
    for turn in read_rttm(folder / "ref.rttm"):
        reference.setdefault(turn.segment.recording, []).append(turn)
    with mock.patch.object(
        neural, "turns_of_voices", wraps=voices.turns_of_voices
    ) as made:
        sms_diar.diarize(str(folder), model="neural")
    for call in made.call_args_list:
        yield Clustered(group, reference[call.args[0]], call.args, call.kwargs)


def sessions_of(recordings: Sequence[Clustered]) -> Iterator[Session]:
    """Return the windows of recordings as sessions of a further extractor."""
    for number, one in enumerate(recordings):
        windows, rows = one.arguments[2:4]
        yield Session(
            f"{one.group} recording {number}",
            f"{one.group} recordings",
            f"CAM++ {one.group}",
            rows,
            np.array([speaker_of(window, one.reference) for window in windows]),
            windows,
        )


def turns_table(
    recordings: Sequence[Clustered], progress: Callable[[], None] = lambda: None
) -> Table:
    """Return the DER and numbers of speakers without each step, and with each constant.

    `progress` is called once for each of `N_CHANGES` rows.
    """
    table = [("as shipped", "", *_figures(recordings))]
    for step, change in STEPS.items():
        with changed(change):
            table.append((f"without {step}", "", *_figures(recordings)))
        progress()
    for name, value in turn_constants().items():
        for factor in (0.5, 2.0):
            new = value * factor
            with changed((voices, name, new)):
                cells = _figures(recordings)
            table.append((f"`{name}` {value:g}", f"{new:g}", *cells))
            progress()
    groups = sorted({one.group for one in recordings})
    heads = [f"{g}: {h}" for g in groups for h in ("DER", "right", "within one")]
    return Table(("constant", "changed to", *heads), tuple(table), 1)


def turn_constants() -> dict[str, float]:
    """Return the numbers of ``voices.py`` by their names."""
    names = documented_names(Path(voices.__file__).read_text(encoding="utf-8"))
    return {name: getattr(voices, name) for name in names}


N_CHANGES = len(STEPS) + 2 * len(turn_constants())


def _figures(recordings: Sequence[Clustered]) -> list[str]:
    sums: dict[str, _Sums] = {}
    for one in recordings:
        turns = tidy_turns(
            voices.turns_of_voices(*one.arguments, **one.options),
            min_turn=MIN_TURN,
            max_gap=MAX_GAP,
        )
        part = sums.setdefault(one.group, _Sums())
        scores = score_diarization(one.reference, turns, collar=0.25).overall
        scored = scores["scored"] or 0.0
        part.error += (scores["der"] or 0.0) * scored
        part.scored += scored
        off = abs(_n_speakers(turns) - _n_speakers(one.reference))
        part.right += off == 0
        part.near += off <= 1
    cells = []
    for group in sorted(sums):
        part = sums[group]
        cells += [f"{part.error / part.scored:.2%}", str(part.right), str(part.near)]
    return cells


def _n_speakers(turns: Sequence[Turn]) -> int:
    return len({turn.speaker for turn in turns})
