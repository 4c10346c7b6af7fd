"""Search for the SPHERE files and answer keys of NIST SRE 2008, as LDC ships it.

The conversations of the condition short2-short3 are on LDC2011S05 and LDC2011S07
(training) and LDC2011S08 (test), two-channel SPHERE files named after segments:
``data/train/data/short2/*.sph`` and ``data/test/data/short3/*.sph``. The keys came
with the test set, in ``data/keys``, or from NIST. Files are searched by name in all
folders, so it does not matter how discs were copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io.audio.files import AudioFile
from sms_diar.types import Problem

from .keys import (
    Selection,
    Side,
    read_model_key,
    read_trial_key,
    select_sides,
)

TRIAL_KEY = "NIST_SRE08_short2-short3.trial.key"
MODEL_KEY = "NIST_SRE08_short2.model.key"

_SHOWN = 5


@dataclass(frozen=True)
class Corpus:
    """Requested sides that exist."""

    selection: Selection  # speakers of the usable sides
    audio: Mapping[Side, Path]
    durations: Mapping[Side, float]  # in seconds
    missing: tuple[str, ...]  # missing or unreadable files, if they are allowed


def find_sphere(folders: Sequence[str | Path]) -> dict[str, Path]:
    """Find SPHERE files in folders, at any depth, by name without suffix.

    If a name occurs twice, the first folder is used.
    """
    files: dict[str, Path] = {}
    for folder in folders:
        found = (p for p in Path(folder).rglob("*") if p.suffix.lower() == ".sph")
        for path in sorted(found):
            files.setdefault(path.stem, path)
    return files


def find_keys(folders: Sequence[str | Path], name: str) -> Path | None:
    """Return the first file of that name in the folders, at any depth."""
    for folder in folders:
        path = next(iter(sorted(Path(folder).rglob(name))), None)
        if path is not None:
            return path
    return None


def collect_corpus(
    folders: Sequence[str | Path],
    *,
    keys: str | Path | None = None,
    condition: int = 7,
    gender: str = "m",
    sides: str = "both",
    allow_missing: bool = False,
) -> Corpus:
    """Read the keys and find the audio.

    `keys` is the folder of NIST's keys, if they are not in one of the others;
    `condition`, `gender` and `sides` are passed to `select_sides`. Sides without
    readable audio are skipped if `allow_missing`; the keys must always exist. Raises
    `MissingFileError` with a line for every kind of file that is missing.
    """
    places = [*([keys] if keys else []), *folders]
    missing = [f"folder {place}" for place in places if not Path(place).is_dir()]
    files = {name: find_keys(places, name) for name in (TRIAL_KEY, MODEL_KEY)}
    missing += [
        f"{name}, looked for in {_some([str(place) for place in places])} and below"
        for name, path in files.items()
        if path is None
    ]
    audio = find_sphere(folders)
    if not audio:
        missing.append(
            f"SPHERE files (*.sph), looked for in "
            f"{_some([str(folder) for folder in folders])} and below"
        )
    trial_key, model_key = files[TRIAL_KEY], files[MODEL_KEY]
    if trial_key is None or model_key is None:
        raise MissingFileError(_complaint(missing))
    models, trials = read_model_key(model_key), list(read_trial_key(trial_key))
    unknown = sorted({trial.model for trial in trials} - set(models))
    if unknown:
        missing.append(f"{len(unknown)} models in {model_key}: {_some(unknown)}")
    known = [trial for trial in trials if trial.model in models]
    selection = select_sides(
        models, known, condition=condition, gender=gender, sides=sides
    )
    if not selection.speakers:
        raise DataFormatError(
            f"no trial of condition {condition} with gender {gender!r} whose sides are "
            f"asked for",
            path=trial_key,
        )
    durations, problems = _measure(selection, audio)
    missing += problems
    if missing and not (allow_missing and durations):
        raise MissingFileError(_complaint(missing))
    return Corpus(
        _narrowed(selection, durations),
        {side: audio[side.segment] for side in durations},
        durations,
        tuple(missing),
    )


def _measure(
    selection: Selection, audio: Mapping[str, Path]
) -> tuple[dict[Side, float], list[str]]:
    """Return the seconds of readable sides, and the problems of others."""
    durations: dict[Side, float] = {}
    absent: dict[str, None] = {}
    broken: dict[str, str] = {}
    for side in selection.speakers:
        if side.segment not in audio:
            absent[f"{side.segment}.sph"] = None
            continue
        try:
            with AudioFile(audio[side.segment], channel=side.channel) as file:
                durations[side] = file.duration
        except Exception as error:  # noqa: BLE001 - of one side, not of all
            broken[side.id] = Problem.of(error).text
    n_files = len({side.segment for side in selection.speakers})
    problems = []
    if absent:
        problems.append(
            f"{len(absent)} of {n_files} SPHERE files: {_some(list(absent))}"
        )
    if broken:
        problems.append(
            f"{len(broken)} of {len(selection.speakers)} sides cannot be read: "
            f"{_some(list(broken))}; the first because {next(iter(broken.values()))}"
        )
    return durations, problems


def _narrowed(selection: Selection, durations: Mapping[Side, float]) -> Selection:
    speakers = {s: name for s, name in selection.speakers.items() if s in durations}
    left = set(speakers.values())
    genders = {name: g for name, g in selection.genders.items() if name in left}
    return Selection(speakers, genders)


def _complaint(missing: Sequence[str]) -> str:
    lines = "".join(f"\n  - {line}" for line in missing)
    return f"SRE 2008: not all pieces are there; missing:{lines}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "no folder") + more
