"""All clustering methods, without tuning, on all conditions, then a test.

Simulated worlds need no data; conditions on real speech need the corpora at
../shared/data or $SMS_DIAR_DATA and are skipped without them. Less than half an hour
on two idle cores::

    sms-diar run benchmarks/compare --conf benchmarks/compare/small.toml   # seconds
    sms-diar run benchmarks/compare                        # development only
    sms-diar run benchmarks/compare --set until=test       # and the test corpus

The answer is in exp/compare/report.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmarks.compare import steps as compare
from benchmarks.compare.plan import (
    HARD,
    conditions_of_development,
    conditions_of_test,
    timed_of_development,
    untrained_of_development,
    untrained_of_test,
)
from benchmarks.compare.program import program_digests
from benchmarks.compare.settings import Config
from benchmarks.compare.sources import development_digests
from sms_diar.experiment.stages import Stage, StageRun

__all__ = ["Config", "stages"]


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""

    def prepare(run: StageRun) -> None:
        compare.run_prepare(run, config)

    def develop(run: StageRun) -> None:
        compare.run_develop(run, config)

    def test(run: StageRun) -> None:
        compare.run_test(run, config)

    def report(run: StageRun) -> None:
        compare.run_report(run, config)

    inputs = {
        "groups": config.groups,
        "stand_in": config.test_corpus == "simulated",
        "training": asdict(config.training),
        "world": asdict(config.world),
        "disturbances": [asdict(one) for one in HARD],
        "vectors": config.untrained.kinds,
        "stand_ins": [bool(config.untrained.stand_in), config.timed.stand_in],
        "seed": config.seed,
        "corpora": development_digests(config.root),
    }
    conditions = [asdict(row) for row in conditions_of_development(config)]
    conditions += [asdict(row) for row in untrained_of_development(config)]
    conditions += [asdict(row) for row in timed_of_development(config)]
    # Methods that have changed since are run again.
    work: dict[str, Any] = {
        **config.work,
        "methods_untrained": config.untrained.methods,
        "program": program_digests(),
    }
    declared = [
        Stage("prepare", prepare, inputs),
        Stage(
            "develop",
            develop,
            {**work, "conditions": conditions, "meeting": config.runs_meeting},
            after=("prepare",),
        ),
    ]
    test_rows = [
        asdict(row) for row in (*conditions_of_test(config), *untrained_of_test(config))
    ]
    if config.until == "test":
        declared.append(Stage("test", test, {**work, "rows": test_rows}, ("prepare",)))
    done = tuple(stage.name for stage in declared)
    declared.append(Stage("report", report, {"config": asdict(config)}, after=done))
    return declared
