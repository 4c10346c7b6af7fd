"""Who is who across many recordings: what ``sms-diar cluster --across`` adds.

Up to `MANY` vectors, recordings are clustered together as one session is. Beyond, they
go to `sms_diar.clustering.many`. Either way it is found out which segment is from which
recording, so that the result can say who appears in several.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

from sms_diar._progress import Progress, hundredths
from sms_diar._scheduler import at_home
from sms_diar.clustering.many.across import (
    NEIGHBOURS,
    STAGES,
    cluster_many,
    estimate_memory,
)
from sms_diar.clustering.many.nearest import EXACT, load_faiss
from sms_diar.clustering.speakers.row_weight import row_weight_of
from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.cluster.sessions import SessionSummary
from sms_diar.pipeline.memory import require
from sms_diar.scoring import BackEnd
from sms_diar.timeline.naming import name_speakers
from sms_diar.types import EmbeddingSet, Segment

MANY = 10_000
"""Vectors of all recordings together above which neighbours carry the clustering."""

_NEW_SPEECH = 0.75  # share of windows below which they overlap by too much


def recordings_of(
    embeddings: EmbeddingSet,
    segments: Mapping[str, Segment] | None,
    given: Mapping[str, str] | None = None,
) -> dict[str, str] | None:
    """Find the recording of each id: as given, or the recording of its segment.

    Raises
    ------
    InvalidParameterError
        Recordings are given, but not of all ids.
    """
    if given is not None:
        missing = [name for name in embeddings.ids if name not in given]
        if missing:
            raise InvalidParameterError(
                f"recordings: must name those of all ids of {embeddings.source}, got "
                f"none for {len(missing)} of {len(embeddings)} (first {missing[0]!r})"
            )
        return {name: given[name] for name in embeddings.ids}
    if segments is None:
        return None
    return {name: segments[name].recording for name in embeddings.ids}


def cluster_across(
    embeddings: EmbeddingSet,
    backend: BackEnd | None,
    *,
    low: int,
    high: int,
    seed: int,
    progress: Progress,
    segments: Mapping[str, Segment] | None = None,
    workers: int | None = None,
    max_memory: int | None = None,
) -> tuple[dict[str, str], SessionSummary]:
    """Cluster very many vectors of many recordings.

    Parameters
    ----------
    embeddings : EmbeddingSet
        Raw vectors.
    backend : BackEnd or None
        The model to start from; without one, or for cosines, the vectors teach it.
    low, high : int
        Bounds on the number of speakers.
    seed : int
        Seed of the draws.
    progress : Progress
        Receives progress, and what memory will be used.
    segments : mapping from str to Segment, optional
        Where segments lie; who speaks longest is then the first speaker.
    workers : int, optional
        Threads; as many as there are cores by default. They do not change labels.
    max_memory : int, optional
        Bytes that the program may take; what may need more is refused.

    Returns
    -------
    labels : dict from str to str
        Speaker of each id.
    summary : SessionSummary
        What there is to say about all of them.
    """
    if backend is not None:
        backend.check_compatible(embeddings)
    n, d = len(embeddings), embeddings.dim
    if n > EXACT:
        load_faiss(n)  # before the work, not within it
    kind = "no model, learnt from the vectors" if backend is None else backend.kind
    size = estimate_memory(n, d)
    require(
        "cluster",
        f"{n} segments of {d} dimensions across recordings",
        size,
        max_memory,
        "give more, or cluster recordings one by one",
    )
    progress.say(
        f"{n} segments of {d} dimensions across recordings ({kind}): about "
        f"{size / 2**30:.1f} GiB of memory"
    )
    if segments is not None:
        _warn_of_overlap([segments[name] for name in embeddings.ids], progress)
    # Every piece of the work needs all vectors, which are more than is worth sending.
    with at_home(), ExitStack() as open_stage:
        found = cluster_many(
            embeddings.vectors,
            backend,
            low=low,
            high=high,
            seed=seed,
            workers=workers or _cores(),
            stage=_stages(progress, open_stage),
        )
    lengths = None
    if segments is not None:
        lengths = [segments[name].duration for name in embeddings.ids]
    names = name_speakers(found.labels, durations=lengths)
    summary = SessionSummary(
        "all",
        n,
        found.n_speakers,
        NEIGHBOURS,
        found.n_steps,
        converged=True,
        number_given=low == high,
    )
    return dict(zip(embeddings.ids, names, strict=True)), summary


def _warn_of_overlap(segments: Sequence[Segment], progress: Progress) -> None:
    """Say so where windows overlap: neighbours in time then crowd out the others."""
    new = row_weight_of(segments)
    if new < _NEW_SPEECH:
        progress.say(
            f"windows overlap, {new:.0%} of them is new speech: speakers may fall to "
            f"pieces; give vectors of turns, or of windows that do not overlap"
        )


def _stages(
    progress: Progress, open_stage: ExitStack
) -> Callable[[str], Callable[[float], None]]:
    """One bar for each stage, of a hundred ticks, in place of the one before."""
    number = 0

    def stage(name: str) -> Callable[[float], None]:
        nonlocal number
        number += 1
        open_stage.close()
        label = f"{name} ({number} of {STAGES})"
        return hundredths(open_stage.enter_context(progress.track(label, 100)))

    return stage


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
