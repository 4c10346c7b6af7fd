"""Sessions: sets of vectors that are clustered together.

A session is one recording, or all recordings together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from sms_diar import _scheduler
from sms_diar._progress import Progress, hundredths
from sms_diar.clustering.rival import find_rival
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.rows import row_weight_of
from sms_diar.errors import InvalidParameterError
from sms_diar.report.tables import Table
from sms_diar.scoring.backend_plda import phi_of
from sms_diar.timeline.windows import times_of_ids
from sms_diar.types import EmbeddingSet, FloatArray, IntArray, Segment

_PROBABLE = 0.55  # Minimum probability of the number of speakers without a doubt.
_WORTH_NAMING = 0.05  # Minimum probability at which another number is named.
_TRUST_IN_TURNS = 0.3  # Share of the posterior that follows a change by the turns.


@dataclass(frozen=True)
class SessionSummary:
    """Result of clustering one session.

    Parameters
    ----------
    session : str
        Recording, or "all" if all recordings were clustered together.
    n_segments, n_speakers : int
        Number of segments and of speakers.
    k : int or None
        Number of neighbours, which is reduced in short sessions. None for methods
        without neighbours.
    n_steps : int
        Number of moves of single points, or of other steps that the method counts.
    converged : bool
        True if the method converged.
    row_weight, weight, log_joint : float or None
        Estimates of `SpeakerEvidenceMeanShift`; None for other methods.
    count_posterior : mapping from int to float, or None
        Probability of each number of speakers, if the method estimates it.
    confidence : float or None
        Mean probability that the label of a segment is right, if the method
        estimates it.
    seconds : float or None
        Duration of the speech in the segments, if times are known.
    number_given : bool
        True if the caller fixed the number of speakers.
    rival : int or None
        Number of clusters in a simple partition that separates the segments far
        better (:mod:`sms_diar.clustering.rival`); None if there is none.
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
    count_posterior: Mapping[int, float] | None = None
    confidence: float | None = None
    seconds: float | None = None
    number_given: bool = False
    rival: int | None = None

    def of_turns(self, n_speakers: int) -> SessionSummary:
        """Summary of turns that may have more or fewer speakers than the clusters.

        Overlap and brief speakers can change the number after clustering. Only a part
        of the posterior then follows: of 11 changes in 182 development recordings, the
        number was right after it in 4, and before it in 3.
        """
        change = n_speakers - self.n_speakers
        if change == 0:
            return self
        if self.count_posterior is None or self.number_given:
            return replace(self, n_speakers=n_speakers, count_posterior=None)
        mixed: dict[int, float] = {}
        for number, chance in self.count_posterior.items():
            moved = max(number + change, 1)
            mixed[moved] = mixed.get(moved, 0.0) + _TRUST_IN_TURNS * chance
            mixed[number] = mixed.get(number, 0.0) + (1.0 - _TRUST_IN_TURNS) * chance
        posterior = dict(sorted(mixed.items()))
        return replace(self, n_speakers=n_speakers, count_posterior=posterior)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons why the result may be wrong, one sentence each; usually empty.

        A number of speakers that the caller fixed is never doubted.
        """
        reasons = (self._doubt_by_rival(), self._doubt_about_number())
        return tuple(reason for reason in reasons if reason is not None)

    def _doubt_by_rival(self) -> str | None:
        if self.rival is None:
            return None
        fault = (
            "several speakers may share a label"
            if self.rival > self.n_speakers
            else "one speaker may have several labels"
        )
        return (
            f"average linkage separates the segments much better, into about "
            f"{self.rival} clusters: {fault}"
        )

    def _doubt_about_number(self) -> str | None:
        posterior = self.count_posterior
        if posterior is None or self.number_given:
            return None
        chance = posterior.get(self.n_speakers, 0.0)
        if chance >= _PROBABLE:
            return None
        others = [number for number in posterior if number != self.n_speakers]
        others = [number for number in others if posterior[number] > _WORTH_NAMING]
        likeliest = sorted(others, key=lambda number: -posterior[number])[:3]
        alternatives = "".join(f", {n} ({posterior[n]:.0%})" for n in likeliest)
        doubt = (
            f"the number of speakers is uncertain: "
            f"{self.n_speakers} ({chance:.0%}){alternatives}"
        )
        if likeliest and posterior[likeliest[0]] > chance:
            doubt += (
                "; the answer is the partition that was found, not the likeliest "
                "number: give the number if you know it"
            )
        return doubt

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, whose keys are strings."""
        values = asdict(self)
        if self.count_posterior is not None:
            values["count_posterior"] = {
                str(number): chance for number, chance in self.count_posterior.items()
            }
        return values


