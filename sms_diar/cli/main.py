"""Command-line application: its commands and exit codes.

Exit codes: 0 success, 1 invalid input or failed run (with one line on standard error),
2 usage error, 3 some recordings were skipped (with one line for each) and the others
succeeded, 130 interrupted, 143 terminated, 141 the output pipe was closed (``| head``).
Bugs keep their traceback. Heavy modules are imported inside the commands, so that
``--help`` is fast.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer import BadParameter, Option
from typer.core import TyperGroup

from sms_diar import __version__
from sms_diar._files import protecting
from sms_diar._text import shown_lines
from sms_diar.cli.commands import (
    cluster,
    convert,
    data,
    diarize,
    embed,
    ivectors,
    models,
    plda,
    report,
    run,
    score,
    simulate,
    transcript,
    verification,
)
from sms_diar.cli.errors import error_text, options_of
from sms_diar.cli.terminal import interrupts
from sms_diar.cli.terminal.output import echo, note
from sms_diar.errors import SmsDiarError

BROKEN_PIPE = 141
"""Conventional exit code after writing to a closed pipe (128 + SIGPIPE)."""


class _Commands(TyperGroup):
    """Command group that escapes control characters in usage errors."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; escape control characters in its usage errors."""
        try:
            return super().invoke(ctx)
        except BadParameter as error:
            error.message = shown_lines(error.message)
            raise


app = typer.Typer(
    name="sms-diar",
    cls=_Commands,
    help="Speaker diarization and clustering by stochastic mean shift.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command()(diarize.diarize)
app.command()(transcript.transcript)
app.command()(cluster.cluster)
app.command(cls=score.ManyValues)(score.score)
app.command()(report.report)
app.command()(convert.convert)
app.command()(convert.validate_rttm)
app.command()(embed.embed)
app.command()(data.features)
app.command()(data.validate_data)
app.command()(simulate.simulate)
app.command()(run.run)
app.command()(run.recipes)
app.add_typer(ivectors.app)
app.add_typer(models.app)
plda.app.command("eval")(verification.evaluate)
plda.app.command()(verification.calibrate)
plda.app.command()(verification.apply)
app.add_typer(plda.app)
_COMMANDS = app


def _show_version(requested: bool) -> None:  # noqa: FBT001
    if requested:
        echo(f"sms-diar {__version__}")
        raise typer.Exit


@app.callback()
def options(
    *,
    version: Annotated[
        bool,
        Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    """Speaker diarization and clustering by stochastic mean shift."""


def main() -> None:
    """Run the command line; report package errors in one line with exit code 1."""
    _open_closed_streams()
    interrupts.listen()
    # Inputs stay protected against overwriting until the command ends.
    with interrupts.interruptible("run it again"), protecting(()):
        try:
            app()
        except SmsDiarError as error:
            _fail(_worded(error))
        except SystemExit as end:
            # click exits with 1 if the output pipe is closed.
            if end.code == 1 and isinstance(end.__context__, BrokenPipeError):
                _leave_pipe()
            raise
        except BrokenPipeError:
            _leave_pipe()
        except OSError as error:  # full or failing disk, missing permissions
            _fail(_words(error))
        except MemoryError:
            _fail("not enough memory; nothing was written")
        except RuntimeError as error:
            from concurrent.futures.process import BrokenProcessPool

            if not isinstance(error, BrokenProcessPool):
                raise
            _fail("a worker was killed, probably out of memory; reduce --workers")
        _flush()


def _open_closed_streams() -> None:
    """Open the null device for standard streams that the caller closed (``>&-``).

    Otherwise the next opened file would take the descriptor of the closed stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, null)


def _worded(error: SmsDiarError) -> str:
    """Return a message with the options of the current command."""
    command = typer.main.get_command(_COMMANDS)
    return error_text(error, options_of(command, sys.argv[1:]))


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_pipe()


def _leave_pipe() -> None:
    """Exit quietly; also prevent an error from the final flush by Python."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    sys.exit(BROKEN_PIPE)


def _fail(message: str) -> NoReturn:
    with suppress(OSError):
        note(message)
    try:
        sys.stdout.flush()
    except OSError:  # Python would flush again at exit and report it twice
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


def _words(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return reason if error.filename is None else f"{error.filename}: {reason}"
