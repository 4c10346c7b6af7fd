"""One session, all methods: the unit of work of ``recipes/compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from sms_diar._random import named_generator
from sms_diar.metrics import all_pairs, equal_error_rate, score_clustering
from sms_diar.studies._shared.sessions import load_backend
from sms_diar.studies._shared.statistics import Figures
from sms_diar.studies._shared.threads import one_thread
from sms_diar.studies.compare.conditions import Condition, draw
from sms_diar.studies.compare.meeting import compare_meeting
from sms_diar.studies.compare.peers import (
    Labelling,
    allowed,
    expected_seconds,
    label,
)
from sms_diar.studies.compare.sources import Catalogue
from sms_diar.types import AnyArray


def compare_one(*, kind: str, **arguments: Any) -> dict[str, Any]:
    """Do one task, of kind "session" or "meeting"."""
    work = compare_meeting if kind == "meeting" else compare_session
    return work(**arguments)


def session_tasks(
    conditions: Sequence[Condition],
    sources: Catalogue,
    *,
    methods: Sequence[str],
    limited: Sequence[str],
    limit: int,
    seed: int,
) -> dict[str, dict[str, Any]]:
    """Arguments of `compare_one`, by ``name/run``; the longest come first."""
    order = sorted(conditions, key=lambda one: -one.expected_segments)
    return {
        f"{condition.name}/{run}": {
            "kind": "session",
            "condition": asdict(condition),
            "source": sources[condition.source],
            "run": run,
            "methods": list(methods),
            "limited": list(limited),
            "limit": limit,
            "seed": seed,
        }
        for condition in order
        for run in range(condition.runs)
    }


def estimate_minutes(
    conditions: Sequence[Condition],
    methods: Sequence[str],
    limited: Sequence[str],
    limit: int,
    workers: int,
) -> float:
    """Minutes that all sessions take, about, on this many idle cores."""
    seconds = 0.0
    for condition in conditions:
        n = condition.expected_segments
        used = allowed(methods, n, limited, limit)
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
        Which session.
    methods : sequence of str
        Of `PEERS`.
    limited, limit : sequence of str and int
        Methods that are left out above this many segments.

    Returns
    -------
    figures : dict
        "session" and "methods", by name; methods that were left out are missing.
    """
    chosen = Condition(**condition)
    session = draw(chosen, source, run, seed)
    backend = load_backend(source["backend"])
    n = len(session.X)

    def seed_of(method: str) -> int:
        rng = named_generator(seed, "compare", chosen.name, run, method)
        return int(rng.integers(2**31 - 1))

    used = allowed(methods, n, limited, limit)
    found = label(used, session.X, session.speakers, backend, seed_of)
    described = {"n_segments": n, "n_speakers": chosen.speakers, "eer": 0.0}
    if backend is not None and chosen.speakers > 1:
        pairs = all_pairs(backend.score_matrix(session.X), session.speakers)
        described["eer"] = equal_error_rate(*pairs)
    return {
        "session": described,
        "methods": {
            name: figures_of(session.speakers, one) for name, one in found.items()
        },
    }


def figures_of(truth: AnyArray, found: Labelling) -> Figures:
    """K, G, speakers found, how far that is from the truth, and CPU seconds."""
    scores = score_clustering(truth, found.labels)
    true, count = len(np.unique(truth)), scores.sizes.n_clusters
    return {
        "k": scores.purity.k,
        "g": scores.majority.g,
        "found": float(count),
        "count_error": float(abs(count - true)),
        "relative_error": abs(count - true) / true,
        "exact": float(count == true),
        "seconds": found.seconds,
    }
