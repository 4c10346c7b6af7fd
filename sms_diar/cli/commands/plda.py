"""``sms-diar plda``: train, adapt, apply and describe PLDA models.

See `sms_diar.pipeline.train.plda` for the supported models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, BadParameter, Option

from sms_diar.cli.options import JsonOption, MaxMemory, memory_budget
from sms_diar.cli.options.recordings import AllowScpCommands
from sms_diar.cli.terminal.output import check_outputs, echo, echo_json, echo_rows

if TYPE_CHECKING:
    from sms_diar.preprocessing.axes import Shrinkage
    from sms_diar.scoring.backend import BackEnd
    from sms_diar.types import PldaModel

app = typer.Typer(
    name="plda", help="Train, adapt and apply PLDA models.", no_args_is_help=True
)


class Estimation(StrEnum):
    """Variants of EM, which differ in initialisation and treatment of the mean."""

    ML = "ml"
    KALDI = "kaldi"


Lengths = StrEnum("Lengths", {"UNIT": "unit", "SQRT_DIM": "sqrt-dim"})
"""Target lengths of the normalisations in a VBx transform."""

EmbeddingsArgument = Annotated[
    str,
    Argument(
        metavar="EMBEDDINGS",
        help="Embeddings: ark, scp, npz, CSV, ...; - for standard input.",
    ),
]
ModelArgument = Annotated[
    Path,
    Argument(
        metavar="MODEL", help="Back end or i-vector model (npz), or Kaldi PLDA file."
    ),
]
TransformOption = Annotated[
    Path | None,
    Option(
        help="Kaldi mean or matrix, a folder with mean.vec and transform.mat, or VBx "
        "transform, for a Kaldi PLDA file."
    ),
]
LengthsOption = Annotated[
    Lengths,
    Option(
        "--transform-length",
        help="Vector lengths in a VBx transform: unit (VBx) or sqrt-dim (pyannote).",
    ),
]


def refuse_transform(
    loaded: BackEnd | PldaModel, path: Path, transform: Path | None
) -> None:
    """Refuse a transform if the model includes preprocessing."""
    from sms_diar.scoring.backend import BackEnd

    if isinstance(loaded, BackEnd) and transform is not None:
        raise BadParameter(
            f"is for Kaldi PLDA files, but {path} is a back end with its own "
            f"preprocessing",
            param_hint="--transform",
        )


@app.command()
def train(
    embeddings: EmbeddingsArgument,
    labels: Annotated[
        Path | None,
        Argument(
            metavar="LABELS",
            help="Speaker of each id: utt2spk, CSV or JSON. Optional for an npz file "
            "that contains the speakers.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="MODEL",
            help="Back end to write; a Kaldi PLDA file if it ends in .plda.",
        ),
    ] = None,
    dim: Annotated[
        int | None, Option(min=1, help="Dimension after PCA; all by default.")
    ] = None,
    energy: Annotated[
        float | None, Option(help="Proportion of variance to keep instead, in (0, 1).")
    ] = None,
    shrinkage: Annotated[
        str | None,
        Option(
            metavar="X|auto",
            help="Shrinkage of the whitening, in [0, 1].",
            show_default="0",
        ),
    ] = None,
    iterations: Annotated[int, Option(min=0, help="Number of EM iterations.")] = 20,
    estimation: Annotated[
        Estimation,
        Option(help="Maximum likelihood, or as Kaldi's ivector-compute-plda."),
    ] = Estimation.ML,
    raw: Annotated[
        bool, Option("--raw", help="Train PLDA on unprocessed vectors.")
    ] = False,
    kaldi_plda: Annotated[
        Path | None,
        Option(metavar="FILE", help="Kaldi PLDA file to write, without preprocessing."),
    ] = None,
    intersect: Annotated[
        bool,
        Option("--intersect", help="Use only ids that have both a vector and a label."),
    ] = False,
    allow_commands: AllowScpCommands = False,
    as_json: JsonOption = False,
) -> None:
    """Train a back end on labelled embeddings.

    The steps are length normalisation, PCA, whitening, length normalisation and
    PLDA by EM. A Kaldi PLDA file cannot hold the first four steps and is trained on
    unprocessed vectors.

    Example: sms-diar plda train train.npz utt2spk -o backend.npz --dim 100
    """
    from sms_diar.cli.terminal.progress import TerminalProgress
    from sms_diar.io.embeddings.files import read_embeddings
    from sms_diar.io.kaldi.plda import write_plda
    from sms_diar.pipeline.train.plda import (
        labelled_embeddings,
        train_plda,
        write_backend,
    )

    share = _parse_shrinkage(shrinkage)
    n_components = _parse_components(dim, energy)
    output, kaldi_plda, raw = _outputs(output, kaldi_plda, raw=raw)
    if raw and not (share is None and n_components is None):
        raise BadParameter(
            "cannot be combined with --raw or a Kaldi PLDA file, which have no "
            "preprocessing",
            param_hint="--dim, --energy and --shrinkage",
        )
    check_outputs(output, kaldi_plda, inputs=(embeddings, labels))

    progress = TerminalProgress()
    with progress.track("plda train", 3) as advance:
        table = read_embeddings(embeddings, allow_commands=allow_commands)
        advance()
        if labels is None and Path(table.source).suffix != ".npz":
            problem = "is required, because only an npz file can contain the speakers"
            raise BadParameter(problem, param_hint="LABELS")
        vectors, speakers = labelled_embeddings(table, labels, intersect=intersect)
        progress.say(f"{len(vectors)} vectors of {len(set(speakers))} speakers")
        advance()
        trained = train_plda(
            vectors,
            speakers,
            n_components=n_components,
            shrinkage=0.0 if share is None else share,
            iterations=iterations,
            estimation=estimation.value,
            raw=raw,
        )
        advance()
    notes = {**trained.notes, "source": Path(embeddings).name}
    written = []
    result: dict[str, Any] = {"extractor": table.extractor, "notes": notes}
    if kaldi_plda is not None:
        write_plda(kaldi_plda, trained.model)
        result["kaldi_plda"] = str(kaldi_plda)
        written.append(str(kaldi_plda))
    if output is not None:
        result["fingerprint"] = write_backend(output, trained.backend, notes)
        result["model"] = str(output)
        written.append(str(output))
    if as_json:
        echo_json(result)
        return
    echo(
        f"wrote {' and '.join(written)}: {notes['vectors']} vectors of "
        f"{notes['speakers']} speakers, {notes['dim_in']} -> {notes['dim']} "
        f"dimensions, log-likelihood {notes['log_likelihood_start']:.6g} -> "
        f"{notes['log_likelihood_end']:.6g}"
    )


@app.command()
def adapt(
    model: ModelArgument,
    embeddings: EmbeddingsArgument,
    *,
    output: Annotated[
        Path,
        Option(
            "-o",
            "--output",
            metavar="OUT",
            help="Model to write, in the format of MODEL.",
        ),
    ],
    within_scale: Annotated[
        float, Option(min=0.0, help="Weight of the excess variance within speakers.")
    ] = 0.3,
    between_scale: Annotated[
        float, Option(min=0.0, help="Weight of the excess variance between speakers.")
    ] = 0.7,
    mean_scale: Annotated[
        float, Option(min=0.0, help="Weight of the difference of the means.")
    ] = 1.0,
    transform: TransformOption = None,
    lengths: LengthsOption = Lengths.UNIT,
    allow_commands: AllowScpCommands = False,
    as_json: JsonOption = False,
) -> None:
    """Adapt a model to unlabelled embeddings of another domain.

    Variance that exceeds the expectation of the model is divided between its two
    covariances, as in Kaldi's ivector-adapt-plda. The defaults are for many speakers;
    for one recording use --within-scale 0 --between-scale 1.

    Example: sms-diar plda adapt backend.npz calls.ark -o adapted.npz
    """
    from sms_diar.cli.terminal.progress import TerminalProgress
    from sms_diar.io.embeddings.files import read_embeddings
    from sms_diar.io.kaldi.plda import write_plda
    from sms_diar.pipeline.train.plda import (
        adapt_backend,
        backend_of,
        read_plda_model,
        write_backend,
    )
    from sms_diar.scoring.backend import BackEnd

    check_outputs(output, inputs=(model, embeddings, transform))
    loaded, _ = read_plda_model(model)
    is_backend = isinstance(loaded, BackEnd)
    if output.suffix == (".plda" if is_backend else ".npz"):
        kind = "a back end (npz)" if is_backend else "a Kaldi PLDA file"
        problem = f"ends in {output.suffix}, but {model} is {kind} and so is the result"
        raise BadParameter(problem, param_hint="-o")
    with TerminalProgress().track("plda adapt", 2) as advance:
        vectors = read_embeddings(embeddings, allow_commands=allow_commands)
        refuse_transform(loaded, model, transform)
        backend = backend_of(model, vectors, transform, lengths.value)
        advance()
        adapted = adapt_backend(
            loaded,
            backend,
            vectors,
            within_scale=within_scale,
            between_scale=between_scale,
            mean_scale=mean_scale,
        )
        advance()
    result: dict[str, Any] = {"model": str(output), "vectors": len(vectors)}
    if isinstance(adapted, BackEnd):
        result["fingerprint"] = write_backend(output, adapted, adapted.notes)
    else:
        write_plda(output, adapted)
    if as_json:
        echo_json(result)
    else:
        echo(f"wrote {output}: adapted to {len(vectors)} vectors")


def _outputs(
    output: Path | None, kaldi_plda: Path | None, *, raw: bool
) -> tuple[Path | None, Path | None, bool]:
    """Return back end file, Kaldi file, and whether vectors stay unprocessed."""
    if output is not None and output.suffix == ".plda":
        if kaldi_plda is not None:
            raise BadParameter(
                "cannot be combined with a Kaldi PLDA file in -o; specify one of them",
                param_hint="--kaldi-plda",
            )
        output, kaldi_plda = None, output
    if output is None and kaldi_plda is None:
        raise BadParameter("specify a model to write", param_hint="-o")
    if kaldi_plda is not None and output is not None and not raw:
        raise BadParameter(
            "is trained on unprocessed vectors, unlike the back end of -o; add --raw, "
            "or train the two separately",
            param_hint="--kaldi-plda",
        )
    return output, kaldi_plda, raw or kaldi_plda is not None


def _parse_shrinkage(text: str | None) -> Shrinkage | None:
    if text is None or text == "auto":
        return "auto" if text else None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        problem = f"must be a number in [0, 1] or auto, got {text}"
        raise BadParameter(problem, param_hint="--shrinkage")
    return value


def _parse_components(dim: int | None, energy: float | None) -> int | float | None:
    if dim is not None and energy is not None:
        problem = "cannot be combined; specify one of them"
        raise BadParameter(problem, param_hint="--dim and --energy")
    if energy is not None and not 0.0 < energy < 1.0:
        raise BadParameter(f"must be in (0, 1), got {energy}", param_hint="--energy")
    return energy if dim is None else dim


@app.command()
def score(
    model: ModelArgument,
    enrol: Annotated[
        str, Argument(metavar="ENROL", help="Embeddings of known speakers.")
    ],
    test: Annotated[
        str | None, Argument(metavar="TEST", help="Test embeddings; ENROL by default.")
    ] = None,
    *,
    trials: Annotated[
        Path | None,
        Option(
            help="Trials: lines of enrol test [target|nontarget], a list or key of "
            "NIST, or Key or Ndx of SIDEKIT.",
        ),
    ] = None,
    all_pairs: Annotated[
        bool,
        Option(
            "--all-pairs",
            help="Score all pairs of ENROL and TEST; without TEST, each pair once.",
        ),
    ] = False,
    average: Annotated[
        Path | None,
        Option(
            metavar="LABELS",
            help="Enrol each speaker by the mean of their vectors: utt2spk, CSV, JSON, "
            "or spk2utt if the file name contains it.",
        ),
    ] = None,
    transform: TransformOption = None,
    lengths: LengthsOption = Lengths.UNIT,
    normalize_length: Annotated[
        bool,
        Option(
            "--normalize-length",
            help="Normalise lengths in the PLDA space, as Kaldi does by default.",
        ),
    ] = False,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="SCORES", show_default="stdout")
    ] = None,
    max_memory: MaxMemory = None,
    allow_commands: AllowScpCommands = False,
    as_json: JsonOption = False,
) -> None:
    """Score pairs by log-likelihood ratio; output lines are: enrol test score.

    The equal error rate is also shown if the trials are marked as target or nontarget.

    Example: sms-diar plda score backend.npz eval.npz --trials trials -o scores
    """
    from sms_diar.cli.terminal.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar.io.embeddings.files import read_embeddings
        from sms_diar.io.trials import count_trials, read_trials
        from sms_diar.pipeline.memory import require, trial_memory
        from sms_diar.pipeline.train.plda import (
            ROWS,
            backend_of,
            read_plda_model,
            score_all_pairs,
            score_trials,
        )
        from sms_diar.pipeline.train.plda import enrol as enrol_speakers
        from sms_diar.scoring.backend_plda import phi_of, plda_of, trial_terms

    if (trials is None) != all_pairs:
        problem = "specify exactly one of the two"
        raise BadParameter(problem, param_hint="--trials or --all-pairs")
    if as_json and output is None:
        problem = "requires -o, because the scores are written to standard output"
        raise BadParameter(problem, param_hint="--json")
    budget = memory_budget(max_memory)
    check_outputs(output, inputs=(model, enrol, test, trials, average, transform))
    loaded, _ = read_plda_model(model)
    left = read_embeddings(enrol, allow_commands=allow_commands)
    refuse_transform(loaded, model, transform)
    backend = backend_of(model, left, transform, lengths.value)
    plda = plda_of(backend)
    right = left
    if test is not None:
        right = read_embeddings(test, allow_commands=allow_commands)
        backend.check_compatible(right)
    listed = 0 if trials is None else count_trials(trials)
    require(
        "score",
        f"{len(left)} and {len(right)} vectors of {left.dim} dimensions"
        + (f", {listed} trials" if trials else ""),
        trial_memory(
            len(left), len(right), left.dim, rows=0 if trials else ROWS, trials=listed
        ),
        budget,
        "increase the limit, or score fewer vectors at a time",
    )
    enrolled = enrol_speakers(left.ids, phi_of(backend, left.vectors), average)
    terms = trial_terms(
        plda,
        enrolled.means,
        phi_of(backend, right.vectors),
        n_enroll=enrolled.counts,
        normalize_length=normalize_length or bool(backend.norm_weights.any()),
    )
    if trials is None:
        once = test is None and average is None
        with score_sink(output) as write:
            result = score_all_pairs(
                terms, enrolled.names, right.ids, write, progress, once=once
            )
    else:
        pairs = read_trials(trials, enrolled.names, right.ids)
        with score_sink(output) as write:
            result = score_trials(terms, pairs, write, progress)
    if as_json:
        echo_json({"scores": str(output), **result})
        return
    # Standard output is reserved for the scores if there is no output file.
    echo(_summary(result, output), err=output is None)


def _summary(result: Mapping[str, Any], output: Path | None) -> str:
    text = "" if output is None else f"wrote {output}: "
    text += f"{result['trials']} trials"
    if "targets" in result:
        text += f", {result['targets']} of targets"
    if result.get("eer") is not None:
        text += f", EER {100.0 * result['eer']:.2f} %"
    return text


@contextmanager
def score_sink(path: Path | None) -> Iterator[Callable[[str], Any]]:
    """Yield a function that writes to standard output or atomically to a file."""
    from sms_diar._files import replacing

    if path is None:
        yield lambda text: echo(text, nl=False)
        return
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as file,
    ):
        yield file.write


@app.command()
def info(model: ModelArgument, *, as_json: JsonOption = False) -> None:
    """Describe a model and its training data.

    Example: sms-diar plda info backend.npz
    """
    from sms_diar.pipeline.train.plda import describe_model

    facts = describe_model(model)
    if as_json:
        echo_json(facts)
    else:
        _show(facts)


def _show(facts: Mapping[str, Any]) -> None:
    rows = [("kind", facts["kind"])]
    rows.append(("dimensions", f"{facts['dim_in']} -> {facts['dim']}"))
    if facts.get("length_normalised"):
        rows.append(("lengths", "normalised in the PLDA space"))
    rows.append(("fingerprint", facts["fingerprint"] or "none (Kaldi file)"))
    rows.append(("extractor", facts["extractor"] or "unknown"))
    rows += [
        (f"psi {name}", f"{value:.4g}") for name, value in facts.get("psi", {}).items()
    ]
    for name, value in facts["notes"].items():
        shown = f"{value:.6g}" if isinstance(value, float) else value
        rows.append((name.replace("_", " "), shown))
    echo(facts["model"])
    echo_rows(rows, indent="  ")
