"""PLDA models: train, adapt and describe them.

A model is a back end of this package (npz: the chain from raw vectors to the vectors of
the PLDA model, and the model), alone or inside an i-vector model, or a Kaldi PLDA file,
which has only the model. The content decides which of them a file is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar.errors import InvalidParameterError
from sms_diar.io._bytes import open_source
from sms_diar.io.embeddings.arrays import read_speakers
from sms_diar.io.kaldi.plda import read_plda
from sms_diar.io.labels import read_labels
from sms_diar.io.model import write_model
from sms_diar.pipeline.train.models import choose_backend, read_backend
from sms_diar.preprocessing import fold, paper_chain
from sms_diar.preprocessing.axes import Shrinkage
from sms_diar.scoring.backend import BackEnd, backend_from_transform, build_backend
from sms_diar.scoring.backend_plda import phi_of, plda_of, with_plda
from sms_diar.scoring.backend_training import backend_to_model
from sms_diar.scoring.plda_training import Estimation, adapt_plda, fit_plda
from sms_diar.types import EmbeddingSet, FloatArray, PldaModel

_NAMED = 3  # maximum number of ids in a message


@dataclass(frozen=True, eq=False)
class TrainedPlda:
    """PLDA model, the back end with its transform, and notes on its training."""

    backend: BackEnd
    model: PldaModel
    notes: Mapping[str, Any]


def read_plda_model(path: str | Path) -> tuple[BackEnd | PldaModel, str | None]:
    """Read a model, and the fingerprint of its back end if it has one."""
    with open_source(path) as source:
        is_archive = source.peek(2) == b"PK"
    if not is_archive:
        return read_plda(path), None
    backend = read_backend(path)
    return backend, backend_to_model(backend).fingerprint


def write_backend(path: str | Path, backend: BackEnd, notes: Mapping[str, Any]) -> str:
    """Write a back end with notes; return its fingerprint."""
    file = backend_to_model(replace(backend, notes=dict(notes)))
    write_model(path, file)
    return file.fingerprint


def labelled_embeddings(
    embeddings: EmbeddingSet,
    labels: str | Path | None = None,
    *,
    intersect: bool = False,
) -> tuple[EmbeddingSet, list[str]]:
    """Return the embeddings that have a label, and their speakers.

    `labels` is the path of an utt2spk, CSV or JSON table; by default the labels in the
    npz file of the vectors. With `intersect`, only ids with both a vector and a label
    are used, instead of raising an error.
    """
    if labels is not None:
        speakers, source = read_labels(labels), str(labels)
    else:
        speakers, source = read_speakers(embeddings.source), embeddings.source
    unlabelled = [name for name in embeddings.ids if name not in speakers]
    ids = set(embeddings.ids)
    missing = [name for name in speakers if name not in ids]
    if len(unlabelled) == len(embeddings):
        raise InvalidParameterError(
            f"{embeddings.source}: no id is in {source}; the first ids are "
            f"{embeddings.ids[0]!r} and {next(iter(speakers), 'none')!r}"
        )
    if (unlabelled or missing) and not intersect:
        parts = []
        if unlabelled:
            parts.append(
                f"{len(unlabelled)} of {len(embeddings)} vectors have no speaker in "
                f"{source} ({some_of(unlabelled)})"
            )
        if missing:
            parts.append(
                f"{len(missing)} of {len(speakers)} labels have no vector "
                f"({some_of(missing)})"
            )
        raise InvalidParameterError(
            f"{embeddings.source}: {' and '.join(parts)}; add them, or skip them "
            f"with intersect=True"
        )
    rows = [row for row, name in enumerate(embeddings.ids) if name in speakers]
    chosen = embeddings.select(rows)
    return chosen, [speakers[name] for name in chosen.ids]


def train_plda(
    embeddings: EmbeddingSet,
    speakers: Sequence[str],
    *,
    n_components: int | float | None = None,
    shrinkage: Shrinkage = 0.0,
    iterations: int = 20,
    estimation: Estimation = "ml",
    raw: bool = False,
) -> TrainedPlda:
    """Train the paper's chain and a PLDA model on labelled vectors.

    `n_components` is the number of dimensions after the PCA, or the share of variance
    to keep; all by default. `shrinkage` regularises the whitening. `estimation` is
    maximum likelihood by `iterations` of EM, or the estimate of ivector-compute-plda.
    With `raw`, the vectors are used without a transform.
    """
    phi = embeddings.vectors
    if not raw:
        chain = paper_chain(n_components, shrinkage=shrinkage).fit(phi)
        phi = chain.transform(phi)
    fit = fit_plda(phi, speakers, n_iter=iterations, estimation=estimation)
    if raw:
        backend = backend_from_transform(None, fit.model, embeddings.dim)
    else:
        backend = build_backend(fold(chain), fit.model)
    notes = {
        "vectors": len(embeddings),
        "speakers": len(set(speakers)),
        "dim_in": embeddings.dim,
        "dim": fit.model.dim,
        "chain": "none" if raw else "length, PCA, whitening, length",
        "estimation": estimation,
        "iterations": fit.n_iter,
        "log_likelihood_start": float(fit.log_likelihoods[0]),
        "log_likelihood_end": float(fit.log_likelihoods[-1]),
    }
    return TrainedPlda(backend.with_extractor(embeddings.extractor), fit.model, notes)


def backend_of(
    path: str | Path,
    embeddings: EmbeddingSet,
    transform: str | Path | None = None,
    transform_length: str | None = None,
) -> BackEnd:
    """Return the back end of a model file, checked against the embeddings.

    See `choose_backend` for the parameters.
    """
    backend = choose_backend(
        embeddings, path, transform, transform_length=transform_length
    )
    if backend is None:  # a bug: a path was given
        raise AssertionError(path)
    backend.check_compatible(embeddings)
    return backend


def adapt_backend(
    model: BackEnd | PldaModel,
    backend: BackEnd,
    embeddings: EmbeddingSet,
    *,
    within_scale: float = 0.3,
    between_scale: float = 0.7,
    mean_scale: float = 1.0,
) -> BackEnd | PldaModel:
    """Adapt a model to unlabelled vectors of another domain.

    `model` is the result of `read_plda_model`, and the adapted model has the same type;
    `backend` is the result of `backend_of` for the same file. Scales are as in
    `adapt_plda`.
    """
    adapted = adapt_plda(
        # The recovered model is rounded; a Kaldi file has the exact one.
        plda_of(backend) if isinstance(model, BackEnd) else model,
        phi_of(backend, embeddings.vectors),
        within_covar_scale=within_scale,
        between_covar_scale=between_scale,
        mean_diff_scale=mean_scale,
    )
    if not isinstance(model, BackEnd):
        return adapted
    notes = {
        **backend.notes,
        "adapted_to": Path(embeddings.source).name,
        "adapted_vectors": len(embeddings),
        "adapted_scales": [within_scale, between_scale, mean_scale],
    }
    return replace(with_plda(backend, adapted), notes=notes)


def describe_model(path: str | Path) -> dict[str, Any]:
    """Describe a model and its origin as plain values for JSON."""
    loaded, fingerprint = read_plda_model(path)
    facts: dict[str, Any] = {"model": str(path)}
    plda: PldaModel | None
    if isinstance(loaded, BackEnd):
        plda = plda_of(loaded) if loaded.kind == "plda" else None
        facts |= {
            "kind": f"back end ({loaded.kind})",
            "dim_in": loaded.dim,
            "dim": loaded.score_dim,
            "length_normalised": bool(loaded.norm_weights.any()),
        }
        extractor, notes = loaded.extractor, dict(loaded.notes)
    else:
        plda = loaded
        facts |= {"kind": "Kaldi PLDA", "dim_in": loaded.dim, "dim": loaded.dim}
        extractor, notes = None, {}
    facts |= {"fingerprint": fingerprint, "extractor": extractor}
    if plda is not None:
        facts["psi"] = _summary(plda.psi)
    facts["notes"] = notes
    return facts


def _summary(psi: FloatArray) -> dict[str, float]:
    shares = {"largest": 1.0, "90%": 0.9, "median": 0.5, "10%": 0.1, "smallest": 0.0}
    quantiles = {name: float(np.quantile(psi, at)) for name, at in shares.items()}
    return {**quantiles, "sum": float(psi.sum())}


def some_of(names: Sequence[str]) -> str:
    """Format the first few names of a long list."""
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
