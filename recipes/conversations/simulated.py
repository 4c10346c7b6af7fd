"""Meetings simulated from read speech."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sms_diar._json import read_json, write_json
from sms_diar.errors import ConfigError, MissingFileError
from sms_diar.experiment.stages import StageRun
from sms_diar.features.vad import METHODS
from sms_diar.pipeline.simulate.api import simulate
from sms_diar.report.tables import Table

from .._common.corpora import corpora_folder
from .._common.digests import file_digest
from .corpus import Conversation, Place, existing
from .readers import read_folder

MEETINGS = "meetings.json"
TABLES = ("wav.scp", "segments", "utt2spk")


@dataclass(frozen=True)
class Meetings:
    """Simulated meetings.

    Parameters
    ----------
    sources : tuple of str
        Data directories: paths, or names below the folder of the corpora.
    speakers : tuple of int
        Numbers of speakers.
    overlap : tuple of float
        Shares of the speech time in which two people speak.
    seconds : float
        Length of a meeting.
    rt60 : float
        Reverberation time in seconds.
    snr : float
        Signal-to-noise ratio in dB.
    noise : str
        "pink" or "white".
    vad : str
        Detector of pauses in the speech of the sources: "energy" or "none".
    """

    sources: tuple[str, ...]
    speakers: tuple[int, ...]
    overlap: tuple[float, ...]
    seconds: float
    rt60: float
    snr: float
    noise: str
    vad: str

    def __post_init__(self) -> None:
        for name in ("sources", "speakers", "overlap"):
            if not getattr(self, name):
                raise ConfigError(f"'meetings.{name}' must not be empty")
        if self.vad not in METHODS:
            known = ", ".join(METHODS)
            raise ConfigError(
                f"'meetings.vad' must be one of {known}, got {self.vad!r}"
            )

    def folders(self) -> list[Path]:
        """Return the data directories, which must exist."""
        return [_source(name) for name in self.sources]

    def digest(self) -> dict[str, Any]:
        """Return everything that meetings depend on, except samples of the sources."""
        files = [
            file_digest(folder / table)
            for folder in self.folders()
            for table in TABLES
            if (folder / table).is_file()
        ]
        return {**asdict(self), "files": files}


def write_meetings(run: StageRun, meetings: Meetings, seed: int) -> None:
    """Simulate all meetings, each in a data directory, and write a record."""
    tasks: dict[str, dict[str, Any]] = {
        f"{source.name}-{speakers}-{round(100 * overlap):02d}": {
            "source": str(source),
            "folder": str(run.folder),
            "speakers": speakers,
            "overlap": overlap,
            "seconds": meetings.seconds,
            "rt60": meetings.rt60,
            "snr": meetings.snr,
            "noise": meetings.noise,
            "vad": meetings.vad,
            "seed": seed,
        }
        for source in meetings.folders()
        for speakers in meetings.speakers
        for overlap in meetings.overlap
    }
    made = run.map(
        make_meeting, {name: {"name": name, **task} for name, task in tasks.items()}
    )
    record = {
        made[name]["recording"]: {
            "source": Path(task["source"]).name,
            "speakers": task["speakers"],
            "overlap": task["overlap"],
            "notes": made[name]["notes"],
        }
        for name, task in tasks.items()
    }
    write_json(run.folder / MEETINGS, record)


def make_meeting(
    *,
    name: str,
    source: str,
    folder: str,
    speakers: int,
    overlap: float,
    seconds: float,
    rt60: float,
    snr: float,
    noise: str,
    vad: str,
    seed: int,
) -> dict[str, Any]:
    """Simulate one meeting; return its recording and notes."""
    target = Path(folder) / name
    shutil.rmtree(
        target, ignore_errors=True
    )  # left by an earlier run with other settings
    made = simulate(
        source,
        target,
        speakers=speakers,
        duration=seconds,
        overlap=overlap,
        rt60=rt60,
        snr=snr,
        noise=noise,
        vad=vad,
        prefix=name,
        format="flac",
        seed=seed,
    )
    [recording] = made.recordings
    return {"recording": recording.recording, "notes": list(made.notes)}


def read_simulated(place: Place) -> list[Conversation]:
    """Read meetings, each of which is a data directory with ``ref.rttm``."""
    existing(place.data, "a data directory of each meeting", "simulated")
    folders = sorted(path.parent for path in place.data.glob("*/ref.rttm"))
    found = [one for folder in folders for one in read_folder(Place(folder, folder))]
    names = place.wanted([one.recording for one in found], place.data)
    return [one for one in found if one.recording in names]


def read_meetings(folder: Path) -> dict[str, Any]:
    """Read the record of `write_meetings`."""
    record: dict[str, Any] = read_json(folder / MEETINGS)
    return record


def meeting_table(
    meetings: Mapping[str, Any], systems: Mapping[str, Any], shown: tuple[str, ...]
) -> Table:
    """Return DER in per cent of each system by source, speakers and overlap."""
    overlaps = sorted({one["overlap"] for one in meetings.values()})
    cells: dict[tuple[str, int], dict[float, str]] = {}
    for name, one in meetings.items():
        ders = [
            systems[system]["recordings"].get(name, {}).get("der") for system in shown
        ]
        text = " / ".join("-" if der is None else f"{100.0 * der:.1f}" for der in ders)
        cells.setdefault((one["source"], one["speakers"]), {})[one["overlap"]] = text
    rows = tuple(
        (source, str(speakers), *(found.get(overlap, "-") for overlap in overlaps))
        for (source, speakers), found in sorted(cells.items())
    )
    heads = ("source", "speakers", *(f"{overlap:.0%} overlap" for overlap in overlaps))
    return Table(heads, rows)


def _source(name: str) -> Path:
    folder = Path(name) if Path(name).is_dir() else corpora_folder() / name
    if not (folder / "utt2spk").is_file():
        raise MissingFileError(
            f"{folder}: no data directory with utt2spk; 'meetings.sources' names "
            f"directories, or folders below that of the corpora"
        )
    return folder.resolve()
