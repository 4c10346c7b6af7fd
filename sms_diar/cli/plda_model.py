"""Options shared by the PLDA commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sms_diar.scoring.backend import BackEnd
    from sms_diar.types import PldaModel


class Lengths(StrEnum):
    """Target lengths of the normalisations in a VBx transform."""

    UNIT = "unit"
    SQRT_DIM = "sqrt-dim"


EmbeddingsArgument = Annotated[
    str,
    typer.Argument(
        metavar="EMBEDDINGS",
        help="Embeddings: ark, scp, npz, CSV, ...; - for standard input.",
    ),
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
    typer.Option(help="Kaldi mean or matrix, or VBx transform, for a Kaldi PLDA file."),
]
LengthsOption = Annotated[
    Lengths,
    typer.Option(
        "--transform-length",
        help="Vector lengths in a VBx transform: unit (VBx) or sqrt-dim (pyannote).",
    ),
]
AllowCommands = Annotated[
    bool, typer.Option("--allow-commands", help="Run commands in an scp file.")
]


def refuse_transform(
    loaded: BackEnd | PldaModel, path: Path, transform: Path | None
) -> None:
    """Refuse a transform if the model includes preprocessing."""
    from sms_diar.scoring.backend import BackEnd

    if isinstance(loaded, BackEnd) and transform is not None:
        raise typer.BadParameter(
            f"is for Kaldi PLDA files, but {path} is a back end with its own "
            f"preprocessing",
            param_hint="--transform",
        )
