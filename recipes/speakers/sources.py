"""Sources of the speakers of ``recipes/speakers``, and their back ends.

The sources are a simulated world, i-vectors that come with the package, neural
embeddings of spoken digits, and the user's own embeddings. Each is prepared once, in
the form that `recipes._common.sessions` reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar._random import named_generator
from sms_diar.datasets import (
    default_model_path,
    digits_ivectors_path,
    load_digits_ivectors,
)
from sms_diar.errors import MissingFileError
from sms_diar.io.model import write_model
from sms_diar.pipeline.train.models import read_backend
from sms_diar.scoring.backend_training import backend_to_model, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, FloatArray

from .._common.components import choose_components
from .._common.corpora import DEVELOPMENT, TEST, VECTORS, corpora_place
from .._common.sessions import (
    BACKEND,
    read_labelled,
    write_corpus,
    write_record,
)
from .._common.settings import BackendTraining
from .._common.threads import one_thread

SOURCES = ("simulated", "bundled", "data", "digits")


@dataclass(frozen=True)
class World:
    """Simulated world; see `sms_diar.synthetic.PldaWorld`.

    Parameters
    ----------
    dim : int
        Dimensions of the vectors.
    eer : float
        Equal error rate of the true model over all pairs of segments.
    decay : float
        Ratio of the smallest to the largest variance between speakers.
    duration_share : float
        Share of the variance within speakers that is due to short segments.
    """

    dim: int
    eer: float
    decay: float
    duration_share: float


def digits_files(folder: str) -> dict[str, Path]:
    """Find the vectors of the digits corpus and of its training corpora.

    If the folder is empty, `recipes._common.corpora` chooses it.
    """
    root = corpora_place(folder)
    files = {name: root / name / VECTORS for name in (TEST, *DEVELOPMENT)}
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
    folder: Path, world: Mapping[str, Any], training: BackendTraining, seed: int
) -> None:
    """Train a back end on simulated speakers, none of whom is clustered later."""
    drawn = PldaWorld(**world).draw_training(
        training.speakers, training.segments, named_generator(seed, "training")
    )
    record = {"source": "simulated", "world": dict(world)}
    _train(folder, drawn.X, drawn.speakers, training, seed, record)


@one_thread
def prepare_digits(
    folder: Path, files: Mapping[str, Path], training: BackendTraining, seed: int
) -> None:
    """Train a back end on the training corpora; the digits are only copied."""
    sets = [read_labelled(files[name], None) for name in DEVELOPMENT]
    X = np.concatenate([vectors.vectors for vectors, _ in sets])
    speakers = np.array([spk[i] for vectors, spk in sets for i in vectors.ids])
    groups = np.repeat(DEVELOPMENT, [len(vectors) for vectors, _ in sets])
    record = write_corpus(folder, *read_labelled(files[TEST], None))
    record |= {"source": "digits", "training": list(DEVELOPMENT)}
    _train(folder, X, speakers, training, seed, record, groups)


def bundled_files() -> dict[str, Path]:
    """Return the files of the i-vectors and the model that come with the package."""
    return {"vectors": digits_ivectors_path(), "model": default_model_path()}


def prepare_bundled(folder: Path) -> None:
    """Prepare the i-vectors of real speech that come with the package."""
    embeddings, speakers = load_digits_ivectors()
    backend = read_backend(default_model_path())
    backend.check_compatible(embeddings)
    write_model(folder / BACKEND, backend_to_model(backend))
    known = dict(zip(embeddings.ids, speakers, strict=True))
    record = write_corpus(folder, embeddings, known)
    words = (
        f"I-vectors of spoken digits that come with the package (audiomnist8k, "
        f"{record['corpus_speakers']} speakers, {record['corpus_segments']} segments; "
        f"all segments of a drawn speaker are taken), and the back end of the embedded "
        f"model, trained on other speakers."
    )
    write_record(
        folder, {**record, "source": "bundled", "backend": "embedded", "words": words}
    )


def _train(
    folder: Path,
    X: FloatArray,
    speakers: AnyArray,
    training: BackendTraining,
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
    write_record(
        folder,
        {
            **record,
            "backend": "plda, trained",
            "training_speakers": len(np.unique(speakers)),
            "training_segments": len(X),
            "choice": asdict(choice),
        },
    )
