"""From data directories to i-vectors and their back end.

A model file of kind "ivectors" holds an extractor and, where it was trained with
labels, the back end for its vectors. Vectors carry the extractor's fingerprint (not
that of the file, so a new back end does not orphan them), and the back end repeats
it: `backend_for` is how clustering finds the back end that belongs to the vectors it
was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar._progress import Progress, Silence
from sms_diar.embeddings import (
    FrameStore,
    IvectorExtractor,
    Statistics,
    collect_statistics,
    train_total_variability,
    train_ubm,
)
from sms_diar.embeddings.extractor import KIND, round_mixture
from sms_diar.embeddings.ubm import count_steps
from sms_diar.errors import (
    DataFormatError,
    ExperimentError,
    InvalidParameterError,
    MissingFileError,
)
from sms_diar.features.extract import FeatureProblem, features_of_segments
from sms_diar.features.front_end import FrontEnd
from sms_diar.io.arrays import load_arrays
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.recordings import list_recordings
from sms_diar.io.model import ModelFile, read_model, write_model
from sms_diar.scoring import BackEnd, backend_from_model, train_backend
from sms_diar.scoring.backend_training import KIND as BACKEND
from sms_diar.types import AnyArray, EmbeddingSet

_PREFIX = "backend_"
_OWNER = "train_ivectors"


@dataclass(frozen=True)
class Speech:
    """A data directory and how frames are made of it.

    Parameters
    ----------
    data : DataDir
        One session: "session" normalisation pools over all its segments.
    front_end : FrontEnd
        Settings. Speech detection and normalisation may differ between
        directories that train one model.
    """

    data: DataDir
    front_end: FrontEnd


@dataclass(frozen=True)
class IvectorSettings:
    """How to train; the meaning is that of `train_ubm` and its companions."""

    n_components: int = 128
    rank: int = 100
    covariance: str = "diagonal"
    ubm_iter: int = 10
    tv_iter: int = 10
    top: int | None = None
    storage: str = "float"
    seed: int = 0


@dataclass(frozen=True, eq=False)
class IvectorModel:
    """Contents of a model file: the extractor, and the back end if there is one."""

    extractor: IvectorExtractor
    backend: BackEnd | None = None

    def __post_init__(self) -> None:
        if self.backend is None:
            return
        made_for = self.backend.extractor
        if self.backend.dim != self.extractor.dim or made_for not in (
            None,
            self.extractor.fingerprint,
        ):
            raise InvalidParameterError(
                f"IvectorModel: backend must be for {self.extractor.dim} dimensions of "
                f"extractor {self.extractor.fingerprint}, got one for "
                f"{self.backend.dim} dimensions of {made_for}"
            )


def write_ivector_model(path: str | Path, model: IvectorModel) -> str:
    """Write a model and return the fingerprint of the file."""
    file = model.extractor.to_model()
    arrays: dict[str, AnyArray] = dict(file.arrays)
    words = dict(file.words)
    backend = model.backend
    if backend is not None:
        arrays |= {_PREFIX + name: array for name, array in backend.arrays().items()}
        words["backend"] = {
            "kind": backend.kind,
            "extractor": model.extractor.fingerprint,
            "notes": dict(backend.notes),
        }
    file = ModelFile(KIND, arrays, words)
    write_model(path, file)
    return file.fingerprint


def read_ivector_model(path: str | Path) -> IvectorModel:
    """Read what `write_ivector_model` wrote."""
    file = read_model(path, KIND)
    extractor = IvectorExtractor.from_model(file, path=str(path))
    words = file.words.get("backend")
    if words is None:
        return IvectorModel(extractor)
    arrays = {
        name.removeprefix(_PREFIX): array
        for name, array in file.arrays.items()
        if name.startswith(_PREFIX)
    }
    try:
        backend = BackEnd.from_arrays(arrays, words)
        return IvectorModel(extractor, backend)
    except (TypeError, KeyError, ValueError) as error:
        raise DataFormatError(
            f"its back end makes no sense ({error})", path=path
        ) from error


def embedded_model_path() -> Path | None:
    """The i-vector model that comes with the package, if it does."""
    try:
        datasets = import_module("sms_diar.datasets")
    except ModuleNotFoundError as error:
        if error.name != "sms_diar.datasets":
            raise
        return None
    path = Path(datasets.default_model_path())
    return path if path.is_file() else None


def read_backend(path: str | Path) -> BackEnd:
    """Back end of a model file, whether it is alone there or with its extractor."""
    # Only i-vector models have a T; the kind in the header is checked when it is read.
    if "tv_matrix" not in load_arrays(path):
        return backend_from_model(read_model(path, BACKEND))
    model = read_ivector_model(path)
    if model.backend is None:
        raise DataFormatError(
            "an i-vector model without a back end; train it with --backend, or a back "
            "end on its vectors with 'sms-diar plda train'",
            path=path,
        )
    return model.backend


def backend_for(
    embeddings: EmbeddingSet, models: Sequence[str | Path] | None = None
) -> BackEnd | None:
    """Find the back end that belongs to the extractor of some vectors.

    Parameters
    ----------
    embeddings : EmbeddingSet
        Vectors that may know their extractor.
    models : sequence of paths, optional
        I-vector models to look into; the embedded one by default.

    Returns
    -------
    backend : BackEnd or None
        None where the vectors do not say where they come from, or come from none of
        the models.
    """
    if embeddings.extractor is None:
        return None
    if models is None:
        embedded = embedded_model_path()
        models = [] if embedded is None else [embedded]
    for path in models:
        model = read_ivector_model(path)
        if model.extractor.fingerprint == embeddings.extractor:
            return model.backend
    return None


def extract_ivectors(
    speech: Speech,
    extractor: IvectorExtractor,
    *,
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[FeatureProblem] | None = None,
    progress: Progress | None = None,
) -> EmbeddingSet:
    """I-vectors of all segments of a data directory.

    Parameters
    ----------
    speech : Speech
        The directory, and the front end: usually that of the extractor, see
        `front_end_of`.
    extractor : IvectorExtractor
        The model.
    channel : int, optional
        Channel of files that have several.
    allow_commands : bool, default=False
        Run the commands of a `wav.scp` that has some.
    workers : int, default=1
        Processes and threads; results do not depend on it.
    problems : list, optional
        Receives what could not be read, and the rest is extracted; without it
        there is an error at the end.
    progress : Progress, optional
        Who wants to know.
    """
    data, front_end = speech.data, speech.front_end
    if front_end.dim != extractor.frame_dim:
        raise InvalidParameterError(
            f"extract_ivectors: front end must give the {extractor.frame_dim} "
            f"dimensions of the model, got {front_end.dim}"
        )
    listener = progress or Silence()
    with listener.track("i-vectors", _count_segments(data)) as advance:
        frames = features_of_segments(
            data,
            front_end,
            channel=channel,
            allow_commands=allow_commands,
            workers=workers,
            problems=problems,
        )
        found = extractor.extract_all(
            _counted(frames, advance), workers=workers, source=str(data.path)
        )
    if not len(found):
        raise DataFormatError("no segment gave an i-vector", path=data.path)
    return found


def front_end_of(extractor: IvectorExtractor) -> FrontEnd:
    """Front end that the extractor was trained with."""
    return FrontEnd.from_dict(extractor.front_end, origin="front end of the model")


def _count_segments(data: DataDir) -> int:
    recordings, _ = list_recordings(data)
    return sum(len(recording.pieces) for recording in recordings)


def _counted(segments: Any, advance: Callable[[], None]) -> Any:
    for item in segments:
        yield item
        advance()


def train_ivectors(
    speech: Sequence[Speech],
    settings: IvectorSettings | None = None,
    *,
    backend: bool = False,
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[FeatureProblem] | None = None,
    progress: Progress | None = None,
    notes: Mapping[str, Any] | None = None,
) -> IvectorModel:
    """Train background model, T and, if asked for, the back end.

    Parameters
    ----------
    speech : sequence of Speech
        Training data, each directory a session. The model remembers the front end
        of the first one for extraction.
    settings : IvectorSettings, optional
        Sizes and iterations.
    backend : bool, default=False
        Train the paper's chain and PLDA on the i-vectors of the same segments, with
        the speakers of `utt2spk`.
    channel, allow_commands, workers, problems, progress
        As in `extract_ivectors`.
    notes : mapping, optional
        Words to keep in the model beside those about the training.
    """
    chosen = settings or IvectorSettings()
    front_end = _common_front_end(speech)
    # Read before the hours of training rather than after.
    speakers = _speakers(speech) if backend else {}
    listener = progress or Silence()
    with FrameStore(front_end.dim) as store:
        for part in speech:
            label = f"features of {part.data.path.name}"
            with listener.track(label, _count_segments(part.data)) as advance:
                frames = features_of_segments(
                    part.data,
                    part.front_end,
                    channel=channel,
                    allow_commands=allow_commands,
                    workers=workers,
                    problems=problems,
                )
                store.extend(_counted(frames, advance))
        if len(set(store.ids)) < len(store):
            raise ExperimentError(
                f"{_OWNER}: segment ids must differ between data directories, got "
                f"{len(store) - len(set(store.ids))} twice; prefix them"
            )
        extractor, statistics = _train_extractor(
            store, front_end, chosen, workers=workers, listener=listener
        )
        words = {
            **(notes or {}),
            "data": [part.data.path.name for part in speech],
            "segments": len(store),
            "hours": round(store.n_frames * front_end.grid.shift / 3600.0, 3),
            **extractor.notes,
        }
    extractor = replace(extractor, notes=words)
    if not backend:
        return IvectorModel(extractor)
    return IvectorModel(
        extractor, _train_backend(extractor, statistics, speakers, workers=workers)
    )


def _common_front_end(speech: Sequence[Speech]) -> FrontEnd:
    if not speech:
        raise InvalidParameterError(
            f"{_OWNER}: speech must be at least one data directory, got none"
        )
    first = speech[0].front_end
    for part in speech[1:]:
        same = replace(part.front_end, vad=first.vad, cmvn=first.cmvn)
        if same != first:
            raise InvalidParameterError(
                f"{_OWNER}: speech must have one front end but for speech detection "
                f"and normalisation, got another one for {part.data.path}"
            )
    return first


def _speakers(speech: Sequence[Speech]) -> dict[str, str]:
    speakers: dict[str, str] = {}
    for part in speech:
        if not part.data.has("utt2spk"):
            raise MissingFileError(
                f"{part.data.path / 'utt2spk'}: no such file, and a back end needs to "
                f"know the speakers; train without --backend"
            )
        speakers |= part.data.utt2spk
    return speakers


def _train_extractor(
    store: FrameStore,
    front_end: FrontEnd,
    settings: IvectorSettings,
    *,
    workers: int,
    listener: Progress,
) -> tuple[IvectorExtractor, Statistics]:
    steps = count_steps(settings.n_components, n_iter=settings.ubm_iter)
    with listener.track("background model", steps) as advance:
        ubm = train_ubm(
            store,
            settings.n_components,
            covariance=settings.covariance,
            n_iter=settings.ubm_iter,
            seed=settings.seed,
            workers=workers,
            on_step=lambda _: advance(),
        )
    # Statistics belong to the mixture as the model file will hold it.
    mixture = round_mixture(ubm.mixture, settings.storage)
    with listener.track("statistics", len(store)) as advance:
        statistics = collect_statistics(
            mixture,
            _counted(store.segments(), advance),
            top=settings.top,
            workers=workers,
        )
    with listener.track("total variability", settings.tv_iter + 1) as advance:
        fit = train_total_variability(
            statistics,
            mixture,
            settings.rank,
            n_iter=settings.tv_iter,
            seed=settings.seed,
            workers=workers,
            on_iteration=lambda *_: advance(),
        )
    notes = {
        "seed": settings.seed,
        "frames": store.n_frames,
        "ubm_log_likelihood": ubm.steps[-1].log_likelihood,
        "tv_log_likelihood_start": float(fit.log_likelihoods[0]),
        "tv_log_likelihood_end": float(fit.log_likelihoods[-1]),
    }
    extractor = IvectorExtractor(
        fit.model,
        front_end=front_end.as_dict(),
        top=settings.top,
        storage=settings.storage,
        notes=notes,
    )
    return extractor, statistics


def _train_backend(
    extractor: IvectorExtractor,
    statistics: Statistics,
    speakers: Mapping[str, str],
    *,
    workers: int,
) -> BackEnd:
    rows = [row for row, name in enumerate(statistics.ids) if name in speakers]
    labels = np.array([speakers[statistics.ids[row]] for row in rows])
    if len(set(labels.tolist())) < 2:
        raise ExperimentError(
            f"{_OWNER}: a back end needs at least 2 speakers with speech, got "
            f"{len(set(labels.tolist()))}; train without --backend"
        )
    vectors = extractor.model.extract(statistics.select(rows), workers=workers)
    backend = train_backend(vectors, labels, extractor=extractor.fingerprint)
    notes = {"vectors": len(rows), "speakers": len(set(labels.tolist()))}
    return replace(backend, notes=notes)
