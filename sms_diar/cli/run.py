"""``sms-diar run`` and ``sms-diar recipes``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sms_diar.cli.output import check_outputs, echo, echo_json
from sms_diar.cli.scheduler import SchedulerOption, on_scheduler


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the application."""
    app.command()(run)
    app.command()(recipes)


def run(
    recipe: Annotated[str, typer.Argument(help="Name, folder or run.py of a recipe.")],
    *,
    exp: Annotated[
        Path | None,
        typer.Option(help="Folder of the experiment.", show_default="exp/RECIPE"),
    ] = None,
    conf: Annotated[
        list[Path] | None,
        typer.Option(help="TOML file that overrides the recipe's conf.toml."),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override one setting."),
    ] = None,
    first: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="STAGE",
            help="Repeat this stage and what depends on it, even if up to date.",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(min=1, help="Processes; results do not depend on it."),
    ] = max(1, os.cpu_count() or 1),
    scheduler: SchedulerOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print results.json instead of a table.")
    ] = False,
) -> None:
    """Run a recipe; stages that are up to date are not repeated.

    Example: sms-diar run synthetic --set runs=5 --workers 2
    """
    from sms_diar.cli.interrupts import interruptible
    from sms_diar.cli.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar.experiment.recipe import find_recipe, run_recipe

        found = find_recipe(recipe)
    check_outputs(inputs=conf or ())
    advice = "run it again to go on from here"
    with (
        interruptible(advice),
        on_scheduler(scheduler, advice),
        progress.stage("loading"),
    ):
        outcome = run_recipe(
            found,
            exp or Path("exp") / found.name,
            conf=conf or (),
            assignments=assignments or (),
            first=first,
            workers=workers,
            progress=progress,
        )
    if as_json:
        echo_json(outcome.results)
    else:
        echo(outcome.summary, nl=False)


def recipes(
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list for machines.")
    ] = False,
) -> None:
    """List the recipes that can be run by name."""
    from sms_diar.experiment.recipe import list_recipes

    found = list_recipes()
    if as_json:
        rows = [
            {"name": r.name, "summary": r.summary, "folder": str(r.folder)}
            for r in found
        ]
        echo_json(rows)
        return
    width = max((len(recipe.name) for recipe in found), default=0)
    for recipe in found:
        echo(f"{recipe.name.ljust(width)}  {recipe.summary}")
