"""Options for clustering methods and numbers of speakers."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from typer import BadParameter, Option

from sms_diar.clustering.methods import METHODS

_option = partial(Option, rich_help_panel="Speakers and method")

SWITCHES = {"k": "-k", "tol": "--tol", "threshold": "--threshold"}
"""Command-line options of the options of methods."""


def method_table() -> str:
    """Table of the methods in Markdown, as in docs/use/embeddings.md."""
    lines = ["| `--method` | what it is | options |", "|---|---|---|"]
    for method in METHODS.values():
        switches = [f"`{SWITCHES[o]}`" for o in method.options if o in SWITCHES]
        lines.append(f"| `{method.name}` | {method.line} | {', '.join(switches)} |")
    return "\n".join(lines) + "\n"


def _check_method(name: str) -> str:
    """Raise a usage error if the method is not in the registry."""
    if name not in METHODS:
        listed = ", ".join(repr(method) for method in METHODS)
        raise BadParameter(f"{name!r} is not one of {listed}.")
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
    """Refuse conflicting options, and `options` that the method does not have."""
    if num_speakers is not None and (min_speakers or max_speakers):
        problem = "cannot be combined with --min-speakers or --max-speakers"
        raise BadParameter(problem, param_hint="--num-speakers")
    if min_speakers and max_speakers and min_speakers > max_speakers:
        problem = f"{min_speakers} is greater than --max-speakers {max_speakers}"
        raise BadParameter(problem, param_hint="--min-speakers")
    for name, value in options.items():
        if value is not None and name not in METHODS[method].options:
            problem = f"is not an option of {method}; it applies to {_owners(name)}"
            raise BadParameter(problem, param_hint=SWITCHES[name])


def _owners(option: str) -> str:
    return ", ".join(m.name for m in METHODS.values() if option in m.options)


MethodOption = Annotated[
    str,
    _option(
        callback=_check_method,
        metavar="NAME",
        autocompletion=_complete,
        help="\n\n".join(
            f"{method.name}: {method.line}." for method in METHODS.values()
        ),
    ),
]
KOption = Annotated[
    int | None,
    _option(
        "-k",
        "--neighbours",
        min=1,
        help=f"Number of neighbours per segment ({_owners('k')}).",
        show_default="17",
    ),
]
ThresholdOption = Annotated[
    float | None,
    _option(
        help="Score at which ahc stops merging.",
        show_default="0 with PLDA, otherwise calibrated",
    ),
]
NumSpeakers = Annotated[
    int | None, _option(min=1, help="Number of speakers in each session.")
]
MinSpeakers = Annotated[int | None, _option(min=1, help="Minimum number of speakers.")]
MaxSpeakers = Annotated[int | None, _option(min=1, help="Maximum number of speakers.")]
MaxGap = Annotated[float, Option(min=0.0, help="Longest pause to bridge, in seconds.")]
Seed = Annotated[int, _option(help="Random seed.")]
