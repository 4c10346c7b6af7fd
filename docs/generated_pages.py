"""Pages made from the code when the documentation is built.

``commands.md`` lists every command with its options, ``settings.md`` every setting of
the front end and of the recipes, and ``headline.md`` and ``headline.svg`` show the main
figures of the reports in ``recipes``. ``conf.py`` writes them to ``docs/generated``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from sms_diar.cli.main import app
from sms_diar.experiment.config import Setting, describe_settings, toml_value
from sms_diar.experiment.recipe import list_recipes
from sms_diar.features.front_end import FrontEnd

ROOT = Path(__file__).resolve().parent.parent
OURS = "sms"
NAMES = {"paper": "sms-paper"}  # short in tables


def write_pages(folder: Path) -> None:
    """Write all pages to `folder`, leaving those alone that have not changed."""
    folder.mkdir(exist_ok=True)
    pages = {
        "commands": commands_page(),
        "settings": settings_page(),
        "headline": headline_page(),
    }
    draw_headline(folder / "headline.svg")
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def commands() -> Iterator[tuple[str, Any]]:
    """Yield all commands that can be run, with their full names."""
    waiting = [("sms-diar", typer.main.get_command(app))]
    while waiting:
        name, command = waiting.pop(0)
        children = getattr(command, "commands", {})
        if not children or command.invoke_without_command:
            yield name, command
        waiting += [(f"{name} {child}", made) for child, made in children.items()]


def commands_page() -> str:
    """Page of all commands, with their arguments and options."""
    listed = sorted((c for c in commands() if c[0] != "sms-diar"), key=lambda c: c[0])
    parts = [
        "# Commands",
        "`sms-diar COMMAND --help` prints the same on the terminal.",
        _table(
            ("command", "purpose"),
            (
                (f"[`{name}`](#{name.replace(' ', '-')})", _summary(command))
                for name, command in listed
            ),
        ),
    ]
    for name, command in listed:
        hints = get_type_hints(command.callback)
        rows = [_described(one, hints.get(one.name)) for one in command.params]
        parts += [
            f"## {name}",
            *_paragraphs(command),
            _table(("argument or option", "meaning"), filter(None, rows)),
        ]
    return "\n\n".join(parts) + "\n"


def settings_page() -> str:
    """Page of the settings of the front end and of all recipes."""
    parts = [
        "# Settings",
        "Settings are written in TOML. Keys before the dot are tables: `mfcc.rate` is "
        "`rate` in the table `[mfcc]`.",
        "## Front end",
        "`sms-diar features` and `sms-diar ivectors train` read these from a file "
        "(`--config FILE`); settings that are not in the file have their defaults. "
        "`--config mfcc_8k_full` names a file that ships with the package.",
        _settings_table(describe_settings(FrontEnd)),
    ]
    for recipe in list_recipes():
        parts += [
            f"## Recipe {recipe.name}",
            f"{recipe.summary} `sms-diar recipes {recipe.name}` prints this list; "
            f"`sms-diar run {recipe.name} --set KEY=VALUE` changes a setting.",
            _settings_table(recipe.settings()),
        ]
    return "\n\n".join(parts) + "\n"


def headline_page() -> str:
    """Main figures of the reports, in a few lines."""
    mean_k = _mean_k()
    others = {name: k for name, k in mean_k.items() if name != OURS}
    best = max(others, key=lambda name: others[name])
    recording = _rows("recipes/conversations", "system")[0]
    *clips, total = _rows("recipes/conversations", "recording")
    printed = [row["K"] for row in _rows("recipes/synthetic", "set") if "(" in row["K"]]
    gaps = [abs(float(cell.rstrip(")").split()[-1])) for cell in printed]
    return (
        f"- Speakers from i-vectors of spoken digits: K is {mean_k[OURS]:.3f} on "
        f"average; the best other method, {best}, reaches {others[best]:.3f}.\n"
        f"- {len(clips)} clips of AMI meetings ({float(total['scored s']):.0f} s of "
        f"scored speech), with the networks: DER {recording['DER %']} %, collar "
        f"0.25 s, overlap scored.\n"
        f"- The paper's synthetic table: K of all {len(gaps)} printed rows is within "
        f"{max(gaps):.3f} of the print.\n"
    )


def draw_headline(path: Path) -> None:
    """Draw K of every method: i-vectors of the test speakers, with a PLDA model."""
    from matplotlib.figure import Figure  # noqa: PLC0415 only when pages are built

    values = sorted(_mean_k().items(), key=lambda item: item[1])
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for row, (name, k) in enumerate(values):
        axes.barh(row, k, color="#0072B2" if name == OURS else "#999999")
        axes.text(k + 0.01, row, f"{k:.3f}", va="center", fontsize=11)
    axes.set_yticks(range(len(values)), [name for name, _ in values], fontsize=12)
    axes.set_xlim(0, 1.1)
    axes.set_xlabel("mean K, i-vectors of the test, with a PLDA model", fontsize=12)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def _mean_k() -> dict[str, float]:
    """K of each method: i-vectors of the test speakers, with a PLDA model."""
    rows = _rows("benchmarks/compare", "conditions")
    row = next(row for row in rows if row["conditions"] == "i-vectors")
    return {
        NAMES.get(name, name): float(cell.split(" / ")[0])
        for name, cell in row.items()
        if " / " in cell
    }


def _rows(folder: str, first: str) -> list[dict[str, str]]:
    """Read the first table of a report whose first column has the head `first`."""
    lines = (ROOT / folder / "RESULTS.md").read_text("utf-8").splitlines()
    table = [_cells(line) if line.startswith("|") else [] for line in lines]
    start = next(i for i, cells in enumerate(table) if cells[:1] == [first])
    end = next(i for i in range(start, len(table)) if not table[i])
    return [dict(zip(table[start], row, strict=True)) for row in table[start + 2 : end]]


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("**", "") for cell in line.strip("|").split("|")]


def _settings_table(settings: Iterable[Setting]) -> str:
    rows = (
        (f"`{s.key}`", s.kind, f"`{toml_value(s.default)}`", s.meaning)
        for s in settings
    )
    return _table(("setting", "type", "default", "meaning"), rows)


def _paragraphs(command: Any) -> Iterator[str]:
    """Yield the help text of a command, with its examples as code."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        head, colon, rest = paragraph.partition(": ")
        if colon and head in ("Example", "Examples"):
            lines = " ".join(rest.split()).replace("; sms-diar", "\nsms-diar")
            yield f"```sh\n{lines}\n```"
        else:
            yield paragraph


