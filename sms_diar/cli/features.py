"""``sms-diar features``: compute frame features of recordings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sms_diar.cli.front_end import (
    CONFIG_HELP,
    CmvnMethod,
    VadMethod,
    changed_front_end,
    read_front_end,
)
from sms_diar.cli.output import check_outputs, echo, echo_json, exit_code, note_each
from sms_diar.cli.recordings import Channel, Strict
from sms_diar.cli.scheduler import SchedulerOption, on_scheduler

if TYPE_CHECKING:
    from sms_diar.types import Problem


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command()(features)


def features(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DATA_DIR",
            help="Kaldi data directory with wav.scp and optionally segments.",
        ),
    ],
    *,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="Ark file with one matrix per segment."),
    ],
    scp: Annotated[
        Path | None,
        typer.Option(help="Also write an scp file that points into the ark."),
    ] = None,
    compress: Annotated[
        bool,
        typer.Option(
            "--compress/--no-compress",
            help="Compress features to one byte, as Kaldi does.",
        ),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(help=CONFIG_HELP),
    ] = None,
    cmvn: Annotated[
        CmvnMethod | None,
        typer.Option(
            help="Scope of mean and variance normalisation; a session is the whole "
            "directory.",
            show_default="session",
        ),
    ] = None,
    deltas: Annotated[
        bool | None,
        typer.Option(
            "--deltas/--no-deltas",
            help="Append delta and delta-delta.",
            show_default="deltas",
        ),
    ] = None,
    vad: Annotated[
        VadMethod | None,
        typer.Option(
            help="Speech detector; other frames are removed.", show_default="energy"
        ),
    ] = None,
    channel: Channel = None,
    workers: Annotated[
        int,
        typer.Option(min=1, help="Number of processes; does not affect results."),
    ] = 1,
    scheduler: SchedulerOption = None,
    allow_commands: Annotated[
        bool,
        typer.Option(
            "--allow-commands",
            help="Run commands in wav.scp (not needed for sph2pipe and flac).",
        ),
    ] = False,
    strict: Strict = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON.")
    ] = False,
) -> None:
    """Compute frame features of all segments of a data directory.

    The order is MFCC, speech detection, CMVN, derivatives. Recordings that cannot
    be read are listed on standard error and skipped; the exit code is then 3.

    Example: sms-diar features data/test -o feats.ark --scp feats.scp
    """
    from sms_diar.cli.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar.io.kaldi.data_dir import DataDir
        from sms_diar.io.problems import problem_records
        from sms_diar.pipeline.train.extraction import write_features

    check_outputs(output, scp, inputs=(directory, config))
    problems: list[Problem] = []
    front_end = changed_front_end(
        read_front_end(config), vad=vad, cmvn=cmvn, deltas=deltas
    )
    try:
        with on_scheduler(scheduler):
            written = write_features(
                DataDir(directory),
                output,
                front_end,
                scp=scp,
                compress=compress,
                channel=channel,
                allow_commands=allow_commands,
                workers=workers,
                problems=None if strict else problems,
                progress=progress,
            )
    finally:
        note_each(problems, most=None)
    if as_json:
        echo_json({**written.to_dict(), "problems": problem_records(problems)})
    else:
        skipped = f"; {len(problems)} problem(s) on standard error" if problems else ""
        echo(
            f"wrote {output}: {written.n_segments} segments, {written.n_frames} frames "
            f"of {front_end.dim} ({written.hours:.2f} h of speech){skipped}"
        )
    raise typer.Exit(exit_code(problems))
