"""Recipes: folders with a ``run.py`` that declares stages and settings.

``run.py`` has a docstring whose first line says what the recipe does, a
dataclass ``Config``, and a function ``stages(config)``. Complete defaults for
``Config`` are in ``conf.toml`` beside it. The last stage is called ``report``; it
writes ``results.json`` for machines and ``summary.txt`` for the terminal.

A folder with an ``__init__.py`` is a package: its modules import each other by relative
names (``from .steps import measure``), and worker processes find what they are to call.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import sms_diar
from sms_diar._json import read_json, write_json
from sms_diar._parallel import end_workers
from sms_diar._progress import Progress
from sms_diar.errors import ExperimentError
from sms_diar.experiment.config import Setting, describe_settings, load_config
from sms_diar.experiment.stages import Stage, run_stages
from sms_diar.report.figures import check_drawing
from sms_diar.report.provenance import stamp


@dataclass(frozen=True)
class Recipe:
    """Recipe on disk.

    `name` is the name of the folder with ``run.py`` and ``conf.toml``, and `summary`
    the first line of the docstring of ``run.py``.
    """

    name: str
    folder: Path
    summary: str

    def load(self) -> ModuleType:
        """Import ``run.py``. Recipes are programs; run only those you trust."""
        path = self.folder / "run.py"
        packaged = (self.folder / "__init__.py").is_file()
        module = _import_packaged(path) if packaged else _import_alone(path)
        for name in ("Config", "stages"):
            if not hasattr(module, name):
                raise ExperimentError(f"{path}: a recipe must define {name}")
        return module

    def settings(self) -> list[Setting]:
        """List the settings of the recipe, with their defaults."""
        return describe_settings(self.load().Config, self.folder / "conf.toml")


@dataclass(frozen=True)
class Outcome:
    """Folder and stages of a finished run."""

    folder: Path
    ran: tuple[str, ...]

    @property
    def results(self) -> dict[str, Any]:
        """Content of ``results.json``."""
        results: dict[str, Any] = read_json(self.folder / "report" / "results.json")
        return results

    @property
    def summary(self) -> str:
        """Summary for the terminal."""
        return (self.folder / "report" / "summary.txt").read_text(encoding="utf-8")


def recipe_folders() -> list[Path]:
    """List the folders that are searched: current folder, checkout, installation."""
    package = Path(sms_diar.__file__).parent
    return [Path.cwd() / "recipes", package.parent / "recipes", package / "_recipes"]


def list_recipes() -> list[Recipe]:
    """List all recipes that can be run by name."""
    recipes: dict[str, Recipe] = {}
    for folder in recipe_folders():
        for script in sorted(folder.glob("*/run.py")):
            recipe = _describe(script.parent)
            recipes.setdefault(recipe.name, recipe)
    return [recipes[name] for name in sorted(recipes)]


def find_recipe(name: str) -> Recipe:
    """Find a recipe by its name, its folder or its ``run.py``."""
    path = Path(name)
    if path.name == "run.py" and path.is_file():
        return _describe(path.resolve().parent)
    if (path / "run.py").is_file() and (os.sep in name or path.is_absolute()):
        return _describe(path.resolve())
    recipes = {recipe.name: recipe for recipe in list_recipes()}
    if name not in recipes:
        names = ", ".join(recipes) or "none"
        raise ExperimentError(
            f"no recipe named '{name}' (known: {names}) and no folder of that name "
            f"with a run.py"
        )
    return recipes[name]


def run_recipe(
    recipe: Recipe,
    exp: Path,
    *,
    conf: Sequence[Path] = (),
    assignments: Sequence[str] = (),
    first: str | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Outcome:
    """Run the stages of a recipe that are out of date, in the folder `exp`."""
    module = recipe.load()
    config = load_config(module.Config, recipe.folder / "conf.toml", conf, assignments)
    declare: Callable[[Any], list[Stage]] = module.stages
    stages = declare(config)
    settings = asdict(config)
    if settings.get("figures"):
        check_drawing()  # early, before the work
    exp.mkdir(parents=True, exist_ok=True)
    record = stamp(seed=settings.get("seed"), settings=settings)
    write_json(exp / "run.json", record)
    ran = run_stages(stages, exp, first=first, workers=workers, progress=progress)
    return Outcome(exp, tuple(ran))


def _import_packaged(path: Path) -> ModuleType:
    """Import a file by its dotted name, so that worker processes can do the same."""
    names = [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # at the end, where it hides no other package
        importlib.invalidate_caches()
        end_workers()
    name = ".".join(names)
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.origin or not path.samefile(spec.origin):
        raise ExperimentError(
            f"{path}: Python finds another package named '{names[0]}' before this one; "
            f"rename the folder '{folder / names[0]}', or remove its __init__.py"
        )
    return importlib.import_module(name)


def _import_alone(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"recipe_{path.parent.name}", path)
    if spec is None or spec.loader is None:
        raise ExperimentError(f"{path}: cannot be loaded as a Python file")
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up while the recipe is being executed.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _describe(folder: Path) -> Recipe:
    script = folder / "run.py"
    try:  # the docstring is read without running the recipe
        text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{script}: not a Python file: {error}") from error
    summary = (text or "(no description)").splitlines()[0]
    return Recipe(folder.name, folder, summary)
