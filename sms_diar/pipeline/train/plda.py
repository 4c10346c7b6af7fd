"""PLDA models: train, adapt and describe them, and score pairs with them.

A model is a back end of this package (npz: the chain from raw vectors to the vectors of
the PLDA model, and the model), alone or inside an i-vector model, or a Kaldi PLDA file,
which has only the model. The content decides which of them a file is. Scores are
written in blocks, because all pairs of a corpus do not fit in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sms_diar._progress import Progress
from sms_diar.errors import DataFormatError, InvalidParameterError
from sms_diar.io._bytes import open_source
from sms_diar.io._lines import check_field
from sms_diar.io.embeddings.arrays import read_speakers
from sms_diar.io.kaldi.plda import read_plda
from sms_diar.io.kaldi.tables import invert, read_spk2utt
from sms_diar.io.labels import read_labels
from sms_diar.io.model import write_model
from sms_diar.io.trials import Trials
from sms_diar.metrics.verification import equal_error_rate
from sms_diar.pipeline.train.models import choose_backend, read_backend
from sms_diar.preprocessing import fold, paper_chain
from sms_diar.preprocessing.axes import Shrinkage
from sms_diar.scoring.backend import BackEnd, backend_from_transform, build_backend
from sms_diar.scoring.backend_plda import TrialTerms, phi_of, plda_of, with_plda
from sms_diar.scoring.backend_training import backend_to_model
from sms_diar.scoring.plda_training import Estimation, adapt_plda, fit_plda
from sms_diar.types import BoolArray, EmbeddingSet, FloatArray, IntArray, PldaModel

ROWS = 64
"""Number of enrolled speakers per block."""

TRIALS = 1 << 15
"""Number of trials per block."""

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
        problem = f"{' and '.join(parts)}; add them, or skip them with intersect=True"
        raise InvalidParameterError(
            problem, owner=embeddings.source, mentions=("intersect=True",)
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


Writer: TypeAlias = Callable[[str], Any]


class Enrolment(NamedTuple):
    """Enrolled speakers: mean vectors of shape (n, d), and counts of shape (n,)."""

    names: tuple[str, ...]
    means: FloatArray
    counts: IntArray


def enrol(ids: tuple[str, ...], phi: FloatArray, average: Path | None) -> Enrolment:
    """Enrol each vector as one speaker, or the mean vector of each speaker.

    `phi` are the vectors in the space of the PLDA model, shape (n, d). `average` is a
    table of labels, spk2utt if the file has this name.
    """
    if average is None:
        return Enrolment(ids, phi, np.ones(len(ids), dtype=np.int64))
    speakers: Mapping[str, Iterable[str]]
    if "spk2utt" in average.name:
        speakers = read_spk2utt(average)
    else:
        speakers = invert(read_labels(average))
    row_of = {name: row for row, name in enumerate(ids)}
    listed = [name for names in speakers.values() for name in names]
    missing = [name for name in listed if name not in row_of]
    if missing or not listed:
        raise DataFormatError(
            f"{len(missing)} of {len(listed)} ids are not among the embeddings of "
            f"enrolment ({some_of(missing)})"
            if listed
            else "names no ids",
            path=average,
        )
    rows = [[row_of[name] for name in names] for names in speakers.values()]
    means = np.array([phi[chosen].mean(axis=0) for chosen in rows])
    counts = np.array([len(chosen) for chosen in rows], dtype=np.int64)
    return Enrolment(tuple(speakers), means, counts)


def score_trials(
    terms: TrialTerms, trials: Trials, write: Writer, progress: Progress
) -> dict[str, Any]:
    """Score a list of trials; return their number and, with targets, the error rate.

    `write` receives lines of the form "enrol test score".
    """
    total = len(trials.rows)
    scores = np.empty(total)
    starts = range(0, total, TRIALS)
    with progress.track("trials", len(starts)) as advance:
        for start in starts:
            part = slice(start, start + TRIALS)
            rows, columns = trials.rows[part], trials.columns[part]
            scores[part] = terms.pairs(rows, columns)
            lines = zip(
                rows.tolist(), columns.tolist(), scores[part].tolist(), strict=True
            )
            write(
                "".join(
                    f"{trials.enrolled[row]} {trials.tested[column]} {value:.9g}\n"
                    for row, column, value in lines
                )
            )
            advance()
    result: dict[str, Any] = {"trials": total}
    if trials.is_target is not None:
        result |= _error_rate(scores, trials.is_target)
    return result


def score_all_pairs(
    terms: TrialTerms,
    enrolled: tuple[str, ...],
    tested: tuple[str, ...],
    write: Writer,
    progress: Progress,
    *,
    once: bool,
) -> dict[str, Any]:
    """Score all pairs, a block of rows at a time.

    `enrolled` and `tested` are the names of rows and columns. With `once`, both sides
    are equal, and each pair is scored once.
    """
    for name in {*enrolled, *tested}:
        check_field("plda score", "id", name, format="the scores")
    starts = range(0, len(enrolled), ROWS)
    total = 0
    with progress.track("pairs", len(starts)) as advance:
        for start in starts:
            first = start + 1 if once else 0
            rows = slice(start, start + ROWS)
            block = terms.block(rows, slice(first, None))
            for place, scores in enumerate(block):
                skip = place if once else 0
                head = enrolled[start + place]
                values = scores[skip:].tolist()
                partners = tested[first + skip :]
                write(
                    "".join(
                        f"{head} {name} {value:.9g}\n"
                        for name, value in zip(partners, values, strict=True)
                    )
                )
                total += len(values)
            advance()
    return {"trials": total}


def _error_rate(scores: FloatArray, is_target: BoolArray) -> dict[str, Any]:
    n_targets = int(is_target.sum())
    if n_targets in (0, len(scores)):  # no error rate with one class
        return {"targets": n_targets, "eer": None}
    return {"targets": n_targets, "eer": equal_error_rate(scores, is_target)}
