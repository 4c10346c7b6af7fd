"""Options that commands share which read recordings."""

from __future__ import annotations

from typing import Annotated

import typer

AllowCommands = Annotated[
    bool, typer.Option("--allow-commands", help="Run the commands of wav.scp.")
]
Channel = Annotated[
    int | None,
    typer.Option(min=1, help="Channel of recordings that have several, from 1."),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Stop, and write nothing, if any recording is bad."),
]
