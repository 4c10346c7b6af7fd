"""``sms-diar run`` and ``sms-diar recipes``: run and list recipes."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from sms_diar.cli.options import JsonOption
from sms_diar.cli.options.recordings import (
    ALL_CORES,
    SchedulerOption,
    Workers,
    on_scheduler,
)
from sms_diar.cli.terminal.output import check_outputs, echo, echo_json, echo_rows

if TYPE_CHECKING:
    from sms_diar.experiment.recipe import Recipe

WIDTH = 88


def run(
    recipe: Annotated[str, Argument(help="Name, folder or run.py of a recipe.")],
    *,
    exp: Annotated[
        Path | None, Option(help="Folder of the experiment.", show_default="exp/RECIPE")
    ] = None,
    conf: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="TOML file that overrides settings, or the name of an included file "
            "such as small.",
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override one setting; 'sms-diar recipes RECIPE' lists them.",
        ),
    ] = None,
    first: Annotated[
        str | None,
        Option(
            "--from",
            metavar="STAGE",
            help="Repeat this stage and its dependents, even if up to date.",
        ),
    ] = None,
    workers: Workers = ALL_CORES,
    scheduler: SchedulerOption = None,
    as_json: Annotated[
        bool, Option("--json", help="Print results.json instead of a table.")
    ] = False,
) -> None:
    """Run a recipe; stages that are up to date are not repeated.

    Example: sms-diar run synthetic --set runs=5 --workers 2
    """
    from sms_diar.cli.terminal.interrupts import interruptible
    from sms_diar.cli.terminal.progress import TerminalProgress

    progress = TerminalProgress()
    with progress.stage("loading"):
        from sms_diar.experiment.recipe import find_recipe, run_recipe

        selected = find_recipe(recipe)
    check_outputs(inputs=conf or ())
    advice = "run it again to go on from here"
    with (
        interruptible(advice),
        on_scheduler(scheduler, advice),
        progress.stage("loading"),
    ):
        outcome = run_recipe(
            selected,
            exp or Path("exp") / selected.name,
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
    recipe: Annotated[
        str | None, Argument(help="Name, folder or run.py of the recipe to describe.")
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """List the available recipes, or the settings of one recipe.

    Examples: sms-diar recipes; sms-diar recipes synthetic
    """
    from sms_diar.experiment.recipe import find_recipe, list_recipes

    if recipe is not None:
        _show_settings(find_recipe(recipe), as_json=as_json)
        return
    listed = list_recipes()
    if as_json:
        echo_json([_facts(entry) for entry in listed])
        return
    echo_rows([(entry.name, entry.summary) for entry in listed])


def _facts(recipe: Recipe) -> dict[str, Any]:
    return {
        "name": recipe.name,
        "summary": recipe.summary,
        "folder": str(recipe.folder),
    }


def _show_settings(recipe: Recipe, *, as_json: bool) -> None:
    from dataclasses import asdict

    from sms_diar.experiment.config import toml_value

    settings = recipe.settings()
    if as_json:
        echo_json({**_facts(recipe), "settings": [asdict(s) for s in settings]})
        return
    echo(f"{recipe.name}: {recipe.summary}\n")
    echo(
        f"Change a setting with sms-diar run {recipe.name} --set KEY=VALUE, or several "
        f"in a TOML file\nwith --conf FILE.\n"
    )
    for setting in settings:
        value = f"{setting.key} = {toml_value(setting.default)}  ({setting.kind})"
        echo(textwrap.fill(value, WIDTH, subsequent_indent="    "))
        if setting.meaning:
            indent = "    "
            echo(
                textwrap.fill(
                    setting.meaning,
                    WIDTH,
                    initial_indent=indent,
                    subsequent_indent=indent,
                )
            )
