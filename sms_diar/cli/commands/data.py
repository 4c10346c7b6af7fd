"""``sms-diar validate-data`` and ``features``: check and use data directories."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from sms_diar.cli.errors import note_problems
from sms_diar.cli.options import JsonOption, recordings
from sms_diar.cli.terminal.output import (
    check_outputs,
    echo,
    echo_json,
    exit_code,
    problem_report,
    severity_counts,
)

if TYPE_CHECKING:
    from sms_diar.types import Problem


def validate_data(
    directory: Annotated[Path, Argument(metavar="DIR", help="Kaldi data directory.")],
    *,
    fix: Annotated[
        Path | None,
        Option(
            metavar="TARGET",
            help="Write a repaired copy to this new or empty folder; the exit code "
            "then refers to the copy.",
        ),
    ] = None,
    audio: Annotated[
        bool, Option("--audio/--no-audio", help="Require wav.scp.")
    ] = True,
    speakers: Annotated[
        bool, Option("--speakers/--no-speakers", help="Require utt2spk and spk2utt.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """List all problems in a data directory; exit with code 1 if there are errors.

    Example: sms-diar validate-data data/train --fix data/train_fixed
    """
    from sms_diar.io.kaldi.validate import fix_data_dir, validate_data_dir

    require = ["wav.scp"] * audio + ["utt2spk", "spk2utt"] * speakers
    problems = validate_data_dir(directory, require=require)
    if not as_json:
        _show(problems)
    report = {"directory": str(directory), **problem_report(problems)}
    if fix is not None:
        dropped = fix_data_dir(directory, fix)
        problems = validate_data_dir(fix, require=require)
        if not as_json:
            _show_repair(fix, dropped, problems)
        report["fixed"] = {
            "directory": str(fix),
            **problem_report(problems),
            "dropped": problem_report(dropped)["problems"],
        }
    if as_json:
        echo_json(report)
    if any(problem.severity == "error" for problem in problems):
        raise typer.Exit(1)


def _show(problems: Sequence[Problem]) -> None:
    for problem in problems:
        echo(problem.with_severity())
    echo(severity_counts(problems))


def _show_repair(
    target: Path, dropped: Sequence[Problem], left: Sequence[Problem]
) -> None:
    for problem in dropped:
        echo(problem.with_severity())
    lines = "line" if len(dropped) == 1 else "lines"
    echo(f"wrote {target}; {len(dropped)} {lines} dropped or changed")
    errors = [problem for problem in left if problem.severity == "error"]
    if errors:
        echo("remaining errors:")
        _show(errors)


def features(
    context: typer.Context,
    directory: Annotated[
        Path,
        Argument(
            metavar="DATA_DIR",
            help="Kaldi data directory with wav.scp and optionally segments.",
        ),
    ],
    *,
    output: Annotated[
        Path, Option("-o", "--output", help="Ark file with one matrix per segment.")
    ],
    scp: Annotated[
        Path | None, Option(help="Also write an scp file that points into the ark.")
    ] = None,
    compress: Annotated[
        bool,
        Option(
            "--compress/--no-compress",
            help="Compress features to one byte, as Kaldi does.",
        ),
    ] = False,
    config: recordings.ConfigOption = None,
    cmvn: Annotated[
        recordings.CmvnMethod | None,
        Option(
            help="Scope of mean and variance normalisation; a session is the whole "
            "directory.",
            show_default="session",
        ),
    ] = None,
    deltas: Annotated[
        bool | None,
        Option(
            "--deltas/--no-deltas",
            help="Append delta and delta-delta.",
            show_default="deltas",
        ),
    ] = None,
    vad: Annotated[
        recordings.VadMethod | None,
        Option(
            help="Speech detector; other frames are removed.", show_default="energy"
        ),
    ] = None,
    channel: recordings.Channel = None,
    workers: recordings.Workers = 1,
    scheduler: recordings.SchedulerOption = None,
    allow_commands: recordings.AllowCommands = False,
    strict: recordings.Strict = False,
    as_json: JsonOption = False,
) -> None:
    """Compute frame features of all segments of a data directory.

    The order is MFCC, speech detection, CMVN, derivatives. Recordings that cannot
    be read are listed on standard error and skipped; the exit code is then 3.

    Example: sms-diar features data/test -o feats.ark --scp feats.scp
    """
    from sms_diar.cli.terminal.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar.io.kaldi.data_dir import DataDir
        from sms_diar.io.problems import problem_records
        from sms_diar.pipeline.train.extraction import write_features

    check_outputs(output, scp, inputs=(directory, config))
    problems: list[Problem] = []
    front_end = recordings.changed_front_end(
        recordings.read_front_end(config), vad=vad, cmvn=cmvn, deltas=deltas
    )
    try:
        with recordings.on_scheduler(scheduler):
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
        note_problems(context, problems, most=None)
    if as_json:
        echo_json({**written.to_dict(), "problems": problem_records(problems)})
    else:
        skipped = f"; {len(problems)} problem(s) on standard error" if problems else ""
        echo(
            f"wrote {output}: {written.n_segments} segments, {written.n_frames} frames "
            f"of {front_end.dim} ({written.hours:.2f} h of speech){skipped}"
        )
    raise typer.Exit(exit_code(problems))
