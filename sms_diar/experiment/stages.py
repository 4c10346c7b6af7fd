"""Named stages, skipping those whose work is already on disk.

A stage is done when its stamp says so *and* the stamp was written for the same
settings, the same version of the package and the same upstream stages. Changing
a value therefore runs exactly the stages again that can see the change; a stage
that was interrupted goes on where its journal ends.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sms_diar import __version__
from sms_diar._files import write_text
from sms_diar._json import json_line, read_json, write_json
from sms_diar._parallel import process_map
from sms_diar._progress import Progress, Silence
from sms_diar.errors import ExperimentError

Arguments = Mapping[str, Any]


def run_tasks(
    function: Callable[..., Any],
    tasks: Mapping[str, Arguments],
    *,
    journal: Path,
    fingerprint: str,
    workers: int = 1,
    progress: Progress | None = None,
    label: str = "tasks",
) -> dict[str, Any]:
    """Call `function` with the arguments of every task and collect the results.

    Parameters
    ----------
    function : callable
        Defined at the top of an importable module; returns what JSON can hold.
        Draws its random numbers from a seed among its arguments, so that results
        do not depend on the number of workers.
    tasks : mapping from str to keyword arguments
        The name of a task identifies it in the journal.
    journal : Path
        File that remembers finished tasks.
    fingerprint : str
        What the results depend on; a journal with another one is thrown away.
    workers : int, default=1
        Processes to use.
    progress : Progress, optional
        Receives progress.
    label : str
        What to call the work there.

    Returns
    -------
    results : dict
        Result of each task, in the order of `tasks`.
    """
    done = {
        key: result
        for key, result in _read_journal(journal, fingerprint).items()
        if key in tasks
    }
    # Written anew, because a killed run may have left half a line at the end.
    lines = [json_line({"fingerprint": fingerprint})]
    lines += [json_line({"key": key, "result": done[key]}) for key in done]
    journal.parent.mkdir(parents=True, exist_ok=True)
    write_text(journal, "\n".join(lines) + "\n")

    missing = [(key, tasks[key]) for key in tasks if key not in done]
    # Each result goes into the journal when it is there.
    results = process_map(
        partial(_call, function), missing, workers=workers, ordered=False
    )
    listener = progress or Silence()
    with (
        journal.open("a", encoding="utf-8") as file,
        listener.track(label, len(tasks), len(done)) as advance,
    ):
        for key, result in results:
            line = json_line({"key": key, "result": result})
            file.write(line + "\n")
            file.flush()
            # What was computed now and what is read back later must be the same.
            done[key] = json.loads(line)["result"]
            advance()
    return {key: done[key] for key in tasks}


def _call(function: Callable[..., Any], task: tuple[str, Arguments]) -> tuple[str, Any]:
    key, arguments = task
    return key, function(**arguments)


def _read_journal(journal: Path, fingerprint: str) -> dict[str, Any]:
    if not journal.exists():
        return {}
    done: dict[str, Any] = {}
    with journal.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file):
            try:
                record = json.loads(line)
                if number == 0:
                    if record["fingerprint"] != fingerprint:
                        return {}
                else:
                    done[record["key"]] = record["result"]
            except (ValueError, KeyError, TypeError):
                break  # torn by a crash: this line and what follows is done again
    return done


STAMP = "stage.json"
JOURNAL = "journal.jsonl"


@dataclass(frozen=True)
class StageRun:
    """What a stage is given when it runs.

    Parameters
    ----------
    name : str
        The stage's name.
    folder : Path
        Where it writes.
    before : mapping from str to Path
        Folders of the stages it named in ``after``.
    fingerprint : str
        What its results depend on.
    workers : int
        Processes it may use.
    progress : Progress
        Receives progress.
    """

    name: str
    folder: Path
    before: Mapping[str, Path]
    fingerprint: str
    workers: int
    progress: Progress

    def map(
        self, function: Callable[..., Any], tasks: Mapping[str, Arguments]
    ) -> dict[str, Any]:
        """Run independent tasks in parallel; finished ones survive a crash."""
        return run_tasks(
            function,
            tasks,
            journal=self.folder / JOURNAL,
            fingerprint=self.fingerprint,
            workers=self.workers,
            progress=self.progress,
            label=self.name,
        )


@dataclass(frozen=True)
class Stage:
    """One step of a recipe.

    Parameters
    ----------
    name : str
        Also the name of its folder.
    run : callable
        Does the work; gets a `StageRun`.
    settings : mapping
        All settings its result depends on, as plain values.
    after : tuple of str
        Stages whose results it reads.
    """

    name: str
    run: Callable[[StageRun], None]
    settings: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()


def run_stages(
    stages: Sequence[Stage],
    root: Path,
    *,
    first: str | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[str]:
    """Run what is out of date, in order.

    Parameters
    ----------
    stages : sequence of Stage
        In an order in which each comes after those it depends on.
    root : Path
        Experiment folder; each stage has a folder in it.
    first : str, optional
        Run this stage, and those that depend on it, even if up to date.
    workers : int, default=1
        Processes for repetitions.
    progress : Progress, optional
        Receives progress.

    Returns
    -------
    ran : list of str
        Names of the stages that were run.
    """
    names = [stage.name for stage in stages]
    if first is not None and first not in names:
        raise ExperimentError(
            f"no stage named '{first}'; this recipe has {', '.join(names)}"
        )
    listener = progress or Silence()
    root.mkdir(parents=True, exist_ok=True)
    ran: list[str] = []
    fingerprints: dict[str, str] = {}
    with _only_one_at_a_time(root):
        for stage in stages:
            fingerprint = _fingerprint(stage, fingerprints)
            fingerprints[stage.name] = fingerprint
            folder = root / stage.name
            if stage.name == first:
                # Journals of dependents go too: their repetitions are to be repeated.
                for later in _dependents(stage.name, stages):
                    shutil.rmtree(root / later, ignore_errors=True)
            stale = set(stage.after) & set(ran)
            if not stale and _recorded(folder) == fingerprint:
                listener.say(f"{stage.name}: up to date")
                continue
            listener.say(f"{stage.name}: running")
            for later in _dependents(stage.name, stages):
                # A crash from here on must not look like success.
                (root / later / STAMP).unlink(missing_ok=True)
            folder.mkdir(exist_ok=True)
            before = {name: root / name for name in stage.after}
            with listener.stage(stage.name):
                stage.run(
                    StageRun(stage.name, folder, before, fingerprint, workers, listener)
                )
            record = {"fingerprint": fingerprint, "version": __version__}
            write_json(folder / STAMP, record)
            ran.append(stage.name)
    return ran


def _fingerprint(stage: Stage, fingerprints: Mapping[str, str]) -> str:
    seen = {
        "name": stage.name,
        "settings": stage.settings,
        "version": __version__,
        "after": [fingerprints[name] for name in stage.after],
    }
    text = json.dumps(seen, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _recorded(folder: Path) -> str | None:
    try:
        return str(read_json(folder / STAMP)["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _dependents(name: str, stages: Sequence[Stage]) -> list[str]:
    """`name` and all stages that read its results, directly or not."""
    found = {name}
    for stage in stages:  # in order, so one pass finds them all
        if found & set(stage.after):
            found.add(stage.name)
    return [stage.name for stage in stages if stage.name in found]


@contextmanager
def _only_one_at_a_time(root: Path) -> Iterator[None]:
    """Refuse to share an experiment folder with another run that is under way."""
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:  # Windows: runs are trusted not to meet
        yield
        return
    with (root / ".lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ExperimentError(
                f"{root}: another run is using this folder; wait for it or choose "
                f"another one with --exp"
            ) from error
        yield
