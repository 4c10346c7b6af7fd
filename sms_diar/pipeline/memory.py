"""Prediction of memory use, and a limit that is checked before the work.

Predictions are upper bounds on the memory that is allocated beyond the program itself.
Block sizes do not depend on the limit: sums would round differently, and results must
not depend on the machine. Work that does not fit is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.clustering.speakers.mean_shift import estimate_memory
from sms_diar.embeddings.mixture import BLOCK
from sms_diar.embeddings.total_variability import BATCH
from sms_diar.errors import InvalidParameterError
from sms_diar.pipeline.train.plda import TRIALS

PROGRAM = 384 * 2**20
"""Memory of the program itself in bytes: interpreter, libraries, compiled code."""

_SLACK = 2**20  # names, tables, caches
_AHEAD = 3  # blocks that a worker holds, including the queue
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?([KMGT]?)(i?B)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Parse a memory size and return bytes.

    K, M, G, T and KiB, MiB, GiB, TiB are powers of 1024; KB, MB, GB, TB powers of 1000.

    >>> parse_size("2G") == parse_size("2GiB") == 2 * 1024**3
    True
    >>> parse_size("500 MB")
    500000000
    """
    match = _SIZE.fullmatch(text.strip())
    size = 0
    if match:
        step = 1000 if (match[3] or "").lower() == "b" else 1024
        size = int(float(match[1]) * step ** " KMGT".index(match[2].upper() or " "))
    if size < 1:
        problem = f"must be a size such as 2G, 500M, 1.5GiB or 800MB, got {text!r}"
        raise InvalidParameterError(problem, owner="parse_size", parameter="max_memory")
    return size


def shown_size(size: float) -> str:
    """Format a size in MiB or GiB."""
    mib = size / 2**20
    return f"{mib:.0f} MiB" if mib < 1024 else f"{mib / 1024:.1f} GiB"


def require(
    owner: str, work: str, needed: int, budget: int | None, remedy: str
) -> None:
    """Raise an error if the work may need more than the budget.

    `needed` is the predicted memory in bytes, in addition to the program. The budget
    includes the program; None disables the check. The other arguments are parts of the
    message.
    """
    if budget is not None and needed + PROGRAM > budget:
        problem = (
            f"must be at least {shown_size(needed + PROGRAM)} for {work} "
            f"({shown_size(PROGRAM)} of them for the program itself), got "
            f"{shown_size(budget)}; {remedy}"
        )
        raise InvalidParameterError(problem, owner=owner, parameter="max_memory")


def clustering_memory(
    sizes: Sequence[int], dim: int, estimator: SpeakerEstimator
) -> int:
    """Return an upper bound on the memory for clustering sessions in turn.

    `sizes` has the number of segments of each session.
    """
    n = max(sizes, default=0)
    score_dim = dim if estimator.backend is None else estimator.backend.score_dim
    vectors = 8 * sum(sizes) * dim
    if estimator.n_matrices:
        pairs = 8 * estimator.n_matrices * n**2
        return _SLACK + vectors + pairs + 80 * n * (dim + score_dim)
    in_parts = estimator.long_memory(n, max(dim, score_dim))
    if in_parts is not None:
        return _SLACK + vectors + in_parts
    return _SLACK + vectors + 2 * estimate_memory(n, dim, score_dim)


def trial_memory(
    enrolled: int, tested: int, dim: int, *, rows: int = 0, trials: int = 0
) -> int:
    """Return an upper bound on the memory for scoring pairs.

    `rows` is the number of rows per block if all pairs are scored, and `trials` the
    number of trials if a list is scored.
    """
    vectors = 8 * 8 * (enrolled + tested) * dim
    block = 8 * 3 * rows * tested
    text = 400 * tested if rows else 0  # a row of scores as numbers and lines
    # Indices, scores and truth of each trial, twice while they grow or are sorted for
    # the error rate, and one block that is scored and written.
    listed = 160 * trials + min(trials, TRIALS) * (8 * 3 * dim + 500)
    return _SLACK + vectors + block + text + listed


def training_memory(
    segments: int,
    dim: int,
    n_components: int,
    rank: int,
    *,
    full: bool = False,
    workers: int = 1,
) -> int:
    """Return an upper bound on the memory for training an i-vector model.

    `segments` is the number of segments in all data directories, `dim` the dimension of
    a frame, and `full` is True for full covariance matrices.
    """
    c, r = n_components, rank
    hands = _AHEAD * workers
    # Statistics are collected one by one and then concatenated.
    statistics = 3 * segments * c * (dim + 1)
    spread = c * dim * (dim if full else 1)
    blocks = hands * (BLOCK * (3 * c + 5 * dim) + 2 * spread)
    matrix = 8 * c * dim * r + 3 * c * r * r
    sums = c * dim * r + c * r * r
    batches = hands * (sums + BATCH * (3 * c * dim + 6 * r * r))
    training = max(blocks + 8 * spread, matrix + sums + batches)
    return _SLACK + 8 * (statistics + 2 * spread + training) + 1000 * segments