def _summary(command: Any) -> str:
    return inspect.cleandoc(command.help or "").splitlines()[0]


def _described(parameter: Any, hint: Any) -> tuple[str, str] | None:
    """Name and meaning of an argument or option; None for ``--help``."""
    if parameter.param_type_name == "argument":
        name = f"`{parameter.metavar or parameter.name.upper()}`"
    elif parameter.name == "help":
        return None
    else:
        names = [*parameter.opts, *parameter.secondary_opts]
        flag = bool in (hint, *get_args(hint))
        value = "" if flag else f" {parameter.metavar or _value(hint)}"
        name = f"`{', '.join(names)}{value}`"
    meaning = " ".join((getattr(parameter, "help", None) or "").split())
    default = _default(parameter)
    return name, f"{meaning} Default: `{default}`." if default else meaning


def _value(hint: Any) -> str:
    """Name the values of an option, for instance FILE or energy|neural."""
    kinds = [hint]
    while get_args(kinds[0]):  # "list[Path] | None"
        kinds = [kind for kind in get_args(kinds[0]) if kind is not type(None)]
    if issubclass(kinds[0], Enum):
        return "|".join(str(choice.value) for choice in kinds[0])
    return {Path: "PATH", int: "N", float: "X"}.get(kinds[0], "TEXT")


def _default(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return shown
    default = parameter.default
    if default is None or callable(default) or parameter.name == "workers":
        return ""  # the default of --workers depends on the machine
    if isinstance(default, bool):
        return ""
    return str(getattr(default, "value", default))


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    cells = ((cell.replace("|", "\\|") for cell in line) for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
