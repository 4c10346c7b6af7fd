"""I-vectors of a recipe, and the model that makes them.

The model is a file, or is trained on data directories, or is the one that comes with
the package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sms_diar._json import read_json, write_json
from sms_diar._progress import Progress
from sms_diar.errors import ConfigError, DataFormatError
from sms_diar.features.cmvn import CmvnConfig
from sms_diar.features.extract import features_of_segments
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.vad import VadConfig
from sms_diar.io.embeddings.files import write_embeddings
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.model import write_model
from sms_diar.pipeline.train.extraction import Speech
from sms_diar.pipeline.train.ivectors import IvectorSettings, train_ivectors
from sms_diar.pipeline.train.models import (
    IvectorModel,
    embedded_model_path,
    front_end_of,
    read_ivector_model,
    write_ivector_model,
)
from sms_diar.scoring.backend_training import backend_to_model
from sms_diar.types import EmbeddingSet, Problem, Segment

from .digests import file_digest

IVECTORS = "ivectors.ark"
BACKEND = "backend.npz"
MODEL = "model.npz"
RECORD = "ivectors.json"

_SHOWN = 3


@dataclass(frozen=True)
class ExtractorTraining:
    """Training of an i-vector model, if `train` is given.

    Parameters
    ----------
    vad : {"energy", "neural", "none"}
        Speech detector in the training segments.
    cmvn : str
        Normalisation of the cepstra: "session" (over each training directory),
        "recording", "segment", "sliding" or "none".
    components : int
        Components of the background model.
    rank : int
        Rank of the total variability matrix T, the dimension of the i-vectors.
    ubm_iter : int
        Iterations for the background model.
    tv_iter : int
        Iterations for T.
    """

    vad: str
    cmvn: str
    components: int
    rank: int
    ubm_iter: int
    tv_iter: int

    @property
    def front_end(self) -> FrontEnd:
        """Front end of the training and of the model."""
        return FrontEnd(
            cmvn=CmvnConfig(method=self.cmvn), vad=VadConfig(method=self.vad)
        )

    def settings(self, seed: int) -> IvectorSettings:
        """Return the settings of the trainer."""
        return IvectorSettings(
            n_components=self.components,
            rank=self.rank,
            ubm_iter=self.ubm_iter,
            tv_iter=self.tv_iter,
            seed=seed,
        )


@dataclass(frozen=True)
class ModelChoice:
    """Source of the i-vector model of a recipe: a file, or directories to train on.

    `cmvn` is the normalisation of cepstra at extraction; if it is empty, the model
    decides.
    """

    model: str
    train: tuple[str, ...]
    training: ExtractorTraining
    cmvn: str
    seed: int

    def __post_init__(self) -> None:
        if self.model and self.train:
            raise ConfigError(
                f"'model' and 'train' must not both be given, got {self.model!r} and "
                f"{list(self.train)!r}"
            )

    @property
    def file(self) -> Path | None:
        """The model file, if nothing is to be trained."""
        if self.train:
            return None
        if self.model:
            return Path(self.model)
        path = embedded_model_path()
        if path is None:
            raise ConfigError(
                "'model' must name an i-vector model, or 'train' data directories to "
                "train one on, got neither, and no model came with this installation"
            )
        return path

    @property
    def embedded(self) -> bool:
        """Return whether the model file is the embedded model or a copy of it."""
        packaged = embedded_model_path()
        return (
            self.file is not None
            and packaged is not None
            and file_digest(self.file) == file_digest(packaged)
        )

    @property
    def description(self) -> str:
        """Name of the model for reports."""
        if self.file is None:
            return f"model trained on {', '.join(self.train)}"
        if self.embedded:
            return f"the demonstration model of this package ({self.file})"
        return f"model {self.file}"

    def inputs(self) -> dict[str, Any]:
        """Return all inputs of the vectors, including the contents of a model file."""
        settings: dict[str, Any] = {"cmvn": self.cmvn}
        if self.file is not None:
            return {**settings, "model": f"{self.model} {file_digest(self.file)}"}
        training = vars(self.training)
        return {
            **settings,
            "train": list(self.train),
            "training": dict(training),
            "seed": self.seed,
        }

    def obtain(
        self,
        folder: Path,
        *,
        problems: list[Problem],
        workers: int,
        progress: Progress,
    ) -> IvectorModel:
        """Read the model, or train it and write it to `folder`.

        Training continues without unreadable input, which is added to `problems`.
        """
        if self.file is not None:
            return read_ivector_model(self.file)
        front_end = self.training.front_end
        speech = [Speech(DataDir(Path(path)), front_end) for path in self.train]
        labelled = all(part.data.has("utt2spk") for part in speech)
        model = train_ivectors(
            speech,
            self.training.settings(self.seed),
            backend=labelled,
            workers=workers,
            problems=problems,
            progress=progress,
        )
        write_ivector_model(folder / MODEL, model)
        return model


@dataclass(frozen=True)
class ModelSettings:
    """Settings of a recipe that makes i-vectors; see `ModelChoice`.

    Parameters
    ----------
    seed : int
        Random seed.
    model : str
        I-vector model, a file of `sms-diar ivectors train`. Without `model` and
        `train`, the demonstration model of this package is used.
    train : tuple of str
        Data directories to train a model on; they must not contain speakers of the
        test.
    cmvn : str
        Normalisation of the cepstra at extraction; empty: as the model was trained.
    training : ExtractorTraining
        Training of a model.
    """

    seed: int
    model: str
    train: tuple[str, ...]
    cmvn: str
    training: ExtractorTraining

    @property
    def choice(self) -> ModelChoice:
        """Source of the i-vector model."""
        return ModelChoice(self.model, self.train, self.training, self.cmvn, self.seed)


def write_ivectors(
    folder: Path,
    data: DataDir,
    choice: ModelChoice,
    *,
    segments: Mapping[str, Segment] | None = None,
    channel: int | None = None,
    allow_commands: bool = False,
    detect: bool = False,
    workers: int,
    progress: Progress,
) -> None:
    """Extract the i-vectors of segments that hold nothing but speech.

    The folder receives the vectors, the back end of the model if it has one, and a
    record, which lists unreadable recordings; they are skipped. `segments` replaces
    the segments of `data`. With `detect`, segments are whole recordings with pauses,
    in which speech is detected as in the training of the model.
    """
    for name in (BACKEND, MODEL):  # left by an earlier run with another model
        (folder / name).unlink(missing_ok=True)
    unused: list[Problem] = []
    model = choice.obtain(folder, problems=unused, workers=workers, progress=progress)
    tell_problems([f"{problem} (training)" for problem in unused], progress)
    front_end = front_end_of(model.extractor)
    if not detect:
        # Speech was detected in whole recordings; segments are too short for that.
        front_end = replace(front_end, vad=VadConfig(method="none"))
    if choice.cmvn:
        front_end = replace(front_end, cmvn=replace(front_end.cmvn, method=choice.cmvn))
    problems: list[Problem] = []
    frames = features_of_segments(
        data,
        front_end,
        segments=segments,
        channel=channel,
        allow_commands=allow_commands,
        workers=workers,
        problems=problems,
    )
    vectors = model.extractor.extract_all(
        frames, workers=workers, source=str(folder / IVECTORS)
    )
    _check_some(vectors, problems, data)
    write_embeddings(folder / IVECTORS, vectors)
    if model.backend is not None:
        write_model(folder / BACKEND, backend_to_model(model.backend))
    record = {
        "model": choice.description,
        "extractor": model.extractor.fingerprint,
        "dim": vectors.dim,
        "cmvn": front_end.cmvn.method,
        "backend": "none" if model.backend is None else model.backend.kind,
        "segments": len(vectors),
        "training_problems": [str(problem) for problem in unused],
        "problems": [str(problem) for problem in problems],
    }
    write_json(folder / RECORD, record)
    tell_problems([str(problem) for problem in problems], progress)


def read_ivectors_record(folder: Path) -> dict[str, Any]:
    """Read the record of `write_ivectors`."""
    record: dict[str, Any] = read_json(folder / RECORD)
    return record


def tell_problems(problems: Sequence[str], progress: Progress) -> None:
    """Print the first skipped recordings; the record lists all of them."""
    for line in problems[:_SHOWN]:
        progress.say(f"left out: {line}")
    if len(problems) > _SHOWN:
        progress.say(f"left out: {len(problems) - _SHOWN} more")


def _check_some(
    vectors: EmbeddingSet, problems: Sequence[Problem], data: DataDir
) -> None:
    if not len(vectors):
        first = f"; the first reason: {problems[0]}" if problems else ""
        raise DataFormatError(f"no segment gave an i-vector{first}", path=data.path)
