"""One meeting, all methods: who spoke when, by the error rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.peers import WINDOWED, allowed, label
from recipes._common.threads import one_thread
from sms_diar._random import named_generator
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.plda import read_plda
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.io.kaldi.transform import read_transform
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.io.turns.uem import read_uem
from sms_diar.metrics.diarization.evaluation import score_diarization
from sms_diar.scoring.backend import backend_from_transform
from sms_diar.timeline.turns import labels_to_turns
from sms_diar.types import IntArray, Segment, Turn

COLLAR = 0.25
MEETING_ROWS = (
    "meeting, times unknown",
    "meeting, times known",
    "meeting, no PLDA, times known",
)


def meeting_tasks(
    folder: Path, *, methods: Sequence[str], runs: int, seed: int
) -> dict[str, dict[str, Any]]:
    """Arguments of `compare_one` for the meeting, in all rows of its table."""
    ways = ((False, True), (True, True), (True, False))
    return {
        f"{name}/{run}": {
            "kind": "meeting",
            "folder": str(folder),
            "times": times,
            "trained": trained,
            "run": run,
            "methods": list(methods),
            "seed": seed,
        }
        for name, (times, trained) in zip(MEETING_ROWS, ways, strict=True)
        for run in range(runs)
    }


@one_thread
def compare_meeting(
    *,
    folder: str,
    times: bool,
    trained: bool,
    run: int,
    methods: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    """Cluster the windows of a meeting with every method, and score who spoke when.

    Parameters
    ----------
    folder : str
        X-vectors, segments, PLDA, transform, reference and UEM of one recording.
    times : bool
        Whether methods that can make use of it know where windows lie: sms by the
        times themselves, VBx by its authors' settings for such windows.
    trained : bool
        Whether the transform and the PLDA model are used; without them the vectors
        are raw, and methods that need a PLDA model are skipped.
    run, seed : int
        Number of the run, and random seed; both seed the stochastic methods.
    methods : sequence of str
        Of `PEERS`. The oracle chooses by G, against the speaker at the middle of a
        window.
    """
    root = Path(folder)
    embeddings = read_embeddings(root / "xvectors.ark")
    windows = read_segments(root / "segments")
    backend = None
    if trained:
        transform = read_transform(root / "transform.npz")
        plda = read_plda(root / "plda")
        backend = backend_from_transform(transform, plda, embeddings.dim)
    reference = list(read_rttm(root / "ref.rttm"))
    own = [windows[name] for name in embeddings.ids]

    def seed_of(method: str) -> int:
        rng = named_generator(seed, "compare", "meeting", run, method)
        return int(rng.integers(2**31 - 1))

    truth = np.array([_speaker_at(reference, window) for window in own])
    found = label(
        allowed(methods, len(own), (), 0, trained=trained),
        embeddings.vectors,
        truth,
        backend,
        seed_of,
        WINDOWED if times else None,
        own if times else None,
    )
    figures = {}
    for name, one in found.items():
        turns = _turns(embeddings.ids, windows, one.labels)
        figures[name] = {
            "der": _der(root, turns),
            "found": float(int(one.labels.max()) + 1),
            "seconds": one.seconds,
        }
    return {
        "session": {
            "n_segments": len(own),
            "n_speakers": len({turn.speaker for turn in reference}),
            "vbx_rttm": _der(root, list(read_rttm(root / "vbx.rttm"))),
        },
        "methods": figures,
    }


def _turns(
    ids: Sequence[str], windows: Mapping[str, Segment], labels: IntArray
) -> list[Turn]:
    names = {name: f"spk{label}" for name, label in zip(ids, labels, strict=True)}
    return list(labels_to_turns(windows, names))


def _der(root: Path, turns: Sequence[Turn]) -> float:
    """Diarization error rate; overlap is scored."""
    uem = next(iter(sorted(root.glob("*.uem"))), None)
    evaluation = score_diarization(
        list(read_rttm(root / "ref.rttm")),
        turns,
        None if uem is None else read_uem(uem),
        collar=COLLAR,
    )
    return float(evaluation.overall["der"] or 0.0)


def _speaker_at(reference: Sequence[Turn], window: Segment) -> str:
    """Return the speaker at the middle of a window, or of the nearest turn."""
    middle = (window.start + window.end) / 2.0

    def distance(turn: Turn) -> float:
        return max(turn.segment.start - middle, middle - turn.segment.end, 0.0)

    return min(reference, key=distance).speaker
