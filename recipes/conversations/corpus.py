"""Conversations of a corpus, and functions that readers of layouts share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sms_diar.errors import ConfigError, DataFormatError, MissingFileError
from sms_diar.io.audio.recording import AudioSource
from sms_diar.io.turns.files import read_annotation
from sms_diar.io.turns.uem import read_uem
from sms_diar.timeline.regions import regions_of
from sms_diar.types import Segment, Turn

AUDIO_SUFFIXES = (".flac", ".ogg", ".sph", ".wav")

_SHOWN = 3


@dataclass(frozen=True)
class Conversation:
    """A recording and its reference.

    Without scored regions, scoring is from the first to the last boundary.
    """

    recording: str  # the name that the turns have
    audio: AudioSource  # an absolute path, or a command of a wav.scp
    turns: tuple[Turn, ...]  # at least one
    regions: tuple[Segment, ...] | None = None

    @property
    def n_speakers(self) -> int:
        """True number of speakers."""
        return len({turn.speaker for turn in self.turns})


@dataclass(frozen=True)
class Place:
    """Location of a corpus, and the selected part."""

    data: Path  # folder of the corpus, or of its references
    audio: Path  # folder of the recordings; may be the same
    split: str = ""  # part of the corpus; depends on the layout
    microphone: str = ""
    use_uem: bool = True  # read the scored regions
    only: tuple[str, ...] = ()  # selected recordings; empty for all

    def wanted(self, names: Iterable[str], path: Path) -> list[str]:
        """Return the selected names, sorted; `path` is their file."""
        known = sorted(names)
        missing = [name for name in self.only if name not in known]
        if missing:
            raise ConfigError(
                f"'only' must name recordings of {path}, which has {some(known)}; got "
                f"{some(missing)}"
            )
        return [name for name in known if not self.only or name in self.only]


def existing(folder: Path, what: str, layout: str) -> Path:
    """Return the folder, which must exist."""
    if not folder.is_dir():
        raise MissingFileError(
            f"{folder}: no such folder; layout {layout!r} has {what}"
        )
    return folder


def audio_files(folder: Path) -> dict[str, Path]:
    """Return the audio files in a folder by recording."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in AUDIO_SUFFIXES:
            continue
        name = "_".join(path.stem.split())  # RTTM has no names with spaces
        if name in found:
            raise DataFormatError(
                f"two files of recording {name!r}: {found[name].name} and {path.name}",
                path=folder,
            )
        found[name] = path
    return found


def conversations_of(
    names: Sequence[str],
    files: Mapping[str, Path | AudioSource],
    reference: Path | Sequence[Path],
    *,
    audio: Path,
) -> list[Conversation]:
    """Combine audio and turns of the recordings `names`, which must have both.

    Other recordings of the reference are ignored. `audio` is the folder that messages
    name.
    """
    path = reference if isinstance(reference, Path) else reference[0].parent
    turns = read_annotation(reference)
    return combined(names, files, turns, source=path, audio=audio)


def combined(
    names: Sequence[str],
    files: Mapping[str, Path | AudioSource],
    reference: Iterable[Turn],
    *,
    source: Path,
    audio: Path,
) -> list[Conversation]:
    """As `conversations_of`, with the turns themselves; `source` is their file."""
    silent = [name for name in names if name not in files]
    if silent:
        raise MissingFileError(
            f"{audio}: no audio of {len(silent)} of {len(names)} recordings: "
            f"{some(silent)}; the setting 'audio' names the folder of recordings, "
            f"'only' those to take"
        )
    turns: dict[str, list[Turn]] = {name: [] for name in names}
    for turn in reference:
        if turn.segment.recording in turns:
            turns[turn.segment.recording].append(turn)
    missing = [name for name, own in turns.items() if not own]
    if missing:
        raise DataFormatError(
            f"no turn of {len(missing)} of {len(names)} recordings: {some(missing)}",
            path=source,
        )
    return [
        Conversation(name, _source(files[name]), tuple(turns[name])) for name in names
    ]


def with_regions(
    conversations: Sequence[Conversation], files: Sequence[Path], *, path: Path
) -> list[Conversation]:
    """Add the regions of UEM files, which must have every recording."""
    regions: dict[str, list[Segment]] = {one.recording: [] for one in conversations}
    for file in files:
        uem = read_uem(file)
        for name in set(uem.recordings) & set(regions):
            regions[name] += regions_of(uem, name)
    missing = [name for name, own in regions.items() if not own]
    if missing:
        raise DataFormatError(
            f"no region of {len(missing)} of {len(regions)} recordings: "
            f"{some(missing)}; --set uem=ignored scores without regions",
            path=path,
        )
    return [
        replace(one, regions=tuple(sorted(regions[one.recording])))
        for one in conversations
    ]


def some(names: Sequence[str]) -> str:
    """Format the first few names and the number of others."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "none") + more


def _source(audio: Path | AudioSource) -> AudioSource:
    return AudioSource(str(audio.resolve())) if isinstance(audio, Path) else audio
