"""A Kaldi data directory as one value, its tables read when first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from sms_diar.errors import (
    DataFormatError,
    InvalidParameterError,
    MissingFileError,
)
from sms_diar.io.kaldi.tables import (
    AudioSource,
    invert,
    read_reco2dur,
    read_reco2num_spk,
    read_segments,
    read_spk2gender,
    read_spk2utt,
    read_utt2spk,
    read_wav_scp,
)
from sms_diar.types import Segment


@dataclass(frozen=True)
class DataDir:
    """The tables of a data directory.

    Each table is read at its first use and checked by itself. Whether tables
    agree with each other is the business of
    :func:`sms_diar.io.kaldi.validate.validate_data_dir`.

    Parameters
    ----------
    path : Path or str
        The directory, which must exist.
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if not self.path.is_dir():
            raise MissingFileError(f"{self.path}: no such data directory")

    def has(self, table: str) -> bool:
        """Whether the directory has a file of that name."""
        return (self.path / table).is_file()

    @cached_property
    def audio(self) -> Mapping[str, AudioSource]:
        """Where each recording comes from, by `wav.scp`."""
        return MappingProxyType(read_wav_scp(self.path / "wav.scp"))

    @cached_property
    def durations(self) -> Mapping[str, float] | None:
        """Seconds in each recording, where there is a `reco2dur`."""
        if not self.has("reco2dur"):
            return None
        return MappingProxyType(read_reco2dur(self.path / "reco2dur"))

    @cached_property
    def segments(self) -> Mapping[str, Segment]:
        """Segment of each id.

        Without a `segments` table every recording is one segment with its id,
        as in Kaldi; its length is then taken from `reco2dur`.
        """
        if self.has("segments"):
            read = read_segments(self.path / "segments", durations=self.durations)
            return MappingProxyType(read)
        if self.durations is None:
            raise MissingFileError(
                f"{self.path / 'segments'}: no such file, and no reco2dur either to "
                f"say how long the recordings are"
            )
        return MappingProxyType(
            {name: Segment(name, 0.0, end) for name, end in self.durations.items()}
        )

    @cached_property
    def utt2spk(self) -> Mapping[str, str]:
        """Speaker of each segment id."""
        return MappingProxyType(read_utt2spk(self.path / "utt2spk"))

    @cached_property
    def spk2utt(self) -> Mapping[str, tuple[str, ...]]:
        """Segment ids of each speaker; follows from `utt2spk` if there is no file."""
        if self.has("spk2utt"):
            return MappingProxyType(read_spk2utt(self.path / "spk2utt"))
        inverse = invert(self.utt2spk)
        return MappingProxyType(
            {speaker: tuple(inverse[speaker]) for speaker in sorted(inverse)}
        )

    @cached_property
    def reco2num_spk(self) -> Mapping[str, int] | None:
        """Number of speakers of each recording, where the file exists."""
        if not self.has("reco2num_spk"):
            return None
        return MappingProxyType(read_reco2num_spk(self.path / "reco2num_spk"))

    @cached_property
    def spk2gender(self) -> Mapping[str, str] | None:
        """``"f"`` or ``"m"`` for each speaker, where the file exists."""
        if not self.has("spk2gender"):
            return None
        return MappingProxyType(read_spk2gender(self.path / "spk2gender"))

    def wav_path(self, recording: str) -> Path:
        """Path of the audio file of a recording, which must be there.

        A relative path counts from the working directory, as in Kaldi, or else
        from the data directory.
        """
        table = self.path / "wav.scp"
        if recording not in self.audio:
            raise InvalidParameterError(
                f"DataDir: recording must be one of those in {table}, got {recording!r}"
            )
        source = self.audio[recording]
        if source.is_command or source.is_archive:
            what = "a command" if source.is_command else "a place in an archive"
            raise DataFormatError(
                f"the audio of {recording!r} is {what}, not a file; it is not run or "
                f"unpacked here, store the audio as files first",
                path=table,
                text=f"{recording} {source.text}",
            )
        path = audio_path(source, self.path)
        if path is None:
            raise MissingFileError(
                f"{table}: no audio file {source.text!r} for {recording!r}, neither in "
                f"the working directory nor in {self.path}"
            )
        return path


def audio_path(source: AudioSource, folder: Path) -> Path | None:
    """Find the file of a source that is a plain path; None where there is none."""
    with suppress(OSError, ValueError):  # names that no file can have
        for path in (Path(source.text), folder / source.text):
            if path.is_file():
                return path
    return None
