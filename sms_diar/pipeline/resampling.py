"""Intervals and comparisons of scores, by drawing recordings again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from sms_diar._validation import check_choice, check_count
from sms_diar.metrics.diarization.bootstrap import (
    INTERVAL_METHODS,
    Comparison,
    Interval,
    IntervalMethod,
    compare,
    confidence_interval,
)
from sms_diar.metrics.diarization.evaluation import Evaluation
from sms_diar.metrics.diarization.rates import RATES

MOST_SAMPLES = 10**6
"""Number of samples beyond which an interval changes only in digits not shown."""


@dataclass(frozen=True)
class Resampling:
    """Options of `score` for drawing recordings.

    Parameters
    ----------
    measure : str
        Which of `sms_diar.metrics.RATES` is looked at.
    bootstrap : int
        Samples of recordings; 0 for none.
    method : {"percentile", "bca"}
        Kind of interval.
    level : float
        Nominal coverage of intervals.
    seed : int
        Random seed.
    """

    measure: str
    bootstrap: int
    method: str
    level: float
    seed: int

    def __post_init__(self) -> None:
        check_choice("score", "measure", self.measure, RATES)
        check_count("score", "bootstrap", self.bootstrap, least=0, most=MOST_SAMPLES)
        check_count("score", "seed", self.seed, least=0)
        check_choice("score", "method", self.method, INTERVAL_METHODS)

    def interval(self, result: Evaluation) -> Interval:
        """Where the measure of a system lies."""
        return confidence_interval(
            result,
            self.measure,
            method=cast(IntervalMethod, self.method),
            level=self.level,
            n_samples=self.bootstrap,
            random_state=self.seed,
        )

    def comparison(self, result: Evaluation, first: Evaluation) -> Comparison:
        """Where the difference between a system and the first lies."""
        return compare(
            result,
            first,
            self.measure,
            method=cast(IntervalMethod, self.method),
            level=self.level,
            n_samples=self.bootstrap,
            random_state=self.seed,
        )
