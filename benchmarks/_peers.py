"""Other implementations of clustering, each wrapped in a small function.

Imports happen when a peer is used: what is not installed is reported as
absent, not as an error.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks._records import AbsentError, Case, Data, Outcome

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
    """Mean shift of mlpack with radius 1 and at most 1000 iterations.

    Its other parameters are as they come; `force_convergence` is off.
    """
    mlpack = importlib.import_module("mlpack")

    def call() -> Outcome:
        # Without a copy mlpack would write its labels beside the points.
        found = mlpack.mean_shift(
            data.X, radius=1.0, max_iterations=1000, copy_all_inputs=True
        )
        return Outcome(found["output"][:, -1].astype(int))

    return call


def hdbscan(module: str, **options: Any) -> Make:
    """HDBSCAN with clusters of a fiftieth of the points at least; for context.

    It answers another question (points in thin places belong to no cluster).
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
    """A peer without a package: its class, from a checkout with built extensions.

    Parameters
    ----------
    folder : str
        Checkout in which ``python setup.py build_ext --inplace`` was run.
    modules : sequence of str
        Names under which the extension may have been built.
    kind : str
        Class with ``fit_predict``.
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
