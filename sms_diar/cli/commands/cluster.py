"""``sms-diar cluster``: embeddings in, speakers out."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option

from sms_diar.cli.options import MaxMemory, memory_budget, methods, output_option
from sms_diar.cli.options.recordings import (
    AllowScpCommands,
    SchedulerOption,
    on_scheduler,
)
from sms_diar.cli.terminal.output import check_outputs, echo, echo_json, note, note_each
from sms_diar.clustering.methods import DEFAULT_METHOD, METHODS

LABEL_SUFFIXES = ("", ".txt", ".utt2spk", ".csv", ".json")
"""Suffixes of label files, as in `sms_diar.io.labels`."""


def cluster(
    embeddings: Annotated[
        str,
        Argument(
            help="Kaldi ark or scp, npz, npy, CSV, TSV, whitespace-separated, JSON "
            "lines or Parquet; - for standard input. The format is detected from "
            "the content."
        ),
    ],
    *,
    segments: Annotated[
        Path | None, Option(help="Kaldi segments file: id, recording, start, end.")
    ] = None,
    plda: Annotated[
        Path | None,
        Option(help="Kaldi PLDA file, or model from 'plda train' or 'ivectors'."),
    ] = None,
    transform: Annotated[
        Path | None,
        Option(
            help="Kaldi mean.vec or transform.mat, a folder with both, or VBx "
            "transform.h5 or .npz."
        ),
    ] = None,
    method: methods.MethodOption = DEFAULT_METHOD,
    k: methods.KOption = None,
    threshold: methods.ThresholdOption = None,
    per_recording: Annotated[
        bool | None,
        Option(
            "--per-recording/--across",
            help="Cluster each recording separately, or all together: up to millions "
            "of vectors.",
            show_default="per recording if --segments is given",
        ),
    ] = None,
    utt2rec: Annotated[
        Path | None,
        Option(
            help="Recording of each id, for --across; each line has an id and a "
            "recording."
        ),
    ] = None,
    num_speakers: methods.NumSpeakers = None,
    min_speakers: methods.MinSpeakers = None,
    max_speakers: methods.MaxSpeakers = None,
    seed: methods.Seed = 0,
    tol: Annotated[
        float | None,
        Option(
            help="Convergence tolerance: smaller moves count as stationary (methods "
            "with -k).",
            show_default="0.001",
        ),
    ] = None,
    max_gap: methods.MaxGap = 0.0,
    scheduler: SchedulerOption = None,
    output: Annotated[
        Path | None,
        output_option(
            "-o",
            "--output",
            help="Labels file: .txt or no suffix (utt2spk), .csv or .json.",
        ),
    ] = None,
    rttm: Annotated[Path | None, output_option(help="RTTM file to write.")] = None,
    allow_commands: AllowScpCommands = False,
    max_memory: MaxMemory = None,
    as_json: Annotated[
        bool, output_option("--json", help="Print labels and summary as JSON.")
    ] = False,
) -> None:
    """Cluster embeddings into speakers.

    Only the embeddings are required: without a PLDA model, speaker variability is
    estimated from the session itself. The default method uses the times of the
    segments to find overlapping windows. Without --segments it uses the times in ids
    such as call-00000150-00000300 (hundredths of a second). Uncertain results are
    reported with the reason. Labels are written to standard output unless -o or --rttm
    is given.

    Example: sms-diar cluster xvectors.ark --segments segments --plda plda
    --transform transform.npz --rttm out.rttm
    """
    from sms_diar.cli.terminal.progress import NotingProgress

    methods.check_usage(
        method,
        num_speakers=num_speakers,
        min_speakers=min_speakers,
        max_speakers=max_speakers,
        k=k,
        tol=tol,
        threshold=threshold,
    )
    _check_files(embeddings, segments, plda, method, rttm, per_recording)
    inputs = (embeddings, segments, plda, transform, utt2rec)
    check_outputs(output, rttm, inputs=inputs)
    if output is not None and output.suffix not in LABEL_SUFFIXES:
        raise BadParameter(
            f"{output}: unknown suffix; use .txt (or none), .utt2spk, .csv or .json",
            param_hint="--output",
        )
    if utt2rec is not None and per_recording is not False:
        raise BadParameter("requires --across", param_hint="--utt2rec")
    progress = NotingProgress()
    with progress.stage("loading"):
        import sms_diar
        from sms_diar.io._lines import check_names
        from sms_diar.io.kaldi.tables import read_utt2spk

        budget = memory_budget(max_memory)
        check_places(embeddings, plda, transform, segments)
        recordings = None if utt2rec is None else read_utt2spk(utt2rec)
        run = sms_diar.cluster  # lazy import
    with (
        on_scheduler(scheduler),
        progress.stage("reading"),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        vectors = sms_diar.read_embeddings(embeddings, allow_commands=allow_commands)
        if output is None and rttm is None and not as_json:
            # Lines are "id speaker": check that ids have no spaces before the work.
            check_names(vectors.source, vectors.ids, format="labels on standard output")
        result = run(
            vectors,
            segments=segments,
            plda=plda,
            transform=transform,
            method=method,
            k=k,
            threshold=threshold,
            tol=tol,
            per_recording=per_recording,
            recordings=recordings,
            num_speakers=num_speakers,
            min_speakers=min_speakers,
            max_speakers=max_speakers,
            seed=seed,
            max_memory=budget,
            progress=progress,
        )
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        note(f"warning: {message}")
    for session in result.sessions:
        note_each([f"{session.session}: in doubt: {doubt}" for doubt in session.doubts])
    if output is not None:
        result.to_labels(output)
    if rttm is not None:
        result.to_rttm(rttm, max_gap)
    if as_json:
        echo_json(result.to_dict())
    elif output is None and rttm is None:
        for name, speaker in result.labels.items():
            echo(f"{name} {speaker}")
    else:
        echo(result)


def _check_files(
    embeddings: str,
    segments: Path | None,
    plda: Path | None,
    method: str,
    rttm: Path | None,
    per_recording: bool | None,  # noqa: FBT001
) -> None:
    """Refuse options that need a missing file."""
    if rttm is not None and segments is None:
        problem = "needs the times of the segments; add --segments"
        raise BadParameter(problem, param_hint="--rttm")
    if per_recording and segments is None:
        problem = "needs the recording of each segment; add --segments"
        raise BadParameter(problem, param_hint="--per-recording")
    sidecar = Path(f"{embeddings}.json")  # may name an extractor with a back end
    if METHODS[method].needs_plda and plda is None and not sidecar.is_file():
        problem = f"{method} needs a PLDA model; add --plda"
        raise BadParameter(problem, param_hint="--method")


_OPTIONS = {
    "plda": "--plda",
    "model": "--plda",
    "transform": "--transform",
    "segments": "--segments",
}


def check_places(
    embeddings: str, plda: Path | None, transform: Path | None, segments: Path | None
) -> None:
    """Refuse files whose content does not fit their option."""
    if embeddings != "-":
        _check(Path(embeddings), "embeddings", ("embeddings",))
    _check(plda, "a PLDA model", ("plda", "model"))
    _check(transform, "a transform", ("transform",))
    _check(segments, "a segments table", ("segments",))


def _check(path: Path | None, expected: str, kinds: tuple[str, ...]) -> None:
    if path is None or not path.is_file():
        return
    from sms_diar.errors import DataFormatError
    from sms_diar.io.detect import KINDS, kind_of

    kind = kind_of(path)
    if kind is None or kind in kinds:
        return
    if kind in _OPTIONS:
        remedy = f"this is {KINDS[kind]}: {_OPTIONS[kind]}"
    elif kind == "audio":
        remedy = "this is a recording: sms-diar diarize"
    else:
        remedy = f"this looks like {KINDS[kind]}"
    raise DataFormatError(f"{remedy} (expected here: {expected})", path=path)
