"""``sms-diar plda score``: log-likelihood ratios of trials or of all pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sms_diar.cli.plda_model import (
    AllowCommands,
    JsonOption,
    Lengths,
    LengthsOption,
    ModelArgument,
    TransformOption,
    backend_for,
    check_output,
    load_model,
    some_of,
)
from sms_diar.errors import DataFormatError

if TYPE_CHECKING:
    from sms_diar.io.kaldi.trials import Trials
    from sms_diar.scoring.backend_plda import TrialTerms
    from sms_diar.types import BoolArray, FloatArray, IntArray

_ROWS = 64  # enrolled speakers that are scored at once against all test vectors
_TRIALS = 1 << 15  # trials that are scored at once


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
            help="Scale in the space of the PLDA, as Kaldi's tools do unless told not.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="SCORES", show_default="stdout"),
    ] = None,
    allow_commands: AllowCommands = False,
    as_json: JsonOption = False,
) -> None:
    """Score pairs by log-likelihood ratio; lines are: enrol test score.

    If the trials say which are targets, the equal error rate is shown as well.

    Example: sms-diar plda score backend.npz eval.npz --trials trials -o scores
    """
    from sms_diar.cli.progress import TerminalProgress
    from sms_diar.io.embeddings import read_embeddings
    from sms_diar.io.kaldi.trials import read_trials
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
    check_output(output)
    loaded, _ = load_model(model)
    left = read_embeddings(enrol, allow_commands=allow_commands)
    backend = backend_for(loaded, model, left, transform, lengths)
    plda = plda_of(backend)
    right = left
    if test is not None:
        right = read_embeddings(test, allow_commands=allow_commands)
        backend.check_compatible(right)
    enrolled = _enrolment(left.ids, phi_of(backend, left.vectors), average)
    terms = trial_terms(
        plda,
        enrolled.means,
        phi_of(backend, right.vectors),
        n_enroll=enrolled.counts,
        normalize_length=normalize_length or bool(backend.norm_weights.any()),
    )
    progress = TerminalProgress()
    if trials is None:
        once = test is None and average is None
        names = (enrolled.names, right.ids)
        result = _score_all(terms, names, output, progress.track, once=once)
    else:
        asked = read_trials(trials, enrolled.names, right.ids)
        result = _score_trials(terms, asked, output, progress.track)
    if as_json:
        typer.echo(json.dumps({"scores": str(output), **result}, indent=2))
        return
    said = "" if output is None else f"wrote {output}: "
    said += f"{result['trials']} trials"
    if "targets" in result:
        said += f", {result['targets']} of targets"
    if result.get("eer") is not None:
        said += f", EER {100.0 * result['eer']:.2f} %"
    # Standard output belongs to the scores if nothing else was asked for.
    typer.echo(said, err=output is None)


class _Enrolment(NamedTuple):
    names: tuple[str, ...]
    means: FloatArray
    counts: IntArray


def _enrolment(
    ids: tuple[str, ...], phi: FloatArray, average: Path | None
) -> _Enrolment:
    """Each vector as a speaker of its own, or speakers by their means."""
    import numpy as np

    from sms_diar.io.kaldi.tables import invert, read_spk2utt
    from sms_diar.io.labels import read_labels

    if average is None:
        return _Enrolment(ids, phi, np.ones(len(ids), dtype=np.int64))
    speakers: Mapping[str, Iterable[str]]
    if "spk2utt" in average.name:
        speakers = read_spk2utt(average)
    else:
        speakers = invert(read_labels(average))
    place = {name: row for row, name in enumerate(ids)}
    wanted = [name for names in speakers.values() for name in names]
    missing = [name for name in wanted if name not in place]
    if missing or not wanted:
        raise DataFormatError(
            f"{len(missing)} of {len(wanted)} ids are not among the embeddings of "
            f"enrolment ({some_of(missing)})"
            if wanted
            else "names no ids",
            path=average,
        )
    rows = [[place[name] for name in names] for names in speakers.values()]
    means = np.array([phi[chosen].mean(axis=0) for chosen in rows])
    counts = np.array([len(chosen) for chosen in rows], dtype=np.int64)
    return _Enrolment(tuple(speakers), means, counts)


_Tracker = Callable[[str, int], Any]


def _score_trials(
    terms: TrialTerms, trials: Trials, output: Path | None, track: _Tracker
) -> dict[str, Any]:
    import numpy as np

    total = len(trials.text)
    scores = np.empty(total)
    starts = range(0, total, _TRIALS)
    with _sink(output) as write, track("trials", len(starts)) as advance:
        for start in starts:
            part = slice(start, start + _TRIALS)
            scores[part] = terms.pairs(trials.rows[part], trials.columns[part])
            write(
                "".join(
                    f"{enrol} {test} {value:.9g}\n"
                    for (enrol, test), value in zip(
                        trials.text[part], scores[part].tolist(), strict=True
                    )
                )
            )
            advance()
    result: dict[str, Any] = {"trials": total}
    if trials.is_target is not None:
        result |= _error_rate(scores, trials.is_target)
    return result


def _error_rate(scores: FloatArray, is_target: BoolArray) -> dict[str, Any]:
    from sms_diar.metrics.verification import equal_error_rate

    n_targets = int(is_target.sum())
    if n_targets in (0, len(scores)):  # nothing to tell apart
        return {"targets": n_targets, "eer": None}
    return {"targets": n_targets, "eer": equal_error_rate(scores, is_target)}


def _score_all(
    terms: TrialTerms,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    output: Path | None,
    track: _Tracker,
    *,
    once: bool,
) -> dict[str, Any]:
    """Score everything against everything, a few rows at a time."""
    from sms_diar.io._lines import check_field

    enrolled, tested = names
    for name in {*enrolled, *tested}:
        check_field("plda score", "id", name, format="the scores")
    starts = range(0, len(enrolled), _ROWS)
    total = 0
    with _sink(output) as write, track("pairs", len(starts)) as advance:
        for start in starts:
            first = start + 1 if once else 0
            rows = slice(start, start + _ROWS)
            block = terms.block(rows, slice(first, None))
            for place, scores in enumerate(block):
                skip = place if once else 0
                head = enrolled[start + place]
                values = scores[skip:].tolist()
                partners = tested[first + skip :]
                write(
                    "".join(
                        f"{head} {name} {value:.9g}\n"
                        for name, value in zip(partners, values, strict=True)
                    )
                )
                total += len(values)
            advance()
    return {"trials": total}


@contextmanager
def _sink(path: Path | None) -> Iterator[Callable[[str], Any]]:
    """Where scores go: standard output, or a file that is whole or not there."""
    from sms_diar._files import replacing

    if path is None:
        yield lambda text: typer.echo(text, nl=False)
        return
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        yield file.write
