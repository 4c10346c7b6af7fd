"""One session, all methods: the unit of work of ``benchmarks/compare``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.compare.conditions import Condition, draw
from benchmarks.compare.meeting import compare_meeting
from benchmarks.compare.peers import (
    Labelling,
    allowed,
    expected_seconds,
    label,
)
from benchmarks.compare.reliability import reliability_of, right_rows
from benchmarks.compare.sources import Catalogue
from benchmarks.compare.timed import TimedCondition, draw_timed
from benchmarks.compare.vectors import cosine_eer
from recipes._common.sessions import load_backend
from recipes._common.statistics import Figures
from recipes._common.threads import one_thread
from sms_diar._random import named_generator
from sms_diar.metrics import all_pairs, equal_error_rate, score_clustering
from sms_diar.types import AnyArray

SEGMENT_SECONDS = 2.4
"""Mean length of segments of the corpora, which have 2.26 to 2.48 s."""


def compare_one(*, kind: str, **arguments: Any) -> dict[str, Any]:
    """Do one task, of kind "session", "timed" or "meeting"."""
    result: dict[str, Any] = _WORK[kind](**arguments)
    return result


def session_tasks(
    conditions: Sequence[Condition],
    sources: Catalogue,
    **work: Any,
) -> dict[str, dict[str, Any]]:
    """Arguments of `compare_one`, by ``name/run``; the longest come first.

    Parameters
    ----------
    conditions : sequence of Condition
        Conditions to compare.
    sources : mapping
        The catalogue.
    **work
        Further arguments of `compare_session`, the same for all.
    """
    order = sorted(conditions, key=lambda one: -one.expected_segments)
    return {
        f"{condition.name}/{run}": {
            "kind": "session",
            "condition": asdict(condition),
            "source": sources[condition.source],
            "run": run,
            **work,
        }
        for condition in order
        for run in range(condition.runs)
    }


def timed_tasks(
    conditions: Sequence[TimedCondition],
    sources: Catalogue,
    **work: Any,
) -> dict[str, dict[str, Any]]:
    """The same for windows in time; further arguments are those of `compare_timed`."""
    order = sorted(conditions, key=lambda one: -one.expected_segments)
    return {
        f"{condition.name}/{number}": {
            "kind": "timed",
            "condition": asdict(condition),
            "source": sources[condition.source],
            "recording": recording,
            "run": run,
            **work,
        }
        for condition in order
        for number, (recording, run) in enumerate(
            condition.sessions(sources[condition.source])
        )
    }


def estimate_minutes(
    conditions: Sequence[Condition | TimedCondition],
    methods: Sequence[str],
    limited: Sequence[str],
    limit: int,
    workers: int,
    *,
    limit_pairs: int | None = None,
) -> float:
    """Minutes that all sessions take, about, on this many idle cores."""
    seconds = 0.0
    for condition in conditions:
        n = condition.expected_segments
        trained = condition.part == "trained"
        used = allowed(
            methods, n, limited, limit, limit_pairs=limit_pairs, trained=trained
        )
        seconds += condition.runs * expected_seconds(used, n)
    return seconds / 60.0 / workers


@one_thread
def compare_session(
    *,
    condition: Mapping[str, Any],
    source: Mapping[str, Any],
    run: int,
    methods: Sequence[str],
    limited: Sequence[str],
    limit: int,
    limit_pairs: int,
    seed: int,
) -> dict[str, Any]:
    """Draw one session and cluster it with every method.

    Parameters
    ----------
    condition : mapping
        Fields of `Condition`.
    source : mapping
        Its entry of the catalogue.
    run, seed : int
        Number of the session.
    methods : sequence of str
        Of `PEERS`.
    limited, limit : sequence of str and int
        Methods that are skipped above this many segments.
    limit_pairs : int
        Number of segments above which methods that store all scores are skipped.

    Returns
    -------
    figures : dict
        "session", and "methods" and "reliability" by name; methods that were left
        out, and those that do not say how sure they are, are missing.
    """
    chosen = Condition(**condition)
    session = draw(chosen, source, run, seed)
    backend = load_backend(source["backend"])
    n = len(session.X)
    used = allowed(
        methods,
        n,
        limited,
        limit,
        limit_pairs=limit_pairs,
        trained=backend is not None,
    )
    seed_of = _seeds(seed, chosen.name, run)
    found = label(used, session.X, session.speakers, backend, seed_of)
    described = {
        "n_segments": n,
        "n_speakers": chosen.speakers,
        "seconds": SEGMENT_SECONDS * n,
        "eer": 0.0,
    }
    if backend is None:
        described["eer"] = cosine_eer(session.X, session.speakers)
    elif chosen.speakers > 1:
        pairs = all_pairs(backend.score_matrix(session.X), session.speakers)
        described["eer"] = equal_error_rate(*pairs)
    return _judged(session.speakers, found, described)


@one_thread
def compare_timed(
    *,
    condition: Mapping[str, Any],
    source: Mapping[str, Any],
    recording: str,
    run: int,
    methods: Sequence[str],
    limited: Sequence[str],
    limit: int,
    limit_pairs: int,
    seed: int,
) -> dict[str, Any]:
    """Draw windows in time and cluster them with every method.

    Methods that can make use of times have them. Parameters and results are those
    of `compare_session`, the condition being a `TimedCondition`; `recording` is that
    of the session, empty where it is spliced.
    """
    chosen = TimedCondition(**condition)
    drawn = draw_timed(chosen, source, recording, run, seed)
    n = len(drawn.X)
    used = allowed(methods, n, limited, limit, limit_pairs=limit_pairs, trained=False)
    seed_of = _seeds(seed, chosen.name, recording, run)
    found = label(used, drawn.X, drawn.speakers, None, seed_of, segments=drawn.segments)
    described = {
        "recording": recording,
        "n_segments": n,
        "n_speakers": len(np.unique(drawn.speakers)),
        # Requested length; cuts end at the end of a turn.
        "seconds": max(drawn.seconds, chosen.seconds)
        if chosen.law in ("whole", "quarter")
        else chosen.times * chosen.seconds,
    }
    return _judged(drawn.speakers, found, described)


def figures_of(truth: AnyArray, found: Labelling) -> Figures:
    """K, G, share right, speakers found and how far that is off, and CPU seconds."""
    scores = score_clustering(truth, found.labels)
    true, count = len(np.unique(truth)), scores.sizes.n_clusters
    return {
        "k": scores.purity.k,
        "g": scores.majority.g,
        "right": float(right_rows(truth, found.labels).mean()),
        "found": float(count),
        "count_error": float(abs(count - true)),
        "relative_error": abs(count - true) / true,
        "exact": float(count == true),
        "seconds": found.seconds,
    }


def _judged(
    truth: AnyArray, found: Mapping[str, Labelling], described: dict[str, Any]
) -> dict[str, Any]:
    told = {name: reliability_of(truth, one) for name, one in found.items()}
    return {
        "session": described,
        "methods": {name: figures_of(truth, one) for name, one in found.items()},
        "reliability": {name: one for name, one in told.items() if one},
    }


def _seeds(seed: int, *names: str | int) -> Callable[[str], int]:
    """Seed of each method in a session."""

    def seed_of(method: str) -> int:
        rng = named_generator(seed, "compare", *names, method)
        return int(rng.integers(2**31 - 1))

    return seed_of


_WORK: Mapping[str, Callable[..., dict[str, Any]]] = {
    "session": compare_session,
    "timed": compare_timed,
    "meeting": compare_meeting,
}
