"""``sms-diar simulate``: speech of single speakers in, conversations out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sms_diar.cli.front_end import VadMethod
from sms_diar.cli.methods import Seed
from sms_diar.cli.output import echo, echo_json, note_each
from sms_diar.cli.recordings import AllowCommands, Channel


class Dominance(StrEnum):
    """Those of `sms_diar.synthetic.conversation`, without loading it."""

    EVEN = "even"
    UNEVEN = "uneven"
    ZIPF = "zipf"


class AudioFormat(StrEnum):
    """Those of `sms_diar.io.audio.writer`, without loading it."""

    WAV = "wav"
    FLAC = "flac"


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command()(simulate)


def simulate(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DATA_DIR",
            help="Kaldi data directory with wav.scp, utt2spk and, if wanted, segments.",
        ),
    ],
    *,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT_DIR",
            help="New or empty folder, which becomes a data directory.",
        ),
    ],
    speakers: Annotated[
        int, typer.Option(min=1, help="Speakers of each conversation.")
    ] = 2,
    duration: Annotated[
        float, typer.Option(help="Seconds of each conversation.")
    ] = 120.0,
    conversations: Annotated[int, typer.Option(min=1, help="How many.")] = 1,
    turn_mean: Annotated[
        float | None,
        typer.Option(help="Mean seconds of a turn.", show_default="4.0"),
    ] = None,
    turn_min: Annotated[
        float | None,
        typer.Option(help="Fewest seconds of a turn.", show_default="1.0"),
    ] = None,
    turn_segments: Annotated[
        tuple[int, int] | None,
        typer.Option(
            metavar="MIN MAX", help="Turns of this many whole segments instead."
        ),
    ] = None,
    pause_mean: Annotated[
        float, typer.Option(help="Mean seconds between turns.")
    ] = 0.5,
    overlap: Annotated[
        float,
        typer.Option(help="Share of the speech in which two speak, 0 to 0.9."),
    ] = 0.0,
    dominance: Annotated[
        Dominance,
        typer.Option(
            help="Shares of the talk: alike, drawn at random, or as 1, 1/2, 1/3."
        ),
    ] = Dominance.EVEN,
    level: Annotated[
        float | None,
        typer.Option(
            help="Level of speech, in dB of full scale.", show_default="the source's"
        ),
    ] = None,
    level_spread: Annotated[
        float, typer.Option(help="Standard deviation of it over speakers, in dB.")
    ] = 0.0,
    rt60: Annotated[
        float | None,
        typer.Option(help="Reverberation time, in seconds.", show_default="no room"),
    ] = None,
    snr: Annotated[
        float | None,
        typer.Option(help="Speech over noise, in dB.", show_default="no noise"),
    ] = None,
    noise: Annotated[
        str,
        typer.Option(
            metavar="white|pink|DIR",
            help="The noise; a data directory holds recordings of it.",
        ),
    ] = "white",
    telephone: Annotated[
        bool,
        typer.Option("--telephone", help="A telephone's band, 8 kHz and mu-law."),
    ] = False,
    rate: Annotated[
        int | None,
        typer.Option(help="Samples per second.", show_default="the source's"),
    ] = None,
    format: Annotated[
        AudioFormat, typer.Option(help="Files of 16 bits.")
    ] = AudioFormat.WAV,
    prefix: Annotated[str, typer.Option(help="Begins names of recordings.")] = "sim",
    vad: Annotated[
        VadMethod,
        typer.Option(
            help="Detector of speech in the segments, which cuts out pauses; with none "
            "they stay and count as speech in the reference."
        ),
    ] = VadMethod.ENERGY,
    channel: Channel = None,
    seed: Seed = 0,
    allow_commands: AllowCommands = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was made as JSON.")
    ] = False,
) -> None:
    """Make conversations, with their reference, of the speech of single speakers.

    Segments of speakers drawn at random follow each other in turns, with pauses and
    overlap. OUT_DIR gets the audio, ref.rttm, the tables of a data directory and
    simulation.json. Everything follows from the seed; a conversation is the same
    whatever their number, and has the same turns with noise, a room or a telephone.

    Example: sms-diar simulate data/train -o data/sim --speakers 4 --overlap 0.15
    """
    from sms_diar.cli.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        import sms_diar

        run = progress.during("simulating", sms_diar.simulate)
    result = run(
        directory,
        output,
        speakers=speakers,
        duration=duration,
        conversations=conversations,
        turn_mean=turn_mean,
        turn_min=turn_min,
        turn_segments=turn_segments,
        pause_mean=pause_mean,
        overlap=overlap,
        dominance=dominance.value,
        level=level,
        level_spread=level_spread,
        rt60=rt60,
        snr=snr,
        noise=noise,
        telephone=telephone,
        rate=rate,
        format=format.value,
        prefix=prefix,
        vad=vad.value,
        channel=channel,
        seed=seed,
        allow_commands=allow_commands,
        progress=progress,
    )
    note_each(result.notes)
    if as_json:
        echo_json(result.to_dict())
    else:
        echo(result)
