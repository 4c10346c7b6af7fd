"""``sms-diar cluster``: embeddings in, speakers out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

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
from sms_diar.cli.output import check_outputs, echo_json, note, note_each
from sms_diar.clustering.methods import DEFAULT_METHOD
from sms_diar.errors import InvalidParameterError


def register(app: typer.Typer) -> None:
    """Add the command of this file to the application."""
    app.command()(cluster)


def cluster(
    embeddings: Annotated[
        str,
        typer.Argument(
            help="Kaldi ark or scp, npz, npy, CSV, TSV or Parquet; - for standard "
            "input. The format is told from the content."
        ),
    ],
    *,
    segments: Annotated[
        Path | None,
        typer.Option(help="Kaldi segments file: id, recording, start, end."),
    ] = None,
    plda: Annotated[
        Path | None,
        typer.Option(help="Kaldi PLDA file, or a model of 'plda train' or 'ivectors'."),
    ] = None,
    transform: Annotated[
        Path | None,
        typer.Option(help="Kaldi mean.vec or transform.mat, VBx transform.h5 or .npz."),
    ] = None,
    method: MethodOption = DEFAULT_METHOD,
    k: KOption = None,
    threshold: ThresholdOption = None,
    per_recording: Annotated[
        bool | None,
        typer.Option(
            "--per-recording/--across",
            help="Cluster each recording on its own, or all together.",
            show_default="per recording if there are segments",
        ),
    ] = None,
    num_speakers: NumSpeakers = None,
    min_speakers: MinSpeakers = None,
    max_speakers: MaxSpeakers = None,
    seed: Seed = 0,
    tol: Annotated[
        float | None,
        typer.Option(
            help="A move below this is rest (methods with -k).", show_default="0.001"
        ),
    ] = None,
    max_gap: MaxGap = 0.0,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Labels: .txt or no suffix as utt2spk, .csv, .json.",
        ),
    ] = None,
    rttm: Annotated[Path | None, typer.Option(help="Turns as RTTM.")] = None,
    allow_commands: Annotated[
        bool,
        typer.Option(
            "--allow-commands", help="Run entries of an scp file that are commands."
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print labels and summary as JSON.")
    ] = False,
) -> None:
    """Cluster embeddings into speakers.

    Needs nothing but the embeddings: without a PLDA model the session itself teaches
    what tells speakers apart. The times of the segments tell the default method which
    windows overlap; ids of the form recording-start-end do so, too. Where the result
    is fragile, a line says why. Labels go to standard output unless -o or --rttm says
    otherwise.

    Example: sms-diar cluster xvectors.ark --segments segments --plda plda
    --transform transform.npz --rttm out.rttm
    """
    import sms_diar
    from sms_diar.cli.progress import NotingProgress
    from sms_diar.io._lines import check_names

    if rttm is not None and segments is None:
        raise InvalidParameterError(
            "--rttm needs the times of the segments; give them with --segments"
        )
    if per_recording and segments is None:
        raise InvalidParameterError(
            "--per-recording needs to know the recordings; give them with --segments"
        )
    check_outputs(output, rttm)
    vectors = sms_diar.read_embeddings(embeddings, allow_commands=allow_commands)
    if output is None and rttm is None and not as_json:
        # A line is an id, a space, a speaker; found now rather than after the work.
        check_names(vectors.source, vectors.ids, format="labels on standard output")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = sms_diar.cluster(
            vectors,
            segments=segments,
            plda=plda,
            transform=transform,
            method=method,
            k=k,
            threshold=threshold,
            tol=tol,
            per_recording=per_recording,
            num_speakers=num_speakers,
            min_speakers=min_speakers,
            max_speakers=max_speakers,
            seed=seed,
            progress=NotingProgress(),
        )
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        note(f"warning: {message}")
    for found in result.sessions:
        note_each([f"{found.session}: in doubt: {doubt}" for doubt in found.doubts])
    if output is not None:
        result.to_labels(output)
    if rttm is not None:
        result.to_rttm(rttm, max_gap)
    if as_json:
        echo_json(result.to_dict())
    elif output is None and rttm is None:
        for name, speaker in result.labels.items():
            typer.echo(f"{name} {speaker}")
    else:
        typer.echo(result)
