"""Speech of a data directory by speaker, and its audio at one rate."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from sms_diar._validation import check_path
from sms_diar.errors import DataFormatError, InvalidParameterError, MissingFileError
from sms_diar.features.frames import check_detector, speech_of
from sms_diar.features.mono import at_rate
from sms_diar.features.vad import VadConfig
from sms_diar.io.audio.files import Samples, stretch
from sms_diar.io.audio.recording import Piece, Recording, open_recording
from sms_diar.io.kaldi.data_dir import DataDir, list_recordings
from sms_diar.io.problems import refuse_errors
from sms_diar.pipeline.context import RunContext
from sms_diar.synthetic.conversation import Passage, grain_of
from sms_diar.timeline.regions import within
from sms_diar.types import FloatArray, Segment

_OPEN = 64  # maximum number of open files


class AudioShelf:
    """Recordings at one sampling rate, opened on demand and cached.

    Use it in a ``with`` statement, or close it. Recordings have unique ids. Without a
    rate, all must have the rate of the first one.
    """

    def __init__(
        self,
        recordings: Sequence[Recording],
        context: RunContext,
        *,
        rate: int | None = None,
        channel: int | None = None,
    ) -> None:
        self.names = [recording.id for recording in recordings]
        self._recordings = {recording.id: recording for recording in recordings}
        self._channel = channel
        self._allow_commands = context.allow_commands
        self._open: OrderedDict[str, tuple[Samples, ExitStack]] = OrderedDict()
        self._rate = rate
        self.source_rate = self._original(self.names[0]).rate
        self.rate = self.source_rate if rate is None else rate

    def open(self, name: str) -> Samples:
        """Open a recording at the common rate."""
        audio = self._original(name)
        if self._rate is None and audio.rate != self.rate:
            problem = (
                f"has {audio.rate} samples per second, where {self.names[0]!r} has "
                f"{self.rate}; rate=HZ chooses one for all"
            )
            raise DataFormatError(problem, path=audio.path, mentions=("rate=HZ",))
        return at_rate(audio, self.rate)

    def close(self) -> None:
        """Close all files."""
        while self._open:
            self._open.popitem()[1][1].close()

    def __enter__(self) -> AudioShelf:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def _original(self, name: str) -> Samples:
        if name in self._open:
            self._open.move_to_end(name)
            return self._open[name][0]
        while len(self._open) >= _OPEN:
            self._open.popitem(last=False)[1][1].close()
        stack = ExitStack()
        audio = stack.enter_context(
            open_recording(
                self._recordings[name],
                channel=self._channel,
                allow_commands=self._allow_commands,
            )
        )
        self._open[name] = audio, stack
        return audio


class SpeakerPassages:
    """Passages of speech of each speaker of a data directory.

    Use it in a ``with`` statement, or close it. Without `segments` each recording is
    one segment. The detector `vad` finds passages in the segments; without it whole
    segments are passages.
    """

    def __init__(
        self,
        data: str | Path | DataDir,
        context: RunContext,
        *,
        rate: int | None = None,
        channel: int | None = None,
        vad: VadConfig | None = None,
    ) -> None:
        self.data = open_data(data, "data")
        self._vad = vad
        if vad is not None:
            check_detector(vad)
        if not self.data.has("utt2spk"):
            raise MissingFileError(
                f"{self.data.path / 'utt2spk'}: no such file; it must name the speaker "
                f"of each segment"
            )
        recordings, problems = list_recordings(self.data)
        refuse_errors(problems)
        self._pieces: dict[str, list[tuple[str, Piece]]] = {}
        unknown = 0
        for recording in recordings:
            for piece in recording.pieces:
                speaker = self.data.utt2spk.get(piece.id)
                if speaker is None:
                    unknown += 1
                else:
                    said = self._pieces.setdefault(speaker, [])
                    said.append((recording.id, piece))
        self._check(unknown)
        self.notes = self._notes(unknown)
        self.speakers = sorted(self._pieces)
        used = {name for said in self._pieces.values() for name, _ in said}
        self._shelf = AudioShelf(
            [recording for recording in recordings if recording.id in used],
            context,
            rate=rate,
            channel=channel,
        )
        self.rate, self.source_rate = self._shelf.rate, self._shelf.source_rate
        self.step, self.grain_ms = grain_of(self.rate)
        self._regions: dict[str, list[Segment]] = {}
        self._passages: dict[str, list[Passage]] = {}

    def passages(self, speaker: str) -> list[Passage]:
        """Return the passages of a speaker, at least one."""
        if speaker not in self._passages:
            passages = [
                passage
                for recording, piece in self._pieces[speaker]
                for passage in self._cut(recording, piece)
            ]
            if not passages:
                problem = f"no speech of speaker {speaker!r}; remove the speaker"
                raise DataFormatError(problem, path=self.data.path)
            self._passages[speaker] = passages
        return self._passages[speaker]

    def read(self, passage: Passage, first: int, last: int) -> FloatArray:
        """Read samples of a passage, counted from its start."""
        audio = self._shelf.open(passage.recording)
        return audio.read(passage.first + first, passage.first + last)

    def close(self) -> None:
        """Close all files."""
        self._shelf.close()

    def __enter__(self) -> SpeakerPassages:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    def _cut(self, recording: str, piece: Piece) -> list[Passage]:
        audio = self._shelf.open(recording)
        owner = f"segment {piece.id!r}"
        first, last = stretch(audio, piece.start, piece.end, owner=owner)
        spans = [(first, last)]
        if self._vad is not None:
            whole = Segment(recording, first / self.rate, last / self.rate)
            spans = [
                (round(part.start * self.rate), round(part.end * self.rate))
                for part in within(self._speech(recording, audio), [whole])
            ]
        return [
            Passage(piece.id, recording, start, (end - start) // self.step)
            for start, end in spans
            if end - start >= self.step
        ]

    def _speech(self, recording: str, audio: Samples) -> list[Segment]:
        if recording not in self._regions:
            self._regions[recording] = speech_of(audio, self._vad, recording=recording)
        return self._regions[recording]

    def _check(self, unknown: int) -> None:
        if self._pieces:
            return
        what = "segment" if self.data.has("segments") else "recording"
        remedy = "" if self.data.has("segments") else "; is the segments table missing?"
        problem = f"names the speaker of none of the {unknown} {what}s{remedy}"
        raise DataFormatError(problem, path=self.data.path / "utt2spk")

    def _notes(self, unknown: int) -> list[str]:
        if not unknown:
            return []
        table = self.data.path / "utt2spk"
        return [f"{table}: {unknown} segment(s) have no speaker and were skipped"]


def open_data(data: str | Path | DataDir, name: str) -> DataDir:
    """Open a data directory, unless it is open already."""
    if isinstance(data, DataDir):
        return data
    check_path("simulate", name, data)
    return DataDir(Path(data))


def open_noises(
    noise: str | Path | DataDir, context: RunContext, *, rate: int
) -> AudioShelf:
    """Open all recordings of a data directory with noise."""
    if isinstance(noise, str | Path) and not Path(noise).is_dir():
        problem = f"must be 'white', 'pink' or a data directory, got {str(noise)!r}"
        raise InvalidParameterError(problem, owner="simulate", parameter="noise")
    data = open_data(noise, "noise")
    recordings, problems = list_recordings(data, whole=True)
    refuse_errors(problems)
    if not recordings:
        problem = f"must have recordings, got none in {data.path}"
        raise InvalidParameterError(problem, owner="simulate", parameter="noise")
    return AudioShelf(recordings, context, rate=rate)
