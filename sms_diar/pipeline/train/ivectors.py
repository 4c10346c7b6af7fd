"""Training of i-vector models: background model, T and an optional back end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar._progress import Progress
from sms_diar.embeddings import (
    FrameStore,
    IvectorExtractor,
    Statistics,
    collect_statistics,
    train_total_variability,
    train_ubm,
)
from sms_diar.embeddings.extractor import round_mixture
from sms_diar.embeddings.ubm import count_steps
from sms_diar.errors import ExperimentError, InvalidParameterError, MissingFileError
from sms_diar.features.extract import features_of_segments
from sms_diar.features.front_end import FrontEnd
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.memory import PROGRAM, require
from sms_diar.pipeline.train.checkpoint import Checkpoint, TrainingState, training_key
from sms_diar.pipeline.train.cost import LONG, training_cost
from sms_diar.pipeline.train.extraction import Speech, count_segments, counted
from sms_diar.pipeline.train.models import IvectorModel
from sms_diar.scoring import BackEnd, train_backend
from sms_diar.types import Problem

_OWNER = "train_ivectors"


@dataclass(frozen=True)
class IvectorSettings:
    """Training settings; see `train_ubm` and the functions for T."""

    n_components: int = 128
    rank: int = 100
    covariance: str = "diagonal"
    ubm_iter: int = 10
    tv_iter: int = 10
    top: int | None = None
    storage: str = "float"
    seed: int = 0


def train_ivectors(
    speech: Sequence[Speech[FrontEnd]],
    settings: IvectorSettings | None = None,
    *,
    backend: bool = False,
    channel: int | None = None,
    allow_commands: bool = False,
    workers: int = 1,
    problems: list[Problem] | None = None,
    progress: Progress | None = None,
    notes: Mapping[str, Any] | None = None,
    checkpoint: Path | None = None,
    max_memory: int | None = None,
) -> IvectorModel:
    """Train the background model, T and optionally the back end.

    Each directory of `speech` is a session; the model stores the front end of the first
    one. With `backend`, the paper's chain and PLDA are trained on the i-vectors of the
    same segments, with the speakers of `utt2spk`. `notes` are stored in the model.

    After an interruption, training with the same data and settings continues from the
    file `checkpoint` and gives the same model. The caller removes the file after
    writing the model. See `extract_ivectors` and `sms_diar.cluster` for the others.
    """
    chosen = settings or IvectorSettings()
    front_end = _common_front_end(speech)
    # Read first, so that errors appear before hours of training.
    speakers = _speakers(speech) if backend else {}
    context = RunContext.of(workers=workers, progress=progress)
    listener = context.progress
    cost = training_cost(speech, chosen, channel=channel, workers=workers)
    if cost.cpu >= LONG:
        listener.say(cost.sentence(workers))
    cost.check_disk()
    if max_memory is not None:
        require(
            _OWNER,
            f"{chosen.n_components} components and rank {chosen.rank} on "
            f"{cost.segments} segments",
            cost.memory - PROGRAM,
            max_memory,
            "allow more memory, or use fewer components, a lower rank, fewer segments "
            "or fewer workers",
        )
    with FrameStore(front_end.dim) as store:
        for part in speech:
            label = f"features of {part.data.path.name}"
            with listener.track(label, count_segments(part.data)) as advance:
                frames = features_of_segments(
                    part.data,
                    part.front_end,
                    channel=channel,
                    allow_commands=allow_commands,
                    workers=workers,
                    problems=problems,
                )
                store.extend(counted(frames, advance))
        if len(set(store.ids)) < len(store):
            raise ExperimentError(
                f"{_OWNER}: segment ids must differ between data directories, got "
                f"{len(store) - len(set(store.ids))} twice; prefix them"
            )
        key = training_key(asdict(chosen), store.fingerprint)
        store_state = Checkpoint(checkpoint, key, listener.say)
        with store_state.on_interruption():
            extractor, statistics = _train_extractor(
                store, front_end, chosen, store_state, context
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


def _common_front_end(speech: Sequence[Speech[FrontEnd]]) -> FrontEnd:
    if not speech:
        problem = "must be at least one data directory, got none"
        raise InvalidParameterError(problem, owner=_OWNER, parameter="speech")
    first = speech[0].front_end
    for part in speech[1:]:
        same = replace(part.front_end, vad=first.vad, cmvn=first.cmvn)
        if same != first:
            problem = (
                f"must have one front end but for speech detection and normalisation, "
                f"got another one for {part.data.path}"
            )
            raise InvalidParameterError(problem, owner=_OWNER, parameter="speech")
    return first


def _speakers(speech: Sequence[Speech[FrontEnd]]) -> dict[str, str]:
    speakers: dict[str, str] = {}
    for part in speech:
        if not part.data.has("utt2spk"):
            raise MissingFileError(
                f"{part.data.path / 'utt2spk'}: no such file, and a back end needs to "
                f"know the speakers; train with backend=False",
                mentions=("backend=False",),
            )
        speakers |= part.data.utt2spk
    return speakers


def _train_extractor(
    store: FrameStore,
    front_end: FrontEnd,
    settings: IvectorSettings,
    kept: Checkpoint,
    context: RunContext,
) -> tuple[IvectorExtractor, Statistics]:
    listener, workers = context.progress, context.workers
    steps = count_steps(settings.n_components, n_iter=settings.ubm_iter)
    reached = kept.read(lambda state: _fits(state, store.dim, settings))
    done = 0 if reached.ubm is None else len(reached.ubm.steps)
    if done and reached.tv is None:
        listener.say(f"background model: continues from iteration {done} of {steps}")
    with listener.track("background model", steps, done) as advance:
        ubm = train_ubm(
            store,
            settings.n_components,
            covariance=settings.covariance,
            n_iter=settings.ubm_iter,
            seed=settings.seed,
            workers=workers,
            on_step=lambda _: advance(),
            on_state=lambda state: kept.keep(ubm=state),
            resume=reached.ubm,
        )
    # Statistics must match the mixture as stored in the model file.
    mixture = round_mixture(ubm.mixture, settings.storage)
    with listener.track("statistics", len(store)) as advance:
        statistics = collect_statistics(
            mixture,
            counted(store.segments(), advance),
            top=settings.top,
            workers=workers,
        )
    done = 0 if reached.tv is None else len(reached.tv.log_likelihoods)
    if done:
        listener.say(
            f"total variability: continues from iteration {done} of {settings.tv_iter}"
        )
    with listener.track("total variability", settings.tv_iter + 1, done) as advance:
        fit = train_total_variability(
            statistics,
            mixture,
            settings.rank,
            n_iter=settings.tv_iter,
            seed=settings.seed,
            workers=workers,
            on_iteration=lambda *_: advance(),
            on_state=lambda state: kept.keep(tv=state),
            resume=reached.tv,
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


def _fits(state: TrainingState, dim: int, settings: IvectorSettings) -> bool:
    """Return True if a state can belong to this training."""
    if state.ubm is None:
        return False
    c = settings.n_components
    steps = count_steps(c, n_iter=settings.ubm_iter)
    mixture = state.ubm.mixture
    if mixture.dim != dim or mixture.is_full != (settings.covariance == "full"):
        return False
    if not 0 < len(state.ubm.steps) <= steps:
        return False
    if mixture.n_components != state.ubm.steps[-1].n_components:
        return False
    if state.tv is None:
        return True
    return (
        len(state.ubm.steps) == steps
        and state.tv.matrix.shape == (c, dim, settings.rank)
        and state.tv.means.shape == (c, dim)
        and 0 < len(state.tv.log_likelihoods) <= settings.tv_iter
    )


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
            f"{len(set(labels.tolist()))}; train with backend=False",
            mentions=("backend=False",),
        )
    vectors = extractor.model.extract(statistics.select(rows), workers=workers)
    backend = train_backend(vectors, labels, extractor=extractor.fingerprint)
    notes = {"vectors": len(rows), "speakers": len(set(labels.tolist()))}
    return replace(backend, notes=notes)
