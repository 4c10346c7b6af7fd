"""Where the speakers of the experiment come from, and what scores them.

Three sources: a simulated world, the user's embeddings, and the neural
embeddings of spoken digits. Each is prepared once, into a folder with the model
file of the back end, an npz of the vectors where there are any, and a JSON file
that says how both came about.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sms_diar
from sms_diar._files import write_text
from sms_diar._random import named_generator
from sms_diar.datasets import (
    default_model_path,
    digits_ivectors_path,
    load_digits_ivectors,
)
from sms_diar.errors import ConfigError, DataFormatError, MissingFileError
from sms_diar.io.arrays import read_npz, read_speakers, write_npz
from sms_diar.io.embeddings import read_embeddings
from sms_diar.io.kaldi.tables import read_utt2spk
from sms_diar.io.model import write_model
from sms_diar.pipeline.models import choose_backend, read_backend
from sms_diar.scoring.backend_training import backend_to_model, train_backend
from sms_diar.studies._shared.speaker_sessions import choose_components, one_thread
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, EmbeddingSet, FloatArray

SOURCES = ("simulated", "bundled", "data", "digits")
DIGITS = "audiomnist8k"
DIGITS_TRAINING = ("arabic8k", "libri-testother10-8k")
VECTORS = "ge2e_dvec_8k.npz"

BACKEND = "backend.npz"
CORPUS = "corpus.npz"
RECORD = "prepare.json"


@dataclass(frozen=True)
class Training:
    """How a back end is trained.

    Parameters
    ----------
    speakers, segments : int
        Simulated training speakers, and segments of each.
    candidates : tuple of int
        Dimensions after the PCA to choose from.
    folds, rounds : int
        Cross-validation over training speakers.
    """

    speakers: int
    segments: int
    candidates: tuple[int, ...]
    folds: int
    rounds: int


@dataclass(frozen=True)
class Files:
    """Files of the source "data"; empty where there is none.

    Parameters
    ----------
    embeddings : str
        Any format of `sms_diar.io.embeddings`.
    labels : str
        A table utt2spk; empty for an npz that names the speakers itself.
    backend : str
        Model file of a back end.
    plda, transform : str
        Files of another toolkit instead.
    """

    embeddings: str
    labels: str
    backend: str
    plda: str
    transform: str

    def __post_init__(self) -> None:
        if self.backend and (self.plda or self.transform):
            raise ConfigError(
                f"'backend' must be given without 'plda' and 'transform', got "
                f"{self.backend!r} and {self.plda or self.transform!r}"
            )
        if self.transform and not self.plda:
            raise ConfigError("'transform' must be given with 'plda', got it alone")

    def digests(self) -> dict[str, str]:
        """Contents of all files, so that a changed file is noticed."""
        if not self.embeddings:
            raise ConfigError(
                "'embeddings' must name a file for source = \"data\", got an empty text"
            )
        return {
            name: f"{path} {file_digest(Path(path))}"
            for name, path in asdict(self).items()
            if path
        }


def file_digest(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    if not path.is_file():
        raise MissingFileError(f"{path}: no such file")
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digits_files(folder: str) -> dict[str, Path]:
    """Find the vectors of the digits corpus and of its training corpora.

    Parameters
    ----------
    folder : str
        Where the corpora are; empty for ``$SMS_DIAR_DATA``, or else
        ``../shared/data`` beside the checkout.
    """
    beside = Path(sms_diar.__file__).resolve().parents[2] / "shared" / "data"
    root = Path(folder or os.environ.get("SMS_DIAR_DATA", beside))
    files = {name: root / name / VECTORS for name in (DIGITS, *DIGITS_TRAINING)}
    missing = [str(path) for path in files.values() if not path.is_file()]
    if missing:
        raise MissingFileError(
            f'source = "digits": no {", no ".join(missing)}; point the setting '
            f"'data' or SMS_DIAR_DATA to the folder of the corpora, or take source = "
            f'"simulated", which needs no data'
        )
    return files


@one_thread
def prepare_simulated(
    folder: Path, world: Mapping[str, Any], training: Training, seed: int
) -> None:
    """Train a back end on simulated speakers, none of whom is clustered later."""
    drawn = PldaWorld(**world).draw_training(
        training.speakers, training.segments, named_generator(seed, "training")
    )
    record = {"source": "simulated", "world": dict(world)}
    _train(folder, drawn.X, drawn.speakers, training, seed, record)


@one_thread
def prepare_digits(
    folder: Path, files: Mapping[str, Path], training: Training, seed: int
) -> None:
    """Train on the training corpora; the digits are copied, not looked at."""
    sets = [_read_labelled(files[name], None) for name in DIGITS_TRAINING]
    X = np.concatenate([vectors.vectors for vectors, _ in sets])
    speakers = np.array([spk[i] for vectors, spk in sets for i in vectors.ids])
    groups = np.repeat(DIGITS_TRAINING, [len(vectors) for vectors, _ in sets])
    record = _write_corpus(folder, *_read_labelled(files[DIGITS], None))
    record |= {"source": "digits", "training": list(DIGITS_TRAINING)}
    _train(folder, X, speakers, training, seed, record, groups)


def bundled_files() -> dict[str, Path]:
    """The i-vectors and the model that come with the package."""
    return {"vectors": digits_ivectors_path(), "model": default_model_path()}


def prepare_bundled(folder: Path) -> None:
    """Take the i-vectors of real speech that come with the package."""
    embeddings, speakers = load_digits_ivectors()
    backend = read_backend(default_model_path())
    backend.check_compatible(embeddings)
    write_model(folder / BACKEND, backend_to_model(backend))
    known = dict(zip(embeddings.ids, speakers, strict=True))
    record = _write_corpus(folder, embeddings, known)
    words = (
        f"I-vectors of spoken digits that come with the package (audiomnist8k, "
        f"{record['corpus_speakers']} speakers, {record['corpus_segments']} segments; "
        f"all segments of a drawn speaker are taken), and the back end of the embedded "
        f"model, trained on other speakers."
    )
    _write_record(
        folder, {**record, "source": "bundled", "backend": "embedded", "words": words}
    )


def prepare_data(folder: Path, files: Files) -> None:
    """Check the user's files and bring them into the form of the other sources."""
    labels = Path(files.labels) if files.labels else None
    embeddings, speakers = _read_labelled(Path(files.embeddings), labels)
    backend = choose_backend(
        embeddings,
        files.backend or files.plda or None,
        files.transform or None,
        models=(),
    )
    record = _write_corpus(folder, embeddings, speakers)
    kind = "cosine, fitted to each session"
    if backend is not None:
        backend.check_compatible(embeddings)
        write_model(folder / BACKEND, backend_to_model(backend))
        kind = f"{backend.kind} from {files.backend or files.plda}"
    _write_record(folder, {**record, "source": "data", "backend": kind})


