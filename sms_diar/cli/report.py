"""``sms-diar report``: anybody's turns as a page to look at and listen to."""

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
            help="Who speaks when, by any system: RTTM, CTM or CSV files, folders, "
            "quoted patterns or lists.",
        ),
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The page.")
    ] = Path("report.html"),
    audio: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="The recording; of several, files named like them, a data directory "
            "or wav.scp. May be given several times.",
        ),
    ] = None,
    ref: Annotated[
        str | None,
        typer.Option(metavar="RTTM", help="True turns; errors are then marked."),
    ] = None,
    uem: UemFile = None,
    convention: ConventionName = Rules.sms_diar,
    collar: Collar = 0.0,
    ignore_overlap: IgnoreOverlap = False,
    title: Annotated[
        str | None,
        typer.Option(help="Head of the page.", show_default="the recording"),
    ] = None,
    embed_limit: Annotated[
        float,
        typer.Option(
            min=0.0,
            metavar="MB",
            help="Compressed audio up to this size is in the page; more is beside it.",
        ),
    ] = 16.0,
    allow_commands: AllowCommands = False,
) -> None:
    """Make a page of who spoke when: to look at, listen to and correct.

    The page is one file that opens offline in any browser and sends nothing
    anywhere. Speakers can be renamed and merged in it, turns corrected, and the
    corrected RTTM downloaded.

    Example: sms-diar report out.rttm --audio call.wav --ref ref.rttm -o report.html
    """
    from sms_diar.cli.progress import TerminalProgress
    from sms_diar.io.turns.files import source_files
    from sms_diar.pipeline.page.api import report_page

    given = turns if ref is None else [*turns, ref]
    check_outputs(output, inputs=chain(source_files(given), audio or (), [uem]))
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
