"""The choice of a clustering method, for the commands that cluster."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


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
MinSpeakers = Annotated[int | None, typer.Option(min=1, help="At least this many.")]
MaxSpeakers = Annotated[int | None, typer.Option(min=1, help="At most this many.")]
MaxGap = Annotated[
    float, typer.Option(min=0.0, help="Bridge pauses up to this many seconds.")
]
Seed = Annotated[int, typer.Option(help="Seed of the draws.")]