def session_table(sessions: Sequence[SessionSummary]) -> str:
    """Format a table with one row per session.

    `k` is a column if any session has it. With several sessions, a last line gives the
    mean number of speakers.
    """
    columns: tuple[str, ...] = ("session", "segments", "speakers")
    rows: tuple[tuple[str, ...], ...] = tuple(
        (s.session, str(s.n_segments), str(s.n_speakers)) for s in sessions
    )
    if any(session.k is not None for session in sessions):
        columns += ("k",)
        counts = ["-" if session.k is None else str(session.k) for session in sessions]
        rows = tuple((*row, k) for row, k in zip(rows, counts, strict=True))
    table = Table(columns, rows).plain()
    if len(rows) < 2:
        return table.rstrip()
    mean = sum(one.n_speakers for one in sessions) / len(sessions)
    return f"{table}{len(rows)} sessions, {mean:.2f} speakers on average"


@dataclass(frozen=True)
class Session:
    """Vectors that are clustered together, and their times if these are known.

    The name is the name of the recording, or "all". `is_recording` is True if the
    session is one of several recordings.
    """

    name: str
    embeddings: EmbeddingSet
    times: Sequence[Segment] | None
    is_recording: bool


@dataclass(frozen=True, eq=False)
class SessionClusters:
    """Clusters of a session.

    `labels` and `confidence`, the probability that each label is right, have shape
    (n,). `confidence` is None if the method does not estimate it.
    """

    labels: IntArray
    confidence: FloatArray | None
    summary: SessionSummary


def rows_of_sessions(
    embeddings: EmbeddingSet,
    segments: Mapping[str, Segment] | None,
    *,
    per_recording: bool,
) -> dict[str, list[int]]:
    """Return the rows of each session by name, in order of appearance."""
    if not per_recording:
        return {"all": list(range(len(embeddings)))}
    if segments is None:
        problem = "needs segments, got none"
        raise InvalidParameterError(
            problem, owner="cluster_embeddings", parameter="per_recording"
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
    """Yield sessions one at a time, because each copies its vectors."""
    for name, of_session in rows.items():
        is_whole = len(of_session) == len(embeddings)  # not copied
        chosen = embeddings if is_whole else embeddings.select(of_session)
        times = None if segments is None else [segments[id_] for id_ in chosen.ids]
        yield Session(name, chosen, times, per_recording)


def fit_sessions(
    estimator: SpeakerEstimator,
    sessions: Iterable[Session],
    total: int,
    progress: Progress,
) -> Iterator[SessionClusters]:
    """Cluster all sessions, one after another or on the workers of a cluster.

    The estimator is cloned for each of the `total` sessions.
    """
    cluster = _scheduler.current()
    if cluster is not None:
        with progress.track("sessions", total) as advance:
            for clusters in cluster.map(partial(fit_session, estimator), sessions):
                yield clusters
                advance()
        return
    for session in sessions:
        named = session.is_recording
        label = f"clustering {session.name}" if named else "clustering"
        with progress.track(label, 100) as advance:
            clusters = fit_session(estimator, session, hundredths(advance))
        yield clusters


def fit_session(
    estimator: SpeakerEstimator,
    session: Session,
    listen: Callable[[float], None] | None = None,
) -> SessionClusters:
    """Cluster one session; `listen` receives the share of the work done."""
    model = clone(estimator)
    if listen is not None:
        model.listen(listen)
    times = session.times
    if times is None and (read := times_of_ids(session.embeddings.ids)) is not None:
        times = list(read.values())
    model.fit_timed(session.embeddings.vectors, times)
    confidence = model.confidence_
    if confidence is not None:
        confidence = np.round(confidence, 4)
    return SessionClusters(model.labels_, confidence, _summary(session, model, times))


def _summary(
    session: Session, model: SpeakerEstimator, times: Sequence[Segment] | None
) -> SessionSummary:
    """Summarise a fitted estimator."""
    posterior, confidence = model.count_posterior_, model.confidence_
    return SessionSummary(
        session.name,
        len(model.labels_),
        model.n_clusters_,
        model.k_ if "k" in model.get_params() else None,
        model.n_steps_,
        bool(model.converged_),
        count_posterior=None if posterior is None else dict(posterior),
        confidence=None if confidence is None else float(confidence.mean()),
        seconds=None if times is None else _spoken(times),
        number_given=_number_given(model),
        rival=_rival(session.embeddings.vectors, model),
        **model.estimates(),
    )


def _rival(X: FloatArray, model: SpeakerEstimator) -> int | None:
    """Return the size of a far better partition within the bounds, if any.

    Windows that overlap or repeat are close to each other for that reason alone, so
    only some of them are compared.
    """
    if _number_given(model):
        return None
    step = round(1.0 / getattr(model, "row_weight_", 1.0))
    compared = getattr(model, "independent_rows_", np.arange(0, len(X), step))
    rows = X[compared]
    if model.backend_.kind == "plda":
        rows = phi_of(model.backend_, rows)
    rival = find_rival(rows, model.labels_[compared])
    if rival is None:
        return None
    low, high = model.speaker_bounds()
    return rival.n_clusters if low <= rival.n_clusters <= (high or len(X)) else None


def _number_given(model: SpeakerEstimator) -> bool:
    """Return True if the bounds allow only one number of speakers."""
    low, high = model.speaker_bounds()
    return low == high


def _spoken(segments: Sequence[Segment]) -> float:
    """Return the duration covered by segments; overlap counts once."""
    return row_weight_of(segments) * sum(segment.duration for segment in segments)
