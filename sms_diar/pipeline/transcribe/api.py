"""Speech recognition of recordings: ``sms-diar diarize --transcribe``.

A recording is processed in parts of up to five minutes that end in a pause, so memory
does not grow with its length, and an interrupted run loses one part only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from sms_diar import __version__
from sms_diar._files import write_text
from sms_diar._json import read_json
from sms_diar._progress import Progress, hundredths
from sms_diar._validation import check_count
from sms_diar.errors import DataFormatError, NetworkError, SmsDiarError
from sms_diar.features.mono import MonoAudio
from sms_diar.io._foreign import foreign_errors
from sms_diar.io.audio.files import Samples, blocks
from sms_diar.io.audio.recording import Recording
from sms_diar.pipeline.audio.inputs import (
    AudioInput,
    GivenRecording,
    decode,
    is_single,
    place_of,
    recordings_of,
)
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.transcribe.recognisers import Recogniser, load_recogniser
from sms_diar.timeline.transcript import Phrase, Transcript, Word
from sms_diar.types import Problem

LONGEST_PART = 300.0
"""Maximum length of a part in seconds."""

_SEARCHED = 60.0  # seconds at the end of a part in which a pause is looked for
_PAUSE = 0.5  # seconds
_FRAME = 0.01  # seconds between the candidates for a pause

SpokenPhrase = tuple[Word, ...]


def transcribe(
    source: AudioInput,
    model: str | Path | Recogniser,
    *,
    language: str | None = None,
    channel: int | str | None = None,
    checkpoint: str | Path | None = None,
    workers: int = 1,
    allow_commands: bool = False,
    progress: Progress | None = None,
) -> Transcript:
    """Recognise the words of recordings.

    Parameters
    ----------
    source : path, sequence of paths, (samples, rate), or mapping
        Recordings in any form that `sms_diar.diarize` takes.
    model : str, Path or Recogniser
        Folder of a Whisper model for faster-whisper, or the name of one that it has
        stored; ``NAME:MODEL`` for recognisers of other packages.
    language : str, optional
        Code of the spoken language, such as "en". By default, Whisper detects it in
        every part.
    channel : int, optional
        Channel, counted from 1; by default, and for "each", all are mixed.
    checkpoint : str or Path, optional
        File for finished parts, which is not removed. Parts of the same audio, model
        and settings are taken from it.
    workers, allow_commands, progress
        As for `sms_diar.diarize`.

    Returns
    -------
    Transcript
        Phrases without speakers; `sms_diar.transcript` assigns them. Errors of a single
        recording, such as one without words, are raised; with several, they are in
        `problems`.
    """
    check_count("transcribe", "workers", workers)
    if isinstance(channel, int):
        check_count("transcribe", "channel", channel)
    recordings = recordings_of(source)
    if isinstance(model, str | Path):
        model = load_recogniser(model, language=language, workers=workers)
    context = RunContext.of(progress=progress, allow_commands=allow_commands)
    path = None if checkpoint is None else Path(checkpoint)
    finished = FinishedParts(path, context.progress.say)
    phrases: list[Phrase] = []
    problems: list[Problem] = []
    for recording in recordings:
        try:
            phrases += _transcribe(recording, model, channel, finished, context)
        except Exception as error:
            if is_single(source):
                raise
            problems.append(Problem.of(error, recording=recording.id))
    return Transcript(tuple(phrases), tuple(problems))


def part_bounds(audio: Samples) -> list[int]:
    """Return the first samples of all parts, and the number of samples.

    A part ends at the quietest half second of its last minute.
    """
    rate = audio.rate
    longest, searched = round(LONGEST_PART * rate), round(_SEARCHED * rate)
    bounds = [0]
    while audio.n_samples - bounds[-1] > longest:
        last = bounds[-1] + longest
        frame = round(_FRAME * rate)
        samples = audio.read(last - searched, last)
        samples = samples[: len(samples) // frame * frame].reshape(-1, frame)
        energy = np.sum(samples**2, axis=1)  # (n_frames,)
        n_pause = round(_PAUSE / _FRAME)
        quietest = int(np.argmin(np.convolve(energy, np.ones(n_pause), "valid")))
        bounds.append(last - searched + (quietest + n_pause // 2) * frame)
    return [*bounds, audio.n_samples]


class FinishedParts:
    """Words of finished parts, in a file that is replaced after every part.

    `parts` are by the digest of everything they depend on. A path of None disables the
    file; `say` receives messages for the user.
    """

    def __init__(self, path: Path | None, say: Callable[[str], None]) -> None:
        self._path, self._say = path, say
        self.parts: dict[str, list[list[SpokenPhrase]]] = {}
        if path is None or not path.is_file():
            return
        try:
            with foreign_errors(path, "is damaged"):
                for key, parts in read_json(path).items():
                    self.parts[key] = [
                        [tuple(Word(*w) for w in phrase) for phrase in part if phrase]
                        for part in parts
                    ]
        except SmsDiarError as error:
            self.parts = {}
            say(f"{error}; ignored, recognition starts again")

    def store(self, key: str, parts: list[list[SpokenPhrase]]) -> None:
        """Store all finished parts of a recording."""
        self.parts[key] = parts
        if self._path is None:
            return
        try:
            write_text(self._path, json.dumps(self.parts, default=astuple))
        except (SmsDiarError, OSError) as error:
            # The words do not depend on it, and space on the disk may become free.
            self._say(f"{error}; recognition continues without checkpoints")
            self._path = None


def _transcribe(
    recording: Recording | GivenRecording,
    recogniser: Recogniser,
    channel: int | str | None,
    finished: FinishedParts,
    context: RunContext,
) -> list[Phrase]:
    audio, _ = decode(
        recording, recogniser.rate, context, channel=channel, upsample=True
    )
    with audio:
        bounds = part_bounds(audio)
        key = _key(audio, bounds, recogniser)
        parts = finished.parts.get(key, [])[: len(bounds) - 1]
        done = int(100 * bounds[len(parts)] / bounds[-1])
        with context.progress.track("words", 100, done=done) as advance:
            show = hundredths(advance)
            for first, last in pairwise(bounds[len(parts) :]):
                part = []
                for words in _phrases(recogniser, audio, first, last):
                    part.append(words)
                    show(words[-1].end / audio.duration - done / 100)
                parts = [*parts, part]
                finished.store(key, parts)
                show(last / audio.n_samples - done / 100)
    if not any(parts):
        problem = f"no words were recognised in {bounds[-1] / recogniser.rate:.1f} s"
        raise DataFormatError(problem, path=place_of(recording))
    return [Phrase.of_words(recording.id, words) for part in parts for words in part]


def _phrases(
    recogniser: Recogniser, audio: MonoAudio, first: int, last: int
) -> Iterator[SpokenPhrase]:
    """Yield the phrases of a part, with times of the recording."""
    offset, end = first / audio.rate, last / audio.rate
    phrases = recogniser.transcribe(audio.read(first, last))
    for phrase in phrases if isinstance(phrases, Iterable) else [phrases]:
        is_phrase = isinstance(phrase, Sequence)
        if not is_phrase or not all(isinstance(word, Word) for word in phrase):
            raise NetworkError(
                f"{recogniser.name}: expected phrases, which are sequences of Word, "
                f"got {phrase!r:.40}; this is a bug in the package that provides it"
            )
        if phrase:
            yield tuple(
                replace(
                    word,
                    start=round(min(offset + word.start, end), 3),
                    end=round(min(offset + word.end, end), 3),
                )
                for word in phrase
            )


def _key(audio: MonoAudio, bounds: list[int], recogniser: Recogniser) -> str:
    """Return a digest of the audio, its parts, the recogniser and the version."""
    settings = [bounds, audio.rate, recogniser.fingerprint, __version__]
    digest = hashlib.sha256(json.dumps(settings).encode())
    for block in blocks(audio, 0, audio.n_samples):
        digest.update(np.ascontiguousarray(block, dtype=np.float32).tobytes())
    return digest.hexdigest()
