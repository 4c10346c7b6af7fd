"""Input files of a command: its paths, files in folders, and files named in tables.

Outputs are compared with all of these files, so that no result replaces an input.
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
_MODELS = {
    *("final.ie", "final.ubm", "final.dubm", "delta_opts", "mfcc.conf", "vad.conf"),
    *("mean.vec", "transform.mat", "final.raw", "final.ext.raw", "extract.config"),
}
_NAMING = {".scp", ".lst", ".list", ".flist", ".toml"}
_WORD = re.compile(r"[^\s\"'|]+")
_OFFSET = re.compile(r"(:[0-9]+)?(\[[^\]]*\])?$")  # and range of a vector in an archive


def input_files(sources: Iterable[str | Path | None]) -> Iterator[Path]:
    """Yield all files that may be read for the given paths, possibly a few more.

    Sources are files, folders of recordings, data directories, tables, lists of
    files, patterns and descriptions of networks; None and missing files are
    skipped. Any word of a table is included, even if it is not a file.
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
    from sms_diar.io.audio.files import AUDIO_SUFFIXES  # noqa: PLC0415 slow

    return file.name in _TABLES | _MODELS or file.suffix.lower() in AUDIO_SUFFIXES


def _beside(file: Path) -> Iterator[Path]:
    """Yield the files that describe a file of embeddings."""
    yield file.with_name(f"{file.name}.json")
    if file.suffix.lower() == ".npy":
        ids = file.with_suffix(".ids")
        yield ids if ids.exists() else file.with_suffix(".txt")


def _named_in(table: Path) -> Iterator[Path]:
    """Yield the words of each line, and the rest after the first as one name."""
    for line in table.read_text(encoding="utf-8", errors="replace").splitlines():
        rest = line.strip().partition(" ")[2].strip()
        for word in {rest, *_WORD.findall(line)}:
            name = _OFFSET.sub("", word)
            yield from (Path(name), table.parent / name)
