"""``sms-diar plda score``: log-likelihood ratios of trials or of all pairs."""

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
        typer.Argument(metavar="TEST", help="Other embeddings; ENROL if absent."),
    ] = None,
    *,
    trials: Annotated[
        Path | None,
        typer.Option(help="Kaldi list: enrol test [target|nontarget] on each line."),
    ] = None,
    all_pairs: Annotated[
        bool,
        typer.Option(
            "--all-pairs",
            help="All of ENROL with all of TEST; without TEST every pair once.",
        ),
    ] = False,
    average: Annotated[
        Path | None,
        typer.Option(
            metavar="LABELS",
            help="Enrol speakers, each by the mean of its vectors: utt2spk, CSV, JSON, "
            "or spk2utt if the file's name says so.",
        ),
    ] = None,
    transform: TransformOption = None,
    lengths: LengthsOption = Lengths.UNIT,
    normalize_length: Annotated[
        bool,
        typer.Option(
            "--normalize-length",
            help="Scale in the space of the PLDA, as Kaldi's tools do by default.",
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
    """Score pairs by log-likelihood ratio; lines are: enrol test score.

    If the trials say which are targets, the equal error rate is shown as well.

    Example: sms-diar plda score backend.npz eval.npz --trials trials -o scores
    """
    from sms_diar.cli.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar.io.embeddings.files import read_embeddings
        from sms_diar.io.kaldi.trials import count_trials, read_trials
        from sms_diar.pipeline.memory import require, trial_memory
        from sms_diar.pipeline.train.plda import backend_of, read_plda_model
        from sms_diar.pipeline.train.trials import ROWS, score_all_pairs, score_trials
        from sms_diar.pipeline.train.trials import enrol as enrol_speakers
        from sms_diar.scoring.backend_plda import phi_of, plda_of, trial_terms

    if (trials is None) != all_pairs:
        raise typer.BadParameter(
            "say which pairs: exactly one of the two",
            param_hint="--trials or --all-pairs",
        )
    if as_json and output is None:
        raise typer.BadParameter(
            "needs -o, since the scores go to standard output", param_hint="--json"
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
        "give more, or score fewer vectors at a time",
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
        asked = read_trials(trials, enrolled.names, right.ids)
        with _sink(output) as write:
            result = score_trials(terms, asked, write, progress)
    if as_json:
        echo_json({"scores": str(output), **result})
        return
    # Standard output belongs to the scores if nothing else was asked for.
    echo(_summary(result, output), err=output is None)


def _summary(result: Mapping[str, Any], output: Path | None) -> str:
    said = "" if output is None else f"wrote {output}: "
    said += f"{result['trials']} trials"
    if "targets" in result:
        said += f", {result['targets']} of targets"
    if result.get("eer") is not None:
        said += f", EER {100.0 * result['eer']:.2f} %"
    return said


@contextmanager
def _sink(path: Path | None) -> Iterator[Callable[[str], Any]]:
    """Where scores go: standard output, or a file that is whole or not there."""
    from sms_diar._files import replacing

    if path is None:
        yield lambda text: echo(text, nl=False)
        return
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as file,
    ):
        yield file.write
