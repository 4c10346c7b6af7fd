"""The choice of a clustering method, for the commands that cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sms_diar.clustering.methods import METHODS

if TYPE_CHECKING:
    from sms_diar.pipeline.cluster import SessionSummary


def _known(name: str) -> str:
    """Refuse a method that is not in the registry, as a wrong command line."""
    if name not in METHODS:
        listed = ", ".join(repr(known) for known in METHODS)
        raise typer.BadParameter(f"{name!r} is not one of {listed}.")
    return name


def _owners(option: str) -> str:
    return ", ".join(m.name for m in METHODS.values() if option in m.options)


MethodOption = Annotated[
    str,
    typer.Option(
        callback=_known,
        metavar="NAME",
        help="\n\n".join(
            f"{method.name}: {method.line}." for method in METHODS.values()
        ),
    ),
]
KOption = Annotated[
    int | None,
    typer.Option(
        "-k",
        "--neighbours",
        min=1,
        help=f"Neighbours of a segment ({_owners('k')}).",
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
