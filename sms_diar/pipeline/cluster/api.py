"""Clustering of embeddings into speakers: ``sms-diar cluster``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from sms_diar._progress import Progress
from sms_diar._scheduler import at_home
from sms_diar._validation import is_real, refuse_path
from sms_diar.clustering.methods import DEFAULT_METHOD, MethodOptions, build_method
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.mean_shift import estimate_memory
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import Readable
from sms_diar.io.embeddings.arrays import as_doubles, row_ids
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.embeddings.tables import set_from_frame
from sms_diar.io.kaldi.tables import read_segments
from sms_diar.pipeline.cluster.across import MANY, for_many, recordings_of
from sms_diar.pipeline.cluster.result import Clustering
from sms_diar.pipeline.cluster.sessions import (
    SessionClusters,
    fit_sessions,
    rows_of_sessions,
    sessions_of,
)
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.memory import clustering_memory, require, shown_size
from sms_diar.pipeline.train.models import choose_backend
from sms_diar.scoring import BackEnd
from sms_diar.timeline.naming import name_in_recording, name_speakers
from sms_diar.types import EmbeddingSet, FloatArray, PldaModel, Problem, Segment

if TYPE_CHECKING:
    import pandas as pd

EmbeddingsInput: TypeAlias = (
    "Readable | EmbeddingSet | npt.ArrayLike | Mapping[str, npt.ArrayLike] | "
    "tuple[Sequence[str], npt.ArrayLike] | pd.DataFrame"
)
SegmentsInput: TypeAlias = str | Path | Mapping[str, Segment] | Sequence[Segment]


def cluster(
    embeddings: EmbeddingsInput,
    *,
    segments: SegmentsInput | None = None,
    plda: str | Path | BackEnd | PldaModel | None = None,
    transform: str | Path | None = None,
    method: str = DEFAULT_METHOD,
    k: int | None = None,
    threshold: float | None = None,
    tol: float | None = None,
    per_recording: bool | None = None,
    recordings: Mapping[str, str] | None = None,
    num_speakers: int | None = None,
    min_speakers: int | None = None,
    max_speakers: int | None = None,
    seed: int = 0,
    allow_commands: bool = False,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Clustering:
    """Cluster embeddings into speakers.

    Parameters
    ----------
    embeddings : path, binary stream, EmbeddingSet, array, mapping, pair or DataFrame
        Raw vectors: a file of any format that `read_embeddings` knows, an array of
        shape (n, d), a mapping from id to vector, a pair of n ids and an array of
        shape (n, d), or a pandas DataFrame. The ids of a DataFrame are its column
        ``id`` or its index. Rows without ids are called ``row-00000`` and so on, as
        in files.
    segments : path, mapping from str to Segment, or sequence of Segment, optional
        Times of the segments: a Kaldi table, the segment of each id, or one for
        each row. The default method uses them to find windows that overlap and
        windows that follow each other. Without segments it uses the times in ids of
        the form ``name-00000150-00000300`` (hundredths of a second, eight digits).
    plda : path, BackEnd or PldaModel, optional
        A Kaldi PLDA file, or a model of ``plda train`` or ``ivectors train``.
        Without one, the embedded model is used if it made the vectors. Otherwise
        scores are cosines, with whitening fitted on the session.
    transform : path, optional
        Transform of the vectors for a Kaldi PLDA model.
    method : str, default="sms"
        A name of `sms_diar.clustering.methods.METHODS`.
    k : int, optional
        Number of neighbours of a segment, for methods that use them.
    threshold : float, optional
        Score at which agglomerative clustering stops.
    tol : float, optional
        Convergence tolerance on the length of a move, for methods with `k`.
    per_recording : bool, optional
        Cluster each recording separately, or all together. By default True if there
        are segments. If it is False, the default method works in blocks for more
        than 10,000 vectors.
    recordings : mapping from str to str, optional
        Recording of each id, used to list the speakers who appear in several
        recordings. By default the recordings of `segments`.
    num_speakers, min_speakers, max_speakers : int, optional
        Bounds on the number of speakers of each session.
    seed : int, default=0
        Random seed.
    allow_commands : bool, default=False
        Run entries of an scp file that are commands.
    max_memory : int, optional
        Maximum memory of the program in bytes. Raise an error before the work if
        more may be needed. Results do not depend on it.
    progress : Progress, optional
        Receives progress and remarks about the input.

    Examples
    --------
    >>> import numpy as np
    >>> import sms_diar
    >>> rng = np.random.default_rng(0)
    >>> speakers = np.repeat([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]], 20, axis=0)
    >>> result = sms_diar.cluster(speakers + 0.2 * rng.standard_normal((40, 3)))
    >>> result.labels["row-00000"], result.labels["row-00039"]
    ('spk-01', 'spk-02')
    >>> result.labels_[[0, 39]]
    array([0, 1])
    """
    build = partial(
        build_method,
        method,
        options=MethodOptions(k=k, tol=tol, threshold=threshold),
        seed=seed,
        num_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
    )
    build()  # checks the options before any file is read
    context = RunContext.of(max_memory=max_memory, progress=progress)
    vectors = _embeddings(embeddings, allow_commands=allow_commands)
    _refuse_empty(vectors)
    times = None if segments is None else _segments(segments, vectors, context.progress)
    estimator = build(choose_backend(vectors, plda, transform))
    recording_of = None
    if per_recording is False or recordings is not None:
        recording_of = recordings_of(vectors, times, recordings)
    is_many = per_recording is False and len(vectors) > MANY
    if is_many and method == DEFAULT_METHOD:
        estimator = for_many(estimator)
    context.progress.say(memory_note(vectors, estimator))
    # Sending very many vectors to the workers of a cluster would cost too much.
    with at_home() if is_many else nullcontext():
        result = cluster_embeddings(
            vectors,
            estimator,
            segments=times,
            per_recording=times is not None if per_recording is None else per_recording,
            max_memory=max_memory,
            progress=context.progress,
        )
    return replace(result, method=method, recordings=recording_of)


def cluster_embeddings(
    embeddings: EmbeddingSet,
    estimator: SpeakerEstimator,
    *,
    segments: Mapping[str, Segment] | None = None,
    per_recording: bool = False,
    max_memory: int | None = None,
    progress: Progress | None = None,
) -> Clustering:
    """Cluster each session separately, or all recordings together.

    The estimator is cloned for each session, so that every session starts from the
    same seed and does not depend on the others. `segments` has the times of all ids. It
    is required with `per_recording`, which makes each recording a session and names
    speakers per recording. See `cluster` for the others.
    """
    refuse_path(
        "cluster_embeddings",
        "embeddings",
        embeddings,
        "an EmbeddingSet",
        "read it with sms_diar.read_embeddings, or call sms_diar.cluster",
    )
    rows = rows_of_sessions(embeddings, segments, per_recording=per_recording)
    context = RunContext.of(max_memory=max_memory, progress=progress)
    names = [""] * len(embeddings)
    confidence: dict[str, float] = {}
    summaries = []
    results = _clusters(
        embeddings, rows, segments, estimator, context, per_recording=per_recording
    )
    for (session, chosen), result in zip(rows.items(), results, strict=True):
        ids = [embeddings.ids[row] for row in chosen]
        durations = None
        if segments is not None:
            durations = [segments[name].duration for name in ids]
        speakers = name_speakers(result.labels, durations=durations)
        for row, name in zip(chosen, speakers, strict=True):
            names[row] = name_in_recording(session, name) if per_recording else name
        if result.confidence is not None:
            confidence.update(zip(ids, result.confidence.tolist(), strict=True))
        summaries.append(result.summary)
    if confidence:  # the rows of sessions may be interleaved
        confidence = {name: confidence[name] for name in embeddings.ids}
    labels = dict(zip(embeddings.ids, names, strict=True))
    return Clustering(labels, tuple(summaries), segments, confidence=confidence or None)


def cluster_windows(
    embeddings: EmbeddingSet,
    windows: Mapping[str, Segment],
    estimator: SpeakerEstimator,
    context: RunContext,
) -> tuple[SessionClusters, list[Problem]]:
    """Cluster the windows of one recording.

    Return the clusters, and warnings of the method. The caller adds doubts, because it
    may change the number of speakers.
    """
    rows = rows_of_sessions(embeddings, windows, per_recording=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        [clusters] = _clusters(
            embeddings, rows, windows, estimator, context, per_recording=True
        )
    return clusters, [
        Problem(
            str(warning.message),
            recording=clusters.summary.session,
            severity="warning",
            kind="method",
        )
        for warning in caught
    ]


def _clusters(
    embeddings: EmbeddingSet,
    rows: Mapping[str, list[int]],
    segments: Mapping[str, Segment] | None,
    estimator: SpeakerEstimator,
    context: RunContext,
    *,
    per_recording: bool,
) -> Iterator[SessionClusters]:
    """Check all sessions, then cluster one after another."""
    _refuse_empty(embeddings)
    if estimator.backend is not None:
        estimator.backend.check_compatible(embeddings)
    sizes = [len(of_session) for of_session in rows.values()]
    for size in sizes:
        estimator.check_feasible(size)
    require(
        "cluster",
        f"a session of {max(sizes)} segments of {embeddings.dim} dimensions",
        clustering_memory(sizes, embeddings.dim, estimator),
        context.max_memory,
        "allow more memory, cluster recordings separately, or use a method without "
        "scores of all pairs (sms, sms-paper)",
    )
    sessions = sessions_of(embeddings, rows, segments, per_recording=per_recording)
    return fit_sessions(estimator, sessions, len(rows), context.progress)


def match_segments(
    embeddings: EmbeddingSet, segments: Mapping[str, Segment], source: str
) -> list[str]:
    """Check that every embedding has a segment; return ids without an embedding."""
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


def memory_note(embeddings: EmbeddingSet, estimator: SpeakerEstimator) -> str:
    """Describe what will be clustered and the memory that this needs, in one line.

    Methods that store the scores of all pairs get no prediction of memory.
    """
    n, d = len(embeddings), embeddings.dim
    score_dim = d if estimator.backend is None else estimator.backend.score_dim
    kind = estimator.without_backend
    if estimator.backend is not None:
        kind = f"{estimator.backend.kind} scores of {score_dim} dimensions"
    text = f"{n} segments of {d} dimensions, {kind}"
    if estimator.n_matrices:
        return text
    in_parts = estimator.long_memory(n, max(d, score_dim))
    amount = shown_size(in_parts or estimate_memory(n, d, score_dim))
    return f"{text}: about {amount} of memory"


def _refuse_empty(embeddings: EmbeddingSet) -> None:
    for name, count in (("vector", len(embeddings)), ("dimension", embeddings.dim)):
        if not count:
            raise InvalidParameterError(
                f"{embeddings.source}: must hold at least one {name}, got none"
            )


def _embeddings(given: EmbeddingsInput, *, allow_commands: bool) -> EmbeddingSet:
    """Read a file, or check values and assign ids to them."""
    if isinstance(given, EmbeddingSet):
        return given
    if isinstance(given, str | Path) or hasattr(given, "read"):
        return read_embeddings(cast("Readable", given), allow_commands=allow_commands)
    if hasattr(given, "iloc") and hasattr(given, "columns"):
        try:
            return set_from_frame(given, "DataFrame")
        except DataFormatError as error:
            raise InvalidParameterError(str(error), owner="cluster") from None
    ids: list[Any] | None = None
    values: Any = given
    if isinstance(given, Mapping):
        ids, values = list(given), list(given.values())
    elif isinstance(given, tuple) and len(given) == 2 and _are_texts(given[0]):
        ids, values = list(given[0]), given[1]
    rows = _rows(values)
    if ids is None:
        ids = row_ids(len(rows))
    if len(ids) != len(rows):
        problem = (
            f"must have one id for each of the {len(rows)} vectors, got {len(ids)} ids"
        )
        raise InvalidParameterError(problem, owner="cluster", parameter="embeddings")
    wrong = next((name for name in ids if not isinstance(name, str)), None)
    if wrong is not None:
        problem = f"ids of embeddings must be text, got {wrong!r}"
        raise InvalidParameterError(problem, owner="cluster")
    return EmbeddingSet(tuple(map(str, ids)), rows)


def _are_texts(values: object) -> bool:
    """Return True for a sequence of strings, as opposed to a vector."""
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        return False
    return len(values) > 0 and all(isinstance(value, str) for value in values)


def _rows(given: object) -> FloatArray:
    """Check that a value is an array of numbers of shape (n, d)."""
    if hasattr(given, "toarray"):
        raise _refusal("got a sparse matrix; pass X.toarray()")
    if np.ma.is_masked(given):
        raise _refusal("got masked values; fill or remove them")
    try:
        array = np.asarray(given)
    except Exception as error:  # arrays of other libraries raise errors of any type
        raise _refusal(f"got {type(given).__name__} ({error})") from error
    if array.ndim != 2:
        raise _refusal(f"got {type(given).__name__} of shape {array.shape}")
    numbers = array.dtype.kind in "fiu"
    if array.dtype.kind == "O":
        numbers = all(is_real(value) for value in array.flat)
    if not numbers:
        raise _refusal(f"got values of type {array.dtype}")
    return as_doubles(array)


def _refusal(problem: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"must be a path, an EmbeddingSet, a DataFrame or real numbers of shape (n, "
        f"d), {problem}",
        owner="cluster",
        parameter="embeddings",
    )


def _segments(
    given: SegmentsInput, vectors: EmbeddingSet, progress: Progress
) -> Mapping[str, Segment]:
    """Return the segment of each id; all vectors must have one."""
    source = "segments"
    if isinstance(given, str | Path):
        source, times = str(given), read_segments(given)
    elif isinstance(given, Mapping):
        times = dict(given)
    else:
        listed = list(given) if isinstance(given, Iterable) else []
        if len(listed) != len(vectors):
            problem = (
                f"must be one for each of the {len(vectors)} vectors, got {len(listed)}"
            )
            raise InvalidParameterError(problem, owner="cluster", parameter="segments")
        times = dict(zip(vectors.ids, listed, strict=True))
    for value in times.values():
        if not isinstance(value, Segment):
            problem = f"must be of type sms_diar.Segment, got {value!r}"
            raise InvalidParameterError(problem, owner="cluster", parameter="segments")
    unused = match_segments(vectors, times, source)
    if unused:
        progress.say(f"{source}: {len(unused)} segments have no embedding; ignored")
    return times
