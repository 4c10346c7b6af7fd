"""``sms-diar plda eval``, ``calibrate`` and ``apply``: scores of trials."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, BadParameter, Option

from sms_diar.cli.commands.plda import score_sink
from sms_diar.cli.options import JsonOption
from sms_diar.cli.terminal.output import check_outputs, echo, echo_json

if TYPE_CHECKING:
    from sms_diar.metrics.verification import DetectionCost

KeyArgument = Annotated[
    Path,
    Argument(
        metavar="KEY",
        help="Trials with true classes: Kaldi or NIST list, or Key of SIDEKIT.",
    ),
]
ScoresArgument = Annotated[
    list[Path],
    Argument(
        metavar="SCORES",
        help="Scores, one file per system: lines of 'enrol test score', a table with "
        "columns modelid, segmentid and LLR, or Scores of SIDEKIT.",
    ),
]


def evaluate(
    key: KeyArgument,
    scores: ScoresArgument,
    *,
    cost: Annotated[
        list[str] | None,
        Option(
            metavar="NAME|P,MISS,FA",
            help="Detection cost: sre04 to sre08, sre10, sre12, sre16, sre18, "
            "sre18-vast, sre19-cts, or target prior, cost of misses and of false "
            "alarms. Repeatable.",
            show_default="sre08, sre10 and sre16",
        ),
    ] = None,
    det: Annotated[
        Path | None, Option(metavar="FILE", help="Draw DET curves: png, svg or pdf.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show error rates and detection costs of scored trials.

    Costs are normalised: 1 is the cost without a system. Actual costs and Cllr require
    scores that are log-likelihood ratios; minimum costs and error rates do not. Known
    and unknown non-targets of a key of 2012 have the same weight.

    Example: sms-diar plda eval trials scores --cost sre16 --det det.png
    """
    import numpy as np

    from sms_diar.io.trials import read_systems
    from sms_diar.metrics.verification import det_curve, log_likelihood_ratio_cost
    from sms_diar.report.figures import check_drawing, write_det
    from sms_diar.report.tables import Table

    costs = {name: parse_cost(name) for name in cost or ("sre08", "sre10", "sre16")}
    check_outputs(det, inputs=(key, *scores))
    if det is not None:
        check_drawing()
        if det.suffix.lower() not in (".png", ".svg", ".pdf"):
            problem = f"must end in .png, .svg or .pdf, got {det}"
            raise BadParameter(problem, param_hint="--det")
    trials, matrix = read_systems(scores, key)
    truth = np.asarray(trials.is_target), trials.groups
    counts = {"trials": len(truth[0]), "targets": int(truth[0].sum())}
    curves, results = {}, {}
    for name, values in zip(_names(scores), matrix.T, strict=True):
        curve = curves[name] = det_curve(values, *truth)
        results[name] = {
            "eer": curve.eer,
            "hull_eer": curve.hull.eer,
            "cllr": log_likelihood_ratio_cost(values, *truth),
            "min_cllr": curve.min_cllr,
            **{f"act_{label}": c.actual_of(curve) for label, c in costs.items()},
            **{f"min_{label}": c.min_of(curve) for label, c in costs.items()},
        }
    if det is not None:
        write_det(det, curves)
    if as_json:
        echo_json({name: {**counts, **result} for name, result in results.items()})
        return
    rows = [
        (name, *map(str, counts.values()), *(f"{v:.4f}" for v in result.values()))
        for name, result in results.items()
    ]
    header = "system", *counts, *next(iter(results.values()))
    echo(Table(header, tuple(rows)).plain(), nl=False)


def _names(paths: list[Path]) -> list[str]:
    """Name systems after their files."""
    stems = [path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else list(map(str, paths))


def calibrate(
    key: KeyArgument,
    scores: ScoresArgument,
    *,
    output: Annotated[
        Path, Option("-o", "--output", metavar="CALIBRATION", help="JSON to write.")
    ],
    prior: Annotated[
        float, Option(help="Target prior at which the ratios should be best.")
    ] = 0.5,
) -> None:
    """Train a linear map of scores to log-likelihood ratios.

    With several systems, their scores are fused. 'plda apply' uses the result. Use
    other trials for evaluation than for calibration.

    Example: sms-diar plda calibrate dev-trials dev-scores -o calibration.json
    """
    import numpy as np

    from sms_diar.io.trials import read_systems
    from sms_diar.metrics.verification import log_likelihood_ratio_cost
    from sms_diar.scoring.calibration import fit_fusion, write_fusion

    check_outputs(output, inputs=(key, *scores))
    trials, matrix = read_systems(scores, key)
    same = np.asarray(trials.is_target)
    fusion = fit_fusion(matrix, same, prior=prior)
    write_fusion(output, fusion)
    weights = zip(fusion.weights, _names(scores), strict=True)
    formula = " + ".join(f"{weight:.6g} {name}" for weight, name in weights)
    cllr = log_likelihood_ratio_cost(fusion.transform(matrix), same)
    echo(
        f"wrote {output}: {formula} {fusion.offset:+.6g}; Cllr {cllr:.4f} on these "
        f"{len(same)} trials"
    )


def apply(
    calibration: Annotated[
        Path, Argument(metavar="CALIBRATION", help="Output of 'plda calibrate'.")
    ],
    scores: ScoresArgument,
    *,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="SCORES", show_default="stdout")
    ] = None,
) -> None:
    """Calibrate or fuse scores; output lines are: enrol test ratio.

    The files of scores are in the order of 'plda calibrate'.

    Example: sms-diar plda apply calibration.json scores -o ratios
    """
    from sms_diar.io.trials import read_systems
    from sms_diar.scoring.calibration import read_fusion

    check_outputs(output, inputs=(calibration, *scores))
    fusion = read_fusion(calibration)
    if len(scores) != len(fusion.weights):
        problem = f"{calibration} needs {len(fusion.weights)} files, got {len(scores)}"
        raise BadParameter(problem, param_hint="SCORES")
    trials, matrix = read_systems(scores)
    numbers = trials.rows, trials.columns, fusion.transform(matrix)
    with score_sink(output) as write:
        for row, column, ratio in zip(*(n.tolist() for n in numbers), strict=True):
            write(f"{trials.enrolled[row]} {trials.tested[column]} {ratio:.9g}\n")


def parse_cost(text: str) -> DetectionCost:
    """Parse the name of a cost, or its prior and costs of errors."""
    from sms_diar.errors import InvalidParameterError
    from sms_diar.metrics.verification import NIST_COSTS, DetectionCost

    if text in NIST_COSTS:
        return NIST_COSTS[text]
    try:
        prior, miss, false_alarm = map(float, text.split(","))
        return DetectionCost((prior,), miss, false_alarm)
    except (ValueError, InvalidParameterError):
        problem = (
            f"must be one of {', '.join(NIST_COSTS)}, or three numbers such as "
            f"0.01,10,1, got {text!r}"
        )
        raise BadParameter(problem, param_hint="--cost") from None
