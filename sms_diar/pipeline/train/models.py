"""Model files: read, write and choose i-vector models and back ends.

A model file of kind "ivectors" contains an extractor and, if it was trained with
labels, the back end for its vectors. Vectors and back ends store the fingerprint of the
extractor, by which `choose_backend` finds the back end of given vectors. The
fingerprint of the file would change with every new back end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from sms_diar._validation import refuse_path
from sms_diar.embeddings import IvectorExtractor
from sms_diar.embeddings.extractor import KIND
from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.features.front_end import FrontEnd
from sms_diar.io._foreign import foreign_errors
from sms_diar.io.embeddings.arrays import load_arrays
from sms_diar.io.kaldi.plda import read_plda
from sms_diar.io.kaldi.transform import KaldiTransform, VbxTransform, read_transform
from sms_diar.io.model import ModelFile, is_model, read_model, write_model
from sms_diar.scoring import BackEnd, backend_from_model, backend_from_transform
from sms_diar.scoring.backend_training import KIND as BACKEND
from sms_diar.types import AnyArray, EmbeddingSet, PldaModel

_BACKENDS = {"backend": "backend_", "window_backend": "windows_"}
"""Back ends of a model, and the prefixes of their arrays in its file."""


@dataclass(frozen=True, eq=False)
class IvectorModel:
    """Contents of a model file: the extractor, and back ends if there are any.

    `window_backend` scores windows of one recording in diarization. Without it,
    `backend` does, which scores segments of any session.
    """

    extractor: IvectorExtractor
    backend: BackEnd | None = None
    window_backend: BackEnd | None = None

    def __post_init__(self) -> None:
        for name in _BACKENDS:
            backend: BackEnd | None = getattr(self, name)
            if backend is None:
                continue
            made_for = backend.extractor
            if backend.dim != self.extractor.dim or made_for not in (
                None,
                self.extractor.fingerprint,
            ):
                raise InvalidParameterError(
                    f"must be for {self.extractor.dim} dimensions of extractor "
                    f"{self.extractor.fingerprint}, got one for {backend.dim} "
                    f"dimensions of {made_for}",
                    owner="IvectorModel",
                    parameter=name,
                )

    @property
    def front_end(self) -> FrontEnd:
        """Front end that the extractor was trained with."""
        return front_end_of(self.extractor)

    def to_dict(self) -> dict[str, Any]:
        """Describe the model and its training as plain values for JSON."""
        extractor = self.extractor
        mixture = extractor.model.mixture
        backends = {
            name: None
            if backend is None
            else {"kind": backend.kind, "dim": backend.score_dim, **backend.notes}
            for name in _BACKENDS
            for backend in [getattr(self, name)]
        }
        return {
            "extractor": extractor.fingerprint,
            "components": mixture.n_components,
            "covariance": "full" if mixture.is_full else "diagonal",
            "frame_dim": extractor.frame_dim,
            "rank": extractor.dim,
            "top": extractor.top,
            "storage": extractor.storage,
            **backends,
            "notes": dict(extractor.notes),
            "front_end": dict(extractor.front_end),
        }


def front_end_of(extractor: IvectorExtractor) -> FrontEnd:
    """Front end that the extractor was trained with."""
    return FrontEnd.from_dict(extractor.front_end, origin="front end of the model")


def write_ivector_model(path: str | Path, model: IvectorModel) -> str:
    """Write a model and return the fingerprint of the file."""
    file = model.extractor.to_model()
    arrays: dict[str, AnyArray] = dict(file.arrays)
    words = dict(file.words)
    for name, prefix in _BACKENDS.items():
        backend: BackEnd | None = getattr(model, name)
        if backend is None:
            continue
        arrays |= {prefix + key: array for key, array in backend.arrays().items()}
        words[name] = {
            "kind": backend.kind,
            "extractor": model.extractor.fingerprint,
            "notes": dict(backend.notes),
        }
    file = ModelFile(KIND, arrays, words)
    write_model(path, file)
    return file.fingerprint


def read_ivector_model(path: str | Path | None = None) -> IvectorModel:
    """Read what `write_ivector_model` wrote; the embedded model by default."""
    if path is None:
        path = require_model_path()
    file = read_model(path, KIND)
    extractor = IvectorExtractor.from_model(file, path=str(path))
    backends = {
        name: _backend_of(file, path, name)
        for name in _BACKENDS
        if file.words.get(name) is not None
    }
    return IvectorModel(extractor, **backends)


def _backend_of(file: ModelFile, path: str | Path, name: str) -> BackEnd:
    prefix = _BACKENDS[name]
    arrays = {
        key.removeprefix(prefix): array
        for key, array in file.arrays.items()
        if key.startswith(prefix)
    }
    with foreign_errors(path, "its back end makes no sense"):
        return BackEnd.from_arrays(arrays, file.words[name])


def embedded_model_path() -> Path | None:
    """Return the path of the embedded i-vector model, if it is installed."""
    try:
        datasets = import_module("sms_diar.datasets")
    except ModuleNotFoundError as error:
        if error.name != "sms_diar.datasets":
            raise
        return None
    path = Path(datasets.default_model_path())
    return path if path.is_file() else None


def require_model_path() -> Path:
    """Return the path of the embedded i-vector model, or raise an error."""
    path = embedded_model_path()
    if path is None:
        raise MissingFileError(
            "this installation has no embedded i-vector model; model=PATH uses another "
            "one, which 'sms-diar ivectors train' makes",
            mentions=("model=PATH",),
        )
    return path


def read_backend(path: str | Path) -> BackEnd:
    """Read the back end of a model file, with or without an extractor."""
    # Only i-vector models have a T; reading checks the kind in the header.
    if "tv_matrix" not in load_arrays(path):
        return backend_from_model(read_model(path, BACKEND), path=path)
    model = read_ivector_model(path)
    if model.backend is None:
        raise DataFormatError(
            "an i-vector model without a back end; train it with backend=True, or a "
            "back end on its vectors with 'sms-diar plda train'",
            path=path,
        )
    return model.backend


def choose_backend(
    embeddings: EmbeddingSet,
    plda: str | Path | BackEnd | PldaModel | None = None,
    transform: str | Path | None = None,
    *,
    transform_length: str | None = None,
    models: Sequence[str | Path] | None = None,
) -> BackEnd | None:
    """Find the back end for given vectors.

    `plda` is a model file of this package, with or without an extractor, or a Kaldi
    PLDA file, or the contents of one. `transform` is the transform for a Kaldi PLDA
    model; without PLDA, it makes a cosine back end. A folder with Kaldi's ``mean.vec``
    and ``transform.mat`` is scored as in Kaldi's recipes. `transform_length`, "unit" or
    "sqrt-dim", is the target length of the normalisations of a VBx transform, by
    default as in the file. Without `plda` and `transform`, i-vector `models` that may
    have made the vectors are searched, by default the embedded model.

    Return None if nothing was specified and the extractor of the vectors is unknown; a
    back end is then fitted to each session.
    """
    refuse_path(
        "choose_backend",
        "embeddings",
        embeddings,
        "an EmbeddingSet",
        "read it with sms_diar.read_embeddings",
    )
    if plda is None and transform is None:
        return _backend_of_extractor(embeddings.extractor, models)
    name = "plda" if isinstance(plda, BackEnd | PldaModel) else f"{plda}"
    if isinstance(plda, str | Path):
        plda = read_backend(plda) if is_model(plda) else read_plda(plda)
    if isinstance(plda, BackEnd):
        if transform is not None:
            problem = f"must be omitted, because {name} has its own, got {transform}"
            raise InvalidParameterError(problem, owner="cluster", parameter="transform")
        return plda
    chain = None if transform is None else read_transform(transform)
    if isinstance(chain, VbxTransform) and transform_length is not None:
        chain = replace(chain, length=transform_length)
    if chain is None and plda is not None and plda.dim != embeddings.dim:
        problem = (
            f"a PLDA model of {plda.dim} dimensions cannot score the "
            f"{embeddings.dim}-dimensional vectors of {embeddings.source}; "
            f"transform=PATH names the one that comes before it"
        )
        raise InvalidParameterError(problem, owner=name, mentions=("transform=PATH",))
    # Kaldi's recipes also normalise lengths in the space of the PLDA model.
    is_kaldi = isinstance(chain, KaldiTransform)
    return backend_from_transform(
        chain, plda, embeddings.dim, normalize_length=is_kaldi
    )


def _backend_of_extractor(
    extractor: str | None, models: Sequence[str | Path] | None
) -> BackEnd | None:
    """Return the back end of the first model with this extractor."""
    if extractor is None:
        return None
    if models is None:
        embedded = embedded_model_path()
        models = [] if embedded is None else [embedded]
    for path in models:
        model = read_ivector_model(path)
        if model.extractor.fingerprint == extractor:
            return model.backend
    return None
