"""The application, its commands, and how errors become exit codes.

Exit codes: 0 all went well, 1 something about the input or the run is wrong (one
line on standard error says what), 2 the command line is wrong, 3 some recordings of
several could not be used (they are named) and the others went well, 130 interrupted,
143 terminated, 141 the reader of the output has gone (``| head``). Bugs keep their
traceback. Heavy imports wait inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from sms_diar import __version__
from sms_diar._files import protecting
from sms_diar._text import shown_lines
from sms_diar.cli import (
    cluster,
    convert,
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
from sms_diar.cli.output import echo, note
from sms_diar.errors import SmsDiarError

BROKEN_PIPE = 141
"""Exit code that shells expect of a program whose output nobody reads."""


class _Commands(TyperGroup):
    """Commands whose usage errors cannot steer a terminal."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; spell out what its errors quote."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = shown_lines(error.message)
            raise


app = typer.Typer(
    name="sms-diar",
    cls=_Commands,
    help="Speaker diarization and clustering by stochastic mean shift.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
diarize.register(app)
cluster.register(app)
score.register(app)
report.register(app)
convert.register(app)
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
        echo(f"sms-diar {__version__}")
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
    _open_closed_streams()
    interrupts.listen()
    # Inputs that a command protects are protected until it ends.
    with interrupts.interruptible("run it again"), protecting(()):
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


def _open_closed_streams() -> None:
    """Give standard streams that the caller has closed (``>&-``) the null device.

    Without it, the next file that is opened would take their place.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, null)


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
