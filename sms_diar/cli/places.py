"""Files in each other's place are recognised before any work."""

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
    """Refuse files that look like something else than their option wants."""
    if embeddings != "-":
        _check(Path(embeddings), "embeddings", ("embeddings",))
    _check(plda, "a PLDA model", ("plda", "model"))
    _check(transform, "a transform", ("transform",))
    _check(segments, "a segments table", ("segments",))


def _check(path: Path | None, wanted: str, kinds: tuple[str, ...]) -> None:
    if path is None or not path.is_file():
        return
    from sms_diar.errors import DataFormatError
    from sms_diar.io.detect import KINDS, kind_of

    found = kind_of(path)
    if found is None or found in kinds:
        return
    if found in _OPTIONS:
        remedy = f"this is {KINDS[found]}: {_OPTIONS[found]}"
    elif found == "audio":
        remedy = "this is a recording: sms-diar diarize"
    else:
        remedy = f"this looks like {KINDS[found]}"
    raise DataFormatError(f"{remedy} (expected here: {wanted})", path=path)
