"""Sides of telephone conversations on disc: search, check, and data directories.

LDC ships SPHERE files with one side of a conversation on each channel. Files are
searched by name in all folders, so it does not matter how discs were copied. Everything
that is missing is reported at once, before any work.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io.audio.files import AudioFile
from sms_diar.io.audio.recording import AudioSource
from sms_diar.io.kaldi.tables import (
    write_reco2dur,
    write_spk2gender,
    write_spk2utt,
    write_utt2spk,
    write_wav_scp,
)
from sms_diar.types import Problem

from .nist import (
    EVALUATIONS,
    Model,
    Selection,
    Side,
    Trial,
    chosen_trials,
    read_models,
    read_trial_key,
    select_sides,
    with_column,
)

AUDIO = (".sph", ".wav", ".flac")

_SHOWN = 5

Folders = Sequence[str | Path]


@dataclass(frozen=True)
class Corpus:
    """Requested sides that exist."""

    selection: Selection  # speakers of the usable sides
    models: Mapping[str, Model]  # models of the usable trials
    trials: Sequence[Trial]  # trials whose sides are usable, if requested
    audio: Mapping[Side, Path]
    durations: Mapping[Side, float]  # in seconds
    missing: tuple[str, ...]  # missing or unreadable files, if they are allowed


def list_files(folders: Folders) -> list[Path]:
    """List all files in folders, at any depth, folder by folder."""
    return [
        path
        for folder in folders
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    ]


def find_audio(files: Sequence[Path]) -> dict[str, list[Path]]:
    """Return the audio files by name without suffix, in the order of `files`."""
    audio: dict[str, list[Path]] = {}
    for path in files:
        if path.suffix.lower() in AUDIO:
            audio.setdefault(path.stem, []).append(path)
    return audio


def find_keys(files: Sequence[Path], pattern: str) -> list[Path]:
    """Return the files whose names match a pattern, the first one of each name."""
    named: dict[str, Path] = {}
    for path in files:
        if fnmatchcase(path.name, pattern):
            named.setdefault(path.name, path)
    return list(named.values())


def collect_corpus(
    folders: Folders,
    *,
    year: int = 2008,
    keys: str | Path | None = None,
    condition: int = 0,
    gender: str = "",
    where: Sequence[str] = (),
    sides: str = "both",
    with_trials: bool = False,
    allow_missing: bool = False,
) -> Corpus:
    """Read the keys of an evaluation and find its audio.

    `keys` is the folder of NIST's keys, if they are not in one of the others;
    `condition`, `gender` and `where` are passed to `chosen_trials`, `sides` to
    `select_sides`. Needed are the sides of known speakers and, `with_trials`, the sides
    of all selected trials. Sides without readable audio are skipped if `allow_missing`;
    the keys must always exist. Raises `MissingFileError` with a line for everything
    that is missing.
    """
    layout = EVALUATIONS[year]
    places = [*folders, *([keys] if keys else [])]
    missing = [f"folder {place}" for place in places if not Path(place).is_dir()]
    files = list_files(places)
    key_files = {name: find_keys(files, name) for name in layout.files}
    lacking = [name for name, paths in key_files.items() if not paths]
    where_to = f"looked for in {some([str(place) for place in places])} and below"
    missing += [f"{name}, {where_to}" for name in lacking]
    audio = find_audio(files)
    if not audio:
        missing.append(f"SPHERE files (*.sph), {where_to}")
    if lacking:
        raise MissingFileError(complaint(layout.title, missing))
    models = read_models(key_files[layout.models], layout)
    if layout.speakers:
        models = with_column(models, key_files[layout.speakers], "speaker")
    if layout.genders:
        models = with_column(models, key_files[layout.genders], "gender")
    trial_key = key_files[layout.trial_key][0]
    unknown: dict[str, None] = {}
    trials = chosen_trials(
        _noting(read_trial_key(trial_key, layout), models, unknown),
        models,
        layout,
        condition=condition,
        gender=gender,
        where=where,
    )
    if unknown and not layout.speakers:
        missing.append(
            f"{len(unknown)} models in {key_files[layout.models][0]}: "
            f"{some(sorted(unknown))}"
        )
    selection = select_sides(models, trials, sides=sides)
    if not selection.speakers:
        raise DataFormatError(
            f"no trial of condition {condition or layout.condition} with gender "
            f"{gender or layout.gender!r} has sides of the selected kind",
            path=trial_key,
        )
    needed = dict.fromkeys(selection.speakers)
    hints: dict[Side, str] = {}
    for trial in trials:
        model = models[trial.model]
        hints |= dict(zip(model.sides, model.paths, strict=True))
        hints[trial.side] = trial.path
        if with_trials:
            needed |= dict.fromkeys((*model.sides, trial.side))
    located = locate(list(needed), audio, hints)
    durations, problems = measure(list(needed), located)
    missing += problems
    if missing and not (allow_missing and durations):
        raise MissingFileError(complaint(layout.title, missing))
    usable = {
        name: replace(model, sides=tuple(s for s in model.sides if s in durations))
        for name, model in models.items()
    }
    scored = [
        trial
        for trial in trials
        if with_trials and trial.side in durations and usable[trial.model].sides
    ]
    return Corpus(
        _narrowed(selection, durations),
        usable,
        scored,
        {side: located[side] for side in durations},
        durations,
        tuple(missing),
    )


def locate(
    sides: Sequence[Side],
    audio: Mapping[str, Sequence[Path]],
    hints: Mapping[Side, str] | None = None,
) -> dict[Side, Path]:
    """Return the file of each side that has one.

    If several files have its name, the file is taken whose path ends like the path in
    the key (`hints`), or else the first one.
    """
    located = {}
    for side in sides:
        paths = audio.get(side.segment, ())
        if paths:
            tail = PurePosixPath((hints or {}).get(side, "")).parts
            located[side] = max(paths, key=lambda path: _common_tail(path.parts, tail))
    return located


def measure(
    sides: Sequence[Side], audio: Mapping[Side, Path]
) -> tuple[dict[Side, float], list[str]]:
    """Return the seconds of readable sides, and a line for each kind of problem."""
    durations: dict[Side, float] = {}
    absent: dict[str, None] = {}
    broken: dict[str, str] = {}
    for side in sides:
        if side not in audio:
            absent[f"{side.segment}.sph"] = None
            continue
        try:
            with AudioFile(audio[side], channel=side.channel) as file:
                durations[side] = file.duration
        except Exception as error:  # noqa: BLE001 - of one side, not of all
            broken[side.id] = Problem.of(error).text
    problems = []
    if absent:
        n_files = len({side.segment for side in sides})
        problems.append(f"{len(absent)} of {n_files} SPHERE files: {some(absent)}")
    if broken:
        problems.append(
            f"{len(broken)} of {len(sides)} sides cannot be read: "
            f"{some(broken)}; the first because {next(iter(broken.values()))}"
        )
    return durations, problems


def write_sides(
    folder: Path,
    names: Mapping[str, Side],
    audio: Mapping[Side, Path],
    durations: Mapping[Side, float],
    speakers: Mapping[str, str] | None = None,
    genders: Mapping[str, str] | None = None,
) -> None:
    """Write a data directory in which each side is a recording.

    `names` are the ids of the recordings and `speakers` their speakers, if known.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_wav_scp(
        folder / "wav.scp",
        {name: source_of(audio[side], side) for name, side in names.items()},
    )
    write_reco2dur(
        folder / "reco2dur", {name: durations[side] for name, side in names.items()}
    )
    if speakers is not None:
        write_utt2spk(folder / "utt2spk", speakers)
        write_spk2utt(folder / "spk2utt", speakers)
    if genders:
        write_spk2gender(folder / "spk2gender", dict(sorted(genders.items())))


