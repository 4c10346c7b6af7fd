"""Options for clustering methods and numbers of speakers."""

from __future__ import annotations

from typing import Annotated

import typer

from sms_diar.clustering.methods import METHODS, SWITCHES

PANEL = "Speakers and method"


def _check_method(name: str) -> str:
    """Raise a usage error if the method is not in the registry."""
    if name not in METHODS:
        listed = ", ".join(repr(method) for method in METHODS)
        raise typer.BadParameter(f"{name!r} is not one of {listed}.")
    return name


def _complete(incomplete: str) -> list[str]:
    """Return matching names of methods for shell completion."""
    return [name for name in METHODS if name.startswith(incomplete)]


def check_usage(
    method: str,
    *,
    num_speakers: int | None,
    min_speakers: int | None,
    max_speakers: int | None,
    **options: float | None,
) -> None:
    """Refuse conflicting options before anything is loaded.

    Parameters
    ----------
    method : str
        Name of a registered method.
    num_speakers, min_speakers, max_speakers : int, optional
        Exact, minimum and maximum number of speakers.
    **options : float, optional
        Values of method-specific options by name.
    """
    if num_speakers is not None and (min_speakers or max_speakers):
        raise typer.BadParameter(
            "cannot be combined with --min-speakers or --max-speakers",
            param_hint="--num-speakers",
        )
    if min_speakers and max_speakers and min_speakers > max_speakers:
        raise typer.BadParameter(
            f"{min_speakers} is greater than --max-speakers {max_speakers}",
            param_hint="--min-speakers",
        )
    for name, value in options.items():
        if value is not None and name not in METHODS[method].options:
            raise typer.BadParameter(
                f"is not an option of {method}; it applies to {_owners(name)}",
                param_hint=SWITCHES[name],
            )


def _owners(option: str) -> str:
    return ", ".join(m.name for m in METHODS.values() if option in m.options)


MethodOption = Annotated[
    str,
    typer.Option(
        callback=_check_method,
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
        help=f"Number of neighbours per segment ({_owners('k')}).",
        show_default="17",
    ),
]
ThresholdOption = Annotated[
    float | None,
    typer.Option(
        rich_help_panel=PANEL,
        help="Score at which ahc stops merging.",
        show_default="0 with PLDA, otherwise calibrated",
    ),
]
NumSpeakers = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of speakers in each session.", rich_help_panel=PANEL
    ),
]
MinSpeakers = Annotated[
    int | None,
    typer.Option(min=1, help="Minimum number of speakers.", rich_help_panel=PANEL),
]
MaxSpeakers = Annotated[
    int | None,
    typer.Option(min=1, help="Maximum number of speakers.", rich_help_panel=PANEL),
]
MaxGap = Annotated[
    float, typer.Option(min=0.0, help="Longest pause to bridge, in seconds.")
]
Seed = Annotated[int, typer.Option(help="Random seed.", rich_help_panel=PANEL)]
