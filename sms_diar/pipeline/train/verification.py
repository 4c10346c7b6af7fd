"""Evaluation, calibration and fusion of the scores of verification systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sms_diar._files import replacing
from sms_diar.errors import DataFormatError
from sms_diar.io.trials import Trials, read_scores, read_trials, scores_of
from sms_diar.metrics.verification import det_curve
from sms_diar.report.figures import draw_det
from sms_diar.types import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class ScoredSystems:
    """Scores of the same trials by several systems, shape (n_trials, n_systems)."""

    names: tuple[str, ...]
    trials: Trials
    scores: FloatArray

    @property
    def is_target(self) -> BoolArray:
        """True for target trials, shape (n_trials,); requires a key."""
        if self.trials.is_target is None:
            raise ValueError("scores were read without a key")
        return self.trials.is_target

    def write_det(self, path: Path) -> None:
        """Draw the DET curves of all systems to a file."""
        from matplotlib.figure import Figure  # noqa: PLC0415 - an optional extra

        curves = {
            name: det_curve(scores, self.is_target, self.trials.groups)
            for name, scores in zip(self.names, self.scores.T, strict=True)
        }
        figure = Figure(figsize=(6.0, 6.0), layout="constrained")
        draw_det(figure.subplots(), curves)
        with replacing(path) as temporary:
            figure.savefig(temporary, dpi=130)


def read_systems(
    paths: Sequence[Path],
    key: Path | None = None,
    *,
    group_columns: Sequence[str] = (),
) -> ScoredSystems:
    """Read scores of the trials of a key, or of the first file without a key.

    Systems are named after their files.
    """
    first = read_scores(paths[0])
    trials = first
    if key is not None:
        trials = read_trials(
            key,
            first.enrolled,
            first.tested,
            group_columns=group_columns,
            source=paths[0],
        )
        if trials.is_target is None or len(np.unique(trials.is_target)) != 2:
            problem = "a key must mark some trials as target and others as nontarget"
            raise DataFormatError(problem, path=key)
    columns = [scores_of(trials, first, paths[0])]
    columns += [scores_of(trials, read_scores(path), path) for path in paths[1:]]
    stems = tuple(path.stem for path in paths)
    names = stems if len(set(stems)) == len(stems) else tuple(map(str, paths))
    return ScoredSystems(names, trials, np.stack(columns, axis=1))
