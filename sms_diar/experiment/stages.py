"""Named stages that are skipped if their results are already on disk.

A stage is done if its stamp was written for the same settings, the same version of the
package and the same upstream stages. A changed value therefore reruns only the stages
that depend on it.

The tasks of a stage run in parallel. Their results are appended to a journal: one JSON
line each, after a header line with the fingerprint of the settings. A run that was
interrupted, by Ctrl-C or by ``kill -9``, reads the journal and computes what is
missing. JSON keeps every digit of a float, so resumed results are identical to
uninterrupted ones.
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

    The function is at the top level of an importable module. It returns JSON values and
    derives its random numbers from a seed among its arguments, so that results do not
    depend on the number of workers.

    Results are in the order of `tasks`, which has the arguments by task name. The name
    identifies the task in the journal, the file that records finished tasks. A journal
    with another `fingerprint` (an identifier of everything that the results depend on)
    is discarded. Progress is reported under `label`.
    """
    done = {
        key: result
        for key, result in _read_journal(journal, fingerprint).items()
        if key in tasks
    }
    # Rewritten, because a killed run may have left an incomplete last line.
    lines = [json_line({"fingerprint": fingerprint})]
    lines += [json_line({"key": key, "result": done[key]}) for key in done]
    journal.parent.mkdir(parents=True, exist_ok=True)
    write_text(journal, "\n".join(lines) + "\n")

    missing = [(key, tasks[key]) for key in tasks if key not in done]
    # Each result is written to the journal as soon as it is available.
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
            # Use the parsed value, so that new and resumed results are identical.
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
                break  # incomplete after a crash: repeat this and the following lines
    return done


STAMP = "stage.json"
JOURNAL = "journal.jsonl"


@dataclass(frozen=True)
class StageRun:
    """Environment of a running stage.

    `folder` is the output folder, `before` has the folders of the stages named in
    ``after``, and `fingerprint` identifies everything that the results depend on.
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
        """Run independent tasks in parallel; finished tasks survive a crash."""
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
    """Step of a recipe.

    `name` is also the name of its folder. `run` does the work, `settings` are all
    settings that the result depends on, as plain values, and `after` are the stages
    whose results it reads.
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
    """Run the stages that are out of date, in order, and return their names.

    Each stage follows the stages it depends on, and has a folder in `root`. The stage
    `first`, and those that depend on it, are run even if up to date.
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
                # Also remove the journals of dependents, so that tasks are repeated.
                for later in _dependents(stage.name, stages):
                    shutil.rmtree(root / later, ignore_errors=True)
            stale = set(stage.after) & set(ran)
            if not stale and _recorded(folder) == fingerprint:
                listener.say(f"{stage.name}: up to date")
                continue
            listener.say(f"{stage.name}: running")
            for later in _dependents(stage.name, stages):
                # A crash after this point must not look like success.
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
    content = {
        "name": stage.name,
        "settings": stage.settings,
        "version": __version__,
        "after": [fingerprints[name] for name in stage.after],
    }
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _recorded(folder: Path) -> str | None:
    try:
        return str(read_json(folder / STAMP)["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _dependents(name: str, stages: Sequence[Stage]) -> list[str]:
    """Return `name` and all stages that directly or indirectly read its results."""
    names = {name}
    for stage in stages:  # in order, so one pass finds them all
        if names & set(stage.after):
            names.add(stage.name)
    return [stage.name for stage in stages if stage.name in names]


@contextmanager
def _only_one_at_a_time(root: Path) -> Iterator[None]:
    """Raise an error if another run is using the experiment folder."""
    try:
        import fcntl  # noqa: PLC0415
    except ImportError:  # Windows: concurrent runs are not detected
        yield
        return
    with (root / ".lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ExperimentError(
                f"{root}: another run is using this folder; wait for it or choose "
                f"another folder (exp=FOLDER)",
                mentions=("exp=FOLDER",),
            ) from error
        yield
