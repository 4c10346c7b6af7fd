"""What the PLDA commands share: options, and models told by their content."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sms_diar.errors import InvalidParameterError, MissingFileError

if TYPE_CHECKING:
    from sms_diar.scoring.backend import BackEnd
    from sms_diar.types import EmbeddingSet, PldaModel

_NAMED = 3  # ids that a message names before it only counts


class Lengths(StrEnum):
    """What the length normalisations of a VBx transform scale to."""

    UNIT = "unit"
    SQRT_DIM = "sqrt-dim"


EmbeddingsArgument = Annotated[
    str,
    typer.Argument(metavar="EMBEDDINGS", help="ark, scp, npz, CSV ...; - for stdin."),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Back end (npz) or Kaldi PLDA file.")
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
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print an object for machines.")
]


def check_output(path: Path | None) -> None:
    """Refuse what cannot be written before the work, not after it."""
    if path is None:
        return
    if path.is_dir():
        raise InvalidParameterError(f"{path}: is a folder; name a file to write")
    if not path.parent.is_dir():
        raise MissingFileError(f"{path}: no such folder {path.parent}; make it first")
    if not os.access(path.parent, os.W_OK):
        raise InvalidParameterError(
            f"{path}: the folder {path.parent} is write-protected"
        )


def load_model(path: Path) -> tuple[BackEnd | PldaModel, str | None]:
    """Model in a file, and the fingerprint if it has one."""
    from sms_diar.io._bytes import open_source
    from sms_diar.io.kaldi.plda import read_plda
    from sms_diar.io.model import read_model
    from sms_diar.scoring.backend_training import KIND, backend_from_model

    with open_source(path) as source:
        is_archive = source.peek(2) == b"PK"
    if not is_archive:
        return read_plda(path), None
    file = read_model(path, KIND)
    return backend_from_model(file), file.fingerprint


def backend_for(
    loaded: BackEnd | PldaModel,
    path: Path,
    embeddings: EmbeddingSet,
    transform: Path | None,
    lengths: Lengths,
) -> BackEnd:
    """Back end for these embeddings, which are checked."""
    from dataclasses import replace

    from sms_diar.io.kaldi.transform import VbxTransform, read_transform
    from sms_diar.scoring.backend import BackEnd, backend_from_transform

    if isinstance(loaded, BackEnd):
        if transform is not None:
            raise typer.BadParameter(
                f"is for Kaldi PLDA files, but {path} is a back end with a chain of "
                f"its own",
                param_hint="--transform",
            )
        loaded.check_compatible(embeddings)
        return loaded
    found = None if transform is None else read_transform(transform)
    if isinstance(found, VbxTransform):
        found = replace(found, length=lengths.value)
    return backend_from_transform(found, loaded, embeddings.dim)


def some_of(names: list[str]) -> str:
    """The first few names of a long list."""
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
