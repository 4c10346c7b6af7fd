"""Options shared by commands that read recordings."""

from __future__ import annotations

from typing import Annotated

import typer

AllowCommands = Annotated[
    bool, typer.Option("--allow-commands", help="Run commands in wav.scp.")
]
Channel = Annotated[
    int | None,
    typer.Option(min=1, help="Channel of multi-channel recordings, from 1."),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Stop without output if any recording is unusable."),
]
