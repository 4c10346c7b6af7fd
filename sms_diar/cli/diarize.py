"""``sms-diar diarize``: recordings in, who spoke when out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sms_diar.cli.front_end import VadMethod
from sms_diar.cli.methods import (
    KOption,
    MaxGap,
    MaxSpeakers,
    MethodOption,
    MinSpeakers,
    NumSpeakers,
    Seed,
    ThresholdOption,
)
from sms_diar.cli.output import check_outputs, echo_json, exit_code, note_each
from sms_diar.clustering.methods import DEFAULT_METHOD


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command()(diarize)


def diarize(
    recordings: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDING...",
            help="WAV, FLAC, OGG or NIST SPHERE files, Kaldi data directories or "
            "wav.scp tables.",
        ),
    ],
    *,
    rttm: Annotated[
        Path | None,
        typer.Option(help="Where the turns go.", show_default="standard output"),
    ] = None,
    method: MethodOption = DEFAULT_METHOD,
    k: KOption = None,
    threshold: ThresholdOption = None,
    num_speakers: NumSpeakers = None,
    min_speakers: MinSpeakers = None,
    max_speakers: MaxSpeakers = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="auto|embedded|neural|PATH",
            help="What hears the voices: neural networks, which know overlap ("
            "'sms-diar models fetch campplus segmentation' gets them), the embedded "
            "i-vector model, one of 'sms-diar ivectors train', or a network's TOML. "
            "auto takes the networks where they are.",
        ),
    ] = "auto",
    vad: Annotated[
        VadMethod | None,
        typer.Option(
            help="Detector of speech for i-vectors; neural is Silero's, of the extra "
            "'vad'. Networks have their own.",
            show_default="energy",
        ),
    ] = None,
    step: Annotated[
        float,
        typer.Option(
            help="Seconds from one window of the networks to the next; 5 is faster."
        ),
    ] = 2.0,
    uem: Annotated[
        Path | None, typer.Option(help="Leave out what is not in these regions.")
    ] = None,
    channel: Annotated[
        str | None,
        typer.Option(
            "-c",
            "--channel",
            metavar="N|each",
            help="Channel of files with several, from 1; with 'each', every channel is "
            "a speaker.",
            show_default="all, mixed",
        ),
    ] = None,
    max_gap: MaxGap = 0.0,
    seed: Seed = 0,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            help="Recordings at a time, or threads for a single one; results do not "
            "depend on it.",
        ),
    ] = 1,
    allow_commands: Annotated[
        bool, typer.Option("--allow-commands", help="Run the commands of wav.scp.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Stop, and write nothing, if any recording is bad."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print turns and summary as JSON.")
    ] = False,
) -> None:
    """Find out who spoke when in recordings.

    Each recording is diarized on its own: speech is found, cut into windows of
    1.5 s every 0.75 s, and clustered into speakers. With neural networks turns may
    overlap. Nothing is ever downloaded. Recordings that cannot be
    read or have no speech are named and left out; the exit code is then 3, and
    the turns of the others are written all the same.

    Example: sms-diar diarize call.wav --rttm call.rttm
    """
    import sms_diar
    from sms_diar.cli.progress import TerminalProgress

    check_outputs(rttm)
    result = sms_diar.diarize(
        recordings,
        method=method,
        k=k,
        threshold=threshold,
        num_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
        model=model,
        vad=None if vad is None else vad.value,
        step=step,
        uem=uem,
        channel=_channel(channel),
        max_gap=max_gap,
        seed=seed,
        workers=workers,
        allow_commands=allow_commands,
        strict=strict,
        progress=TerminalProgress(),
    )
    note_each(result.notes)
    note_each(result.problems)
    if result.recordings:
        if rttm is not None:
            result.to_rttm(rttm)
        if as_json:
            echo_json(result.to_dict())
        elif rttm is None:
            typer.echo(result.to_rttm(), nl=False)
        else:
            typer.echo(result)
    raise typer.Exit(exit_code(result.problems, any_good=bool(result.recordings)))


def _channel(text: str | None) -> int | str | None:
    """A number from 1, or "each"."""
    if text is None or text == "each":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(
            f"must be a number from 1, or 'each', got {text!r}", param_hint="--channel"
        )
    return int(text)
