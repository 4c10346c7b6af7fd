"""``sms-diar report``: make an HTML page of turns."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from sms_diar.cli.output import check_outputs, note, note_written
from sms_diar.cli.recordings import AllowCommands
from sms_diar.cli.score_options import (
    Collar,
    ConventionName,
    IgnoreOverlap,
    Rules,
    UemFile,
)


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command()(report)


def report(
    turns: Annotated[
        list[str],
        typer.Argument(
            metavar="RTTM...",
            help="Turns of any system: RTTM, CTM or CSV files, folders, quoted "
            "patterns or lists.",
        ),
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="HTML file to write.")
    ] = Path("report.html"),
    audio: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Audio file; for several recordings, files with the same names, a "
            "data directory or wav.scp. Repeatable.",
        ),
    ] = None,
    ref: Annotated[
        str | None,
        typer.Option(metavar="RTTM", help="Reference turns, used to mark errors."),
    ] = None,
    uem: UemFile = None,
    convention: ConventionName = Rules.sms_diar,
    collar: Collar = 0.0,
    ignore_overlap: IgnoreOverlap = False,
    title: Annotated[
        str | None,
        typer.Option(help="Title of the page.", show_default="name of the recording"),
    ] = None,
    embed_limit: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="MB",
            help="Embed compressed audio up to this size; larger audio is written to "
            "separate files.",
        ),
    ] = 16.0,
    allow_commands: AllowCommands = False,
) -> None:
    """Make an HTML page for viewing, listening to and correcting turns.

    The page is one file that works offline in any browser and sends no data.
    It can rename and merge speakers, correct turns, and save the corrected RTTM.

    Example: sms-diar report out.rttm --audio call.wav --ref ref.rttm -o report.html
    """
    from sms_diar.cli.progress import TerminalProgress
    from sms_diar.io.turns.files import source_files
    from sms_diar.pipeline.page.api import report_page

    inputs = turns if ref is None else [*turns, ref]
    check_outputs(output, inputs=chain(source_files(inputs), audio or (), [uem]))
    page = report_page(
        turns if len(turns) > 1 else turns[0],
        audio=audio or None,
        reference=ref,
        uem=uem,
        convention=convention.value,
        collar=collar,
        ignore_overlap=ignore_overlap,
        title=title,
        embed_limit=embed_limit,
        allow_commands=allow_commands,
        progress=TerminalProgress(),
    )
    for remark in page.remarks:
        note(remark.with_severity())
    note_written(page.write(output))
