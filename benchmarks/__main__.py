"""Run benchmarks and write their report; see scripts/bench.

Results go to benchmarks/results.json, the report to benchmarks/RESULTS.md. Results of
suites that are not run stay.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks._records import Measurement, Options, describe
from benchmarks._report import TITLES, render, save, suite_record
from benchmarks._runner import measure, tell
from sms_diar.errors import SmsDiarError

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the suites that the command line names, and write the report."""
    parser = _parser()
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in TITLES]:
        parser.error(f"no suite {', '.join(unknown)}; there are {', '.join(TITLES)}")
    results, report = HERE / "results.json", HERE / "RESULTS.md"
    if args.quick:
        folder = Path(tempfile.mkdtemp(prefix="sms-bench-quick-"))
        results, report = folder / results.name, folder / report.name
    try:
        if not args.render:
            _run(args, results)
        render(results, report)
    except SmsDiarError as error:
        sys.exit(f"scripts/bench: {error}")
    tell(f"report: {report}")


def _run(args: argparse.Namespace, results: Path) -> None:
    paths = {
        name: str(Path(path).resolve())
        for name in ("meanshiftpp", "gridshift", "dscore", "sherpa")
        if (path := getattr(args, name))
    }
    options = Options(args.quick, args.full, args.limit, args.budget, paths)
    environment = describe()
    # Names of the checkouts are stored, their paths are private.
    shown = {**asdict(options), "paths": sorted(paths)}
    for name in args.names or TITLES:
        tell(f"{name}:")
        start = time.perf_counter()
        found = run_suite(name, options)
        elapsed = time.perf_counter() - start
        # Saved after each suite, so that an interruption loses only one.
        save(results, {name: suite_record(environment, shown, found, elapsed)})
        tell(f"  {elapsed:.0f} s")


def run_suite(name: str, options: Options) -> list[Measurement]:
    """Run one suite by its name."""
    suite = importlib.import_module(f"benchmarks.{name.replace('-', '_')}")
    if hasattr(suite, "competitors"):
        return measure(suite, options)
    found: list[Measurement] = suite.run(options)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"suites to run, all by default: {', '.join(TITLES)}",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, two runs, report in a temporary folder",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="run what would be extrapolated (the plain loop at 300,000: 30 minutes)",
    )
    parser.add_argument(
        "--render", action="store_true", help="report again from results.json"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=Options.limit,
        metavar="S",
        help="skip what is expected to take longer for one run (default 15)",
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=Options.budget,
        metavar="S",
        help="fewer than five runs where five take longer (default 10)",
    )
    for name, what in (
        ("meanshiftpp", "MeanShift++, its extension built in place"),
        ("gridshift", "GridShift, its extension built in place"),
        ("dscore", "dscore, with md-eval-22.pl"),
    ):
        parser.add_argument(f"--{name}", metavar="PATH", help=f"checkout of {what}")
    parser.add_argument(
        "--sherpa",
        metavar="PATH",
        help="folder with segmentation.onnx and embedding.onnx for sherpa-onnx",
    )
    return parser


if __name__ == "__main__":
    main()
