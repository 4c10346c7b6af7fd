"""Options that the PLDA commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sms_diar.scoring.backend import BackEnd
    from sms_diar.types import PldaModel


class Lengths(StrEnum):
    """What the length normalisations of a VBx transform scale to."""

    UNIT = "unit"
    SQRT_DIM = "sqrt-dim"


EmbeddingsArgument = Annotated[
    str,
    typer.Argument(metavar="EMBEDDINGS", help="ark, scp, npz, CSV ...; - for stdin."),
]
ModelArgument = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="Back end or i-vector model (npz), or Kaldi PLDA file.",
    ),
]
TransformOption = Annotated[
    Path | None,
    typer.Option(help="Kaldi mean or matrix or VBx transform, before a Kaldi PLDA."),
]
LengthsOption = Annotated[
    Lengths,
    typer.Option(
        "--transform-length",
        help="Lengths in a VBx transform: unit for VBx, sqrt-dim for pyannote.",
    ),
]
AllowCommands = Annotated[
    bool, typer.Option("--allow-commands", help="Run the commands that an scp holds.")
]


def refuse_transform(
    loaded: BackEnd | PldaModel, path: Path, transform: Path | None
) -> None:
    """Refuse a transform beside a model that has its own."""
    from sms_diar.scoring.backend import BackEnd

    if isinstance(loaded, BackEnd) and transform is not None:
        raise typer.BadParameter(
            f"is for Kaldi PLDA files, but {path} is a back end with a chain of its "
            f"own",
            param_hint="--transform",
        )
