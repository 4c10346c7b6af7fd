"""Dimensions of a back end, chosen by cross-validation over training speakers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sms_diar._random import named_generator
from sms_diar._validation import check_count
from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import all_pairs, equal_error_rate
from sms_diar.scoring.backend_training import train_backend
from sms_diar.types import AnyArray, FloatArray

from .threads import one_thread


@dataclass(frozen=True)
class ComponentChoice:
    """Equal error rates of held-out speakers, over folds and rounds.

    `candidates` are the dimensions after the PCA that were tried; `best` is the one
    of lowest mean.
    """

    candidates: tuple[int, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    best: int


@one_thread
def choose_components(
    X: FloatArray,
    speakers: AnyArray,
    candidates: Sequence[int],
    *,
    n_folds: int = 5,
    n_rounds: int = 1,
    seed: int = 0,
    groups: AnyArray | None = None,
) -> ComponentChoice:
    """Choose the dimensions of the back end by cross-validation over speakers.

    `X` of shape (n, d) holds training vectors, `speakers` and `groups` of shape (n,)
    the speaker and the corpus of each. Pairs across corpora are not counted, because
    the back end need not separate corpora. Candidates above d are ignored. Each of
    `n_rounds` random splits has `n_folds` folds, the same for all candidates.
    """
    check_count("choose_components", "n_folds", n_folds, least=2)
    check_count("choose_components", "n_rounds", n_rounds)
    names = np.unique(speakers)
    tried = tuple(sorted({q for q in candidates if 1 <= q <= X.shape[1]}))
    if not tried:
        raise InvalidParameterError(
            f"must hold a number in 1 .. {X.shape[1]}, got {list(candidates)!r}",
            owner="choose_components",
            parameter="candidates",
        )
    if len(names) < 2 * n_folds:
        raise InvalidParameterError(
            f"must be at least two per fold, got {len(names)} for {n_folds} folds",
            owner="choose_components",
            parameter="speakers",
        )
    corpora = np.zeros(len(X), np.int64) if groups is None else groups
    rates: dict[int, list[float]] = {q: [] for q in tried}
    for number in range(n_rounds):
        rng = named_generator(seed, "choose_components", number)
        for held_out in np.array_split(rng.permutation(names), n_folds):
            test = np.isin(speakers, held_out)
            one, two = np.triu_indices(int(test.sum()), k=1)
            comparable = corpora[test][one] == corpora[test][two]
            for q in tried:
                backend = train_backend(X[~test], speakers[~test], n_components=q)
                scores, same = all_pairs(backend.score_matrix(X[test]), speakers[test])
                rates[q].append(equal_error_rate(scores[comparable], same[comparable]))
    mean = tuple(float(np.mean(rates[q])) for q in tried)
    std = tuple(float(np.std(rates[q], ddof=1)) for q in tried)
    return ComponentChoice(tried, mean, std, tried[int(np.argmin(mean))])
