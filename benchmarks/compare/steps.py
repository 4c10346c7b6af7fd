"""Stages of ``benchmarks/compare``: all methods on all conditions.

Everything is chosen on development data: simulated worlds, `arabic8k`,
`libri-testother10-8k`, disturbed copies of the first, conversations, and one meeting.
Only the stage "test" opens the test corpus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.compare import sources
from benchmarks.compare.conditions import Condition, fitting, world_name
from benchmarks.compare.conversations import LEAST_WINDOWS
from benchmarks.compare.meeting import MEETING_ROWS, meeting_tasks
from benchmarks.compare.peers import settings_of
from benchmarks.compare.plan import (
    conditions_of_development,
    conditions_of_test,
    corpora_of,
    prepare_tasks,
    timed_of_development,
    untrained_of_development,
    untrained_of_test,
)
from benchmarks.compare.report import write_report
from benchmarks.compare.sessions import (
    compare_one,
    estimate_minutes,
    session_tasks,
    timed_tasks,
)
from benchmarks.compare.settings import Config
from benchmarks.compare.summary import summarise_meeting, summarise_parts
from benchmarks.compare.timed import TimedCondition, runnable_timed
from benchmarks.compare.vectors import FILES, KINDS, STAND_IN, raw_name
from recipes._common.corpora import DEVELOPMENT, TEST, VECTORS
from sms_diar._json import read_json, write_json
from sms_diar.errors import ExperimentError
from sms_diar.experiment.stages import StageRun
from sms_diar.report.provenance import stamp

CATALOGUE = "sources.json"
RESULTS = "sessions.json"


def run_prepare(run: StageRun, config: Config) -> None:
    """Prepare the sources of development."""
    for note in corpora_of(config)[1]:
        run.progress.say(note)
    made = run.map(sources.prepare, prepare_tasks(config, run.folder))
    catalogue = {
        name: source for part in made.values() for name, source in part.items()
    }
    for name, source in catalogue.items():
        words = f"{name} ({source['label']})" if "label" in source else name
        run.progress.say(f"{words}: all-pairs EER {100 * source['eer']:.1f} %")
    write_json(run.folder / CATALOGUE, catalogue)


def run_develop(run: StageRun, config: Config) -> None:
    """Run all methods on development data."""
    catalogue = read_json(run.before["prepare"] / CATALOGUE)
    rows = _runnable(conditions_of_development(config), catalogue)
    untrained = _runnable(untrained_of_development(config), catalogue)
    timed = runnable_timed(timed_of_development(config), catalogue)
    # The longest first, so that no core waits for the last one.
    tasks = timed_tasks(timed, catalogue, **config.untrained_work)
    tasks |= session_tasks(rows, catalogue, **config.work)
    if "meeting" in corpora_of(config)[0]:
        tasks |= meeting_tasks(
            config.root / sources.MEETING,
            methods=config.methods,
            runs=config.runs_meeting,
            seed=config.seed,
        )
    tasks |= session_tasks(untrained, catalogue, **config.untrained_work)
    _announce(run, config, rows, [*untrained, *_counted(timed, catalogue)])
    _write_results(run, [*rows, *untrained, *timed], run.map(compare_one, tasks))


def run_test(run: StageRun, config: Config) -> None:
    """Run all methods on the test corpus."""
    prepared = run.before["prepare"]
    catalogue = _test_sources(config, read_json(prepared / CATALOGUE), run.folder)
    write_json(run.folder / CATALOGUE, catalogue)
    rows = _runnable(conditions_of_test(config), catalogue)
    untrained = _runnable(untrained_of_test(config), catalogue)
    if not rows:
        raise ExperimentError(
            f"{config.test_corpus}: no condition of the test can be run; prepare it "
            f"(see 'groups' and 'data')"
        )
    _announce(run, config, rows, untrained)
    tasks = session_tasks(rows, catalogue, **config.work)
    tasks |= session_tasks(untrained, catalogue, **config.untrained_work)
    _write_results(run, [*rows, *untrained], run.map(compare_one, tasks))


def run_report(run: StageRun, config: Config) -> None:
    """Write tables, pictures and texts of what has been run."""
    develop = read_json(run.before["develop"] / RESULTS)
    catalogue = read_json(run.before["prepare"] / CATALOGUE)
    left_out = [*corpora_of(config)[1], *_left_out_recordings(catalogue)]
    meeting = {
        key: value
        for key, value in develop["sessions"].items()
        if key.rpartition("/")[0] in MEETING_ROWS
    }
    results: dict[str, Any] = {
        "stamp": stamp(seed=config.seed, settings=asdict(config)),
        "methods": {name: settings_of(name) for name in config.methods},
        **summarise_parts(develop, config.seed),
        "meeting": summarise_meeting(meeting),
        "test": None,
    }
    results["development"] = results.pop("trained")
    if "test" in run.before:
        test = read_json(run.before["test"] / RESULTS)
        found = summarise_parts(test, config.seed)
        results["test"] = found.pop("trained")
        results |= {f"test_{name}": part for name, part in found.items()}
        catalogue |= read_json(run.before["test"] / CATALOGUE)
        ran = {entry["name"] for entry in test["conditions"]}
        wanted = [*conditions_of_test(config), *untrained_of_test(config)]
        gone = [one.name for one in wanted if one.name not in ran]
        if gone:
            left_out.append(
                f"Of the test {', '.join(gone)} are left out: no such vectors, or too "
                f"few speakers."
            )
    results |= {"left_out": left_out, "sources": catalogue}
    write_report(run.folder, results, draw=config.figures)


def _test_sources(
    config: Config, catalogue: sources.Catalogue, folder: Path
) -> sources.Catalogue:
    corpus = config.test_corpus
    if corpus == "simulated":
        names = {"ivectors": world_name(config.world.base_eer), "neural": "heavy"}
        found = {f"{corpus}-{kind}": catalogue[name] for kind, name in names.items()}
        alone = catalogue.get(raw_name(STAND_IN, "vectors"))
        if alone is not None:
            found |= {raw_name(corpus, kind): alone for kind in KINDS}
        return found
    if corpus != TEST:
        wanted = {f"{corpus}-ivectors", f"{corpus}-neural"}
        wanted |= {raw_name(corpus, kind) for kind in KINDS}
        return {n: source for n, source in catalogue.items() if n in wanted}
    made = sources.prepare(kind="digits", folder=str(folder))
    needed = (*DEVELOPMENT, corpus)
    if all((config.root / name / VECTORS).is_file() for name in needed):
        made |= sources.prepare(
            kind="neural",
            corpus=corpus,
            trained_on=DEVELOPMENT,
            root=str(config.root),
            training=asdict(config.training),
            folder=str(folder),
            seed=config.seed,
        )
    for network, file in FILES.items():
        if (
            network in config.untrained.kinds
            and (config.root / corpus / file).is_file()
        ):
            made |= sources.prepare(
                kind="vectors",
                corpus=corpus,
                network=network,
                root=str(config.root),
                folder=str(folder),
            )
    return made


def _runnable(
    conditions: Sequence[Condition], catalogue: sources.Catalogue
) -> list[Condition]:
    available = {name: source["speakers"] for name, source in catalogue.items()}
    return fitting(conditions, available)


def _counted(
    conditions: Sequence[TimedCondition], catalogue: sources.Catalogue
) -> list[TimedCondition]:
    """Return the conditions of which all sessions are run."""
    return [
        replace(one, runs=len(one.sessions(catalogue[one.source])))
        for one in conditions
    ]


def _left_out_recordings(catalogue: sources.Catalogue) -> list[str]:
    return [
        f"Of the {name} {', '.join(source['left_out'])} are left out: fewer than "
        f"{LEAST_WINDOWS} windows."
        for name, source in catalogue.items()
        if source.get("left_out")
    ]


def _announce(
    run: StageRun,
    config: Config,
    rows: Sequence[Condition],
    untrained: Sequence[Condition | TimedCondition],
) -> None:
    limits = (config.limited, config.limit, run.workers)
    minutes = sum(
        estimate_minutes(own, methods, *limits, limit_pairs=config.limit_pairs)
        for own, methods in (
            (rows, config.methods),
            (untrained, config.untrained.methods),
        )
    )
    every = (*rows, *untrained)
    run.progress.say(
        f"{run.name}: {len(every)} conditions, {sum(row.runs for row in every)} "
        f"sessions, about {minutes:.0f} min on {run.workers} idle cores"
    )


def _write_results(
    run: StageRun,
    rows: Sequence[Condition | TimedCondition],
    results: Mapping[str, Any],
) -> None:
    content = {"conditions": [asdict(row) for row in rows], "sessions": dict(results)}
    write_json(run.folder / RESULTS, content)