def read_record(folder: Path) -> dict[str, Any]:
    """Say how the back end and the corpus in `folder` came about."""
    text = (folder / RECORD).read_text(encoding="utf-8")
    record: dict[str, Any] = json.loads(text)
    return record


def _train(
    folder: Path,
    X: FloatArray,
    speakers: AnyArray,
    training: Training,
    seed: int,
    record: Mapping[str, Any],
    groups: AnyArray | None = None,
) -> None:
    choice = choose_components(
        X,
        speakers,
        training.candidates,
        n_folds=training.folds,
        n_rounds=training.rounds,
        seed=seed,
        groups=groups,
    )
    backend = train_backend(X, speakers, n_components=choice.best)
    write_model(folder / BACKEND, backend_to_model(backend))
    _write_record(
        folder,
        {
            **record,
            "backend": "plda, trained",
            "training_speakers": len(np.unique(speakers)),
            "training_segments": len(X),
            "choice": asdict(choice),
        },
    )


def _read_labelled(
    path: Path, labels: Path | None
) -> tuple[EmbeddingSet, dict[str, str]]:
    if labels is None:
        return read_npz(path), read_speakers(path)
    embeddings, speakers = read_embeddings(path), read_utt2spk(labels)
    missing = [name for name in embeddings.ids if name not in speakers]
    if missing:
        raise DataFormatError(
            f"no speaker for {missing[0]!r} ({len(missing)} of {len(embeddings)} ids "
            f"of {path} have none)",
            path=labels,
        )
    return embeddings, speakers


def _write_corpus(
    folder: Path, embeddings: EmbeddingSet, speakers: Mapping[str, str]
) -> dict[str, Any]:
    write_npz(folder / CORPUS, embeddings, speakers=speakers)
    names = {speakers[name] for name in embeddings.ids}
    return {"corpus_speakers": len(names), "corpus_segments": len(embeddings)}


def _write_record(folder: Path, record: Mapping[str, Any]) -> None:
    write_text(folder / RECORD, json.dumps(record, indent=1) + "\n")


def check_speakers(numbers: Sequence[int], record: Mapping[str, Any]) -> None:
    """Refuse more speakers than the corpus has, before anything is clustered."""
    available = record.get("corpus_speakers")
    if available is not None and max(numbers) > available:
        raise ConfigError(
            f"'speakers' must be at most the {available} of the corpus, "
            f"got {max(numbers)}"
        )
