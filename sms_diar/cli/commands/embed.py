"""``sms-diar embed``: embeddings of the segments of a data directory."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import BadParameter, Option

from sms_diar.cli.errors import note_problems
from sms_diar.cli.options import JsonOption, recordings
from sms_diar.cli.terminal.output import check_outputs, echo, echo_json, exit_code

if TYPE_CHECKING:
    from sms_diar.types import Problem

Detector = StrEnum("Detector", ["ENERGY", "NONE"])
"""Speech detectors of Kaldi's recipes."""

CmvnScope = StrEnum("CmvnScope", ["SEGMENT", "WINDOW", "NONE"])
"""Scopes of `sms_diar.pipeline.train.xvectors.CMVN_SCOPES`, without its import."""


def _file(name: str) -> Any:
    panel = "Files that are elsewhere"
    return Option(help=f"Other path of {name}.", rich_help_panel=panel)


def _network(text: str, default: bool | str = True) -> Any:  # noqa: FBT001, FBT002
    panel = "Network and frames"
    return Option(help=text, show_default=default, rich_help_panel=panel)


def _windows(text: str, default: bool | str = True) -> Any:  # noqa: FBT001, FBT002
    return Option(help=text, show_default=default, rich_help_panel="Windows")


def embed(
    context: typer.Context,
    directory: recordings.DataDirectory,
    *,
    output: recordings.VectorOutput,
    kaldi: Annotated[
        Path,
        Option(
            metavar="DIR",
            help="X-vector network trained in Kaldi: a folder with final.raw and "
            "extract.config, or with final.ext.raw, and with mfcc.conf and vad.conf "
            "(or conf/mfcc.conf, ...).",
        ),
    ],
    nnet: Annotated[Path | None, _file("final.raw")] = None,
    extract_config: Annotated[Path | None, _file("extract.config")] = None,
    mfcc_config: Annotated[Path | None, _file("mfcc.conf")] = None,
    vad_config: Annotated[Path | None, _file("vad.conf")] = None,
    output_node: Annotated[
        str | None,
        _network(
            "Node of the network whose value is the embedding.", "from extract.config"
        ),
    ] = None,
    chunk_size: Annotated[
        int | None,
        _network(
            "Maximum number of frames that the network processes together; -1 for "
            "whole segments. The vectors of chunks are averaged.",
            "max_chunk_size in DIR, or 10000",
        ),
    ] = None,
    min_chunk_size: Annotated[
        int | None,
        _network(
            "Minimum number of frames; shorter chunks are padded.",
            "min_chunk_size in DIR, or 25",
        ),
    ] = None,
    vad: Annotated[
        Detector, _network("Speech detector; windows always use all frames.")
    ] = Detector.ENERGY,
    cmvn: Annotated[
        CmvnScope, _network("Normalise each segment, each window, or nothing.")
    ] = CmvnScope.SEGMENT,
    window: Annotated[
        float | None,
        _windows(
            "Divide segments into windows of this length in seconds, such as 1.5, for "
            "diarization. Their times are written to OUT with suffix .segments.",
            "whole segments",
        ),
    ] = None,
    period: Annotated[float, _windows("Distance of windows in seconds.")] = 0.75,
    min_segment: Annotated[
        float, _windows("A shorter rest of a segment is covered by a whole window.")
    ] = 0.5,
    channel: recordings.Channel = None,
    workers: recordings.Workers = recordings.ALL_CORES,
    scheduler: recordings.SchedulerOption = None,
    allow_commands: recordings.AllowCommands = False,
    strict: recordings.Strict = False,
    as_json: JsonOption = False,
) -> None:
    """Compute one x-vector per segment or window with a network of Kaldi.

    Vectors are as from sid/nnet3/xvector/extract_xvectors.sh, and with --window as from
    diarization/nnet3/xvector/extract_xvectors.sh. Segments that cannot be read or have
    no speech are reported and skipped; the exit code is then 3, and the other vectors
    are still written.

    Example: sms-diar embed data/calls --kaldi exp/xvector_nnet --window 1.5
    -o xvectors.ark
    """
    from sms_diar.cli.terminal.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar.io.embeddings.files import embedding_files, write_embeddings
        from sms_diar.io.kaldi.data_dir import DataDir
        from sms_diar.io.kaldi.tables import write_segments
        from sms_diar.io.problems import problem_records
        from sms_diar.pipeline.train.xvectors import XvectorFiles, extract_xvectors
        from sms_diar.timeline.windows import WindowLayout

    if output.suffix.lower() not in (".ark", ".npz", ".csv", ".tsv"):
        problem = f"must end in .ark, .npz, .csv or .tsv, got {output}"
        raise BadParameter(problem, param_hint="-o")
    others = (nnet, extract_config, mfcc_config, vad_config)
    times = None if window is None else output.with_suffix(".segments")
    inputs = (directory, kaldi, kaldi / "conf", *others)
    check_outputs(*embedding_files(output), times, inputs=inputs)
    data, files = DataDir(directory), XvectorFiles(kaldi, *others)
    detects = vad is Detector.ENERGY and window is None
    front_end = files.front_end(vad=detects)
    extractor = files.read(
        front_end,
        output_node=output_node,
        chunk_size=chunk_size,
        min_chunk_size=min_chunk_size,
    )
    layout = None if window is None else WindowLayout(window, period, min_segment)
    problems: list[Problem] = []
    try:
        with recordings.on_scheduler(scheduler):
            vectors, segments = extract_xvectors(
                data,
                extractor,
                front_end,
                windows=layout,
                cmvn=cmvn.value,
                channel=channel,
                allow_commands=allow_commands,
                workers=workers,
                problems=None if strict else problems,
                progress=progress,
            )
    finally:
        note_problems(context, problems)
    if times is not None:
        write_segments(times, segments)
    write_embeddings(output, vectors, dtype="float")
    if as_json:
        record = {
            "output": str(output),
            "segments": None if times is None else str(times),
            "model": str(kaldi),
            "extractor": vectors.extractor,
            "vectors": len(vectors),
            "dim": vectors.dim,
            "problems": problem_records(problems),
        }
        echo_json(record)
    else:
        more = "" if times is None else f", and {times}"
        echo(
            f"wrote {output}: {len(vectors)} vectors of {vectors.dim} dimensions{more}"
        )
    raise typer.Exit(exit_code(problems))
