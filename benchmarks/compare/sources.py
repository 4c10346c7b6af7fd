"""Sources of the sessions of ``benchmarks/compare``, and their back ends.

A source is a corpus of vectors, or a simulated world, with a back end whose training
speakers are in none of its sessions. Each is prepared by one task, which leaves its
files in the folder of the stage and says what it made: a catalogue of plain values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.audio import Disturbance, write_disturbed
from benchmarks.compare.conditions import draw_world
from benchmarks.compare.conversations import prepare_conversations
from benchmarks.compare.timed import CONVERSATIONS, MEETINGS
from benchmarks.compare.vectors import (
    STAND_IN,
    prepare_isotropic,
    prepare_stand_in,
    prepare_vectors,
    raw_name,
    without_backend,
)
from recipes._common.components import choose_components
from recipes._common.corpora import (
    TEST,
    TRAINING,
    VECTORS,
    speech_of,
)
from recipes._common.digests import listing_digest
from recipes._common.settings import BackendTraining
from recipes._common.threads import one_thread
from sms_diar._random import named_generator
from sms_diar.datasets import default_model_path, load_digits_ivectors
from sms_diar.io.embeddings.arrays import read_npz, read_speakers, write_npz
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.model import write_model
from sms_diar.metrics import all_pairs, equal_error_rate
from sms_diar.pipeline.train.extraction import Speech, extract_ivectors
from sms_diar.pipeline.train.ivectors import IvectorSettings, train_ivectors
from sms_diar.pipeline.train.models import IvectorModel, front_end_of, read_backend
from sms_diar.scoring import BackEnd, backend_to_model, train_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, EmbeddingSet, FloatArray

MEETING = "ami-es2005a"
LABELS = {
    "arabic8k": "arabic",
    "libri-testother10-8k": "testother",
    "pool": "pool",
    "crowd": "crowd",
    TEST: "digits",
    "simulated": "stand-in",
    STAND_IN: "sim",
}
"""Names of corpora in tables."""

Source = dict[str, Any]
Catalogue = dict[str, Source]


@dataclass(frozen=True)
class SourceTraining(BackendTraining):
    """Training of back ends and extractors.

    Cross-validation chooses the dimensions of neural vectors.

    Parameters
    ----------
    components : int
        Components of the background model of the i-vector extractor.
    rank : int
        Rank of its total variability matrix T.
    band : str
        Band of its filters: "full" or "telephone".
    """

    components: int
    rank: int
    band: str


def development_digests(root: Path) -> dict[str, str]:
    """Digests of the corpora of development that are there; never of the test's."""
    names = (*TRAINING, MEETING, CONVERSATIONS, MEETINGS)
    return {
        name: listing_digest(root / name) for name in names if (root / name).is_dir()
    }


def hard_name(index: int) -> str:
    """Name of the source of a disturbance."""
    return f"hard-{index}"


def hard_label(disturbance: Disturbance) -> str:
    """Name in tables."""
    text = f"{disturbance.seconds:g}s"
    if disturbance.band:
        text += " band"
    if disturbance.snr_db is not None:
        text += f" {disturbance.snr_db:g}dB"
    if 0.0 < disturbance.share < 1.0:
        text += f"/{100 * disturbance.share:g}%"
    return text


@one_thread
def prepare_world(
    *,
    name: str,
    world: Mapping[str, Any],
    trained_on: Mapping[str, Any],
    tail: float,
    training: Mapping[str, Any],
    folder: str,
    seed: int,
) -> Catalogue:
    """Train a back end on simulated speakers, perhaps of another world."""
    rng = named_generator(seed, "compare", "training", name)
    counts = [training["segments"]] * training["speakers"]
    other = tail if world == trained_on else 0.0
    drawn = draw_world(PldaWorld(**trained_on), counts, other, rng)
    backend = train_backend(drawn.X, drawn.speakers)
    held_out = draw_world(PldaWorld(**world), [12] * 60, tail, rng)
    return {
        name: {
            "world": dict(world),
            "tail": tail,
            "backend": _keep(folder, name, backend),
            "speakers": 0,
            "segments": 0,
            "eer": _eer(backend, held_out.X, held_out.speakers),
            "words": f"simulated, back end of {len(counts)} other simulated speakers",
        }
    }


