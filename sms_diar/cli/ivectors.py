"""``sms-diar ivectors``: train, apply and describe i-vector models."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sms_diar.cli.front_end import (
    CONFIG_HELP,
    CmvnMethod,
    VadMethod,
    changed_front_end,
    read_front_end,
)
from sms_diar.cli.output import (
    JsonOption,
    MaxMemory,
    check_outputs,
    echo,
    echo_json,
    exit_code,
    memory_budget,
    note_each,
)
from sms_diar.cli.recordings import AllowCommands, Strict
from sms_diar.cli.scheduler import SchedulerOption, on_scheduler

if TYPE_CHECKING:
    from sms_diar.types import Problem


class Covariance(StrEnum):
    """Covariance types of the background model."""

    DIAGONAL = "diagonal"
    FULL = "full"


_Channel = Annotated[
    int | None,
    typer.Option(
        "-c", "--channel", min=1, help="Channel of multi-channel files, from 1."
    ),
]
_Workers = Annotated[
    int,
    typer.Option(
        min=1, help="Number of processes and threads; does not affect results."
    ),
]
_ALL_CORES = max(1, os.cpu_count() or 1)


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the application."""
    group = typer.Typer(
        name="ivectors", help="Train and apply i-vector models.", no_args_is_help=True
    )
    group.command()(train)
    group.command()(extract)
    group.command()(info)
    app.add_typer(group)


def train(
    directories: Annotated[
        list[Path],
        typer.Argument(metavar="DATA_DIR...", help="Kaldi data directories."),
    ],
    *,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="MODEL", help="Model to write.")
    ],
    components: Annotated[
        int, typer.Option(min=1, help="Number of Gaussians in the background model.")
    ] = 128,
    rank: Annotated[int, typer.Option(min=1, help="Dimension of i-vectors.")] = 100,
    iterations: Annotated[
        int, typer.Option(min=1, help="Iterations for the total variability matrix.")
    ] = 10,
    ubm_iterations: Annotated[
        int, typer.Option(min=1, help="Iterations for the complete background model.")
    ] = 10,
    covariance: Annotated[
        Covariance, typer.Option(help="Covariance type of the background model.")
    ] = Covariance.DIAGONAL,
    top: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of best Gaussians used per frame.", show_default="all"
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help=CONFIG_HELP),
    ] = None,
    vad: Annotated[
        VadMethod | None,
        typer.Option(help="Speech detector.", show_default="energy"),
    ] = None,
    cmvn: Annotated[
        CmvnMethod | None,
        typer.Option(
            help="Scope of cepstral normalisation; a session is a data directory. "
            "Normalising single short segments removes speaker information.",
            show_default="session",
        ),
    ] = None,
    backend: Annotated[
        bool,
        typer.Option(
            "--backend/--no-backend",
            help="Also train a PLDA back end with the speakers of utt2spk and store it "
            "in the model.",
        ),
    ] = False,
    double: Annotated[
        bool, typer.Option("--double", help="Store numbers in 8 bytes instead of 4.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Ignore an existing checkpoint and start over."),
    ] = False,
    max_memory: MaxMemory = None,
    channel: _Channel = None,
    workers: _Workers = _ALL_CORES,
    scheduler: SchedulerOption = None,
    allow_commands: AllowCommands = False,
    strict: Strict = False,
    as_json: JsonOption = False,
) -> None:
    """Train a background model and a total variability matrix on speech.

    Every data directory is one session: by default cepstra are normalised over all
    its segments. Interrupted training continues from MODEL.checkpoint when the same
    command is run again.

    Example: sms-diar ivectors train data/train -o model.npz --backend
    """
    from sms_diar.cli.interrupts import interruptible
    from sms_diar.cli.progress import NotingProgress

    progress = NotingProgress()
    with progress.stage("loading"):  # slow imports
        from sms_diar.io.kaldi.data_dir import DataDir
        from sms_diar.io.problems import problem_records
        from sms_diar.pipeline.train.checkpoint import (
            checkpoint_path,
            remove_checkpoint,
        )
        from sms_diar.pipeline.train.extraction import Speech
        from sms_diar.pipeline.train.ivectors import IvectorSettings, train_ivectors
        from sms_diar.pipeline.train.models import write_ivector_model

    check_outputs(output, inputs=(*directories, config))
    front_end = changed_front_end(read_front_end(config), vad=vad, cmvn=cmvn)
    budget = memory_budget(max_memory)
    checkpoint = checkpoint_path(output)
    if fresh:
        remove_checkpoint(checkpoint)
    settings = IvectorSettings(
        n_components=components,
        rank=rank,
        covariance=covariance.value,
        ubm_iter=ubm_iterations,
        tv_iter=iterations,
        top=top,
        storage="double" if double else "float",
        seed=seed,
    )
    problems: list[Problem] = []
    with (
        on_scheduler(scheduler),
        interruptible("run the same command again to go on from here"),
    ):
        model = train_ivectors(
            [Speech(DataDir(directory), front_end) for directory in directories],
            settings,
            backend=backend,
            channel=channel,
            allow_commands=allow_commands,
            workers=workers,
            problems=None if strict else problems,
            progress=progress,
            checkpoint=checkpoint,
            max_memory=budget,
        )
    note_each(problems)
    fingerprint = write_ivector_model(output, model)
    remove_checkpoint(checkpoint)
    if as_json:
        record = {"model": str(output), "fingerprint": fingerprint, **model.to_dict()}
        echo_json(record | {"problems": problem_records(problems)})
        raise typer.Exit(exit_code(problems))
    notes = model.extractor.notes
    with_backend = "" if model.backend is None else ", with a back end"
    echo(
        f"wrote {output}: {components} components, rank {rank}{with_backend}; "
        f"{notes['segments']} segments, {notes['hours']:.2f} h of speech, extractor "
        f"{model.extractor.fingerprint}"
    )
    raise typer.Exit(exit_code(problems))


