"""Readers of corpora, one function per layout.

Each takes a `Place` and returns its conversations; errors say what is missing where.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sms_diar.errors import DataFormatError, MissingFileError
from sms_diar.io.audio.recording import AudioSource, audio_path
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.io.turns.uem import read_uem

from .corpus import (
    AUDIO_SUFFIXES,
    Conversation,
    Place,
    audio_files,
    conversations_of,
    existing,
    with_regions,
)

REFERENCES = ("ref.rttm", "fullref.rttm")
"""RTTM files of all recordings of a folder; the second is NIST's for CALLHOME."""

_MSDWILD_SPLITS = ("few.val", "many.val", "few.train", "all")


def read_folder(place: Place) -> list[Conversation]:
    """Read recordings and RTTM of a folder, or a Kaldi data directory with a reference.

    Audio is in the folder or in ``audio``, ``wav`` or ``flac`` below it. Turns are in
    ``ref.rttm``, ``fullref.rttm``, or other RTTM files there or in ``rttm`` or
    ``rttms``. Regions, if any, are in UEM files there or in ``uem`` or ``uems``.
    """
    existing(place.data, "recordings and RTTM", "folder")
    table = place.data / "wav.scp"
    if table.is_file():
        files: dict[str, Path | AudioSource] = {**_kaldi_sources(place.data)}
        where = table
    else:
        where = _audio_folder(place.audio, ("audio", "wav", "flac"))
        files = {**audio_files(where)}
    names = place.wanted(files, where)
    reference = _reference(place.data)
    found = conversations_of(names, files, reference, audio=where)
    uems = _uems(place.data) if place.use_uem else []
    return with_regions(found, uems, path=uems[0].parent) if uems else found


def read_ami(place: Place) -> list[Conversation]:
    """Read AMI in the setup of BUT.

    Files are ``lists/SPLIT.meetings.txt``, ``only_words/rttms/SPLIT/MEETING.rttm``,
    ``uems/SPLIT/MEETING.uem`` and ``MEETING/audio/MEETING.MICROPHONE.wav``, the last
    perhaps in a folder ``amicorpus``.
    """
    listed = place.data / "lists" / f"{place.split}.meetings.txt"
    if not listed.is_file():
        raise MissingFileError(
            f"{listed}: no such file; layout 'ami' has lists, only_words and uems of "
            f"the AMI diarization setup in 'data'"
        )
    names = place.wanted(listed.read_text(encoding="utf-8").split(), listed)
    rttms = existing(
        place.data / "only_words" / "rttms" / place.split, "an RTTM per meeting", "ami"
    )
    files: dict[str, Path] = {}
    for name in names:
        wav = f"{name}.{place.microphone}.wav"
        places = (
            place.audio / name / "audio" / wav,
            place.audio / "amicorpus" / name / "audio" / wav,
            place.audio / wav,
        )
        path = next((path for path in places if path.is_file()), None)
        if path is not None:
            files[name] = path
    where = place.audio / f"MEETING/audio/MEETING.{place.microphone}.wav"
    found = conversations_of(names, files, _each(rttms, names, ".rttm"), audio=where)
    if not place.use_uem:
        return found
    uems = existing(place.data / "uems" / place.split, "a UEM per meeting", "ami")
    return with_regions(found, _each(uems, names, ".uem"), path=uems)


def read_voxconverse(place: Place) -> list[Conversation]:
    """Read VoxConverse: ``SPLIT/NAME.rttm``, and ``NAME.wav`` as the archives unpack.

    Audio is in ``voxconverse_SPLIT_wav/audio``, ``voxconverse_SPLIT_wav``,
    ``SPLIT/audio``, ``SPLIT`` or ``audio``.
    """
    rttms = existing(place.data / place.split, "RTTM in dev and test", "voxconverse")
    names = place.wanted(_names(rttms, ".rttm"), rttms)
    archive = f"voxconverse_{place.split}_wav"
    folder = _audio_folder(
        place.audio,
        (f"{archive}/audio", archive, f"{place.split}/audio", place.split, "audio"),
    )
    return conversations_of(
        names, audio_files(folder), _each(rttms, names, ".rttm"), audio=folder
    )


