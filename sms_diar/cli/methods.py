"""The choice of a clustering method, for the commands that cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sms_diar.pipeline.cluster import SessionSummary


class Method(StrEnum):
    """Names of `sms_diar.clustering.methods`, known without loading it."""

    SMS = "sms"
    SMS_PAPER = "sms-paper"
    MS = "ms"
    BMS = "bms"
    DSMS = "dsms"
    AHC = "ahc"
    NME_SC = "nme-sc"
    SPECTRAL = "spectral"
    KMEANS = "kmeans"
    HDBSCAN = "hdbscan"
    VBX = "vbx"


MethodOption = Annotated[
    Method,
    typer.Option(
        help="sms needs nothing told. With -k: sms-paper is plain stochastic mean "
        "shift, dsms draws k at each step, ms and bms are plain and blurring mean "
        "shift. ahc, nme-sc, spectral, kmeans, hdbscan and vbx are what others use."
    ),
]
KOption = Annotated[
    int | None,
    typer.Option(
        "-k",
        "--neighbours",
        min=1,
        help="Neighbours of a segment (sms-paper, ms, bms, dsms).",
        show_default="17",
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(
        help="Score at which ahc stops merging.",
        show_default="0 for PLDA, else calibrated",
    ),
]
NumSpeakers = Annotated[
    int | None, typer.Option(min=1, help="This many speakers in each session.")
]
MinSpeakers = Annotated[int | None, typer.Option(min=1, help="At least so many.")]
MaxSpeakers = Annotated[int | None, typer.Option(min=1, help="At most so many.")]
MaxGap = Annotated[
    float, typer.Option(min=0.0, help="Bridge pauses up to so many seconds.")
]
Seed = Annotated[int, typer.Option(help="Seed of the draws.")]


def session_table(sessions: tuple[SessionSummary, ...], head: str = "session") -> str:
    """Lay out what came out of each session, for people."""
    from sms_diar.report.tables import Table

    rows = tuple(
        (
            one.session,
            str(one.n_segments),
            str(one.n_speakers),
            "-" if one.k is None else str(one.k),
        )
        for one in sessions
    )
    table = Table((head, "segments", "speakers", "k"), rows).plain()
    if len(rows) == 1:
        return table.rstrip()
    mean = sum(one.n_speakers for one in sessions) / len(sessions)
    return f"{table}{len(rows)} {head}s, {mean:.2f} speakers on average"
