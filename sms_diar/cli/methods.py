"""The choice of a clustering method, for the commands that cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from sms_diar.clustering.methods import METHODS


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
