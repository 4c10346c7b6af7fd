"""Training lists of telephone speech: SRE 2004 to 2006, Switchboard and Mixer 6.

Makes a Kaldi data directory of each corpus, a recording for each side of a call, so
that an i-vector model for the recipes `sre` and `callhome` is one command::

    sms-diar run telephone --set ldc=/ldc --set speaker_list=speaker_list
    sms-diar ivectors train exp/telephone/lists/*/ --backend -o ivectors.npz

See README.md for what must be where.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sms_diar._files import write_text
from sms_diar._json import read_json, write_json
from sms_diar.errors import ConfigError, MissingFileError
from sms_diar.experiment.stages import Stage, StageRun
from sms_diar.report.provenance import describe, stamp
from sms_diar.report.tables import Table

from .._common.extraction import tell_problems
from .._common.nist import Side
from .._common.sides import (
    complaint,
    find_audio,
    find_keys,
    list_files,
    locate,
    measure,
    some,
    write_sides,
)
from .layouts import (
    LAYOUTS,
    SPEAKER_LIST,
    Calls,
    Listed,
    Voice,
    read_calls,
    read_speaker_list,
)

RECORD = "lists.json"
_COLUMNS = ("corpus", "catalogue", "sides", "speakers", "men", "women", "hours")


@dataclass(frozen=True)
class Config:
    """Settings of the recipe; the defaults are in conf.toml.

    Parameters
    ----------
    ldc : tuple of str
        Folders that hold the corpora, in folders whose names begin with their catalogue
        numbers (LDC2006S44 and others), up to two levels below. If two of them hold a
        file of one name, the first folder counts.
    corpora : tuple of str
        Corpora to prepare: sre04, sre05, sre06 (NIST SRE), swb2p1, swb2p2, swb2p3
        (Switchboard-2 phases), swbc1, swbc2 (Switchboard Cellular), mixer6 (its calls).
    speaker_list : str
        File speaker_list of openslr.org/15, which has the speakers of the SREs; empty:
        searched in `ldc`.
    allow_missing : bool
        Continue without files that are missing or unreadable.
    """

    ldc: tuple[str, ...]
    corpora: tuple[str, ...]
    speaker_list: str
    allow_missing: bool

    def __post_init__(self) -> None:
        if not self.ldc:
            raise ConfigError("'ldc' must name the folders of the corpora, got none")
        unknown = [name for name in self.corpora if name not in LAYOUTS]
        if unknown or not self.corpora:
            raise ConfigError(
                f"'corpora' must be some of {', '.join(LAYOUTS)}, got "
                f"{', '.join(self.corpora) or 'none'}"
            )


@dataclass(frozen=True)
class Sides:
    """Readable sides of a corpus."""

    voices: Sequence[Voice]
    audio: Mapping[Side, Path]
    durations: Mapping[Side, float]


def stages(config: Config) -> list[Stage]:
    """Declare the stages."""

    def lists(run: StageRun) -> None:
        write_lists(run, config)

    def report(run: StageRun) -> None:
        write_report(run, asdict(config))

    return [
        Stage("lists", lists, asdict(config)),
        Stage("report", report, {"config": asdict(config)}, after=("lists",)),
    ]


def write_lists(run: StageRun, config: Config) -> None:
    """Check all corpora, and then write a data directory of each."""
    collected: dict[str, Sides] = {}
    missing: list[str] = []
    with run.progress.track("corpora", len(config.corpora)) as advance:
        for name in config.corpora:
            collected[name], problems = collect(name, config)
            missing += [f"{LAYOUTS[name].title}: {line}" for line in problems]
            advance()
    if missing and not config.allow_missing:
        raise MissingFileError(complaint("telephone speech", missing))
    if not any(sides.voices for sides in collected.values()):
        raise MissingFileError(complaint("telephone speech", missing or ["all sides"]))
    records = {}
    for name in LAYOUTS:  # an earlier run may have written more of them
        shutil.rmtree(run.folder / name, ignore_errors=True)
    for name, sides in collected.items():
        if not sides.voices:
            continue
        ids = {
            f"{v.speaker}-{name}-{v.side.id}": v
            for v in sorted(sides.voices, key=lambda voice: (voice.speaker, voice.side))
        }
        genders = {v.speaker: v.gender for v in ids.values() if v.gender}
        write_sides(
            run.folder / name,
            {key: voice.side for key, voice in ids.items()},
            sides.audio,
            sides.durations,
            {key: voice.speaker for key, voice in ids.items()},
            genders,
        )
        hours = sum(sides.durations[v.side] for v in ids.values()) / 3600.0
        records[name] = {
            "title": LAYOUTS[name].title,
            "catalogue": list(LAYOUTS[name].catalogue),
            "sides": len(ids),
            "speakers": len({v.speaker for v in ids.values()}),
            "men": sum(gender == "m" for gender in genders.values()),
            "women": sum(gender == "f" for gender in genders.values()),
            "hours": hours,
        }
    write_json(run.folder / RECORD, {"corpora": records, "missing": missing})
    tell_problems(missing, run.progress)


def collect(name: str, config: Config) -> tuple[Sides, list[str]]:
    """Find the readable sides of a corpus, and a line for everything missing."""
    layout = LAYOUTS[name]
    folders = {number: _folder(config.ldc, number) for number in layout.catalogue}
    missing = [
        f"folder {number}, looked for in {some(config.ldc)}, two levels deep"
        for number, folder in folders.items()
        if folder is None
    ]
    files = list_files([folder for folder in folders.values() if folder is not None])
    try:
        voices = _voices(layout, files, config)
    except MissingFileError as error:
        missing.append(str(error))
        voices = []
    audio = find_audio(files)
    if layout.name_part:
        audio = {
            parts[layout.name_part - 1]: paths
            for stem, paths in audio.items()
            if len(parts := stem.split("_")) >= layout.name_part
        }
    owner: dict[Side, Voice] = {}
    contradicted: dict[str, None] = {}
    for voice in voices:
        if owner.setdefault(voice.side, voice).speaker != voice.speaker:
            contradicted[voice.side.id] = None
    if contradicted:
        missing.append(
            f"one speaker for each side: {some(contradicted)} have two; the first is "
            f"taken"
        )
    located = locate(list(owner), audio)
    durations, problems = measure(list(owner), located)
    usable = [voice for side, voice in owner.items() if side in durations]
    return Sides(usable, located, durations), missing + problems


def _voices(layout: Calls | Listed, files: list[Path], config: Config) -> list[Voice]:
    if isinstance(layout, Listed):
        path = Path(config.speaker_list)
        if not config.speaker_list:
            top = [p for folder in config.ldc for p in Path(folder).glob(SPEAKER_LIST)]
            path = top[0] if top else path
        if not path.is_file():
            raise MissingFileError(
                f"{SPEAKER_LIST} of openslr.org/15; the setting 'speaker_list' names it"
            )
        return list(read_speaker_list(path, layout.key))
    paths = {table: find_keys(files, table) for table in layout.files}
    lacking = [table for table, matches in paths.items() if not matches]
    if lacking:
        raise MissingFileError(f"tables {', '.join(lacking)}")
    return list(read_calls({t: files[0] for t, files in paths.items()}, layout))


def _folder(roots: Sequence[str], number: str) -> Path | None:
    """Return the folder of a catalogue number."""
    for root in map(Path, roots):
        for path in (root, *sorted(root.glob("*")), *sorted(root.glob("*/*"))):
            if path.name.upper().startswith(number) and path.is_dir():
                return path
    return None


def write_report(run: StageRun, settings: Mapping[str, Any]) -> None:
    """Write the numbers of each corpus and the command that trains a model."""
    lists = run.before["lists"]
    record = read_json(lists / RECORD)
    rows = [
        (
            name,
            ", ".join(entry["catalogue"]),
            *(str(entry[key]) for key in _COLUMNS[2:-1]),
            f"{entry['hours']:.1f}",
        )
        for name, entry in record["corpora"].items()
    ]
    table = Table(_COLUMNS, tuple(rows), n_left=2)
    results = {"stamp": stamp(seed=None, settings=settings), **record}
    folders = " ".join(str(lists / name) for name in record["corpora"])
    command = f"sms-diar ivectors train {folders} --backend -o ivectors.npz"
    missing = "".join(f"- missing: {line}\n" for line in record["missing"])
    write_json(run.folder / "results.json", results)
    write_text(
        run.folder / "report.md",
        f"# Training lists of telephone speech\n\n{describe(results['stamp'])}.\n\n"
        f"{table.markdown()}\n{missing}\nTrain with:\n\n```sh\n{command}\n```\n",
    )
    write_text(
        run.folder / "summary.txt", f"{table.plain()}\nTrain with:\n\n{command}\n"
    )
