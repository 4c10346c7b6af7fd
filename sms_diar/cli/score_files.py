"""Which files ``sms-diar score`` compares: REF HYP..., or -r REF... -s SYS...."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand


class ManyValues(TyperCommand):
    """A command whose -r and -s take all words up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give each of several values its own option, as the parser wants it."""
        found: list[str] = []
        option = None
        for place, word in enumerate(args):
            if word == "--":
                return list(super().parse_args(ctx, found + args[place:]))
            if word in ("-r", "--ref", "-s", "--sys"):
                option = word
                if place + 1 == len(args) or _is_option(args[place + 1]):
                    found.append(word)  # without a value, which the parser refuses
            elif _is_option(word):
                option = None
                found.append(word)
            else:
                found += [word] if option is None else [option, word]
        return list(super().parse_args(ctx, found))


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def sides_of(
    files: Sequence[str], ref: list[str], of_system: list[str]
) -> tuple[list[str], dict[str, list[str]]]:
    """Files of the reference, and of each system by its name."""
    if bool(ref) != bool(of_system):
        raise typer.BadParameter(
            "-r and -s go together: -r REF... -s SYS...",
            param_hint="-r" if ref else "-s",
        )
    if ref and files:
        raise typer.BadParameter(
            f"{files[0]!r} is neither behind -r nor behind -s", param_hint="REF HYP"
        )
    if not ref and len(files) < 2:
        raise typer.BadParameter(
            "a reference and at least one system are needed: REF HYP..., or -r REF... "
            "-s SYS...",
            param_hint="REF HYP",
        )
    if [*files, *ref, *of_system].count("-") > 1:
        raise typer.BadParameter("- (standard input) is given twice")
    if ref:
        return ref, {_short_names(of_system[:1])[0]: of_system}
    names = _short_names(files[1:])
    return [files[0]], {n: [f] for n, f in zip(names, files[1:], strict=True)}


def _short_names(paths: Sequence[str]) -> list[str]:
    """Names of systems: file names, or whole paths where these are not unique."""
    stems = [Path(path).stem or path for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    if len(set(paths)) < len(paths):
        raise typer.BadParameter("a system is given twice", param_hint="HYP")
    return list(paths)


def refuse_labels(
    reference: Sequence[str], hypotheses: Mapping[str, Sequence[str]]
) -> None:
    """Tell labels from turns, which cannot be compared."""
    from sms_diar.errors import DataFormatError
    from sms_diar.io.detect import is_label_table

    for path in (path for one in hypotheses.values() for path in one):
        if is_label_table(path):
            raise DataFormatError(
                f"this looks like labels (utt2spk) and not like turns, which "
                f"{reference[0]} holds; labels are scored against labels",
                path=path,
            )
