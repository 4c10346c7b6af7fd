"""Options of commands that read recordings: front end, workers, scheduler."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from sms_diar.cli.terminal.interrupts import interruptible
from sms_diar.cli.terminal.output import note

if TYPE_CHECKING:
    from sms_diar.features.front_end import FrontEnd

AllowCommands = Annotated[
    bool,
    Option(
        "--allow-commands",
        help="Run commands in wav.scp (not needed for sph2pipe and flac).",
    ),
]
AllowScpCommands = Annotated[
    bool, Option("--allow-commands", help="Run commands in an scp file.")
]
DataDirectory = Annotated[
    Path, Argument(metavar="DATA_DIR", help="Kaldi data directory.")
]
VectorOutput = Annotated[
    Path, Option("-o", "--output", metavar="OUT", help=".ark, .npz, .csv or .tsv.")
]
Channel = Annotated[
    int | None,
    Option("-c", "--channel", min=1, help="Channel of multi-channel files, from 1."),
]
Workers = Annotated[
    int, Option(min=1, help="Number of processes or threads; does not affect results.")
]
ALL_CORES = max(1, os.cpu_count() or 1)
Strict = Annotated[
    bool, Option("--strict", help="Stop without output if any recording is unusable.")
]

ConfigOption = Annotated[
    Path | None,
    Option(
        help="Front end: a TOML file with tables mfcc, cmvn, deltas and vad, or the "
        "name of an included file such as mfcc_8k_full. The default is for telephone "
        "speech."
    ),
]

VadMethod = StrEnum("VadMethod", ["ENERGY", "NEURAL", "NONE"])
"""Speech detectors of `sms_diar.features.vad.METHODS`, without its import."""

QualityName = StrEnum("QualityName", ["FAST", "BALANCED", "BEST"])
"""Names of `sms_diar.networks.catalogue.QUALITIES`."""

Crosstalk = StrEnum("Crosstalk", ["KEEP", "REMOVE"])

CmvnMethod = StrEnum(
    "CmvnMethod", ["SESSION", "RECORDING", "SEGMENT", "SLIDING", "NONE"]
)
"""Scopes of normalisation in `sms_diar.features.cmvn`."""


def read_front_end(path: Path | None) -> FrontEnd:
    """Read settings from a TOML file or an included file such as mfcc_8k_full."""
    from sms_diar.experiment.config import find_conf
    from sms_diar.features.front_end import FrontEnd
    from sms_diar.io.toml import read_toml

    if path is None:
        return FrontEnd()
    path = find_conf(path)
    return FrontEnd.from_dict(read_toml(path), origin=str(path))


def changed_front_end(
    front_end: FrontEnd,
    *,
    vad: VadMethod | None = None,
    cmvn: CmvnMethod | None = None,
    deltas: bool | None = None,
) -> FrontEnd:
    """Return settings with the specified options replaced."""
    from dataclasses import replace

    if vad is not None:
        front_end = replace(front_end, vad=replace(front_end.vad, method=vad.value))
    if cmvn is not None:
        front_end = replace(front_end, cmvn=replace(front_end.cmvn, method=cmvn.value))
    if deltas is not None and deltas != bool(front_end.deltas.order):
        order = 2 if deltas else 0
        front_end = replace(front_end, deltas=replace(front_end.deltas, order=order))
    return front_end


SchedulerOption = Annotated[
    str | None,
    Option(
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

    `advice` says how to continue after Ctrl-C.
    """
    if address is None:
        yield
        return
    with interruptible(advice):
        note(f"connecting to the scheduler at {address}")  # Dask is slow to import
        from sms_diar import scheduler

        with scheduler(address, say=note):
            yield
