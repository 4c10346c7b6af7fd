"""Embeddings of one or many recordings to speakers: what ``sms-diar cluster`` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone

from sms_diar._progress import Progress, Silence
from sms_diar.clustering.baselines import SpeakerBaseline
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.clustering.speakers.mean_shift import estimate_memory
from sms_diar.clustering.speakers.row_weight import row_weight_of
from sms_diar.errors import InvalidParameterError
from sms_diar.timeline.naming import name_speakers
from sms_diar.timeline.turns import labels_to_turns
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
    k : int or None
        Neighbours used; fewer than asked for in short sessions. None for methods
        that are not told any.
    n_steps : int
        Moves of single points, or whatever else the method counts.
    converged : bool
        Whether it came to rest.
    row_weight, weight, log_joint : float or None
        What `SpeakerEvidenceMeanShift` found out; None for other methods.
    """

    session: str
    n_segments: int
    n_speakers: int
    k: int | None
    n_steps: int
    converged: bool
    row_weight: float | None = None
    weight: float | None = None
    log_joint: float | None = None


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
        Where the segments lie; all ids must be there. They tell how much windows
        overlap, unless the estimator's `row_weight` is a number.
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
        if segments is not None and model.get_params().get("row_weight") == "auto":
            share = row_weight_of([segments[name] for name in chosen.ids])
            model.set_params(row_weight=share)
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
        summaries.append(_summary(session, model))
    return Clustering(labels, tuple(summaries), segments)


def memory_note(embeddings: EmbeddingSet, estimator: SpeakerEstimator) -> str:
    """One line that says what will be clustered, and with how much memory.

    Memory is left out for methods that hold scores of all pairs.
    """
    n, d = len(embeddings), embeddings.dim
    score_dim = d if estimator.backend is None else estimator.backend.score_dim
    if estimator.backend is not None:
        kind = f"{estimator.backend.kind} scores of {score_dim} dimensions"
    elif isinstance(estimator, SpeakerEvidenceMeanShift):
        kind = "cosine scores, whitening and model fitted on the session"
    else:
        kind = "cosine scores, whitening fitted on the session"
    text = f"{n} segments of {d} dimensions, {kind}"
    if isinstance(estimator, SpeakerBaseline):
        return text
    size = estimate_memory(n, d, score_dim) / 2**20
    amount = f"{size:.0f} MiB" if size < 1024 else f"{size / 1024:.1f} GiB"
    return f"{text}: about {amount} of memory"


def _summary(session: str, model: SpeakerEstimator) -> SessionSummary:
    """What a fitted estimator tells."""
    found = SessionSummary(
        session,
        len(model.labels_),
        model.n_clusters_,
        model.k_ if "k" in model.get_params() else None,
        model.n_steps_,
        bool(model.converged_),
    )
    if not isinstance(model, SpeakerEvidenceMeanShift):
        return found
    return replace(
        found,
        row_weight=model.row_weight_,
        weight=model.weight_,
        log_joint=model.log_joint_,
    )


def _hundredths(advance: Callable[[], None]) -> Callable[[float], None]:
    """Turn a share that grows (and may fall back) into ticks of one per cent."""
    ticked = 0

    def listen(share: float) -> None:
        nonlocal ticked
        while ticked < int(100 * np.clip(share, 0.0, 1.0)):
            ticked += 1
            advance()

    return listen
