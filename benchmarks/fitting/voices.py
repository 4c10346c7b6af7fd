"""The back end of ``campplus``: vectors, cross-validation over corpora, the file.

``scripts/make-model voices`` calls `make`. Its settings were chosen on the development
corpora only, each scored by a back end that was trained on the others; the test corpus
is scored once, by the back end that ships.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.fitting.shrunk_plda import BETWEEN, WITHIN
from benchmarks.fitting.voice_cuts import (
    CutVectors,
    train_on_cuts,
    vectors_of,
)
from recipes._common.corpora import DEVELOPMENT, TEST, TRAINING
from sms_diar._json import write_json
from sms_diar.embeddings.network import Embedder
from sms_diar.io.model import ModelFile, write_model
from sms_diar.metrics import equal_error_rate
from sms_diar.report.tables import Table
from sms_diar.scoring import BackEnd, backend_to_model
from sms_diar.scoring.scorer import CosineScorer
from sms_diar.types import AnyArray, FloatArray

TESTED = (("window", "1.5 s"), ("long", "3 s"), ("telephone", "telephone"))
"""Kinds of cuts that are scored against each other, and what tables call them."""


def make(
    corpora: Path, embedder: Embedder, target: Path, work: Path, *, test: bool = False
) -> str:
    """Train the back end of an embedder, write it, and return a table of error rates.

    Parameters
    ----------
    corpora : Path
        Folder of the corpora.
    embedder : Embedder
        Makes the vectors.
    target : Path
        Output file of the back end.
    work : Path
        Keeps the vectors between runs, and the error rates.
    test : bool, default=False
        Whether to score the test corpus.
    """
    work.mkdir(parents=True, exist_ok=True)
    names = (*TRAINING, TEST) if test else TRAINING
    sets = {name: vectors_of(corpora / name, embedder, work) for name in names}
    rates: dict[str, dict[str, dict[str, float]]] = {}
    for name in DEVELOPMENT:
        others = [sets[other] for other in TRAINING if other != name]
        rates[name] = error_rates(
            sets[name], train_on_cuts(others, embedder.fingerprint)
        )
    final = train_on_cuts([sets[name] for name in TRAINING], embedder.fingerprint)
    if test:
        rates[TEST] = error_rates(sets[TEST], final)
    write_json(work / "rates.json", rates)
    write_backend(target, final)
    return table(rates)


def error_rates(cuts: CutVectors, backend: BackEnd) -> dict[str, dict[str, float]]:
    """Equal error rates in per cent of pairs from different segments."""
    found = {}
    for kind, name in TESTED:
        chosen = np.flatnonzero(cuts.kinds == kind)
        vectors = cuts.vectors[chosen]
        pairs = np.triu_indices(len(chosen), 1)
        utterances, speakers = cuts.utterances[chosen], cuts.speakers[chosen]
        apart = utterances[pairs[0]] != utterances[pairs[1]]
        same = (speakers[pairs[0]] == speakers[pairs[1]])[apart]
        scored = {
            "cosine": CosineScorer(vectors.shape[1]).score_matrix(vectors, vectors),
            "PLDA": backend.score_matrix(vectors),
        }
        found[name] = {
            how: 100.0 * equal_error_rate(_chosen(matrix, pairs, apart), same)
            for how, matrix in scored.items()
        }
    return found


def table(rates: dict[str, dict[str, dict[str, float]]]) -> str:
    """Error rates for a model card."""
    rows = tuple(
        (
            corpus,
            *(
                f"{values['cosine']:.1f} / {values['PLDA']:.1f}"
                for values in by_kind.values()
            ),
        )
        for corpus, by_kind in rates.items()
    )
    head = ("EER %, cosine / PLDA", *(name for _, name in TESTED))
    return Table(head, rows).markdown()


def write_backend(path: Path, backend: BackEnd) -> None:
    """Write a back end in half precision (a few hundred kilobytes)."""
    model = backend_to_model(backend)
    arrays: dict[str, AnyArray] = {
        name: array.astype(np.float32) if array.ndim else array
        for name, array in model.arrays.items()
    }
    arrays["matrix"] = model.arrays["matrix"].astype(np.int8)  # the identity
    notes = {
        "corpora": list(TRAINING),
        "shrinkage within and between speakers": [WITHIN, BETWEEN],
    }
    words = {**model.words, "notes": notes}
    write_model(path, ModelFile(model.kind, arrays, words))


def _chosen(
    matrix: FloatArray, pairs: tuple[AnyArray, AnyArray], apart: AnyArray
) -> FloatArray:
    values: FloatArray = matrix[pairs][apart]
    return values
