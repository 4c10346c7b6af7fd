"""``sms-diar features``: recordings in, frames out."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sms_diar.errors import DataFormatError

if TYPE_CHECKING:
    from sms_diar.features.extract import FeatureProblem
    from sms_diar.features.front_end import FrontEnd


class Cmvn(StrEnum):
    """Over what cepstra are normalised."""

    SESSION = "session"
    RECORDING = "recording"
    SEGMENT = "segment"
    SLIDING = "sliding"
    NONE = "none"


class Vad(StrEnum):
    """How speech is found."""

    ENERGY = "energy"
    NEURAL = "neural"
    NONE = "none"


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command()(features)


def features(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DATA_DIR",
            help="Kaldi data directory with wav.scp and, if wanted, segments.",
        ),
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Ark of one matrix per segment.")
    ],
    scp: Annotated[
        Path | None, typer.Option(help="Write this scp too, which points into the ark.")
    ] = None,
    compress: Annotated[
        bool,
        typer.Option(
            "--compress/--no-compress", help="Kaldi's one-byte compression of features."
        ),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML with tables mfcc, cmvn, deltas and vad."),
    ] = None,
    cmvn: Annotated[
        Cmvn | None,
        typer.Option(
            help="Mean and variance over what; a session is the whole directory.",
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
        Vad | None,
        typer.Option(help="Keep frames with speech only.", show_default="energy"),
    ] = None,
    channel: Annotated[
        int | None,
        typer.Option(min=1, help="Channel of recordings that have several, from 1."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes; results do not depend on it.")
    ] = 1,
    allow_commands: Annotated[
        bool,
        typer.Option(
            "--allow-commands",
            help="Run entries of wav.scp that are commands (sph2pipe and flac are "
            "understood without).",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON.")
    ] = False,
) -> None:
    """Compute frame features of all segments of a data directory.

    The order is MFCC, speech detection, CMVN, derivatives. Recordings that cannot
    be read are listed on standard error and left out; the exit code is then 1.

    Example: sms-diar features data/test -o feats.ark --scp feats.scp
    """
    from sms_diar._files import replacing, write_text
    from sms_diar.features.extract import features_of_segments
    from sms_diar.io.kaldi.data_dir import DataDir
    from sms_diar.io.kaldi.feature_ark import FeatureArk

    settings = _settings(config, cmvn=cmvn, deltas=deltas, vad=vad)
    problems: list[FeatureProblem] = []
    n_frames = 0
    with replacing(output) as temporary, temporary.open("wb") as stream:
        ark = FeatureArk(stream, compress=compress)
        for name, frames in features_of_segments(
            DataDir(directory),
            settings,
            channel=channel,
            allow_commands=allow_commands,
            workers=workers,
            problems=problems,
        ):
            ark.write(name, frames)
            n_frames += len(frames)
        if not len(ark):  # an ark that was there before stays
            _show(problems)
            raise DataFormatError(
                "no segment has features; nothing was written", path=directory
            )
    if scp is not None:
        write_text(scp, ark.scp(output))
    summary = {
        "output": str(output),
        "segments": len(ark),
        "frames": n_frames,
        "hours": n_frames * settings.grid.shift / 3600,
        "dim": settings.dim,
        "front_end": settings.as_dict(),
    }
    _report(summary, problems, as_json=as_json)
    if problems:
        raise typer.Exit(1)


def _settings(
    path: Path | None, *, cmvn: Cmvn | None, deltas: bool | None, vad: Vad | None
) -> FrontEnd:
    """Settings of the file, where options do not say otherwise."""
    from sms_diar.experiment.config import read_toml
    from sms_diar.features.front_end import FrontEnd

    settings = FrontEnd()
    if path is not None:
        settings = FrontEnd.from_dict(read_toml(path), origin=str(path))
    if cmvn is not None:
        changed = replace(settings.cmvn, method=cmvn.value)
        settings = replace(settings, cmvn=changed)
    if deltas is not None and deltas != bool(settings.deltas.order):
        order = 2 if deltas else 0
        settings = replace(settings, deltas=replace(settings.deltas, order=order))
    if vad is not None:
        settings = replace(settings, vad=replace(settings.vad, method=vad.value))
    return settings


def _report(
    summary: dict[str, Any], problems: list[FeatureProblem], *, as_json: bool
) -> None:
    _show(problems)
    if as_json:
        listed = [
            {"recording": p.recording, "segment": p.segment, "text": p.text}
            for p in problems
        ]
        typer.echo(json.dumps({**summary, "problems": listed}, indent=2))
        return
    left = f"; {len(problems)} problem(s) on standard error" if problems else ""
    typer.echo(
        f"wrote {summary['output']}: {summary['segments']} segments, "
        f"{summary['frames']} frames of {summary['dim']} ({summary['hours']:.2f} h of "
        f"speech){left}"
    )


def _show(problems: list[FeatureProblem]) -> None:
    for problem in problems:
        typer.echo(f"sms-diar: {problem}", err=True)
