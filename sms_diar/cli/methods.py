"""The choice of a clustering method, for the commands that cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from sms_diar.clustering.methods import METHODS, SWITCHES

PANEL = "Speakers and method"


def _known(name: str) -> str:
    """Refuse a method that is not in the registry, as a wrong command line."""
    if name not in METHODS:
        listed = ", ".join(repr(known) for known in METHODS)
        raise typer.BadParameter(f"{name!r} is not one of {listed}.")
    return name


def _complete(incomplete: str) -> list[str]:
    """Names of methods, for the shell."""
    return [name for name in METHODS if name.startswith(incomplete)]


def check_usage(
    method: str,
    *,
    num_speakers: int | None,
    min_speakers: int | None,
    max_speakers: int | None,
    **options: float | None,
) -> None:
    """Refuse options that contradict each other, before anything is loaded.

    Parameters
    ----------
    method : str
        One of the registry.
    num_speakers, min_speakers, max_speakers : int, optional
        Bounds.
    **options : float, optional
        Those of single methods, by their names.
    """
    if num_speakers is not None and (min_speakers or max_speakers):
        raise typer.BadParameter(
            "leave --min-speakers and --max-speakers out, or leave this out",
            param_hint="--num-speakers",
        )
    if min_speakers and max_speakers and min_speakers > max_speakers:
        raise typer.BadParameter(
            f"{min_speakers} is more than --max-speakers {max_speakers}",
            param_hint="--min-speakers",
        )
    for name, value in options.items():
        if value is not None and name not in METHODS[method].options:
            raise typer.BadParameter(
                f"the method {method} has no such option; it is for {_owners(name)}",
                param_hint=SWITCHES[name],
            )


def _owners(option: str) -> str:
    return ", ".join(m.name for m in METHODS.values() if option in m.options)


MethodOption = Annotated[
    str,
    typer.Option(
        callback=_known,
        metavar="NAME",
        autocompletion=_complete,
        rich_help_panel=PANEL,
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
        rich_help_panel=PANEL,
        help=f"Neighbours of a segment ({_owners('k')}).",
        show_default="17",
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=PANEL,
        help="Score at which ahc stops merging.",
        show_default="0 for PLDA, else calibrated",
    ),
]
NumSpeakers = Annotated[
    int | None,
    typer.Option(
        min=1, help="This many speakers in each session.", rich_help_panel=PANEL
    ),
]
MinSpeakers = Annotated[
    int | None, typer.Option(min=1, help="At least this many.", rich_help_panel=PANEL)
]
MaxSpeakers = Annotated[
    int | None, typer.Option(min=1, help="At most this many.", rich_help_panel=PANEL)
]
MaxGap = Annotated[
    float, typer.Option(min=0.0, help="Bridge pauses up to this many seconds.")
]
Seed = Annotated[int, typer.Option(help="Seed of the draws.", rich_help_panel=PANEL)]
