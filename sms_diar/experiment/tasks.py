"""Many independent repetitions, in parallel, each finished only once.

Results go into a journal as they arrive: one JSON line each, behind a first line
that says for which settings they hold. A run that was interrupted, by Ctrl-C or
by ``kill -9``, reads the journal and does what is missing. JSON keeps every digit
of a float, so resumed results are identical to uninterrupted ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sms_diar._files import write_text
from sms_diar._json import json_line
from sms_diar._parallel import process_map
from sms_diar._progress import Progress, Silence

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
