"""Kaldi data directories: their tables, and the recordings and segments they list."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.io.audio.recording import AudioSource, Piece, Recording, audio_path
from sms_diar.io.kaldi import tables
from sms_diar.io.kaldi.validate import UNSORTED, scan_table
from sms_diar.types import Problem, Segment


@dataclass(frozen=True)
class DataDir:
    """The tables of a data directory.

    Each table is read and checked at its first use. Consistency between tables is
    checked by :func:`sms_diar.io.kaldi.validate.validate_data_dir`.

    Parameters
    ----------
    path : Path or str
        Existing directory.
    """

    path: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if not self.path.is_dir():
            raise MissingFileError(f"{self.path}: no such data directory")

    def has(self, table: str) -> bool:
        """Return true if the directory contains this table."""
        return (self.path / table).is_file()

    @cached_property
    def audio(self) -> Mapping[str, AudioSource]:
        """Audio source of each recording, from `wav.scp`."""
        return MappingProxyType(tables.read_wav_scp(self.path / "wav.scp"))

    @cached_property
    def durations(self) -> Mapping[str, float] | None:
        """Length of each recording in seconds, or None without `reco2dur`."""
        if not self.has("reco2dur"):
            return None
        return MappingProxyType(tables.read_reco2dur(self.path / "reco2dur"))

    @cached_property
    def segments(self) -> Mapping[str, Segment]:
        """Segment of each id.

        Without a `segments` table every recording is one segment with the same id,
        as in Kaldi, and the length from `reco2dur`.
        """
        if self.has("segments"):
            read = tables.read_segments(
                self.path / "segments", durations=self.durations
            )
            return MappingProxyType(read)
        if self.durations is None:
            raise MissingFileError(
                f"{self.path / 'segments'}: no such file, and no reco2dur with the "
                f"lengths of the recordings"
            )
        return MappingProxyType(
            {name: Segment(name, 0.0, end) for name, end in self.durations.items()}
        )

    @cached_property
    def utt2spk(self) -> Mapping[str, str]:
        """Speaker of each segment id."""
        return MappingProxyType(tables.read_utt2spk(self.path / "utt2spk"))

    @cached_property
    def spk2utt(self) -> Mapping[str, tuple[str, ...]]:
        """Segment ids of each speaker, from `spk2utt` or else from `utt2spk`."""
        if self.has("spk2utt"):
            return MappingProxyType(tables.read_spk2utt(self.path / "spk2utt"))
        inverse = tables.invert(self.utt2spk)
        return MappingProxyType(
            {speaker: tuple(inverse[speaker]) for speaker in sorted(inverse)}
        )

    @cached_property
    def reco2num_spk(self) -> Mapping[str, int] | None:
        """Number of speakers of each recording, or None without `reco2num_spk`."""
        if not self.has("reco2num_spk"):
            return None
        return MappingProxyType(tables.read_reco2num_spk(self.path / "reco2num_spk"))

    @cached_property
    def spk2gender(self) -> Mapping[str, str] | None:
        """``"f"`` or ``"m"`` for each speaker, or None without `spk2gender`."""
        if not self.has("spk2gender"):
            return None
        return MappingProxyType(tables.read_spk2gender(self.path / "spk2gender"))

    def wav_path(self, recording: str) -> Path:
        """Return the path of the audio file of a recording, which must exist.

        A relative path is resolved against the working directory, as in Kaldi, then
        against the data directory.
        """
        table = self.path / "wav.scp"
        if recording not in self.audio:
            problem = f"must be listed in {table}, got {recording!r}"
            raise InvalidParameterError(problem, owner="DataDir", parameter="recording")
        source = self.audio[recording]
        if source.is_command or source.is_archive:
            what = "a command" if source.is_command else "an offset in an archive"
            raise DataFormatError(
                f"the audio of {recording!r} is {what}, which is not supported "
                f"here; store the audio as separate files",
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


def list_recordings(
    data: DataDir,
    *,
    segments: Mapping[str, Segment] | None = None,
    ids: Collection[str] | None = None,
    whole: bool = False,
) -> tuple[list[Recording], list[Problem]]:
    """List the recordings with selected segments, in the order of `wav.scp`.

    The segments are those of the table or of `segments`, or one per recording if
    there is no table or with `whole`; `ids` selects some of them. Bad lines, and
    segments of recordings that are not in `wav.scp`, are skipped and returned as
    problems, so that they do not cost the results of all others.
    """
    table = scan_table(data.path / "wav.scp", tables.parse_audio)
    if not table.exists:
        raise MissingFileError(f"{table.path}: no such file")
    problems = _serious(table.problems)
    pieces: dict[str, list[Piece]] = {name: [] for name in table.rows}
    selected = set()
    rows = (
        _whole_recordings(table.rows)
        if whole
        else _pieces(data, segments, table.rows, problems)
    )
    for name, recording, piece, line in rows:
        if ids is not None and name not in ids:
            continue
        selected.add(name)
        if recording in pieces:
            pieces[recording].append(piece)
        else:
            text = f"recording {recording!r} of segment {name!r} is not in wav.scp"
            problems.append(Problem(text, str(data.path / "segments"), line))
    if ids is not None and not selected.issuperset(ids):
        missing = sorted(set(ids) - selected)
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        problem = f"must be segments of the data directory, got {missing[0]!r}{more}"
        raise InvalidParameterError(problem, owner=str(data.path), parameter="ids")
    recordings = [
        Recording(name, row.value, data.path, tuple(pieces[name]))
        for name, row in table.rows.items()
        if pieces[name]
    ]
    return recordings, problems


def _whole_recordings(
    names: Collection[str],
) -> Iterator[tuple[str, str, Piece, int | None]]:
    for name in names:
        yield name, name, Piece(name, 0.0, None), None


def _pieces(
    data: DataDir,
    segments: Mapping[str, Segment] | None,
    recordings: Collection[str],
    problems: list[Problem],
) -> Iterator[tuple[str, str, Piece, int | None]]:
    if segments is not None:
        for name, segment in segments.items():
            piece = Piece(name, segment.start, segment.end)
            yield name, segment.recording, piece, None
        return
    table = scan_table(data.path / "segments", tables.parse_span)
    if not table.exists:
        yield from _whole_recordings(recordings)
        return
    problems += _serious(table.problems)
    for name, row in table.rows.items():
        span = row.value
        end = None if span.end == tables.TO_THE_END else span.end
        yield name, span.recording, Piece(name, span.start, end), row.line


def _serious(problems: list[Problem]) -> list[Problem]:
    """Select errors, except for unsorted lines, whose order does not matter here."""
    return [
        problem
        for problem in problems
        if problem.severity == "error" and not problem.text.startswith(UNSORTED)
    ]