def source_of(file: Path, side: Side) -> AudioSource:
    """Return a path, or a command as in Kaldi's recipes, which is never run here."""
    if file.suffix.lower() != ".sph":
        return AudioSource(str(file.resolve()))
    place = shlex.quote(str(file.resolve()))
    return AudioSource(f"sph2pipe -f wav -p -c {side.channel} {place} |")


def complaint(title: str, missing: Sequence[str]) -> str:
    """Return the message that lists everything that is missing."""
    lines = "".join(f"\n  - {line}" for line in missing)
    return f"{title}: not all pieces are there; missing:{lines}"


def some(names: Sequence[str] | Mapping[str, object]) -> str:
    """Format the first few names and the number of others."""
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return (", ".join(listed[:_SHOWN]) or "no folder") + more


def _noting(
    trials: Iterable[Trial], models: Mapping[str, Model], unknown: dict[str, None]
) -> Iterator[Trial]:
    """Yield the trials of known models; note the other models."""
    for trial in trials:
        if trial.model in models:
            yield trial
        else:
            unknown[trial.model] = None


def _common_tail(first: Sequence[str], second: Sequence[str]) -> int:
    """Count the equal components at the ends of two paths."""
    count = 0
    for left, right in zip(reversed(first), reversed(second), strict=False):
        if left != right:
            break
        count += 1
    return count


def _narrowed(selection: Selection, durations: Mapping[Side, float]) -> Selection:
    speakers = {s: name for s, name in selection.speakers.items() if s in durations}
    left = set(speakers.values())
    genders = {name: g for name, g in selection.genders.items() if name in left}
    return Selection(speakers, genders)
