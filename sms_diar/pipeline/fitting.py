"""Vectors parted into sessions, and an estimator fitted to each of them.

A session is what is clustered at a time: a recording, or all recordings together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from sklearn.base import clone

from sms_diar import _scheduler
from sms_diar._progress import Progress, hundredths
from sms_diar.clustering.rival import find_rival
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.evidence import SpeakerEvidenceMeanShift
from sms_diar.clustering.speakers.row_weight import row_weight_of
from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.sessions import SessionSummary
from sms_diar.scoring.backend_plda import phi_of
from sms_diar.timeline.naming import name_in_recording, name_speakers
from sms_diar.timeline.windows import times_of_ids
from sms_diar.types import EmbeddingSet, FloatArray, Segment


@dataclass(frozen=True)
class Session:
    """What is clustered at a time.

    Parameters
    ----------
    name : str
        The recording, or "all".
    embeddings : EmbeddingSet
        Raw vectors.
    times : list of Segment, or None
        When each of them was spoken, if the caller knows it.
    is_recording : bool
        Whether it is one of several recordings, after which its speakers are named.
    """

    name: str
    embeddings: EmbeddingSet
    times: list[Segment] | None
    is_recording: bool


@dataclass(frozen=True)
class SessionSpeakers:
    """Speakers of a session.

    Parameters
    ----------
    labels : dict from str to str
        Speaker of each segment id.
    confidence : dict from str to float
        Probability that it is right; empty where the method does not tell.
    summary : SessionSummary
        What there is to say about all of them.
    """

    labels: dict[str, str]
    confidence: dict[str, float]
    summary: SessionSummary


def rows_of_sessions(
    embeddings: EmbeddingSet,
    segments: Mapping[str, Segment] | None,
    *,
    per_recording: bool,
) -> dict[str, list[int]]:
    """Rows of each session by its name, in the order in which sessions appear."""
    if not per_recording:
        return {"all": list(range(len(embeddings)))}
    if segments is None:
        raise InvalidParameterError(
            "cluster_embeddings: per_recording needs segments, got none"
        )
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(embeddings.ids):
        rows.setdefault(segments[name].recording, []).append(row)
    return rows


def sessions_of(
    embeddings: EmbeddingSet,
    rows: Mapping[str, list[int]],
    segments: Mapping[str, Segment] | None,
    *,
    per_recording: bool,
) -> Iterator[Session]:
    """Sessions one after another, since each is a copy of its vectors."""
    for name, of_session in rows.items():
        chosen = embeddings.select(of_session)
        times = None if segments is None else [segments[id_] for id_ in chosen.ids]
        yield Session(name, chosen, times, per_recording)


def fit_sessions(
    estimator: SpeakerEstimator,
    sessions: Iterable[Session],
    total: int,
    listener: Progress,
) -> Iterator[SessionSpeakers]:
    """Speakers of all sessions, one after the other or on the workers of a cluster.

    Parameters
    ----------
    estimator : SpeakerEstimator
        Cloned for each session.
    sessions : iterable of Session
        What is clustered.
    total : int
        How many there are.
    listener : Progress
        Receives progress.
    """
    cluster = _scheduler.current()
    if cluster is not None:
        with listener.track("sessions", total) as advance:
            for found in cluster.map(partial(fit_session, estimator), sessions):
                yield found
                advance()
        return
    for session in sessions:
        named = session.is_recording
        label = f"clustering {session.name}" if named else "clustering"
        with listener.track(label, 100) as advance:
            found = fit_session(estimator, session, hundredths(advance))
        yield found


def fit_session(
    estimator: SpeakerEstimator,
    session: Session,
    listen: Callable[[float], None] | None = None,
) -> SessionSpeakers:
    """Speakers of one session; `listen` is told the share that is done."""
    model = clone(estimator)
    if listen is not None:
        model.listen(listen)
    ids, times = session.embeddings.ids, session.times
    if times is None and (read := times_of_ids(ids)) is not None:
        times = list(read.values())
    if isinstance(model, SpeakerEvidenceMeanShift) and times is not None:
        model.fit(session.embeddings.vectors, segments=times)
    else:
        model.fit(session.embeddings.vectors)
    confidence = {}
    if isinstance(model, SpeakerEvidenceMeanShift):
        sure = np.round(model.confidence_, 4).tolist()
        confidence = dict(zip(ids, sure, strict=True))
    names = name_speakers(
        model.labels_,
        durations=[time.duration for time in session.times] if session.times else None,
    )
    if session.is_recording:
        names = [name_in_recording(session.name, name) for name in names]
    labels = dict(zip(ids, names, strict=True))
    return SessionSpeakers(labels, confidence, _summary(session, model, times))


def _summary(
    session: Session, model: SpeakerEstimator, times: Sequence[Segment] | None
) -> SessionSummary:
    """Summarise a fitted estimator."""
    summary = SessionSummary(
        session.name,
        len(model.labels_),
        model.n_clusters_,
        model.k_ if "k" in model.get_params() else None,
        model.n_steps_,
        bool(model.converged_),
        seconds=None if times is None else _spoken(times),
        number_given=_number_given(model),
        rival=_rival(session.embeddings.vectors, model),
    )
    if not isinstance(model, SpeakerEvidenceMeanShift):
        return summary
    return replace(
        summary,
        row_weight=model.row_weight_,
        weight=model.weight_,
        log_joint=model.log_joint_,
        count_posterior=dict(model.count_posterior_),
        confidence=float(model.confidence_.mean()),
    )


def _rival(X: FloatArray, model: SpeakerEstimator) -> int | None:
    """Number of clusters of a far better partition that the bounds allow, if any."""
    if _number_given(model):
        return None
    rows = phi_of(model.backend_, X) if model.backend_.kind == "plda" else X
    rival = find_rival(rows, model.labels_)
    if rival is None:
        return None
    fewest, most = model.min_speakers or 1, model.max_speakers or len(X)
    return rival.n_clusters if fewest <= rival.n_clusters <= most else None


def _number_given(model: SpeakerEstimator) -> bool:
    """Whether the bounds leave one number of speakers only."""
    if model.num_speakers is not None:
        return True
    return model.max_speakers is not None and model.max_speakers == (
        model.min_speakers or 1
    )


def _spoken(segments: Sequence[Segment]) -> float:
    """Seconds that segments cover, those that overlap counted once."""
    return row_weight_of(segments) * sum(segment.duration for segment in segments)
