"""The synthetic experiments of the paper: one function per kind of repetition.

A repetition is a pure function of its arguments, including the seed, and returns plain
numbers. All methods of a repetition cluster the same points.
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
from sms_diar.clustering.methods import POINT_METHODS
from sms_diar.metrics import score_clustering
from sms_diar.synthetic import (
    PAPER_MEANS,
    PAPER_SETS,
    Sample,
    draw_corner_means,
    draw_gaussians,
    draw_lattice_means,
)

from .._common import paper
from .._common.statistics import Figures

METHODS = tuple(paper.POINT_METHODS.values())


@dataclass(frozen=True)
class PointSettings:
    """Settings that all methods of a repetition share.

    The merging threshold is a third of the bandwidth. `tol` and the range of the
    bandwidth of "points-dsms" are in units of `bandwidth`; `max_steps` limits the
    moves of single points of stochastic methods.
    """

    bandwidth: float
    kernel: str
    tol: float
    max_steps: int
    dsms_low: float
    dsms_high: float

    def build(self, name: str, seed: np.random.Generator) -> Any:
        """Make the estimator of one of `METHODS`."""
        parameters: dict[str, Any] = {
            "bandwidth": self.bandwidth,
            "kernel": self.kernel,
            "tol": self.tol,
        }
        if name in ("points-sms", "points-dsms"):
            parameters |= {"max_steps": self.max_steps, "random_state": seed}
        if name == "points-dsms":
            ends = self.dsms_low * self.bandwidth, self.dsms_high * self.bandwidth
            parameters |= {"bandwidth": ends, "merge_threshold": self.bandwidth / 3.0}
        return POINT_METHODS[name].load()(**parameters)


def run_methods(
    names: Sequence[str], sample: Sample, settings: PointSettings, seed: int, key: str
) -> dict[str, Figures]:
    """Cluster one sample with each method and score the results."""
    warm_up()
    figures: dict[str, Figures] = {}
    for name in names:
        rng = named_generator(seed, key, paper.paper_name(name))
        model = settings.build(name, rng)
        with warnings.catch_warnings():
            # "converged" below counts the runs that did not come to rest.
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
    """Compile the kernels, or load them from the disk cache, before timing."""
    X = np.arange(6.0).reshape(3, 2)
    settings = PointSettings(1.0, "uniform", 1e-6, 1000, 0.5, 1.5)
    for name in METHODS:
        settings.build(name, np.random.default_rng(0)).fit(X)


def table_repetition(
    *,
    set_name: str,
    run: int,
    std: float,
    methods: Sequence[str],
    settings: Mapping[str, Any],
    seed: int,
) -> dict[str, Figures]:
    """Run all methods on one of the paper's four sets."""
    key = f"{set_name}/{run}"
    rng = named_generator(seed, "table", key)
    sample = draw_gaussians(PAPER_MEANS, PAPER_SETS[set_name], std, rng)
    return run_methods(methods, sample, PointSettings(**settings), seed, key)


def sweep_repetition(
    *,
    sweep: str,
    value: float,
    run: int,
    std: float,
    per_cluster: int,
    methods: Sequence[str],
    settings: Mapping[str, Any],
    seed: int,
) -> dict[str, Figures]:
    """Run at one value of the sweep "time", "ratio", "dimension" or "clusters"."""
    key = f"{sweep}/{value:g}/{run}"
    rng = named_generator(seed, "sweep", key)
    if sweep == "time":
        sample = draw_gaussians(PAPER_MEANS, [int(value)] * 3, std, rng)
    elif sweep == "ratio":
        # One cluster is `value` times as large as the others; the total is fixed.
        other = 3 * per_cluster / (2.0 + value)
        sizes = [max(1, round(size)) for size in (other, other, value * other)]
        sample = draw_gaussians(PAPER_MEANS, sizes, std, rng)
    elif sweep == "dimension":
        means = draw_corner_means(3, int(value), rng)
        sample = draw_gaussians(means, [per_cluster] * 3, std, rng)
    else:
        means = draw_lattice_means(int(value), rng)
        sample = draw_gaussians(means, [per_cluster] * int(value), std, rng)
    return run_methods(methods, sample, PointSettings(**settings), seed, key)


def growth_exponent(points: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of log time against log size, over the upper half of the sizes.

    Overhead dominates the time of small sizes.
    """
    upper = len(points) // 2
    x, y = np.log(points[upper:]), np.log(seconds[upper:])
    if len(x) < 2:
        return float("nan")
    return float(np.polyfit(x, y, 1)[0])
