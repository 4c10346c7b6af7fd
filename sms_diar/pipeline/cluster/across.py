"""Clustering across recordings: ``sms-diar cluster --across``.

Up to `MANY` vectors, all recordings are clustered together as one session. Larger sets
go to `sms_diar.clustering.many`. In both cases the recording of each segment is looked
up, so that the result can list the speakers who appear in several recordings.
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
from sms_diar.clustering.speakers.rows import row_weight_of
from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.cluster.sessions import SessionSummary
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.memory import require
from sms_diar.scoring import BackEnd
from sms_diar.timeline.naming import name_speakers
from sms_diar.types import EmbeddingSet, Segment

MANY = 10_000
"""Total number of vectors above which `sms_diar.clustering.many` is used."""

_NEW_SPEECH = 0.75  # minimum share of new speech in windows without a warning


def recordings_of(
    embeddings: EmbeddingSet,
    segments: Mapping[str, Segment] | None,
    given: Mapping[str, str] | None = None,
) -> dict[str, str] | None:
    """Return the recording of each id: as specified, or as in its segment."""
    if given is not None:
        missing = [name for name in embeddings.ids if name not in given]
        if missing:
            raise InvalidParameterError(
                f"recordings: must list all ids of {embeddings.source}, got none for "
                f"{len(missing)} of {len(embeddings)} (first {missing[0]!r})"
            )
        return {name: given[name] for name in embeddings.ids}
    if segments is None:
        return None
    return {name: segments[name].recording for name in embeddings.ids}


def cluster_across(
    embeddings: EmbeddingSet,
    backend: BackEnd | None,
    *,
    bounds: tuple[int, int | None],
    seed: int,
    segments: Mapping[str, Segment] | None,
    context: RunContext,
) -> tuple[dict[str, str], SessionSummary]:
    """Cluster a very large number of vectors of many recordings.

    Return the speaker of each id, and the summary. The model starts from `backend`;
    without one, and for cosines, it is learnt from the vectors. `bounds` are the
    minimum and maximum number of speakers. With `segments`, the speaker with the most
    speech is numbered first. There is a thread for each core.
    """
    progress = context.progress
    if backend is not None:
        backend.check_compatible(embeddings)
    n, d = len(embeddings), embeddings.dim
    low, high = bounds[0], bounds[1] or n
    if n > EXACT:
        load_faiss(n)  # fails now rather than halfway
    kind = "no model, learnt from the vectors" if backend is None else backend.kind
    size = estimate_memory(n, d)
    require(
        "cluster",
        f"{n} segments of {d} dimensions across recordings",
        size,
        context.max_memory,
        "give more, or cluster recordings one by one",
    )
    progress.say(
        f"{n} segments of {d} dimensions across recordings ({kind}): about "
        f"{size / 2**30:.1f} GiB of memory"
    )
    if segments is not None:
        _warn_of_overlap([segments[name] for name in embeddings.ids], progress)
    # Every task needs all vectors, and sending them would cost too much.
    with at_home(), ExitStack() as open_stage:
        clusters = cluster_many(
            embeddings.vectors,
            backend,
            low=low,
            high=high,
            seed=seed,
            workers=_cores(),
            stage=_stages(progress, open_stage),
        )
    lengths = None
    if segments is not None:
        lengths = [segments[name].duration for name in embeddings.ids]
    names = name_speakers(clusters.labels, durations=lengths)
    summary = SessionSummary(
        "all",
        n,
        clusters.n_speakers,
        NEIGHBOURS,
        clusters.n_steps,
        converged=True,
        number_given=low == high,
    )
    return dict(zip(embeddings.ids, names, strict=True)), summary


def _warn_of_overlap(segments: Sequence[Segment], progress: Progress) -> None:
    """Warn about overlapping windows, whose neighbours in time hide all others."""
    new = row_weight_of(segments)
    if new < _NEW_SPEECH:
        progress.say(
            f"windows overlap, only {new:.0%} of each is new speech: speakers may be "
            f"split; use vectors of turns, or of windows that do not overlap"
        )


def _stages(
    progress: Progress, open_stage: ExitStack
) -> Callable[[str], Callable[[float], None]]:
    """Show one progress bar per stage; each replaces the previous one."""
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
