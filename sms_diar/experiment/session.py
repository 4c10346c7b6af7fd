"""Embeddings of one or many recordings to speakers: what ``sms-diar cluster`` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from sms_diar.clustering.speaker import estimate_memory
from sms_diar.clustering.speaker_base import SpeakerEstimator
from sms_diar.errors import InvalidParameterError
from sms_diar.experiment.progress import Progress, Silence
from sms_diar.labels.naming import name_speakers
from sms_diar.labels.turns import labels_to_turns
from sms_diar.types import EmbeddingSet, Segment, Turn


@dataclass(frozen=True)
class SessionSummary:
    """What came out of clustering one session.

    Parameters
    ----------
    session : str
        Recording, or "all" when recordings were clustered together.
    n_segments, n_speakers : int
        Segments and speakers found.
    k : int
        Neighbours used; fewer than asked for in short sessions.
    n_steps : int
        Moves of single points.
    converged : bool
        Whether all points came to rest.
    """

    session: str
    n_segments: int
    n_speakers: int
    k: int
    n_steps: int
    converged: bool


@dataclass(frozen=True)
class Clustering:
    """Speakers of all segments.

    Parameters
    ----------
    labels : mapping from str to str
        Speaker of each segment id.
    sessions : tuple of SessionSummary
        One entry per session.
    segments : mapping from str to Segment, or None
        Where the segments lie, if known.
    """

    labels: Mapping[str, str]
    sessions: tuple[SessionSummary, ...]
    segments: Mapping[str, Segment] | None

    def turns(self, max_gap: float = 0.0) -> list[Turn]:
        """Who spoke when: merged, not overlapping."""
        if self.segments is None:
            raise InvalidParameterError(
                "turns: segments must be known, got embeddings without times; give "
                "the segments file"
            )
        return labels_to_turns(self.segments, self.labels, max_gap=max_gap)


def match_segments(
    embeddings: EmbeddingSet, segments: Mapping[str, Segment], source: str
) -> list[str]:
    """Check that every embedding has a segment; return ids that have no embedding."""
    missing = [name for name in embeddings.ids if name not in segments]
    if missing:
        shown = ", ".join(repr(name) for name in missing[:3])
        more = ", ..." if len(missing) > 3 else ""
        raise InvalidParameterError(
            f"{source}: must list all segments of {embeddings.source}, got none for "
            f"{len(missing)} of {len(embeddings)} ids ({shown}{more})"
        )
    present = set(embeddings.ids)
    return [name for name in segments if name not in present]


def cluster_embeddings(
    embeddings: EmbeddingSet,
    estimator: SpeakerEstimator,
    *,
    segments: Mapping[str, Segment] | None = None,
    per_recording: bool = False,
    progress: Progress | None = None,
) -> Clustering:
    """Cluster each session on its own, or all recordings together.

    Parameters
    ----------
    embeddings : EmbeddingSet
        Raw vectors.
    estimator : SpeakerEstimator
        Cloned for each session, so every session starts from the same seed and
        does not depend on its company.
    segments : mapping from str to Segment, optional
        Where the segments lie; all ids must be there.
    per_recording : bool, default=False
        Whether each recording is a session; speakers are then named within their
        recording. Needs `segments`.
    progress : Progress, optional
        Who wants to know.
    """
    if not len(embeddings):
        raise InvalidParameterError(
            f"{embeddings.source}: must hold at least one vector, got none"
        )
    if estimator.backend is not None:
        estimator.backend.check_compatible(embeddings)
    sessions: dict[str, list[int]] = {}
    for row, name in enumerate(embeddings.ids):
        session = "all"
        if per_recording:
            if segments is None:
                raise InvalidParameterError(
                    "cluster_embeddings: per_recording needs segments, got none"
                )
            session = segments[name].recording
        sessions.setdefault(session, []).append(row)

    labels: dict[str, str] = {}
    summaries = []
    listener = progress or Silence()
    for session, rows in sessions.items():
        chosen = embeddings.select(rows)
        model = clone(estimator)
        with listener.track(session, 100) as advance:
            model.listen(_hundredths(advance)).fit(chosen.vectors)
        names = name_speakers(
            model.labels_,
            durations=None
            if segments is None
            else [segments[name].duration for name in chosen.ids],
            prefix=f"{session}-spk-" if per_recording else "spk-",
        )
        labels.update(zip(chosen.ids, names, strict=True))
        summaries.append(
            SessionSummary(
                session,
                len(rows),
                model.n_clusters_,
                model.k_,
                model.n_steps_,
                model.converged_,
            )
        )
    return Clustering(labels, tuple(summaries), segments)


def memory_note(embeddings: EmbeddingSet, estimator: SpeakerEstimator) -> str:
    """One line that says how much memory clustering will take."""
    n, d = len(embeddings), embeddings.dim
    score_dim = d if estimator.backend is None else estimator.backend.score_dim
    size = estimate_memory(n, d, score_dim) / 2**20
    text = f"{size:.0f} MiB" if size < 1024 else f"{size / 1024:.1f} GiB"
    kind = (
        "cosine scores, whitening fitted on the session"
        if estimator.backend is None
        else f"{estimator.backend.kind} scores of {score_dim} dimensions"
    )
    return f"{n} segments of {d} dimensions, {kind}: about {text} of memory"


def _hundredths(advance: Callable[[], None]) -> Callable[[float], None]:
    """Turn a share that grows (and may fall back) into ticks of one per cent."""
    ticked = 0

    def listen(share: float) -> None:
        nonlocal ticked
        while ticked < int(100 * np.clip(share, 0.0, 1.0)):
            ticked += 1
            advance()

    return listen