def read_dihard(place: Place) -> list[Conversation]:
    """Read DIHARD as LDC ships it: ``data/flac``, ``data/rttm``, ``data/uem``.

    DIHARD II has them in ``data/single_channel``. With the splits ``core`` and
    ``full`` of DIHARD III, recordings and regions come from
    ``data/uem_scoring/SPLIT/all.uem``.
    """
    base = place.data / "data"
    if (base / "single_channel").is_dir():
        base = base / "single_channel"
    flac = existing(base / "flac", "data/flac, data/rttm and data/uem", "dihard")
    rttms = existing(base / "rttm", "data/flac, data/rttm and data/uem", "dihard")
    files, uems = audio_files(flac), base / "uem"
    if place.split:
        uems = base / "uem_scoring" / place.split
        existing(uems, "scoring regions of a split", "dihard")
        files = _listed(files, uems / "all.uem")
    names = place.wanted(files, flac)
    if not names:
        raise MissingFileError(f"{flac}: no audio files in this folder")
    found = conversations_of(names, files, _each(rttms, names, ".rttm"), audio=flac)
    if not place.use_uem:
        return found
    existing(uems, "data/flac, data/rttm and data/uem", "dihard")
    # DIHARD II has regions per domain and for all domains.
    every = uems / "all.uem"
    regions = [every] if every.is_file() else _each(uems, names, ".uem")
    return with_regions(found, regions, path=uems)


def read_msdwild(place: Place) -> list[Conversation]:
    """Read MSDWild: RTTM of each split or clip in ``rttms``, and ``wav/NAME.wav``."""
    folder = existing(place.data / "rttms", "few.val.rttm and others", "msdwild")
    whole = folder / f"{place.split}.rttm"
    named = any((folder / f"{split}.rttm").is_file() for split in _MSDWILD_SPLITS)
    if named and not whole.is_file():
        raise MissingFileError(f"{whole}: no such file; 'split' names the RTTM")
    reference = [whole] if named else sorted(folder.glob("*.rttm"))
    if not reference:
        raise MissingFileError(f"{folder}: no RTTM files in this folder")
    wav = _audio_folder(place.audio, ("wav",))
    recordings = _recordings(whole) if named else _names(folder, ".rttm")
    names = place.wanted(recordings, reference[0] if named else folder)
    return conversations_of(names, audio_files(wav), reference, audio=wav)


def _kaldi_sources(folder: Path) -> dict[str, AudioSource]:
    """Return the audio of a data directory; paths of files are made absolute."""
    sources = {}
    for name, source in DataDir(folder).audio.items():
        path = None
        if not (source.is_command or source.is_archive):
            path = audio_path(source, folder)
            if path is None:
                raise MissingFileError(
                    f"{folder / 'wav.scp'}: no audio file {source.text!r} for "
                    f"{name!r}, neither in the working directory nor in {folder}"
                )
        sources[name] = source if path is None else AudioSource(str(path.resolve()))
    return sources


def _audio_folder(folder: Path, inside: Iterable[str]) -> Path:
    """Return the first folder with audio among those `inside` and the folder itself."""
    candidates = [*(folder / name for name in inside), folder]
    for candidate in candidates:
        if candidate.is_dir() and audio_files(candidate):
            return candidate
    raise MissingFileError(
        f"{folder}: no audio files ({', '.join(AUDIO_SUFFIXES)}) in this folder or in "
        f"{', '.join(inside)} below it; the setting 'audio' names their folder"
    )


def _reference(folder: Path) -> Path | list[Path]:
    for name in REFERENCES:
        if (folder / name).is_file():
            return folder / name
    for inside in (folder, folder / "rttm", folder / "rttms"):
        files = sorted(inside.glob("*.rttm"))
        if files:
            return files
    raise MissingFileError(
        f"{folder}: no ref.rttm and no other RTTM files in this folder or in rttm "
        f"below it"
    )


def _uems(folder: Path) -> list[Path]:
    for inside in (folder, folder / "uem", folder / "uems"):
        every = inside / "all.uem"
        files = [every] if every.is_file() else sorted(inside.glob("*.uem"))
        if files:
            return files
    return []


def _names(folder: Path, suffix: str) -> list[str]:
    names = [path.stem for path in folder.glob(f"*{suffix}")]
    if not names:
        raise MissingFileError(f"{folder}: no {suffix} files in this folder")
    return names


def _each(folder: Path, names: Iterable[str], suffix: str) -> list[Path]:
    """Return a file for each recording; all must exist."""
    files = [folder / f"{name}{suffix}" for name in names]
    for file in files:
        if not file.is_file():
            raise MissingFileError(f"{file}: no such file")
    return files


def _recordings(rttm: Path) -> set[str]:
    return {turn.segment.recording for turn in read_rttm(rttm)}


def _listed(files: dict[str, Path], uem: Path) -> dict[str, Path]:
    known = set(read_uem(uem).recordings)
    if not known & set(files):
        raise DataFormatError("lists none of the recordings in data/flac", path=uem)
    return {name: path for name, path in files.items() if name in known}
