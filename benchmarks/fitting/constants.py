"""Tables of the constants and of the parts of the default clustering.

`scripts/constants` halves and doubles every constant of the default without a trained
model, and removes every measurement and every heuristic. The tables show the mean K of
development sessions with each change.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fitting.merging import (
    Change,
    Proposed,
    Session,
    changed,
    fit_weights,
    merged_labels,
    propose,
)
from sms_diar.clustering.speakers import fragments, merging, rows, space
from sms_diar.clustering.speakers.merging import MEASUREMENTS, Weights
from sms_diar.errors import InvalidParameterError
from sms_diar.metrics import score_clustering
from sms_diar.report.tables import Table
from sms_diar.types import IntArray

MODULES = (space, rows, fragments, merging)
"""Modules of the default, in the order of its steps."""

NOT_MEASURED = dict.fromkeys(("CERTAINTY", "TRUST", "BRIEF"), "same labels")
"""Constants that change no label of the development sessions, and what they change."""

GENERATIONS = 15
"""Steps of a search without a measurement: it begins near the result."""

LIMITS = (
    "_BLOCK",
    "_CHUNK",
    "_COORDINATES",
    "_DISTANCES",
    "_LONG_MEMORY",
    "_PAIRS",
    "_ROUNDING",
    "MAX_QUERIES",
)
"""Limits of memory and time, and of the rounding of times. They do not decide who is
one speaker."""


@dataclass(frozen=True)
class Constant:
    """A number in a module, and why it is there.

    Parameters
    ----------
    module, name : str
        Name of the module within its folder, and of the constant; fields of a named
        tuple follow a dot.
    value : int or float
        Its value.
    reason : str
        The docstring or comment that follows it.
    """

    module: str
    name: str
    value: float
    reason: str

    def scaled(self, factor: float) -> Change:
        """Return the change that multiplies the constant."""
        value = self.value * factor
        if isinstance(self.value, int):
            value = max(1, round(value))
        if self.name.startswith("WEIGHTS."):
            field = self.name.partition(".")[2]
            return merging, "WEIGHTS", merging.WEIGHTS._replace(**{field: value})
        module = importlib.import_module(f"{space.__package__}.{self.module}")
        return module, self.name, value


HEURISTICS: Mapping[str, Change] = {
    "thinning of windows that overlap": (rows, "_thin", lambda times: _all(times.end)),
    "removal of repeated passages": (rows, "_repeated_half2", lambda *_: None),
    "differences of consecutive windows": (
        space,
        "_with_successors",
        lambda covariance, *_: covariance,
    ),
    "noise from neighbours": (space, "SELECTION_BIAS", np.inf),
    "gate of neighbours": (fragments, "GATE", None),
    "merges just below even": (merging, "UNDECIDED", 0.5),
}
"""Heuristics, and the changes that turn them off."""


def _all(values: Sequence[Any]) -> tuple[Any, Any]:
    return np.arange(len(values)), np.arange(len(values))


def read_constants() -> list[Constant]:
    """Return all numbers of `MODULES` with their reasons, except `LIMITS`."""
    found = []
    for module in MODULES:
        path = Path(str(module.__file__))
        name = path.stem
        text = path.read_text(encoding="utf-8")
        for key, reason in documented_names(text).items():
            value = getattr(module, key)
            if key in LIMITS:
                continue
            if isinstance(value, Weights):
                shares = value._asdict().items()
                found += [Constant(name, f"{key}.{f}", v, "fitted") for f, v in shares]
            elif isinstance(value, tuple) and isinstance(value[0], float):
                parts = enumerate(value)
                found += [Constant(name, f"{key}[{i}]", v, reason) for i, v in parts]
            elif isinstance(value, int | float):
                found.append(Constant(name, key, value, reason))
    return found


def documented_names(text: str) -> dict[str, str]:
    """Return constants of a module, with the docstring or comment that follows."""
    found = {}
    body, lines = ast.parse(text).body, text.splitlines()
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign) or not isinstance(
            node.targets[0], ast.Name
        ):
            continue
        name = node.targets[0].id
        if not name.isupper():
            continue
        reason = lines[node.lineno - 1].partition("  # ")[2]
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            reason = str(after.value.value)
        found[name] = " ".join(reason.split())
    return found


def mean_k(sessions: Sequence[Session], seed: int = 0) -> dict[str, float]:
    """Cluster sessions by the default, and return the mean K of each group."""
    return _by_group(sessions, [propose(one, seed).labels_ for one in sessions])


def merged_k(
    sessions: Sequence[Session], proposals: Sequence[Proposed]
) -> dict[str, float]:
    """Return the same, but only merge fragments that have been proposed before."""
    pairs = zip(sessions, proposals, strict=True)
    return _by_group(sessions, [merged_labels(one, own) for one, own in pairs])


def _by_group(
    sessions: Sequence[Session], labels: Sequence[IntArray]
) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for session, found in zip(sessions, labels, strict=True):
        k = score_clustering(session.speakers, found).purity.k
        values.setdefault(session.group, []).append(k)
    return {group: float(np.mean(own)) for group, own in values.items()}


def overall(by_group: Mapping[str, float]) -> float:
    """Return the mean over groups."""
    return float(np.mean(list(by_group.values())))


def constants_table(
    sessions: Sequence[Session],
    constants: Sequence[Constant],
    progress: Callable[[], None] = lambda: None,
) -> Table:
    """Return K with each constant halved and doubled.

    `progress` is called once for each constant.
    """
    proposals = [propose(session) for session in sessions]
    table = []
    for constant in constants:
        cells = []
        for factor in (0.5, 2.0):
            elsewhere = NOT_MEASURED.get(constant.name.partition("[")[0])
            if elsewhere is not None:
                cells.append(elsewhere)
                continue
            try:
                with changed(constant.scaled(factor)):
                    if constant.module == "merging":
                        k = overall(merged_k(sessions, proposals))
                    else:
                        k = overall(mean_k(sessions))
                cells.append(f"{k:.4f}")
            except InvalidParameterError:
                cells.append("not valid")
        name = f"`{constant.module}.{constant.name}`"
        table.append((name, constant.reason, f"{constant.value:g}", *cells))
        progress()
    return Table(
        ("constant", "reason", "value", "K halved", "K doubled"), tuple(table), 2
    )


def ablation_table(
    sessions: Sequence[Session],
    fitted: Sequence[Session],
    progress: Callable[[], None] = lambda: None,
) -> Table:
    """Return K without each measurement and each heuristic.

    Weights are searched again without the measurement, with the sessions `fitted`.
    `progress` is called once for each of `N_ABLATIONS` rows.
    """
    every = [propose(session) for session in fitted]
    proposals = [propose(session) for session in sessions]
    searches = {REFITTED: (), **{f"weight of {name}": (name,) for name in REMOVED}}
    reference: dict[str, float] = {}
    table = []
    for name in ("nothing", *HEURISTICS, *searches):
        if name in HEURISTICS:
            with changed(HEURISTICS[name]):
                by_group = mean_k(sessions)
        else:
            weights = merging.WEIGHTS
            if name in searches:
                weights = fit_weights(
                    fitted, every, searches[name], generations=GENERATIONS
                )
            with changed((merging, "WEIGHTS", weights)):
                by_group = merged_k(sessions, proposals)
        if name in ("nothing", REFITTED):
            reference = by_group
        worst = min(by_group, key=lambda group: by_group[group] - reference[group])
        loss = reference[worst] - by_group[worst]
        difference = overall(by_group) - overall(reference)
        table.append(
            (
                name,
                worst if loss > 0.0 else "",
                f"{overall(by_group):.4f}",
                f"{difference:+.4f}",
                f"{loss:.4f}",
            )
        )
        progress()
    head = ("removed", "group that loses most", "K", "difference", "loss there")
    return Table(head, tuple(table), 2)


REFITTED = "all, weights searched again"

REMOVED = (*MEASUREMENTS, "ambiguity")
"""Parts of the log odds that are removed in turn."""

N_ABLATIONS = 2 + len(HEURISTICS) + len(REMOVED)