def extract(
    directory: Annotated[
        Path, typer.Argument(metavar="DATA_DIR", help="Kaldi data directory.")
    ],
    *,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="OUT", help=".ark, .npz, .csv or .tsv."),
    ],
    model: Annotated[
        Path | None,
        typer.Option(
            help="Model from 'sms-diar ivectors train'.",
            show_default="embedded model",
        ),
    ] = None,
    vad: Annotated[
        VadMethod | None,
        typer.Option(help="Speech detector.", show_default="from the model"),
    ] = None,
    cmvn: Annotated[
        CmvnMethod | None,
        typer.Option(
            help="Scope of cepstral normalisation.", show_default="from the model"
        ),
    ] = None,
    channel: _Channel = None,
    workers: _Workers = _ALL_CORES,
    scheduler: SchedulerOption = None,
    allow_commands: AllowCommands = False,
    strict: Strict = False,
    as_json: JsonOption = False,
) -> None:
    """Extract one i-vector per segment of a data directory.

    Segments that cannot be read or have no speech are reported and skipped; the exit
    code is then 3, and the other vectors are still written. The fingerprint of the
    model is written to OUT.json, from which 'sms-diar cluster' finds the back end.

    Example: sms-diar ivectors extract data/calls -o calls.ark
    """
    from sms_diar.cli.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar.io.embeddings.files import embedding_files, write_embeddings
        from sms_diar.io.kaldi.data_dir import DataDir
        from sms_diar.io.problems import problem_records
        from sms_diar.pipeline.train.extraction import Speech, extract_ivectors
        from sms_diar.pipeline.train.models import (
            read_ivector_model,
            require_model_path,
        )

    if output.suffix.lower() not in (".ark", ".npz", ".csv", ".tsv"):
        raise typer.BadParameter(
            f"must end in .ark, .npz, .csv or .tsv, got {output}", param_hint="-o"
        )
    check_outputs(*embedding_files(output), inputs=(directory, model))
    path = require_model_path() if model is None else model
    chosen = read_ivector_model(path)
    front_end = changed_front_end(chosen.front_end, vad=vad, cmvn=cmvn)
    problems: list[Problem] = []
    try:
        with on_scheduler(scheduler):
            vectors = extract_ivectors(
                Speech(DataDir(directory), front_end),
                chosen.extractor,
                channel=channel,
                allow_commands=allow_commands,
                workers=workers,
                problems=None if strict else problems,
                progress=progress,
            )
    finally:
        note_each(problems)
    write_embeddings(output, vectors)
    if as_json:
        record = {
            "output": str(output),
            "model": str(path),
            "extractor": vectors.extractor,
            "vectors": len(vectors),
            "dim": vectors.dim,
            "problems": problem_records(problems),
        }
        echo_json(record)
    else:
        echo(f"wrote {output}: {len(vectors)} vectors of {vectors.dim} dimensions")
    raise typer.Exit(exit_code(problems))


def info(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="[MODEL]", show_default="embedded model"),
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Describe an i-vector model and its training data."""
    from sms_diar.pipeline.train.models import read_ivector_model, require_model_path

    path = require_model_path() if model is None else model
    record = {"model": str(path), **read_ivector_model(path).to_dict()}
    if as_json:
        echo_json(record)
        return
    width = max(len(name) for name in record)
    for name, value in record.items():
        shown = "none" if value is None else value
        if isinstance(value, dict):
            shown = ", ".join(f"{key} {_text(entry)}" for key, entry in value.items())
        echo(f"{name.ljust(width)}  {shown}")


def _text(value: object) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{key} {_text(v)}" for key, v in value.items()) + ")"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
