"""``sms-diar report``: make an HTML page of turns."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from sms_diar.cli.options import scoring
from sms_diar.cli.options.recordings import AllowCommands
from sms_diar.cli.terminal.output import check_outputs, note, note_written


def report(
    turns: Annotated[
        list[str],
        Argument(
            metavar="RTTM...",
            help="Turns of any system: RTTM, CTM or CSV files, folders, quoted "
            "patterns or lists.",
        ),
    ],
    *,
    output: Annotated[
        Path, Option("-o", "--output", metavar="FILE", help="HTML file to write.")
    ] = Path("report.html"),
    audio: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="Audio file; for several recordings, files with the same names, a "
            "data directory or wav.scp. Repeatable.",
        ),
    ] = None,
    ref: Annotated[
        str | None, Option(metavar="RTTM", help="Reference turns, used to mark errors.")
    ] = None,
    transcript: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Words with their speakers in any format of transcripts, shown below "
            "the timeline.",
        ),
    ] = None,
    uem: scoring.UemFile = None,
    convention: scoring.ConventionName = scoring.Rules.sms_diar,
    collar: scoring.Collar = 0.0,
    ignore_overlap: scoring.IgnoreOverlap = False,
    title: Annotated[
        str | None,
        Option(help="Title of the page.", show_default="name of the recording"),
    ] = None,
    embed_limit: Annotated[
        float,
        Option(
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
    It can rename and merge speakers, correct turns and speakers of words, and save the
    corrected RTTM and transcript.

    Example: sms-diar report out.rttm --audio call.wav --ref ref.rttm -o report.html
    """
    from sms_diar.cli.terminal.progress import TerminalProgress
    from sms_diar.io.turns.files import source_files
    from sms_diar.pipeline.page.api import report_page

    inputs = turns if ref is None else [*turns, ref]
    check_outputs(
        output, inputs=chain(source_files(inputs), audio or (), [uem, transcript])
    )
    page = report_page(
        turns if len(turns) > 1 else turns[0],
        audio=audio or None,
        reference=ref,
        transcript=transcript,
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
