"""``--scheduler``: the work of a command on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from sms_diar.cli.interrupts import interruptible
from sms_diar.cli.output import note

SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Let the workers of a Dask scheduler do the work, such as "
        "tcp://10.0.0.1:8786; results do not depend on it. Needs the extra 'dask' and "
        "files that all machines see.",
    ),
]


@contextmanager
def on_scheduler(
    address: str | None, advice: str = "nothing was written; run it again"
) -> Iterator[None]:
    """Send the work of what is called within to a cluster, if there is one.

    Parameters
    ----------
    address : str, optional
        Of the scheduler.
    advice : str
        How to go on after Ctrl-C.
    """
    if address is None:
        yield
        return
    with interruptible(advice):
        note(f"connecting to the scheduler at {address}")  # Dask takes a second to load
        from sms_diar import scheduler

        with scheduler(address, say=note):
            yield
