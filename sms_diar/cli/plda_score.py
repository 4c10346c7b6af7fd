"""``sms-diar plda score``: log-likelihood ratios of trials or all pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sms_diar.cli.output import (
    JsonOption,
    MaxMemory,
    check_outputs,
    echo,
    echo_json,
    memory_budget,
)
from sms_diar.cli.plda_model import (
    AllowCommands,
    Lengths,
    LengthsOption,
    ModelArgument,
    TransformOption,
    refuse_transform,
)


def score(
    model: ModelArgument,
    enrol: Annotated[
        str, typer.Argument(metavar="ENROL", help="Embeddings of known speakers.")
    ],
    test: Annotated[
        str | None,
        typer.Argument(metavar="TEST", help="Test embeddings; ENROL by default."),
    ] = None,
    *,
    trials: Annotated[
        Path | None,
        typer.Option(
            help="Kaldi trial list with lines: enrol test [target|nontarget]."
        ),
    ] = None,
    all_pairs: Annotated[
        bool,
        typer.Option(
            "--all-pairs",
            help="Score all pairs of ENROL and TEST; without TEST, each pair once.",
        ),
    ] = False,
    average: Annotated[
        Path | None,
        typer.Option(
            metavar="LABELS",
            help="Enrol each speaker by the mean of their vectors: utt2spk, CSV, JSON, "
            "or spk2utt if the file name contains it.",
        ),
    ] = None,
    transform: TransformOption = None,
    lengths: LengthsOption = Lengths.UNIT,
    normalize_length: Annotated[
        bool,
        typer.Option(
            "--normalize-length",
            help="Normalise lengths in the PLDA space, as Kaldi does by default.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="SCORES", show_default="stdout"),
    ] = None,
    max_memory: MaxMemory = None,
    allow_commands: AllowCommands = False,
    as_json: JsonOption = False,
) -> None:
    """Score pairs by log-likelihood ratio; output lines are: enrol test score.

    The equal error rate is also shown if the trials are marked as target or nontarget.

    Example: sms-diar plda score backend.npz eval.npz --trials trials -o scores
    """
    from sms_diar.cli.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar.io.embeddings.files import read_embeddings
        from sms_diar.io.kaldi.trials import count_trials, read_trials
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
        raise typer.BadParameter(
            "specify exactly one of the two",
            param_hint="--trials or --all-pairs",
        )
    if as_json and output is None:
        raise typer.BadParameter(
            "requires -o, because the scores are written to standard output",
            param_hint="--json",
        )
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
            len(left),
            len(right),
            left.dim,
            rows=0 if trials else ROWS,
            trials=listed,
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
        with _sink(output) as write:
            result = score_all_pairs(
                terms, enrolled.names, right.ids, write, progress, once=once
            )
    else:
        pairs = read_trials(trials, enrolled.names, right.ids)
        with _sink(output) as write:
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
def _sink(path: Path | None) -> Iterator[Callable[[str], Any]]:
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
