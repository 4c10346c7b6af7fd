"""``sms-diar diarize``: recordings in, who spoke when out."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sms_diar.cli.ivectors import Vad
from sms_diar.cli.methods import (
    KOption,
    MaxGap,
    MaxSpeakers,
    MethodOption,
    MinSpeakers,
    NumSpeakers,
    Seed,
    ThresholdOption,
    session_table,
)
from sms_diar.clustering.methods import DEFAULT_METHOD
from sms_diar.errors import MissingFileError

if TYPE_CHECKING:
    from sms_diar.features.extract import FeatureProblem
    from sms_diar.pipeline.diarize import Diarized
    from sms_diar.pipeline.ivectors import IvectorModel

_NAMED = 10  # problems that are shown before they are only counted


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
    vad: Annotated[
        Vad,
        typer.Option(
            help="Detector of speech; neural is Silero's, of the extra 'vad'."
        ),
    ] = Vad.ENERGY,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Model of 'sms-diar ivectors train'.", show_default="the embedded one"
        ),
    ] = None,
    uem: Annotated[
        Path | None, typer.Option(help="Leave out what is not in these regions.")
    ] = None,
    channel: Annotated[
        int | None,
        typer.Option(
            "-c",
            "--channel",
            min=1,
            help="Channel of files with several.",
            show_default="all, mixed",
        ),
    ] = None,
    max_gap: MaxGap = 0.0,
    seed: Seed = 0,
    workers: Annotated[
        int, typer.Option(min=1, help="Threads; results do not depend on it.")
    ] = 1,
    allow_commands: Annotated[
        bool, typer.Option("--allow-commands", help="Run the commands of wav.scp.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print turns and summary as JSON.")
    ] = False,
) -> None:
    """Find out who spoke when in recordings.

    Each recording is taken for itself: speech is found, cut into windows of
    1.5 s every 0.75 s, and clustered into speakers. Recordings that cannot be
    read or have no speech are named and left out; the exit code is then 1, and
    the turns of the others are written all the same.

    Example: sms-diar diarize call.wav --rttm call.rttm
    """
    from sms_diar.cli.progress import TerminalProgress
    from sms_diar.clustering.methods import MethodOptions, build_method
    from sms_diar.features import neural_vad
    from sms_diar.io.rttm import write_rttm
    from sms_diar.io.uem import read_uem
    from sms_diar.pipeline.diarize import (
        DiarizeSettings,
        diarize_all,
        find_recordings,
    )

    # Whatever can be wrong is found now rather than after the work.
    if rttm is not None and not rttm.parent.is_dir():
        raise MissingFileError(f"{rttm.parent}: no such folder to write to")
    if vad is Vad.NEURAL:
        neural_vad.require()
    found = find_recordings(recordings)
    regions = None if uem is None else read_uem(uem)
    extractor = _model(model)
    estimator = build_method(
        method,
        extractor.backend,
        options=MethodOptions(k=k, threshold=threshold),
        seed=seed,
        num_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
    )
    settings = DiarizeSettings(
        max_gap=max_gap, channel=channel, allow_commands=allow_commands
    ).with_vad(vad.value)
    problems: list[FeatureProblem] = []
    results = diarize_all(
        found,
        extractor,
        estimator,
        settings,
        uem=regions,
        workers=workers,
        problems=problems,
        progress=TerminalProgress(),
    )
    _tell([note for result in results for note in result.notes])
    _tell([str(problem) for problem in problems])
    if results:
        turns = [turn for result in results for turn in result.turns]
        if rttm is not None:
            write_rttm(rttm, turns)
        if as_json:
            record = _record(method, results, problems)
            typer.echo(json.dumps(record, indent=2))
        elif rttm is None:
            text = io.StringIO()
            write_rttm(text, turns)
            typer.echo(text.getvalue(), nl=False)
        else:
            sessions = tuple(result.session for result in results)
            typer.echo(session_table(sessions, "recording"))
    if problems:
        raise typer.Exit(1)


def _model(path: Path | None) -> IvectorModel:
    from sms_diar.pipeline.ivectors import embedded_model_path, read_ivector_model

    chosen = embedded_model_path() if path is None else path
    if chosen is None:
        raise MissingFileError(
            "this installation has no embedded i-vector model; name one with --model, "
            "or train it with 'sms-diar ivectors train'"
        )
    return read_ivector_model(chosen)


def _tell(lines: Sequence[str]) -> None:
    for line in lines[:_NAMED]:
        typer.echo(f"sms-diar: {line}", err=True)
    if len(lines) > _NAMED:
        typer.echo(f"sms-diar: ... and {len(lines) - _NAMED} more", err=True)


def _record(
    method: str, results: Sequence[Diarized], problems: Sequence[FeatureProblem]
) -> dict[str, object]:
    from dataclasses import asdict

    recordings = []
    for result in results:
        words = asdict(result.session)
        recordings.append(
            {
                "recording": words.pop("session"),
                "duration": result.duration,
                "speech": result.speech,
                **words,
                "notes": list(result.notes),
                "turns": [
                    {
                        "start": turn.segment.start,
                        "end": turn.segment.end,
                        "speaker": turn.speaker,
                    }
                    for turn in result.turns
                ],
            }
        )
    return {
        "method": method,
        "recordings": recordings,
        "problems": [asdict(problem) for problem in problems],
    }
