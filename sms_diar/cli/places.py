"""Detect swapped input files early."""

from __future__ import annotations

from pathlib import Path

_OPTIONS = {
    "plda": "--plda",
    "model": "--plda",
    "transform": "--transform",
    "segments": "--segments",
}


def check_places(
    embeddings: str, plda: Path | None, transform: Path | None, segments: Path | None
) -> None:
    """Refuse files whose content does not fit their option."""
    if embeddings != "-":
        _check(Path(embeddings), "embeddings", ("embeddings",))
    _check(plda, "a PLDA model", ("plda", "model"))
    _check(transform, "a transform", ("transform",))
    _check(segments, "a segments table", ("segments",))


def _check(path: Path | None, expected: str, kinds: tuple[str, ...]) -> None:
    if path is None or not path.is_file():
        return
    from sms_diar.errors import DataFormatError
    from sms_diar.io.detect import KINDS, kind_of

    kind = kind_of(path)
    if kind is None or kind in kinds:
        return
    if kind in _OPTIONS:
        remedy = f"this is {KINDS[kind]}: {_OPTIONS[kind]}"
    elif kind == "audio":
        remedy = "this is a recording: sms-diar diarize"
    else:
        remedy = f"this looks like {KINDS[kind]}"
    raise DataFormatError(f"{remedy} (expected here: {expected})", path=path)
