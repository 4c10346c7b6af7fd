"""The synthetic experiments of the paper: one function per kind of repetition.

Every repetition is a pure function of its arguments, the seed among them, and
returns plain numbers. All methods of a repetition see the same points.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sms_diar._random import named_generator
from sms_diar.clustering import (
    BlurringMeanShift,
    DoublyStochasticMeanShift,
    MeanShift,
    StochasticMeanShift,
)
from sms_diar.metrics import score_clustering
from sms_diar.synthetic import (
    PAPER_MEANS,
    PAPER_SETS,
    Sample,
    draw_corner_means,
    draw_gaussians,
    draw_lattice_means,
)

Figures = dict[str, float]


@dataclass(frozen=True)
class Method:
    """Settings of the mean-shift family that all methods of a repetition share.

    Parameters
    ----------
    bandwidth : float
        Radius h; the merging threshold is a third of it.
    kernel : str
        Name of the kernel.
    tol : float
        Rest, in bandwidths.
    max_steps : int
        Most point moves of SMS and DSMS.
    dsms_low, dsms_high : float
        Range of the bandwidth of DSMS, in units of `bandwidth`.
    """

    bandwidth: float
    kernel: str
    tol: float
    max_steps: int
    dsms_low: float
    dsms_high: float

    def build(self, name: str, seed: np.random.Generator) -> Any:
        """Make the estimator called "MS", "BMS", "SMS" or "DSMS"."""
        common = {"kernel": self.kernel, "tol": self.tol}
        if name == "MS":
            return MeanShift(bandwidth=self.bandwidth, **common)  # type: ignore[arg-type]
        if name == "BMS":
            return BlurringMeanShift(bandwidth=self.bandwidth, **common)  # type: ignore[arg-type]
        drawn = {"max_steps": self.max_steps, "random_state": seed, **common}
        if name == "SMS":
            return StochasticMeanShift(bandwidth=self.bandwidth, **drawn)  # type: ignore[arg-type]
        ends = self.dsms_low * self.bandwidth, self.dsms_high * self.bandwidth
        return DoublyStochasticMeanShift(
            bandwidth=ends,
            merge_threshold=self.bandwidth / 3.0,
            **drawn,  # type: ignore[arg-type]
        )


def run_methods(
    names: Sequence[str], sample: Sample, method: Method, seed: int, key: str
) -> dict[str, Figures]:
    """Cluster one sample with each method and score the results."""
    warm_up()
    figures: dict[str, Figures] = {}
    for name in names:
        model = method.build(name, named_generator(seed, key, name))
        with warnings.catch_warnings():
            # Counted below: a table of averages says how many runs did not rest.
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = time.process_time()
            labels = model.fit_predict(sample.X)
            seconds = time.process_time() - start
        figures[name] = {
            **score_clustering(sample.truth, labels).as_dict(),
            "n_steps": model.n_steps_,
            "converged": float(model.converged_),
            "seconds": seconds,
        }
    return figures


@functools.cache
def warm_up() -> None:
    """Compile, or load from the disk cache, before anything is timed."""
    X = np.arange(6.0).reshape(3, 2)
    for name in ("MS", "BMS", "SMS", "DSMS"):
        method = Method(1.0, "uniform", 1e-6, 1000, 0.5, 1.5)
        method.build(name, np.random.default_rng(0)).fit(X)


def table_repetition(
    *,
    set_name: str,
    run: int,
    std: float,
    methods: Sequence[str],
    method: Mapping[str, Any],
    seed: int,
) -> dict[str, Figures]:
    """One run on one of the paper's four sets."""
    key = f"{set_name}/{run}"
    rng = named_generator(seed, "table", key)
    sample = draw_gaussians(PAPER_MEANS, PAPER_SETS[set_name], std, rng)
    return run_methods(methods, sample, Method(**method), seed, key)


def sweep_repetition(
    *,
    sweep: str,
    value: float,
    run: int,
    std: float,
    per_cluster: int,
    methods: Sequence[str],
    method: Mapping[str, Any],
    seed: int,
) -> dict[str, Figures]:
    """One run at one value of one sweep: "time", "ratio", "dimension" or "clusters"."""
    key = f"{sweep}/{value:g}/{run}"
    rng = named_generator(seed, "sweep", key)
    if sweep == "time":
        sample = draw_gaussians(PAPER_MEANS, [int(value)] * 3, std, rng)
    elif sweep == "ratio":
        # The total stays; one cluster is `value` times as large as each other one.
        other = 3 * per_cluster / (2.0 + value)
        sizes = [max(1, round(size)) for size in (other, other, value * other)]
        sample = draw_gaussians(PAPER_MEANS, sizes, std, rng)
    elif sweep == "dimension":
        means = draw_corner_means(3, int(value), rng)
        sample = draw_gaussians(means, [per_cluster] * 3, std, rng)
    else:
        means = draw_lattice_means(int(value), rng)
        sample = draw_gaussians(means, [per_cluster] * int(value), std, rng)
    return run_methods(methods, sample, Method(**method), seed, key)


def summarise(
    repetitions: Sequence[Mapping[str, Figures]],
) -> dict[str, dict[str, dict[str, float]]]:
    """Mean, spread and quantiles of every figure of every method."""
    summary: dict[str, dict[str, dict[str, float]]] = {}
    for name in repetitions[0]:
        summary[name] = {}
        for measure in repetitions[0][name]:
            values = np.array([run[name][measure] for run in repetitions])
            low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
            summary[name][measure] = {
                "mean": float(values.mean()),
                "std": float(values.std(ddof=1)) if len(values) > 1 else 0.0,
                "low": float(low),
                "median": float(median),
                "high": float(high),
            }
    return summary


def growth_exponent(points: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of log time against log size, over the upper half of the sizes.

    Small sizes are left out: there the time is that of the overhead.
    """
    upper = len(points) // 2
    x, y = np.log(points[upper:]), np.log(seconds[upper:])
    if len(x) < 2:
        return float("nan")
    return float(np.polyfit(x, y, 1)[0])
