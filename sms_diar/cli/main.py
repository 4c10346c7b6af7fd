"""The application, its commands, and how errors become exit codes.

Exit codes: 0 all went well, 1 something about the input or the run is wrong (one
line on standard error says what), 2 the command line is wrong, 3 some recordings of
several could not be used (they are named) and the others went well, 130 interrupted,
141 nobody reads the output any more (``| head``). Bugs keep their traceback. Heavy
imports wait inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from sms_diar import __version__
from sms_diar.cli import (
    cluster,
    data,
    diarize,
    features,
    interrupts,
    ivectors,
    models,
    plda,
    report,
    run,
    score,
    simulate,
    validate_rttm,
    wording,
)
from sms_diar.cli.output import note
from sms_diar.errors import SmsDiarError

BROKEN_PIPE = 141
"""Exit code that shells expect of a program whose output nobody reads."""

app = typer.Typer(
    name="sms-diar",
    help="Speaker diarization and clustering by stochastic mean shift.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
diarize.register(app)
cluster.register(app)
score.register(app)
report.register(app)
validate_rttm.register(app)
features.register(app)
ivectors.register(app)
models.register(app)
plda.register(app)
data.register(app)
simulate.register(app)
run.register(app)
_COMMANDS = app


def _show_version(asked: bool) -> None:  # noqa: FBT001
    if asked:
        typer.echo(f"sms-diar {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Speaker diarization and clustering by stochastic mean shift."""


def main() -> None:
    """Run the command line; turn our own errors into one line and exit code 1."""
    interrupts.listen()
    with interrupts.interruptible("run it again to start anew"):
        try:
            app()
        except SmsDiarError as error:
            _fail(_worded(str(error)))
        except SystemExit as end:
            # click ends with 1 if the reader of the output has gone.
            if end.code == 1 and isinstance(end.__context__, BrokenPipeError):
                _leave_pipe()
            raise
        except BrokenPipeError:
            _leave_pipe()
        except OSError as error:  # a disk that is full or fails, rights that miss
            _fail(_words(error))
        except MemoryError:
            _fail("there is not enough memory for this; nothing was written")
        except RuntimeError as error:
            from concurrent.futures.process import BrokenProcessPool

            if not isinstance(error, BrokenProcessPool):
                raise
            _fail(
                "a worker was ended by the system, for lack of memory as a rule; try "
                "it with fewer --workers"
            )
        _flush()


def _worded(text: str) -> str:
    """A message in the words of the command that was called."""
    command = typer.main.get_command(_COMMANDS)
    return wording.in_options(text, wording.options_of(command, sys.argv[1:]))


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_pipe()


def _leave_pipe() -> None:
    """End quietly; Python's own flush at the end must not complain either."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    sys.exit(BROKEN_PIPE)


def _fail(message: str) -> NoReturn:
    with suppress(OSError):
        note(message)
    try:
        sys.stdout.flush()
    except OSError:  # said once is enough: Python would try again, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


def _words(error: OSError) -> str:
    said = error.strerror or str(error) or type(error).__name__
    return said if error.filename is None else f"{error.filename}: {said}"
