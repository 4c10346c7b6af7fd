"""Stages of ``recipes/callhome``: speech, windows, clusters, turns and scores.

The stages write files that other tools read: a `segments` table of the windows, an ark
of their vectors, labels, and RTTM.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from sms_diar._json import write_json
from sms_diar._progress import Progress
from sms_diar.clustering.methods import (
    METHODS,
    MethodOptions,
    build_method,
    check_options,
)
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.errors import ConfigError, DataFormatError
from sms_diar.features.extract import speech_of_recordings
from sms_diar.features.vad import VadConfig
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.tables import (
    read_segments,
    write_segments,
    write_utt2spk,
)
from sms_diar.io.turns.files import read_annotation
from sms_diar.io.turns.rttm import write_rttm
from sms_diar.io.turns.uem import read_uem, read_vad_lab
from sms_diar.metrics.diarization.evaluation import Evaluation, score_diarization
from sms_diar.pipeline.cluster.api import cluster_embeddings
from sms_diar.pipeline.cluster.result import Clustering
from sms_diar.pipeline.train.models import choose_backend
from sms_diar.pipeline.train.plda import adapt_backend
from sms_diar.scoring.backend import BackEnd
from sms_diar.timeline.regions import speech_of_turns
from sms_diar.timeline.windows import WindowLayout, windows_of_regions
from sms_diar.types import EmbeddingSet, Problem, Segment, Turn

from .._common.extraction import tell_problems

SPEECH = ("reference", "labels", "energy", "neural")
COUNTS = ("found", "reference")

WINDOWS = "segments"
SPEECH_RECORD = "speech.json"
LABELS = "labels"
RTTM = "hypothesis.rttm"
CLUSTERS = "clusters.json"

_SHOWN = 3


@dataclass(frozen=True)
class ClusterSettings:
    """Clustering of the windows of a recording.

    Parameters
    ----------
    method : str
        Clustering method, as in `sms-diar diarize --method`.
    k : int
        Number of neighbours; 0: the default of the method. This setting and the next
        two are for sms-paper, ms, bms and dsms; other methods refuse them.
    tol : float
        A point is at rest if it moves by less than this; 0: the default.
    merge_threshold : float
        Distance below which resting points are one cluster; 0: the default.
    seed : int
        Random seed; every recording starts from it.
    """

    method: str
    k: int
    tol: float
    merge_threshold: float
    seed: int

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigError(
                f"'method' must be one of {', '.join(METHODS)}, got {self.method!r}"
            )
        check_options(self.method, self.options)

    @property
    def options(self) -> MethodOptions:
        """Return the options that are not left to the method."""
        return MethodOptions(
            k=self.k or None,
            tol=self.tol or None,
            merge_threshold=self.merge_threshold or None,
        )

    def build(
        self,
        backend: BackEnd | None,
        num_speakers: int | None = None,
        *,
        threshold: float | None = None,
    ) -> SpeakerEstimator:
        """Make the estimator."""
        return build_method(
            self.method,
            backend,
            options=replace(self.options, threshold=threshold),
            seed=self.seed,
            num_speakers=num_speakers,
        )


def read_turns(reference: str, recordings: Iterable[str]) -> list[Turn]:
    """Read the reference turns of some recordings, each of which must have one.

    Other recordings are ignored, so that part of a corpus can be scored against the
    reference of the whole corpus.
    """
    known = set(recordings)
    turns = [
        turn for turn in read_annotation(reference) if turn.segment.recording in known
    ]
    missing = sorted(known - {turn.segment.recording for turn in turns})
    if missing:
        raise DataFormatError(
            f"no turn of {len(missing)} of {len(known)} recordings: {_some(missing)}",
            path=reference,
        )
    return turns


def speech_of_labels(folder: str, recordings: Iterable[str]) -> list[Segment]:
    """Read speech from ``FOLDER/RECORDING.lab``, with start, end and "speech"."""
    names = list(recordings)
    files = {name: Path(folder) / f"{name}.lab" for name in names}
    missing = [str(path) for path in files.values() if not path.is_file()]
    if missing:
        raise DataFormatError(
            f"{len(missing)} of {len(names)} recordings have no file: {_some(missing)}",
            path=folder,
        )
    return [region for name in names for region in read_vad_lab(files[name], name)]


def write_windows(
    folder: Path,
    data: DataDir,
    windows: WindowLayout,
    *,
    speech: str,
    turns: Sequence[Turn],
    labels: str,
    vad: VadConfig,
    channel: int | None,
    allow_commands: bool,
    progress: Progress,
) -> None:
    """Find speech and cut it into windows; write their `segments` and a record.

    `speech` is one of `SPEECH`: regions come from the reference turns, from vad.lab
    files in the folder `labels`, or from a detector with the settings `vad`.
    """
    problems: list[Problem] = []
    if speech == "reference":
        regions = speech_of_turns(turns)
    elif speech == "labels":
        regions = speech_of_labels(labels, data.audio)
    else:
        regions = []
        with progress.track("speech", len(data.audio)) as advance:
            for _, found in speech_of_recordings(
                data,
                vad,
                channel=channel,
                allow_commands=allow_commands,
                problems=problems,
            ):
                regions += found
                advance()
    segments = windows_of_regions(regions, **asdict(windows))
    if not segments:
        raise DataFormatError("no speech was found in any recording", path=data.path)
    write_segments(folder / WINDOWS, segments)
    record = {
        "recordings": len(data.audio),
        "hours_of_speech": sum(region.duration for region in regions) / 3600.0,
        "windows": len(segments),
        "problems": [str(problem) for problem in problems],
    }
    write_json(folder / SPEECH_RECORD, record)
    tell_problems([str(problem) for problem in problems], progress)


@dataclass(frozen=True)
class Folds:
    """Halves of a corpus, each of which is clustered with settings from the other.

    Parameters
    ----------
    halves : tuple of set of str
        Recordings of the two halves.
    adapt : bool
        Adapt the PLDA model to the vectors of the other half, without labels.
    thresholds : tuple of float
        Thresholds of which the best one on the other half is used; empty: none.
    der : callable
        Function that scores turns of some recordings; needed for `thresholds`.
    """

    halves: tuple[frozenset[str], frozenset[str]]
    adapt: bool
    thresholds: tuple[float, ...]
    der: Callable[[Sequence[Turn], frozenset[str]], float]

    def scorers(
        self, backend: BackEnd | None, vectors: EmbeddingSet, recordings: Sequence[str]
    ) -> tuple[BackEnd | None, BackEnd | None]:
        """Return the back end of each half; `recordings` are those of the vectors."""
        if not self.adapt:
            return backend, backend
        if backend is None or backend.kind != "plda":
            raise ConfigError(
                "'adapt' must be false without a PLDA model, got true; the i-vector "
                "model has no back end, or it scores by cosine"
            )
        adapted = []
        for other in reversed(self.halves):
            rows = [row for row, name in enumerate(recordings) if name in other]
            result = adapt_backend(backend, backend, vectors.select(rows))
            adapted.append(cast("BackEnd", result))
        return adapted[0], adapted[1]

    def choose(
        self, candidates: Mapping[float | None, Mapping[str, Clustering]]
    ) -> tuple[dict[str, Clustering], list[dict[str, Any]]]:
        """Return the clustering of each recording, and a record of each half."""
        rates: list[dict[float, float]] = [
            {
                threshold: self.der(_turns(parts, half), half)
                for threshold, parts in candidates.items()
                if threshold is not None
            }
            for half in self.halves
        ]
        chosen: dict[str, Clustering] = {}
        record: list[dict[str, Any]] = []
        for half, held_out in zip(self.halves, reversed(rates), strict=True):
            best = min(held_out, key=held_out.__getitem__) if held_out else None
            parts = candidates[best]
            chosen |= {name: parts[name] for name in parts if name in half}
            record.append(
                {
                    "recordings": len(half),
                    "threshold": best,
                    "der_of_other": {str(t): der for t, der in held_out.items()},
                }
            )
        return chosen, record


def write_clusters(
    folder: Path,
    embeddings: Path,
    segments: Path,
    settings: ClusterSettings,
    *,
    backend: Path | None,
    plda: str = "",
    transform: str = "",
    counts: Mapping[str, int] | None = None,
    max_gap: float = 0.0,
    folds: Folds | None = None,
    progress: Progress,
) -> None:
    """Cluster each recording, and write labels, RTTM and a record.

    The back end is a model file or Kaldi's `plda` and `transform`; without them one is
    fitted to each recording. `counts` are true numbers of speakers by recording.
    Pauses of one speaker up to `max_gap` seconds are bridged. With `folds`, each half
    is clustered with a back end and a threshold from the other half.
    """
    vectors, windows = read_embeddings(embeddings), read_segments(segments)
    scorer = choose_backend(
        vectors, plda or backend, transform if plda and transform else None, models=()
    )
    recordings = [windows[name].recording for name in vectors.ids]
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(recordings):
        rows.setdefault(name, []).append(row)
    scorers = dict.fromkeys(rows, scorer)
    if folds is not None:
        pair = folds.scorers(scorer, vectors, recordings)
        scorers = {name: pair[name in folds.halves[1]] for name in rows}
    candidates: dict[float | None, dict[str, Clustering]] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for threshold in (folds.thresholds if folds else ()) or (None,):
            candidates[threshold] = {
                recording: cluster_embeddings(
                    vectors.select(rows[recording]),
                    settings.build(
                        scorers[recording],
                        None if counts is None else counts[recording],
                        threshold=threshold,
                    ),
                    segments=windows,
                    per_recording=True,
                    progress=progress,
                )
                for recording in sorted(rows)
            }
    parts, halves = (
        (candidates[None], []) if folds is None else folds.choose(candidates)
    )
    labels = {
        name: label
        for recording in sorted(parts)
        for name, label in parts[recording].labels.items()
    }
    write_utt2spk(folder / LABELS, labels)
    write_rttm(folder / RTTM, _turns(parts, parts, max_gap))
    remarks = list(dict.fromkeys(str(warning.message) for warning in caught))
    record = {
        "backend": "cosine, fitted to each recording"
        if scorer is None
        else scorer.kind,
        "sessions": {
            session.session: asdict(session)
            for part in parts.values()
            for session in part.sessions
        },
        "halves": halves,
        "warnings": remarks,
    }
    write_json(folder / CLUSTERS, record)
    for remark in remarks[:_SHOWN]:
        progress.say(f"warning: {remark}")


def _turns(
    parts: Mapping[str, Clustering], names: Container[str], max_gap: float = 0.0
) -> list[Turn]:
    return [
        turn
        for recording in sorted(parts)
        if recording in names
        for turn in parts[recording].turns(max_gap)
    ]


def read_halves(
    folders: Sequence[str], recordings: Iterable[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the recordings of two data directories, which must share out all."""
    first, second = (frozenset(DataDir(Path(folder)).audio) for folder in folders)
    known = frozenset(recordings)
    if first & second or first | second != known:
        odd = sorted((first & second) | (known ^ (first | second)))
        raise ConfigError(
            f"'halves' must share out the {len(known)} recordings of 'data', got "
            f"{len(odd)} that are in both, in none, or not in 'data': {_some(odd)}"
        )
    return first, second


def count_speakers(turns: Iterable[Turn]) -> dict[str, int]:
    """Return the number of speakers of each recording."""
    names: dict[str, set[str]] = {}
    for turn in turns:
        names.setdefault(turn.segment.recording, set()).add(turn.speaker)
    return {recording: len(speakers) for recording, speakers in names.items()}


def score_turns(
    turns: Sequence[Turn],
    hypothesis: Path | Sequence[Turn],
    *,
    uem: str,
    collar: float,
    overlap: str,
) -> Evaluation:
    """Score turns or an RTTM file; all speech of recordings it lacks is missed."""
    return score_diarization(
        turns,
        read_annotation(hypothesis) if isinstance(hypothesis, Path) else hypothesis,
        read_uem(uem) if uem else None,
        collar=collar,
        ignore_overlap=overlap == "ignored",
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
