"""Mean shift on the paper's Gaussian clusters, from ten points to a million.

Three clusters of covariance 0.64, bandwidth 1. "auto" is what users get; "plain" is the
compiled loop over all points, and both must agree to the last bit. Where a plain run
would take too long, its time is estimated from steps timed at several states of the
run. Peers are imported when they are used: one that is not installed is reported as
absent.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._figures import count
from benchmarks._records import AbsentError, Case, Competitor, Data, Outcome
from sms_diar import clustering
from sms_diar.clustering import KERNELS
from sms_diar.synthetic import PAPER_MEANS, draw_corner_means, draw_gaussians

TITLE = "Points in two dimensions and more"
BASE = "SMS auto"
STD, BANDWIDTH, TOL = 0.8, 1.0, 1e-6
DATA_SEED = 1

SIZES = (10, 30, 100, 300, 750, 1500, 4500, 10_000, 30_000, 100_000, 300_000)
MILLION = 1_000_000
DIMENSIONS = (3, 6, 12)
OTHER_SIZE = 2000  # points where dimension or kernel is what varies
PLAIN_UP_TO = 30_000  # for MS and BMS, whose plain runs are not extrapolated
MS_UP_TO = 30_000  # beyond, one run takes half a minute
OTHERS_UP_TO = 100_000  # for BMS and the peers that are there for context
LARGE, FEW_RUNS = (
    100_000,
    3,
)  # fewer runs from so many points on, and for other dimensions
# The run seed decides which clusters merge, which changes G by more than the modes
# may differ: one run of a mode does not show how good it is.
SEEDED_SIZE, N_SEEDS = 30_000, 20

# Sweeps after which steps of the plain loop are timed; later steps cost the same.
KNOTS = (0, 1, 2, 4, 8, 16, 32)
TIMED_STEPS, TIMED_RUNS = 2048, 3

CHECKOUTS = {
    "meanshiftpp": ("MeanShift++", ("MeanshiftPP", "meanshiftpp"), "MeanshiftPP"),
    "gridshift": ("GridShift", ("GridShiftPP2", "GridShiftPP"), "GridShiftPP"),
}
"""Peers that are measured if the path of a checkout is given."""


def cases(*, quick: bool = False) -> list[Case]:
    """Return the data sets in the order in which they are run."""
    if quick:
        return [
            *(Case(f"n = {count(n)}", "size", n) for n in (10, 100)),
            Case("n = 300", "size", 300, seeds=3),
            Case("d = 3", "dimension", 100, d=3),
            Case("biweight", "kernel", 100, kernel="biweight"),
        ]
    sizes, other = (*SIZES, MILLION), OTHER_SIZE
    found = [
        Case(
            f"n = {count(n)}",
            "size",
            n,
            seeds=N_SEEDS if n == SEEDED_SIZE else 1,
            runs=FEW_RUNS if n >= LARGE else Case.runs,
        )
        for n in sizes
    ]
    few = Case("", "", other, runs=FEW_RUNS)
    found += [
        replace(few, name=f"d = {d}", series="dimension", d=d) for d in DIMENSIONS
    ]
    found += [
        replace(few, name=kernel, series="kernel", kernel=kernel)
        for kernel in KERNELS[1:]
    ]
    return found


def load(case: Case, folder: Path) -> Data:
    """Draw the points of a case, which are the same in every process."""
    sizes = [case.n // 3 + (part < case.n % 3) for part in range(3)]
    means: Any = PAPER_MEANS
    std = STD
    if case.d != 2:
        means = draw_corner_means(3, case.d, DATA_SEED)
        # Keeps part of a cluster within one bandwidth in any dimension.
        std = STD * (2.0 / case.d) ** 0.5
    sample = draw_gaussians(means, sizes, std, DATA_SEED)
    return Data(sample.X, sample.truth)


def competitors(paths: dict[str, str]) -> dict[str, Competitor]:
    """Return all competitors by name."""
    every = ("size", "dimension", "kernel")
    most = max(SIZES)
    found = [
        Competitor(
            "SMS auto",
            _ours("StochasticMeanShift"),
            every,
            ours=True,
            promised=True,
            over_seeds=True,
        ),
        Competitor(
            "SMS plain",
            _ours("StochasticMeanShift", algorithm="plain"),
            every,
            twin="SMS auto",
            ours=True,
            promised=True,
            extrapolated=True,
        ),
        Competitor("MS auto", _ours("MeanShift"), every, ours=True, largest=MS_UP_TO),
        Competitor(
            "MS plain",
            _ours("MeanShift", algorithm="plain"),
            every,
            twin="MS auto",
            ours=True,
            largest=PLAIN_UP_TO,
        ),
        Competitor(
            "BMS auto",
            _ours("BlurringMeanShift"),
            every,
            ours=True,
            promised=True,
            largest=OTHERS_UP_TO,
        ),
        Competitor(
            "BMS plain",
            _ours("BlurringMeanShift", algorithm="plain"),
            every,
            twin="BMS auto",
            ours=True,
            largest=PLAIN_UP_TO,
        ),
        Competitor(
            "binned SMS",
            _ours("BinnedStochasticMeanShift"),
            ours=True,
            promised=True,
            over_seeds=True,
        ),
        Competitor("sklearn", sklearn_mean_shift(bin_seeding=False)),
        Competitor(
            "sklearn, bins", sklearn_mean_shift(bin_seeding=True), promised=True
        ),
        Competitor("mlpack", mlpack_mean_shift, promised=True),
        Competitor(
            "hdbscan",
            # Processor seconds of processes that it starts would not be counted.
            hdbscan("hdbscan", core_dist_n_jobs=1),
            smallest=30,
            largest=OTHERS_UP_TO,
        ),
        Competitor(
            "fast_hdbscan",
            hdbscan("fast_hdbscan"),
            smallest=30,
            largest=OTHERS_UP_TO,
        ),
    ]
    for key, (name, modules, kind) in CHECKOUTS.items():
        if paths.get(key):
            make = built_in_place(paths[key], modules, kind)
            found.append(Competitor(name, make))
    # A million points are for the binned mode, which is made for them.
    found = [
        rival if rival.name == "binned SMS" else _at_most(rival, most)
        for rival in found
    ]
    return {rival.name: rival for rival in found}


def _at_most(rival: Competitor, n: int) -> Competitor:
    return replace(rival, largest=min(rival.largest, n))


def _ours(name: str, **options: Any) -> Callable[[Data, Case], Callable[[], Outcome]]:
    """Wrap one of our estimators."""

    def make(data: Data, case: Case) -> Callable[[], Outcome]:
        build = builder(name, case, **options)

        def call() -> Outcome:
            model = build().fit(data.X)
            states = getattr(model, "resting_points_", None)
            return Outcome(model.labels_, states, getattr(model, "n_steps_", None))

        return call

    return make


def builder(name: str, case: Case, **options: Any) -> Callable[[], Any]:
    """Return a function that builds an estimator with the settings of all runs."""
    module = importlib.import_module(clustering.__name__)
    if not hasattr(module, name):
        raise AbsentError(f"this version of sms_diar has no {name}")
    model_class = getattr(module, name)
    known = model_class().get_params()
    wanted = {
        "bandwidth": BANDWIDTH,
        "kernel": case.kernel,
        "tol": TOL,
        "random_state": case.seed,
    }
    settings = {key: value for key, value in wanted.items() if key in known}
    if "algorithm" in options and "algorithm" not in known:
        raise AbsentError(f"{name} of this version has one algorithm only")
    return lambda: model_class(**settings, **options)


def extrapolate(name: str, data: Data, case: Case, steps: int) -> dict[str, Any]:
    """Estimate the seconds of a plain run that would take too long.

    The cost of a step depends on the number of neighbours, which changes while the
    points contract. So steps are timed at the states that a run passes through, after
    0, 1, 2, 4, ... sweeps, and costs in between are interpolated linearly. Labels and
    the objective at the end are not counted, so the estimate is rather low. `steps`
    are moves of single points in the whole run, known from the run of "auto".
    """
    fast = builder("StochasticMeanShift", case)()
    slow = builder("StochasticMeanShift", case, algorithm="plain")()
    for model in (fast, slow):
        model.bandwidth_ = BANDWIDTH
    setup, slow_setup = (model._setup(data.X) for model in (fast, slow))
    sweeps = [knot for knot in KNOTS if knot * case.n < steps]
    costs: list[list[float]] = []
    at = 0
    for sweep in sweeps:
        if sweep > at:
            fast.set_params(max_steps=(sweep - at) * case.n, random_state=sweep)
            setup = replace(setup, coords=fast._run(setup).coords)
            at = sweep
        here = replace(slow_setup, coords=setup.coords)
        costs.append([])
        slow.set_params(max_steps=TIMED_STEPS)
        for run in range(TIMED_RUNS):
            slow.set_params(random_state=run)
            start = time.process_time()
            done = slow._run(here).n_steps
            costs[-1].append((time.process_time() - start) / done)
    # After the last knot the cost of a step stays the same.
    x = [*(float(sweep * case.n) for sweep in sweeps), float(steps)]
    totals = [
        float(np.trapezoid([*y, y[-1]], x))
        for y in (pick(costs) for pick in (_least, _middle, _most))
    ]
    return {
        "cpu": totals,
        "per_step": _middle(costs),
        "sweeps": sweeps,
        "note": (
            f"{TIMED_STEPS} steps timed {TIMED_RUNS} times at each of "
            f"{len(sweeps)} states of the run, for its {count(steps)} steps"
        ),
    }


def _least(costs: list[list[float]]) -> list[float]:
    return [min(runs) for runs in costs]


def _middle(costs: list[list[float]]) -> list[float]:
    return [float(np.median(runs)) for runs in costs]


def _most(costs: list[list[float]]) -> list[float]:
    return [max(runs) for runs in costs]


Make = Callable[[Data, Case], Callable[[], Outcome]]


def sklearn_mean_shift(*, bin_seeding: bool) -> Make:
    """Mean shift of scikit-learn with bandwidth 1, all points in clusters."""

    def make(data: Data, case: Case) -> Callable[[], Outcome]:
        from sklearn.cluster import MeanShift  # noqa: PLC0415

        def call() -> Outcome:
            model = MeanShift(bandwidth=1.0, bin_seeding=bin_seeding, cluster_all=True)
            return Outcome(model.fit(data.X).labels_)

        return call

    return make


def mlpack_mean_shift(data: Data, case: Case) -> Callable[[], Outcome]:
    """Mean shift of mlpack, radius 1, at most 1000 iterations, other defaults."""
    mlpack = importlib.import_module("mlpack")

    def call() -> Outcome:
        # Without a copy mlpack would append its labels to the points.
        found = mlpack.mean_shift(
            data.X, radius=1.0, max_iterations=1000, copy_all_inputs=True
        )
        return Outcome(found["output"][:, -1].astype(int))

    return call


def hdbscan(module: str, **options: Any) -> Make:
    """HDBSCAN with clusters of at least a fiftieth of the points, for context.

    It answers another question: points in sparse regions belong to no cluster.
    """

    def make(data: Data, case: Case) -> Callable[[], Outcome]:
        library = importlib.import_module(module)
        least = max(5, case.n // 50)

        def call() -> Outcome:
            model = library.HDBSCAN(min_cluster_size=least, **options)
            return Outcome(model.fit_predict(data.X))

        return call

    return make


def built_in_place(folder: str, modules: Sequence[str], kind: str) -> Make:
    """Wrap a peer without a package, from a checkout with built extensions.

    `modules` are names under which the extension may have been built, and `kind` is
    the class in it, with ``fit_predict``.
    """

    def make(data: Data, case: Case) -> Callable[[], Outcome]:
        if folder not in sys.path:
            sys.path.insert(0, folder)
        for name in modules:
            try:
                model_class = getattr(importlib.import_module(name), kind)
            except (ImportError, AttributeError):
                continue
            break
        else:
            raise AbsentError(
                f"no module {' or '.join(modules)} with {kind} in {folder}; build it "
                f"there with: python setup.py build_ext --inplace"
            )

        def call() -> Outcome:
            model = model_class(bandwidth=1.0, threshold=1e-4, iterations=300)
            labels = model.fit_predict(data.X)
            return Outcome(labels[0] if isinstance(labels, tuple) else labels)

        return call

    return make
