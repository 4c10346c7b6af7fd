"""Files that are read when a path is given: itself, those inside it, those it names.

A folder holds recordings or tables, and a table names other files. Outputs are compared
with all of these files, so that none is replaced by a result.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_TABLES = {
    *("wav.scp", "segments", "utt2spk", "spk2utt"),
    *("reco2dur", "reco2num_spk", "spk2gender"),
}
_NAMING = {".scp", ".lst", ".list", ".flist", ".toml"}
_WORD = re.compile(r"[^\s\"'|]+")
_PLACE = re.compile(r"(:[0-9]+)?(\[[^\]]*\])?$")  # of a vector within an archive


def input_files(sources: Iterable[str | Path | None]) -> Iterator[Path]:
    """Give the files that may be read for some paths, and perhaps a few more.

    Parameters
    ----------
    sources : iterable of str, Path or None
        Files, folders of recordings, data directories, tables and lists of files,
        patterns, descriptions of networks. None and missing files are skipped.

    Yields
    ------
    path : Path
        Names of files; words of a table that name no file are among them.
    """
    for source in sources:
        if source is None:
            continue
        path = Path(source)
        if path.is_dir():
            files = [file for file in path.iterdir() if _is_read_from_folder(file)]
        elif path.exists():
            files = [path]
        else:
            files = [Path(m) for m in glob.glob(str(path), recursive=True)]  # noqa: PTH207
        for file in files:
            yield file
            yield from _beside(file)
            if file.suffix.lower() in _NAMING and file.is_file():
                yield from _named_in(file)


def _is_read_from_folder(file: Path) -> bool:
    from sms_diar.io.audio.files import AUDIO_SUFFIXES  # noqa: PLC0415 takes a while

    return file.name in _TABLES or file.suffix.lower() in AUDIO_SUFFIXES


def _beside(file: Path) -> Iterator[Path]:
    """Files that describe a file of embeddings."""
    yield file.with_name(f"{file.name}.json")
    if file.suffix.lower() == ".npy":
        ids = file.with_suffix(".ids")
        yield ids if ids.exists() else file.with_suffix(".txt")


def _named_in(table: Path) -> Iterator[Path]:
    """Words of each line, and all of it after the first: names may hold blanks."""
    for line in table.read_text(encoding="utf-8", errors="replace").splitlines():
        rest = line.strip().partition(" ")[2].strip()
        for word in {rest, *_WORD.findall(line)}:
            name = _PLACE.sub("", word)
            yield from (Path(name), table.parent / name)
