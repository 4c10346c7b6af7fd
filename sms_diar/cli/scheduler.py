"""``--scheduler``: run a command on a Dask cluster."""

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
        help="Address of a Dask scheduler whose workers do the work, such as "
        "tcp://10.0.0.1:8786. Does not affect results. Needs the extra 'dask' and "
        "files that are accessible from all machines.",
    ),
]


@contextmanager
def on_scheduler(
    address: str | None, advice: str = "nothing was written; run it again"
) -> Iterator[None]:
    """Run the enclosed work on a cluster if an address is specified.

    Parameters
    ----------
    address : str, optional
        Address of the scheduler.
    advice : str
        Hint on how to continue after Ctrl-C.
    """
    if address is None:
        yield
        return
    with interruptible(advice):
        note(f"connecting to the scheduler at {address}")  # Dask is slow to import
        from sms_diar import scheduler

        with scheduler(address, say=note):
            yield
