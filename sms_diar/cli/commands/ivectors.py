"""``sms-diar ivectors``: train, apply and describe i-vector models."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, BadParameter, Option

from sms_diar.cli.errors import note_problems
from sms_diar.cli.options import JsonOption, MaxMemory, memory_budget, recordings
from sms_diar.cli.terminal.output import (
    check_outputs,
    echo,
    echo_json,
    echo_rows,
    exit_code,
)

if TYPE_CHECKING:
    from sms_diar.embeddings.extractor import FrameExtractor
    from sms_diar.features.front_end import FrontEnd
    from sms_diar.features.kaldi import KaldiFrontEnd
    from sms_diar.io.kaldi.data_dir import DataDir
    from sms_diar.pipeline.train.extraction import Speech
    from sms_diar.pipeline.train.kaldi import KaldiFiles
    from sms_diar.types import Problem

app = typer.Typer(
    name="ivectors", help="Train and apply i-vector models.", no_args_is_help=True
)


def _kaldi_option(help: str, **more: Any) -> Any:
    return Option(help=help, rich_help_panel="Extractors of Kaldi", **more)


def _elsewhere(name: str) -> Any:
    return _kaldi_option(f"{name}, if it is elsewhere.")


Covariance = StrEnum("Covariance", ["DIAGONAL", "FULL"])
"""Covariance types of the background model."""


@app.command()
def train(
    context: typer.Context,
    directories: Annotated[
        list[Path], Argument(metavar="DATA_DIR...", help="Kaldi data directories.")
    ],
    *,
    output: Annotated[
        Path, Option("-o", "--output", metavar="MODEL", help="Model to write.")
    ],
    components: Annotated[
        int, Option(min=1, help="Number of Gaussians in the background model.")
    ] = 128,
    rank: Annotated[int, Option(min=1, help="Dimension of i-vectors.")] = 100,
    iterations: Annotated[
        int, Option(min=1, help="Iterations for the total variability matrix.")
    ] = 10,
    ubm_iterations: Annotated[
        int, Option(min=1, help="Iterations for the complete background model.")
    ] = 10,
    covariance: Annotated[
        Covariance, Option(help="Covariance type of the background model.")
    ] = Covariance.DIAGONAL,
    top: Annotated[
        int | None,
        Option(
            min=1, help="Number of best Gaussians used per frame.", show_default="all"
        ),
    ] = None,
    config: recordings.ConfigOption = None,
    vad: Annotated[
        recordings.VadMethod | None,
        Option(help="Speech detector.", show_default="energy"),
    ] = None,
    cmvn: Annotated[
        recordings.CmvnMethod | None,
        Option(
            help="Scope of cepstral normalisation; a session is a data directory. "
            "Normalising single short segments removes speaker information.",
            show_default="session",
        ),
    ] = None,
    backend: Annotated[
        bool,
        Option(
            "--backend/--no-backend",
            help="Also train a PLDA back end with the speakers of utt2spk and store it "
            "in the model.",
        ),
    ] = False,
    double: Annotated[
        bool, Option("--double", help="Store numbers in 8 bytes instead of 4.")
    ] = False,
    seed: Annotated[int, Option(help="Random seed.")] = 0,
    fresh: Annotated[
        bool, Option("--fresh", help="Ignore an existing checkpoint and start over.")
    ] = False,
    max_memory: MaxMemory = None,
    channel: recordings.Channel = None,
    workers: recordings.Workers = recordings.ALL_CORES,
    scheduler: recordings.SchedulerOption = None,
    allow_commands: recordings.AllowCommands = False,
    strict: recordings.Strict = False,
    as_json: JsonOption = False,
) -> None:
    """Train a background model and a total variability matrix on speech.

    Every data directory is one session: by default cepstra are normalised over all
    its segments. Interrupted training continues from MODEL.checkpoint when the same
    command is run again.

    Example: sms-diar ivectors train data/train -o model.npz --backend
    """
    from sms_diar.cli.terminal.interrupts import interruptible
    from sms_diar.cli.terminal.progress import NotingProgress

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
    front_end = recordings.changed_front_end(
        recordings.read_front_end(config), vad=vad, cmvn=cmvn
    )
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
        recordings.on_scheduler(scheduler),
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
    note_problems(context, problems)
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


@app.command()
def extract(
    context: typer.Context,
    directory: recordings.DataDirectory,
    *,
    output: recordings.VectorOutput,
    model: Annotated[
        Path | None,
        Option(
            help="Model from 'sms-diar ivectors train'.", show_default="embedded model"
        ),
    ] = None,
    windows: Annotated[
        Path | None,
        Option(
            metavar="SEGMENTS",
            help="Cut segments into windows of 1.5 s every 0.75 s, as Kaldi's "
            "diarization recipe, and write their times to this segments file.",
        ),
    ] = None,
    kaldi: Annotated[
        Path | None,
        _kaldi_option(
            "Extractor trained in Kaldi: a folder with final.ie, final.ubm, "
            "final.dubm, delta_opts, mfcc.conf and vad.conf (or conf/mfcc.conf, ...).",
            metavar="DIR",
        ),
    ] = None,
    extractor: Annotated[Path | None, _elsewhere("final.ie")] = None,
    ubm: Annotated[Path | None, _elsewhere("final.ubm")] = None,
    dubm: Annotated[Path | None, _elsewhere("final.dubm")] = None,
    delta_opts: Annotated[Path | None, _elsewhere("delta_opts")] = None,
    mfcc_config: Annotated[Path | None, _elsewhere("mfcc.conf")] = None,
    vad_config: Annotated[Path | None, _elsewhere("vad.conf")] = None,
    num_gselect: Annotated[
        int, _kaldi_option("Number of Gaussians selected for each frame.", min=1)
    ] = 20,
    min_post: Annotated[
        float, _kaldi_option("Smaller posteriors are dropped.")
    ] = 0.025,
    posterior_scale: Annotated[float, _kaldi_option("Factor of posteriors.")] = 1.0,
    vad: Annotated[
        recordings.VadMethod | None,
        Option(help="Speech detector.", show_default="from the model"),
    ] = None,
    cmvn: Annotated[
        recordings.CmvnMethod | None,
        Option(help="Scope of cepstral normalisation.", show_default="from the model"),
    ] = None,
    channel: recordings.Channel = None,
    workers: recordings.Workers = recordings.ALL_CORES,
    scheduler: recordings.SchedulerOption = None,
    allow_commands: recordings.AllowCommands = False,
    strict: recordings.Strict = False,
    as_json: JsonOption = False,
) -> None:
    """Extract one i-vector per segment of a data directory.

    Segments that cannot be read or have no speech are reported and skipped; the exit
    code is then 3, and the other vectors are still written. The fingerprint of the
    model is written to OUT.json, from which 'sms-diar cluster' finds the back end.
    With --kaldi, vectors are as from sid/extract_ivectors.sh; --vad none and
    --cmvn none switch these steps off.

    Example: sms-diar ivectors extract data/calls -o calls.ark
    """
    from sms_diar.cli.terminal.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar.io.embeddings.files import embedding_files, write_embeddings
        from sms_diar.io.kaldi.data_dir import DataDir
        from sms_diar.io.kaldi.tables import write_segments
        from sms_diar.io.problems import problem_records
        from sms_diar.pipeline.train.extraction import Speech, extract_ivectors
        from sms_diar.pipeline.train.kaldi import KaldiFiles
        from sms_diar.timeline.windows import windows_of_regions

    if output.suffix.lower() not in (".ark", ".npz", ".csv", ".tsv"):
        problem = f"must end in .ark, .npz, .csv or .tsv, got {output}"
        raise BadParameter(problem, param_hint="-o")
    others = (extractor, ubm, dubm, delta_opts, mfcc_config, vad_config)
    inputs = (directory, model, kaldi, kaldi and kaldi / "conf", *others)
    check_outputs(*embedding_files(output), windows, inputs=inputs)
    data = DataDir(directory)
    speech: Speech[FrontEnd] | Speech[KaldiFrontEnd]
    chosen: FrameExtractor
    if kaldi is None:
        if any(others):
            problem = "is required for the paths of files of Kaldi"
            raise BadParameter(problem, param_hint="--kaldi")
        path, speech, chosen = _trained(model, data, vad, cmvn)
    else:
        if model is not None:
            raise BadParameter("cannot be used with --kaldi", param_hint="--model")
        path, files = kaldi, KaldiFiles(kaldi, *others)
        kaldi_front_end = _kaldi_front_end(files, vad, cmvn)
        speech = Speech(data, kaldi_front_end)
        chosen = files.read(
            kaldi_front_end,
            num_gselect=num_gselect,
            min_post=min_post,
            posterior_scale=posterior_scale,
        )
    times = None if windows is None else windows_of_regions(data.segments.values())
    problems: list[Problem] = []
    try:
        with recordings.on_scheduler(scheduler):
            vectors = extract_ivectors(
                speech,
                chosen,
                segments=times,
                channel=channel,
                allow_commands=allow_commands,
                workers=workers,
                problems=None if strict else problems,
                progress=progress,
            )
    finally:
        note_problems(context, problems)
    write_embeddings(output, vectors)
    if windows is not None and times is not None:
        write_segments(windows, {name: times[name] for name in vectors.ids})
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


def _trained(
    model: Path | None,
    data: DataDir,
    vad: recordings.VadMethod | None,
    cmvn: recordings.CmvnMethod | None,
) -> tuple[Path, Speech[FrontEnd], FrameExtractor]:
    from sms_diar.pipeline.train.extraction import Speech
    from sms_diar.pipeline.train.models import read_ivector_model, require_model_path

    path = require_model_path() if model is None else model
    trained = read_ivector_model(path)
    front_end = recordings.changed_front_end(trained.front_end, vad=vad, cmvn=cmvn)
    return path, Speech(data, front_end), trained.extractor


def _kaldi_front_end(
    files: KaldiFiles,
    vad: recordings.VadMethod | None,
    cmvn: recordings.CmvnMethod | None,
) -> KaldiFrontEnd:
    detectors, scopes = recordings.VadMethod, recordings.CmvnMethod
    if vad is detectors.NEURAL:
        problem = f"must be energy or none with --kaldi, got {vad.value}"
        raise BadParameter(problem, param_hint="--vad")
    if cmvn not in (None, scopes.SLIDING, scopes.NONE):
        problem = f"must be sliding or none with --kaldi, got {cmvn.value}"
        raise BadParameter(problem, param_hint="--cmvn")
    return files.front_end(vad=vad is not detectors.NONE, cmvn=cmvn is not scopes.NONE)


@app.command()
def export(
    model: Annotated[
        Path | None, Argument(metavar="[MODEL]", show_default="embedded model")
    ] = None,
    *,
    output: Annotated[
        Path, Option("-o", "--output", metavar="DIR", help="New folder to write.")
    ],
) -> None:
    """Write an i-vector model for Kaldi: final.ie, final.ubm and final.dubm.

    Kaldi's features differ from those of the model, so write them with 'sms-diar
    features'. The first coordinate of Kaldi's i-vectors is then almost zero;
    transform.mat removes it.

    Example: sms-diar ivectors export model.npz -o exp/extractor
    """
    from sms_diar.pipeline.train.kaldi import write_kaldi_models
    from sms_diar.pipeline.train.models import read_ivector_model, require_model_path

    path = require_model_path() if model is None else model
    check_outputs(inputs=(path,))
    extractor = read_ivector_model(path).extractor
    write_kaldi_models(output, extractor)
    mixture = extractor.model.mixture
    echo(
        f"wrote {output}: {mixture.n_components} Gaussians, frames of {mixture.dim} "
        f"and i-vectors of {extractor.dim + 1} dimensions"
    )


@app.command()
def info(
    model: Annotated[
        Path | None, Argument(metavar="[MODEL]", show_default="embedded model")
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
    echo_rows([(name, _text(value)) for name, value in record.items()])


def _text(value: object, *, inside: bool = False) -> str:
    if isinstance(value, dict):
        text = ", ".join(f"{key} {_text(v, inside=True)}" for key, v in value.items())
        return f"({text})" if inside else text
    if isinstance(value, list):
        return " ".join(map(str, value))
    if value is None and not inside:
        return "none"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
