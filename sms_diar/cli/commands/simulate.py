"""``sms-diar simulate``: make conversations from speech of single speakers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from sms_diar.cli.options import JsonOption
from sms_diar.cli.options.methods import Seed
from sms_diar.cli.options.recordings import AllowCommands, Channel, VadMethod
from sms_diar.cli.terminal.output import echo, echo_json, note_each

Dominance = StrEnum("Dominance", ["EVEN", "UNEVEN", "ZIPF"])
"""Choices of `sms_diar.synthetic.conversation`, without its import."""

AudioFormat = StrEnum("AudioFormat", ["WAV", "FLAC"])
"""Formats of `sms_diar.io.audio.files`, without its import."""


def simulate(
    directory: Annotated[
        Path,
        Argument(
            metavar="DATA_DIR",
            help="Kaldi data directory with wav.scp, utt2spk and optionally segments.",
        ),
    ],
    *,
    output: Annotated[
        Path,
        Option(
            "-o",
            "--output",
            metavar="OUT_DIR",
            help="New or empty folder for the output data directory.",
        ),
    ],
    speakers: Annotated[
        int, Option(min=1, help="Number of speakers per conversation.")
    ] = 2,
    duration: Annotated[
        float, Option(help="Length of each conversation in seconds.")
    ] = 120.0,
    conversations: Annotated[int, Option(min=1, help="Number of conversations.")] = 1,
    turn_mean: Annotated[
        float | None, Option(help="Mean turn length in seconds.", show_default="4.0")
    ] = None,
    turn_min: Annotated[
        float | None, Option(help="Minimum turn length in seconds.", show_default="1.0")
    ] = None,
    turn_segments: Annotated[
        tuple[int, int] | None,
        Option(
            metavar="MIN MAX",
            help="Number of whole segments per turn, instead of a turn length.",
        ),
    ] = None,
    pause_mean: Annotated[
        float, Option(help="Mean pause between turns in seconds.")
    ] = 0.5,
    overlap: Annotated[
        float, Option(help="Proportion of overlapped speech, 0 to 0.9.")
    ] = 0.0,
    dominance: Annotated[
        Dominance,
        Option(help="Proportions of speaking time: equal, random, or 1, 1/2, 1/3, ..."),
    ] = Dominance.EVEN,
    level: Annotated[
        float | None,
        Option(
            help="Speech level in dB relative to full scale.", show_default="unchanged"
        ),
    ] = None,
    level_spread: Annotated[
        float, Option(help="Standard deviation of the level over speakers, in dB.")
    ] = 0.0,
    rt60: Annotated[
        float | None,
        Option(help="Reverberation time, in seconds.", show_default="no room"),
    ] = None,
    snr: Annotated[
        float | None,
        Option(help="Signal-to-noise ratio in dB.", show_default="no noise"),
    ] = None,
    noise: Annotated[
        str,
        Option(
            metavar="white|pink|DIR",
            help="Noise type, or a data directory with recordings of noise.",
        ),
    ] = "white",
    telephone: Annotated[
        bool,
        Option(
            "--telephone", help="Simulate a telephone: limited band, 8 kHz, mu-law."
        ),
    ] = False,
    rate: Annotated[
        int | None, Option(help="Sampling rate in Hz.", show_default="unchanged")
    ] = None,
    format: Annotated[
        AudioFormat, Option(help="Audio format (16 bits).")
    ] = AudioFormat.WAV,
    prefix: Annotated[str, Option(help="Prefix of recording names.")] = "sim",
    vad: Annotated[
        VadMethod,
        Option(
            help="Speech detector that removes pauses from the segments; with none, "
            "pauses remain and count as speech in the reference."
        ),
    ] = VadMethod.ENERGY,
    channel: Channel = None,
    seed: Seed = 0,
    allow_commands: AllowCommands = False,
    as_json: JsonOption = False,
) -> None:
    """Make conversations with reference turns from speech of single speakers.

    Segments of randomly drawn speakers are arranged in turns with pauses and overlap.
    OUT_DIR contains the audio, ref.rttm, the tables of a data directory and
    simulation.json. Results depend only on the seed and the options: a conversation
    does not depend on the number of conversations, and its turns do not depend on
    noise, room or telephone.

    Example: sms-diar simulate data/train -o data/sim --speakers 4 --overlap 0.15
    """
    from sms_diar.cli.terminal.progress import TerminalProgress

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
