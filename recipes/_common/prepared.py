"""A corpus of embeddings and its back end, in the form in which sessions read them.

A folder holds an npz of the vectors, where there are any, the model file of the back
end, where there is one, and a JSON file that says how both came about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sms_diar._json import read_json, write_json
from sms_diar.errors import ConfigError, DataFormatError
from sms_diar.io.embeddings.arrays import read_npz, read_speakers, write_npz
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.tables import read_utt2spk
from sms_diar.io.model import write_model
from sms_diar.pipeline.train.models import choose_backend
from sms_diar.scoring.backend_training import backend_to_model
from sms_diar.types import EmbeddingSet

from .settings import EmbeddingFiles

BACKEND = "backend.npz"
CORPUS = "corpus.npz"
RECORD = "prepare.json"


def clear(folder: Path) -> None:
    """Remove what an earlier run from another source has left."""
    for name in (BACKEND, CORPUS):
        (folder / name).unlink(missing_ok=True)


def prepare_data(folder: Path, files: EmbeddingFiles) -> None:
    """Check the user's files and bring them into the form of the other sources."""
    labels = Path(files.labels) if files.labels else None
    embeddings, speakers = read_labelled(Path(files.embeddings), labels)
    backend = choose_backend(
        embeddings,
        files.backend or files.plda or None,
        files.transform or None,
        models=(),
    )
    record = write_corpus(folder, embeddings, speakers)
    kind = "cosine, fitted to each session"
    if backend is not None:
        backend.check_compatible(embeddings)
        write_model(folder / BACKEND, backend_to_model(backend))
        kind = f"{backend.kind} from {files.backend or files.plda}"
    write_record(folder, {**record, "source": "data", "backend": kind})


def read_labelled(
    path: Path, labels: Path | None
) -> tuple[EmbeddingSet, dict[str, str]]:
    """Read embeddings and who speaks in each; an npz may say so itself."""
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


def write_corpus(
    folder: Path, embeddings: EmbeddingSet, speakers: Mapping[str, str]
) -> dict[str, Any]:
    """Write the vectors of known speakers; what a record says about them."""
    write_npz(folder / CORPUS, embeddings, speakers=speakers)
    names = {speakers[name] for name in embeddings.ids}
    return {"corpus_speakers": len(names), "corpus_segments": len(embeddings)}


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write down how the back end and the corpus in `folder` came about."""
    write_json(folder / RECORD, dict(record))


def read_record(folder: Path) -> dict[str, Any]:
    """Read the provenance of the back end and the corpus in `folder`."""
    record: dict[str, Any] = read_json(folder / RECORD)
    return record


def backend_path(folder: Path) -> str:
    """Model file of the back end; empty where sessions fit their own."""
    path = folder / BACKEND
    return str(path) if path.exists() else ""


def check_speakers(numbers: Sequence[int], record: Mapping[str, Any]) -> None:
    """Refuse more speakers than the corpus has, before anything is clustered."""
    available = record.get("corpus_speakers")
    if available is not None and max(numbers) > available:
        raise ConfigError(
            f"'speakers' must be at most the {available} of the corpus, "
            f"got {max(numbers)}"
        )
