"""Mean shift on Gaussian clusters: the paper's table, sweeps and pictures.

Needs no data. Takes about 40 minutes on two cores, most of them for the largest sizes
of the time sweep::

    sms-diar run synthetic --workers 2
    sms-diar run synthetic --conf small                # half a minute

The answer is in exp/synthetic/report; RESULTS.md holds a copy of a full run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sms_diar.errors import ConfigError
from sms_diar.experiment.stages import Stage, StageRun
from sms_diar.synthetic import PAPER_SETS

from . import report as gaussian_report
from .repetitions import (
    METHODS,
    PointSettings,
    sweep_repetition,
    table_repetition,
)

PRINTED = Path(__file__).parent / "paper.csv"
TIMED = ("points-ms", "points-bms", "points-sms")


@dataclass(frozen=True)
class Reading:
    """Reading of the spread in the paper's table.

    Parameters
    ----------
    std : float
        Standard deviation of the clusters.
    bandwidth : float
        Bandwidth of the methods.
    """

    std: float
    bandwidth: float


@dataclass(frozen=True)
class BandwidthSearch:
    """Search for the paper's bandwidth.

    Parameters
    ----------
    set_name : str
        Data set.
    runs : int
        Repetitions at each bandwidth.
    std : float
        Standard deviation of the clusters.
    bandwidths : tuple of float
        Bandwidths to try.
    """

    set_name: str
    runs: int
    std: float
    bandwidths: tuple[float, ...]


@dataclass(frozen=True)
class Sweeps:
    """Sweeps over one property of the data at a time.

    Parameters
    ----------
    std : float
        Standard deviation of the clusters.
    bandwidth : float
        Bandwidth of the methods.
    per_cluster : int
        Points per cluster.
    ratios : tuple of float
        Sizes of one cluster relative to the others.
    dimensions : tuple of int
        Numbers of dimensions.
    clusters : tuple of int
        Numbers of clusters.
    sizes : tuple of int
        Points per cluster in the time sweep.
    time_points : int
        Maximum number of points per size and method in the time sweep, summed over
        the repetitions; 0: no limit, which takes a day.
    """

    std: float
    bandwidth: float
    per_cluster: int
    ratios: tuple[float, ...]
    dimensions: tuple[int, ...]
    clusters: tuple[int, ...]
    sizes: tuple[int, ...]
    time_points: int


@dataclass(frozen=True)
class Config:
    """Settings of the recipe; the defaults are in conf.toml.

    Parameters
    ----------
    seed : int
        Random seed.
    runs : int
        Repetitions per row of the table; the paper makes 20.
    run_points : int
        Large sets get fewer repetitions: as many as cluster this many points, but at
        least 20.
    repetitions : int
        Repetitions at each point of the sweeps.
    sets : tuple of str
        Data sets of the table.
    methods : tuple of str
        Methods of the mean-shift family.
    kernel : str
        Kernel of all methods.
    tol : float
        A point is at rest if it moves by less than this many bandwidths.
    max_steps : int
        Maximum number of moves of stochastic methods.
    dsms_low : float
        points-dsms draws its bandwidth from [`dsms_low`, `dsms_high`] times the
        bandwidth.
    dsms_high : float
        Upper end of that range.
    figures : bool
        Draw figures; needs the extra "plot".
    reproducing : Reading
        Reading of the paper's spread that reproduces the printed purities.
    literal : Reading
        Reading of the paper's spread to the letter: covariance 0.64 I.
    search : BandwidthSearch
        Search for the bandwidth that comes closest to the printed rows of one set.
    sweeps : Sweeps
        Sweeps, each of which varies one property of the data.
    """

    seed: int
    runs: int
    run_points: int
    repetitions: int
    sets: tuple[str, ...]
    methods: tuple[str, ...]
    kernel: str
    tol: float
    max_steps: int
    dsms_low: float
    dsms_high: float
    figures: bool
    reproducing: Reading
    literal: Reading
    search: BandwidthSearch
    sweeps: Sweeps

    def __post_init__(self) -> None:
        if not self.methods or not set(self.methods) <= set(METHODS):
            raise ConfigError(
                f"'methods' must be some of {', '.join(METHODS)}, got "
                f"{', '.join(self.methods) or 'none'}"
            )

    def runs_of(self, set_name: str) -> int:
        """Return the repetitions of a set: fewer for large ones, which vary less."""
        affordable = self.run_points // sum(PAPER_SETS[set_name])
        return min(self.runs, max(20, affordable))

    def at(self, bandwidth: float) -> dict[str, Any]:
        """Return the settings of all methods at one bandwidth."""
        return asdict(
            PointSettings(
                bandwidth,
                self.kernel,
                self.tol,
                self.max_steps,
                self.dsms_low,
                self.dsms_high,
            )
        )


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""

    def table(run: StageRun) -> None:
        gaussian_report.write_results(run, run.map(table_repetition, table_tasks))

    def search(run: StageRun) -> None:
        gaussian_report.write_results(run, run.map(table_repetition, search_tasks))

    def sweep(run: StageRun) -> None:
        gaussian_report.write_results(run, run.map(sweep_repetition, sweeps[run.name]))

    def pictures(run: StageRun) -> None:
        if config.figures:
            gaussian_report.draw_pictures(
                run, config.reproducing.std, config.at(h), config.seed
            )

    def report(run: StageRun) -> None:
        gaussian_report.write_report(run, PRINTED, asdict(config))

    h = config.reproducing.bandwidth
    table_tasks = {
        f"{reading}/{set_name}/{run}": {
            "set_name": set_name,
            "run": run,
            "std": choice.std,
            "methods": config.methods,
            "settings": config.at(choice.bandwidth),
            "seed": config.seed,
        }
        for reading, choice in (
            ("reproducing", config.reproducing),
            ("literal", config.literal),
        )
        for set_name in config.sets
        for run in range(config.runs_of(set_name))
    }
    search_tasks = {
        f"{bandwidth:g}/{run}": {
            "set_name": config.search.set_name,
            "run": run,
            "std": config.search.std,
            "methods": TIMED,
            "settings": config.at(bandwidth),
            "seed": config.seed,
        }
        for bandwidth in config.search.bandwidths
        for run in range(config.search.runs)
    }
    sweeps = {
        "ratio": _sweep_tasks(config, "ratio", config.sweeps.ratios),
        "dimension": _sweep_tasks(config, "dimension", config.sweeps.dimensions),
        "clusters": _sweep_tasks(config, "clusters", config.sweeps.clusters),
        "time": _sweep_tasks(config, "time", config.sweeps.sizes),
    }
    return [
        Stage("table", table, {"tasks": table_tasks}),
        Stage("search", search, {"tasks": search_tasks}),
        Stage(
            "pictures",
            pictures,
            {
                "settings": config.at(h),
                "seed": config.seed,
                "std": config.reproducing.std,
                "figures": config.figures,
            },
        ),
        *(Stage(name, sweep, {"tasks": tasks}) for name, tasks in sweeps.items()),
        Stage(
            "report",
            report,
            {"config": asdict(config), "printed": PRINTED.read_text(encoding="utf-8")},
            after=("table", "search", "pictures", *sweeps),
        ),
    ]


def _sweep_tasks(
    config: Config, sweep: str, values: tuple[float, ...]
) -> dict[str, dict[str, Any]]:
    tasks: dict[str, dict[str, Any]] = {}
    for value in values:
        repetitions = config.repetitions
        if sweep == "time" and config.sweeps.time_points:
            affordable = config.sweeps.time_points // (3 * int(value))
            repetitions = min(repetitions, max(3, affordable))
        for run in range(repetitions):
            tasks[f"{value:g}/{run}"] = {
                "sweep": sweep,
                "value": value,
                "run": run,
                "std": config.sweeps.std,
                "per_cluster": config.sweeps.per_cluster,
                "methods": TIMED if sweep == "time" else config.methods,
                "settings": config.at(config.sweeps.bandwidth),
                "seed": config.seed,
            }
    return tasks
