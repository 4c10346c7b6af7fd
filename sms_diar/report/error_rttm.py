"""RTTM that shows where the errors of an evaluation are, for an annotation editor."""

from __future__ import annotations

from sms_diar.metrics.diarization.error_intervals import error_intervals
from sms_diar.metrics.diarization.evaluation import Evaluation
from sms_diar.timeline.ticks import TICKS_PER_SECOND


def error_rttm(evaluation: Evaluation) -> str:
    """Text of an RTTM file with a line for each error.

    The speaker field says what is wrong and who is concerned, e.g.
    ``confusion:A>x``, ``missed:A``, ``false_alarm:x``; the field for confidence
    holds the number of speakers in error.
    """
    return "".join(
        f"SPEAKER {recording} 1 {_decimal(start)} {_decimal(end - start)} "
        f"<NA> <NA> {label} {n_speakers} <NA>\n"
        for recording, start, end, label, n_speakers in _joined(evaluation)
    )


def _joined(evaluation: Evaluation) -> list[tuple[str, int, int, str, int]]:
    """Errors with neighbours of the same kind joined."""
    rows: list[tuple[str, int, int, str, int]] = []
    latest: dict[tuple[str, str, int], int] = {}
    for error in error_intervals(evaluation):
        ref, hyp = "+".join(error.reference), "+".join(error.hypothesis)
        who = {"missed": ref, "false_alarm": hyp, "confusion": f"{ref}>{hyp}"}
        label = f"{error.kind}:{who[error.kind]}"
        key = (error.recording, label, error.n_speakers)
        at = latest.get(key)
        if at is not None and rows[at][2] == error.start:
            rows[at] = (*rows[at][:2], error.end, *rows[at][3:])
        else:
            latest[key] = len(rows)
            rows.append(
                (error.recording, error.start, error.end, label, error.n_speakers)
            )
    return sorted(rows, key=lambda row: row[:2])


def _decimal(ticks: int) -> str:
    whole, part = divmod(ticks, TICKS_PER_SECOND)
    digits = f"{part:012d}".rstrip("0").ljust(3, "0")
    return f"{whole}.{digits}"
