"""HTML report with audio: ``sms-diar report``.

`report_page` takes turns of any origin, or a `Diarization`, which also has confidences
and the clustered windows.

>>> from sms_diar.types import Segment, Turn
>>> page = report_page([Turn(Segment("call", 0.0, 6.0), "Ann")])
>>> "<!doctype html>" in page.html()
True
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import numpy as np
import soundfile

from sms_diar._files import replacing, write_text
from sms_diar._progress import Progress
from sms_diar._validation import check_not_negative
from sms_diar.errors import InvalidParameterError
from sms_diar.features.mono import MonoAudio
from sms_diar.io.audio.files import BLOCK, blocks
from sms_diar.io.audio.recording import Recording
from sms_diar.io.file_names import file_names
from sms_diar.metrics.diarization.evaluation import error_intervals
from sms_diar.pipeline.audio.inputs import (
    AudioInput,
    GivenRecording,
    open_channels,
    recordings_of,
)
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.diarize.result import Diarization, DiarizedRecording, note_text
from sms_diar.pipeline.page.details import window_map
from sms_diar.pipeline.score.api import score
from sms_diar.pipeline.score.inputs import (
    TurnSource,
    WordSource,
    by_recording_of,
    matched_turns,
    paths_of,
    shown_names,
    turns_of,
    words_of,
)
from sms_diar.report.html_page import (
    Page,
    PageAudio,
    PageError,
    PageRecording,
    PageScore,
    Waveform,
    render,
)
from sms_diar.report.provenance import stamp
from sms_diar.report.score_report import ScoreReport
from sms_diar.timeline.annotation import Annotation, turns_by_recording
from sms_diar.timeline.regions import Uem
from sms_diar.timeline.ticks import seconds_of
from sms_diar.timeline.transcript import Phrase
from sms_diar.types import FloatArray, Problem, Turn

EMBED_LIMIT = 16.0
"""Maximum embedded audio in megabytes; larger audio is saved in separate files."""

# Every browser plays MP3 of a constant rate and can seek in it. 40 kbit/s is 300 kB per
# minute and enough to distinguish voices. Frames of lower rates are too small for the
# header with the encoder delay, and playback would be a tenth of a second late.
_COMPRESSION = {8000: 0.7, 16000: 0.8}
"""Compression level for each sampling rate: 24 and 40 kbit/s."""

_PER_SECOND = 50  # peaks per second of short recordings
_MOST_PEAKS = 40_000
_LOUD = 0.9  # level of the loudest sample after scaling

_HEIGHT = 720  # height of the page in a notebook, in pixels


@dataclass(frozen=True, eq=False, repr=False)
class ReportPage:
    """HTML page that can be written to a file or shown in a notebook.

    `embed_limit` is the maximum number of megabytes of compressed audio that are
    embedded. `remarks` are notes and warnings about names of recordings.
    """

    page: Page
    embed_limit: float = EMBED_LIMIT
    remarks: tuple[Problem, ...] = ()

    def html(self) -> str:
        """Return the page as HTML with all audio embedded."""
        return render(self.page)

    def __repr__(self) -> str:
        return f"<ReportPage {self.page.title!r}; write(path) saves it as HTML>"

    def _repr_html_(self) -> str:
        """Return a frame with the page, without audio above the limit."""
        page, note = self.page, ""
        if self._audio_size > 1e6 * self.embed_limit:
            silent = tuple(
                replace(recording, audio=None) for recording in page.recordings
            )
            page = replace(page, recordings=silent)
            note = (
                f"<p>The audio ({self._audio_size / 1e6:.0f} MB) is too large for a "
                f"notebook; the page that <code>write(path)</code> saves has it.</p>"
            )
        # Without allow-same-origin the page cannot reach the notebook around it.
        return (
            f'<iframe srcdoc="{escape(render(page))}" title="{escape(page.title)}" '
            f'sandbox="allow-scripts allow-downloads" width="100%" height="{_HEIGHT}" '
            f'style="border: 1px solid #ccc"></iframe>{note}'
        )

    @property
    def _audio_size(self) -> int:
        sounds = (recording.audio for recording in self.page.recordings)
        return sum(len(sound.content) for sound in sounds if sound is not None)

    def write(self, path: str | Path) -> list[Path]:
        """Write the page, and audio above the limit as separate files.

        Return the files that were written, the page first.
        """
        target = Path(path)
        sounds = {
            index: recording.audio
            for index, recording in enumerate(self.page.recordings)
            if recording.audio is not None
        }
        if self._audio_size <= 1e6 * self.embed_limit:
            write_text(target, render(self.page))
            return [target]
        beside = {}
        stem = file_names([target.stem])[target.stem]  # the page links to it
        for index, sound in sounds.items():
            name = f"{stem}-{index + 1}{sound.suffix}"
            with replacing(target.with_name(name)) as temporary:
                temporary.write_bytes(sound.content)
            beside[index] = name
        write_text(target, render(self.page, beside))
        return [target, *(target.with_name(name) for name in beside.values())]


def report_page(
    turns: TurnSource | Diarization,
    *,
    audio: AudioInput | None = None,
    reference: TurnSource | None = None,
    transcript: WordSource | None = None,
    uem: str | Path | Uem | None = None,
    convention: str = "sms-diar",
    collar: float = 0.0,
    ignore_overlap: bool = False,
    title: str | None = None,
    embed_limit: float = EMBED_LIMIT,
    allow_commands: bool = False,
    progress: Progress | None = None,
) -> ReportPage:
    """Make an HTML page of turns.

    Parameters
    ----------
    turns : Diarization, path, list of paths, Annotation or iterable of Turn
        Turns, from `sms_diar.diarize` or any other system.
    audio : path, sequence of paths, (samples, rate), or mapping, optional
        Audio of the recordings, as for `sms_diar.diarize`, matched by name. A single
        file is matched with a single recording regardless of their names.
    reference : path, list of paths, Annotation or iterable of Turn, optional
        True turns. Single recordings of other names are matched as by
        `sms_diar.score`.
    transcript : path, list of paths, Transcript or iterable of Phrase, optional
        Words with their speakers, matched with the recordings as `audio` is.
    uem, convention, collar, ignore_overlap
        Scoring options, as for `sms_diar.score`.
    title : str, optional
        Title of the page; by default the name of the recording.
    embed_limit : float, default=16.0
        Maximum megabytes of compressed audio that are embedded in the page; larger
        audio is saved in separate files.
    allow_commands : bool, default=False
        Run entries of `wav.scp` that are commands.
    progress : Progress, optional
        Receives progress.
    """
    check_not_negative("report_page", "embed_limit", embed_limit)
    context = RunContext.of(progress=progress, allow_commands=allow_commands)
    results: dict[str, DiarizedRecording] = {}
    settings: Mapping[str, object] = {}
    if isinstance(turns, Diarization):
        results = {result.recording: result for result in turns.distinct_recordings}
        settings = turns.settings
        by_recording = {name: list(result.turns) for name, result in results.items()}
    else:
        if isinstance(turns, str | Path):
            settings = {"turns": turns}
        by_recording = turns_by_recording(turns_of("turns", turns))
    if not by_recording:
        problem = "must contain turns, got none"
        raise InvalidParameterError(problem, owner="report_page", parameter="turns")
    scores = None
    true: dict[str, list[Turn]] = {}
    remarks: tuple[Problem, ...] = ()
    if reference is not None:
        truth = turns_of("reference", reference)
        shown = Annotation.from_turns(
            turn for part in by_recording.values() for turn in part
        )
        paths = [] if isinstance(turns, Diarization) else paths_of(turns)
        truth, remarks = matched_turns(shown, paths, truth, paths_of(reference))
        true = {
            name: listed
            for name, listed in turns_by_recording(truth).items()
            if name in by_recording
        }
        if not true:
            raise InvalidParameterError(
                f"must have a recording of the turns "
                f"({shown_names(by_recording)}), got "
                f"{shown_names(truth.recordings)}",
                owner="report_page",
                parameter="reference",
            )
        scores = score(
            [turn for listed in true.values() for turn in listed],
            [turn for name in true for turn in by_recording[name]],
            uem=uem,
            convention=convention,
            collar=collar,
            ignore_overlap=ignore_overlap,
        )
    names = list(by_recording)
    sounds = [] if audio is None else recordings_of(audio)
    given = {sound.id: sound for sound in sounds}
    heard = by_recording_of("report_page", "audio", given, names)
    words = words_of("report_page", "transcript", transcript or ())
    said = words.by_recording()
    spoken = by_recording_of("report_page", "transcript", said, names)
    parts = []
    for name, listed in by_recording.items():
        part = _recording(name, listed, results.get(name))
        if scores is not None and name in true:
            part = _scored(part, true[name], scores)
            part = replace(part, notes=(*part.notes, *map(str, remarks)))
        if name in heard:
            part = _with_audio(part, heard[name], context)
        if name in spoken:
            part = _with_words(part, spoken[name])
        parts.append(part)
    head = title or (parts[0].name if len(parts) == 1 else f"{len(parts)} recordings")
    page = Page(head, tuple(parts), settings, _versions())
    return ReportPage(page, embed_limit, (*remarks, *words.problems))


def _recording(
    name: str, turns: Sequence[Turn], result: DiarizedRecording | None
) -> PageRecording:
    order = sorted(range(len(turns)), key=lambda index: turns[index])
    last = max((turn.segment.end for turn in turns), default=0.0)
    listed = tuple(turns[index] for index in order)
    if result is None:
        return PageRecording(name, last, listed)
    confidence = result.confidence
    return PageRecording(
        name,
        max(result.duration, last),
        listed,
        tuple(confidence[index] for index in order),
        windows=None if result.details is None else window_map(result.details),
        notes=tuple(note_text(note, located=False) for note in result.remarks),
        unresolved=result.unresolved,
    )


def _scored(
    part: PageRecording, turns: Sequence[Turn], scores: ScoreReport
) -> PageRecording:
    recording_score = scores.recordings.get(part.name)
    if recording_score is None:
        return part
    errors = [
        PageError(
            seconds_of(error.start),
            seconds_of(error.end),
            error.kind,
            error.reference,
            error.hypothesis,
        )
        for error in error_intervals(scores.evaluation)
        if error.recording == part.name
    ]
    return replace(
        part,
        duration=max(part.duration, *(turn.segment.end for turn in turns)),
        score=PageScore(
            tuple(sorted(turns)),
            recording_score.mapping,
            tuple(errors),
            recording_score.figures,
            tuple(scores.settings.sentences()),
        ),
    )


def _with_audio(
    part: PageRecording, recording: Recording | GivenRecording, context: RunContext
) -> PageRecording:
    seconds, waveform, sound = listen_to(recording, context)
    notes = part.notes
    last = max((turn.segment.end for turn in part.turns), default=0.0)
    if last > seconds + 0.5:
        notes += (
            f"The last turn ends at {last:.1f} s, but the audio has {seconds:.1f} s: "
            f"it may belong to another recording.",
        )
    return replace(
        part,
        duration=max(part.duration, seconds),
        waveform=waveform,
        audio=sound,
        notes=notes,
    )


def _with_words(part: PageRecording, phrases: Sequence[Phrase]) -> PageRecording:
    last = max(phrase.end for phrase in phrases)
    ordered = sorted(phrases, key=lambda phrase: phrase.start)
    return replace(part, duration=max(part.duration, last), phrases=tuple(ordered))


def _versions() -> dict[str, object]:
    made = stamp(seed=None, settings={})
    machine = made["machine"]
    names = ("python", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "sms-diar": made["sms_diar"],
        "commit": made["git"],
        "made": made["date"],
        **{name: machine[name] for name in names},
    }


def listen_to(
    recording: Recording | GivenRecording, context: RunContext
) -> tuple[float, Waveform, PageAudio]:
    """Return the duration, the waveform and the mixed audio of a recording."""
    with open_channels(recording, allow_commands=context.allow_commands) as channels:
        low, high = _COMPRESSION
        rate = high if channels[0].rate >= high else low
        with MonoAudio(channels, rate, progress=context.progress) as audio:
            waveform, loudest = _waveform(audio)
            # Distant microphones are quiet, and the page has no volume control.
            gain = _LOUD / (loudest or 1.0)
            return audio.duration, waveform, _encoded(audio, gain, context.progress)


def _waveform(audio: MonoAudio) -> tuple[Waveform, float]:
    """Return the peaks and the level of the loudest sample."""
    size = max(audio.rate // _PER_SECOND, -(-audio.n_samples // _MOST_PEAKS))
    peaks: FloatArray = np.concatenate(list(_peaks(audio, size)))
    loudest = float(peaks.max())
    levels = np.rint(255.0 * peaks / (loudest or 1.0)).astype(np.uint8)
    return Waveform(levels, audio.rate / size), loudest


def _peaks(audio: MonoAudio, size: int) -> Iterator[FloatArray]:
    per_block = size * max(1, (1 << 18) // size)
    for block in blocks(audio, 0, audio.n_samples, size=per_block):
        padded = np.zeros(-(-len(block) // size) * size)
        padded[: len(block)] = np.abs(block)
        yield padded.reshape(-1, size).max(axis=1)


def _encoded(audio: MonoAudio, gain: float, progress: Progress) -> PageAudio:
    content = io.BytesIO()
    count = -(-audio.n_samples // BLOCK)
    with (
        soundfile.SoundFile(
            content,
            "w",
            audio.rate,
            1,
            "MPEG_LAYER_III",
            format="MP3",
            compression_level=_COMPRESSION[audio.rate],
            bitrate_mode="CONSTANT",
        ) as file,
        progress.track("sound", count) as advance,
    ):
        for block in blocks(audio, 0, audio.n_samples):
            file.write(block * gain)
            advance()
    return PageAudio(content.getvalue())
