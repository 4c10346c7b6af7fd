"""``sms-diar cluster``: embeddings in, speakers out."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    session_table,
)
from sms_diar.clustering.methods import DEFAULT_METHOD
from sms_diar.errors import InvalidParameterError

if TYPE_CHECKING:
    from sms_diar.pipeline.cluster import Clustering
    from sms_diar.scoring.backend import BackEnd
    from sms_diar.types import EmbeddingSet


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

    Needs nothing but the embeddings: without a PLDA model scores are cosines, with
    whitening fitted on the session. The times of the segments tell the default
    method how much windows overlap. Labels go to standard output unless -o or
    --rttm says otherwise.

    Example: sms-diar cluster xvectors.ark --segments segments --plda plda
    --transform transform.npz --rttm out.rttm
    """
    from sms_diar.cli.progress import TerminalProgress
    from sms_diar.clustering.methods import MethodOptions, build_method
    from sms_diar.io.embeddings import read_embeddings
    from sms_diar.io.kaldi.tables import read_segments
    from sms_diar.io.labels import write_labels
    from sms_diar.io.rttm import write_rttm
    from sms_diar.pipeline.cluster import (
        cluster_embeddings,
        match_segments,
        memory_note,
    )

    if rttm is not None and segments is None:
        raise InvalidParameterError(
            "--rttm needs the times of the segments; give them with --segments"
        )
    if per_recording and segments is None:
        raise InvalidParameterError(
            "--per-recording needs to know the recordings; give them with --segments"
        )
    options = MethodOptions(k=k, tol=tol, threshold=threshold)
    estimator = build_method(
        method,
        options=options,
        seed=seed,
        num_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
    )
    vectors = read_embeddings(embeddings, allow_commands=allow_commands)
    times = None if segments is None else read_segments(segments)
    if times is not None:
        unused = match_segments(vectors, times, str(segments))
        if unused:
            _note(f"{segments}: {len(unused)} segments have no embedding; left out")
    estimator.set_params(backend=_backend(plda, transform, vectors))
    _note(memory_note(vectors, estimator))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = cluster_embeddings(
            vectors,
            estimator,
            segments=times,
            per_recording=times is not None if per_recording is None else per_recording,
            progress=TerminalProgress(),
        )
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        _note(f"warning: {message}")
    if output is not None:
        write_labels(output, result.labels, segments=result.segments)
    if rttm is not None:
        write_rttm(rttm, result.turns(max_gap))
    if as_json:
        typer.echo(json.dumps(_summary(method, result), indent=2))
    elif output is None and rttm is None:
        for name, speaker in result.labels.items():
            typer.echo(f"{name} {speaker}")
    else:
        typer.echo(session_table(result.sessions))


def _note(message: str) -> None:
    typer.echo(f"sms-diar: {message}", err=True)


def _backend(
    plda: Path | None, transform: Path | None, vectors: EmbeddingSet
) -> BackEnd | None:
    from sms_diar.io.kaldi.plda import read_plda
    from sms_diar.io.kaldi.transform import read_transform
    from sms_diar.io.model import is_model
    from sms_diar.pipeline.ivectors import backend_for, read_backend
    from sms_diar.scoring import backend_from_transform

    if plda is None and transform is None:
        return backend_for(vectors)  # of the embedded model, if it made the vectors
    if plda is not None and is_model(plda):
        if transform is not None:
            raise InvalidParameterError(
                f"--transform: {plda} has its own transform; leave --transform out"
            )
        return read_backend(plda)
    model = None if plda is None else read_plda(plda)
    chain = None if transform is None else read_transform(transform)
    if chain is None and model is not None and model.dim != vectors.dim:
        raise InvalidParameterError(
            f"{plda}: a PLDA model of {model.dim} dimensions cannot score the "
            f"{vectors.dim}-dimensional vectors of {vectors.source}; give the "
            f"transform that comes before it with --transform"
        )
    return backend_from_transform(chain, model, vectors.dim)


def _summary(method: str, result: Clustering) -> dict[str, object]:
    from dataclasses import asdict

    return {
        "method": method,
        "labels": dict(result.labels),
        "sessions": [asdict(session) for session in result.sessions],
    }
