"""Log-likelihood ratios of trials, or of all pairs of embeddings.

Scores are written in blocks, because all pairs of a corpus do not fit in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sms_diar._progress import Progress
from sms_diar.errors import DataFormatError
from sms_diar.io._lines import check_field
from sms_diar.io.kaldi.tables import invert, read_spk2utt
from sms_diar.io.kaldi.trials import Trials
from sms_diar.io.labels import read_labels
from sms_diar.metrics.verification import equal_error_rate
from sms_diar.pipeline.train.plda import some_of
from sms_diar.scoring.backend_plda import TrialTerms
from sms_diar.types import BoolArray, FloatArray, IntArray

ROWS = 64
"""Number of enrolled speakers per block."""

TRIALS = 1 << 15
"""Number of trials per block."""

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