@one_thread
def prepare_ivectors(
    *,
    corpus: str,
    root: str,
    training: Mapping[str, Any],
    disturbances: Sequence[Mapping[str, Any]],
    most: int,
    folder: str,
    seed: int,
) -> Catalogue:
    """I-vectors of a corpus, and of disturbed copies, by an extractor of the others."""
    # The extractor remembers the first front end, which must not detect speech.
    others = [name for name in TRAINING if name != corpus][::-1]
    speech = [speech_of(name, Path(root) / name, training["band"]) for name in others]
    settings = IvectorSettings(
        n_components=training["components"], rank=training["rank"], seed=seed
    )
    # Some segments of the untrimmed corpus contain no speech and are skipped.
    model = train_ivectors(speech, settings, backend=True, problems=[])
    if model.backend is None:  # pragma: no cover
        raise RuntimeError("train_ivectors(backend=True) gave no back end")
    name = f"{corpus}-ivectors"
    backend = _keep(folder, name, model.backend)
    words = f"extractor and back end of {' and '.join(others)}"
    data = DataDir(Path(root) / corpus)
    made = {name: _extracted(model, data, Path(folder) / f"{name}.npz")}
    for index, fields in enumerate(disturbances):
        hard, disturbance = hard_name(index), Disturbance(**fields)
        copy = write_disturbed(
            data, Path(folder) / hard, disturbance, most=most, seed=seed
        )
        made[hard] = _extracted(model, copy, Path(folder) / f"{hard}.npz")
        made[hard]["label"] = hard_label(disturbance)
    for source in made.values():
        source |= {"backend": backend, "words": words}
    raw = f"extractor of {' and '.join(others)}, no PLDA: cosine, fitted to the session"
    made[raw_name(corpus, "ivectors")] = without_backend(made[name], raw)
    return made


@one_thread
def prepare_neural(
    *,
    corpus: str,
    trained_on: Sequence[str],
    root: str,
    training: Mapping[str, Any],
    folder: str,
    seed: int,
) -> Catalogue:
    """Neural vectors of a corpus, with a back end of other corpora."""
    X, speakers, groups = [], [], []
    for other in trained_on:
        vectors, names = _read_neural(Path(root) / other)
        X.append(vectors.vectors)
        speakers += [names[i] for i in vectors.ids]
        groups += [other] * len(vectors)
    rows, who = np.concatenate(X), np.array(speakers)
    choice = choose_components(
        rows,
        who,
        training["candidates"],
        n_folds=training["folds"],
        n_rounds=training["rounds"],
        seed=seed,
        groups=np.array(groups),
    )
    backend = train_backend(rows, who, n_components=choice.best)
    name = f"{corpus}-neural"
    # Only now the corpus itself is read.
    vectors, names = _read_neural(Path(root) / corpus)
    path = Path(folder) / f"{name}.npz"
    write_npz(path, vectors, speakers=names)
    own = np.array([names[i] for i in vectors.ids])
    source = _source(path, vectors, own, backend)
    source["backend"] = _keep(folder, name, backend)
    source["choice"] = asdict(choice)
    source["words"] = (
        f"back end of {' and '.join(trained_on)}, {choice.best} dimensions"
    )
    return {name: source}


@one_thread
def prepare_digits(*, folder: str) -> Catalogue:
    """The i-vectors and the back end that come with the package."""
    embeddings, speakers = load_digits_ivectors()
    backend = read_backend(default_model_path())
    backend.check_compatible(embeddings)
    name = f"{TEST}-ivectors"
    path = Path(folder) / f"{name}.npz"
    known = dict(zip(embeddings.ids, speakers, strict=True))
    write_npz(path, embeddings, speakers=known)
    source = _source(path, embeddings, np.asarray(speakers), backend)
    source["backend"] = _keep(folder, name, backend)
    source["words"] = "the embedded model and its back end"
    raw = "the embedded model, no PLDA: cosine, fitted to the session"
    return {name: source, raw_name(TEST, "ivectors"): without_backend(source, raw)}


def prepare(*, kind: str, **arguments: Any) -> Catalogue:
    """Prepare a source of one of the kinds in `_PREPARE`."""
    made: Catalogue = _PREPARE[kind](**arguments)
    return made


_PREPARE: Mapping[str, Any] = {
    "world": prepare_world,
    "ivectors": prepare_ivectors,
    "neural": prepare_neural,
    "digits": prepare_digits,
    "vectors": prepare_vectors,
    "stand-in": prepare_stand_in,
    "isotropic": prepare_isotropic,
    "conversations": prepare_conversations,
}


def _extracted(model: IvectorModel, data: DataDir, path: Path) -> Source:
    problems: list[Any] = []
    vectors = extract_ivectors(
        Speech(data, front_end_of(model.extractor)), model.extractor, problems=problems
    )
    write_npz(path, vectors, speakers=data.utt2spk)
    speakers = np.array([data.utt2spk[i] for i in vectors.ids])
    if model.backend is None:  # pragma: no cover
        raise RuntimeError("an i-vector model without a back end")
    return _source(path, vectors, speakers, model.backend)


def _source(
    path: Path, vectors: EmbeddingSet, speakers: AnyArray, backend: BackEnd
) -> Source:
    return {
        "corpus": str(path),
        "speakers": len(np.unique(speakers)),
        "segments": len(vectors),
        "eer": _eer(backend, vectors.vectors, speakers),
    }


def _read_neural(folder: Path) -> tuple[EmbeddingSet, dict[str, str]]:
    path = folder / VECTORS
    return read_npz(path), read_speakers(path)


def _keep(folder: str, name: str, backend: BackEnd) -> str:
    path = Path(folder) / f"{name}.backend.npz"
    write_model(path, backend_to_model(backend))
    return str(path)


def _eer(backend: BackEnd, X: FloatArray, speakers: AnyArray) -> float:
    """Equal error rate of all pairs."""
    return equal_error_rate(*all_pairs(backend.score_matrix(X), speakers))
