"""Input files of ``sms-diar score``: REF HYP..., or -r REF... -s SYS...."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand


class ManyValues(TyperCommand):
    """Command whose -r and -s take all arguments up to the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each of its values, as the parser requires."""
        words: list[str] = []
        option = None
        for index, word in enumerate(args):
            if word == "--":
                return list(super().parse_args(ctx, words + args[index:]))
            if word in ("-r", "--ref", "-s", "--sys"):
                option = word
                if index + 1 == len(args) or _is_option(args[index + 1]):
                    words.append(word)  # the parser reports the missing value
            elif _is_option(word):
                option = None
                words.append(word)
            else:
                words += [word] if option is None else [option, word]
        return list(super().parse_args(ctx, words))


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def sides_of(
    files: Sequence[str], ref: list[str], of_system: list[str]
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the files of the reference, and the files of each system by name."""
    if bool(ref) != bool(of_system):
        raise typer.BadParameter(
            "-r and -s are required together: -r REF... -s SYS...",
            param_hint="-r" if ref else "-s",
        )
    if ref and files:
        raise typer.BadParameter(
            f"unexpected argument {files[0]!r}: list files after -r or -s",
            param_hint="REF HYP",
        )
    if not ref and len(files) < 2:
        raise typer.BadParameter(
            "a reference and at least one system are required: REF HYP..., or "
            "-r REF... -s SYS...",
            param_hint="REF HYP",
        )
    if [*files, *ref, *of_system].count("-") > 1:
        raise typer.BadParameter("- (standard input) is given twice")
    if ref:
        return ref, {_short_names(of_system[:1])[0]: of_system}
    names = _short_names(files[1:])
    return [files[0]], {n: [f] for n, f in zip(names, files[1:], strict=True)}


def _short_names(paths: Sequence[str]) -> list[str]:
    """Name systems by file name, or by path if file names are not unique."""
    stems = [Path(path).stem or path for path in paths]
    if len(set(stems)) == len(stems):
        return stems
    if len(set(paths)) < len(paths):
        raise typer.BadParameter("a system is given twice", param_hint="HYP")
    return list(paths)


def refuse_labels(
    reference: Sequence[str], hypotheses: Mapping[str, Sequence[str]]
) -> None:
    """Refuse label files, which cannot be compared with turns."""
    from sms_diar.errors import DataFormatError
    from sms_diar.io.detect import is_label_table

    for path in (path for paths in hypotheses.values() for path in paths):
        if is_label_table(path):
            raise DataFormatError(
                f"this looks like labels (utt2spk), but {reference[0]} contains turns; "
                f"labels are scored against labels",
                path=path,
            )
