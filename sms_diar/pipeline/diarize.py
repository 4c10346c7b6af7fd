"""Who spoke when, from the recording alone: what ``sms-diar diarize`` does.

Speech is found, windows are laid over it, each gets an i-vector, and the windows of
a recording are clustered with the weight that their overlap leaves them. It is the
chain of the recipe `callhome` without its files: recordings are decoded once, into
one channel at the rate of the model, one after another.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sms_diar._files import write_text
from sms_diar._progress import Progress, Silence
from sms_diar.clustering.speakers.base import SpeakerEstimator
from sms_diar.errors import (
    DataFormatError,
    InvalidParameterError,
    MissingFileError,
    SmsDiarError,
)
from sms_diar.features.extract import FeatureProblem, speech_of_recordings
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.vad import VadConfig
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.recordings import Recording
from sms_diar.io.kaldi.tables import AudioSource, read_wav_scp, write_segments
from sms_diar.pipeline.cluster import SessionSummary, cluster_embeddings
from sms_diar.pipeline.decoding import decode_mono
from sms_diar.pipeline.ivectors import (
    IvectorModel,
    Speech,
    extract_ivectors,
    front_end_of,
)
from sms_diar.timeline.regions import Uem, regions_of, within
from sms_diar.timeline.windows import WindowLayout, windows_of_regions
from sms_diar.types import Segment, Turn

_TABLE = ".scp"


@dataclass(frozen=True)
class DiarizeSettings:
    """How recordings are treated; the defaults are those of the recipe `callhome`.

    Parameters
    ----------
    vad : VadConfig
        Speech detection.
    windows : WindowLayout
        Lengths of the windows.
    cmvn : str, default="recording"
        What cepstra are normalised over; a recording is a session.
    max_gap : float, default=0.0
        Pauses of one speaker up to so many seconds are bridged.
    channel : int, optional
        Channel of recordings that have several; without it they are mixed.
    allow_commands : bool, default=False
        Run the commands of a `wav.scp` that has some.
    """

    vad: VadConfig = field(
        default_factory=lambda: VadConfig(min_speech=0.2, min_pause=0.3, padding=0.05)
    )
    windows: WindowLayout = field(default_factory=WindowLayout)
    cmvn: str = "recording"
    max_gap: float = 0.0
    channel: int | None = None
    allow_commands: bool = False

    def with_vad(self, method: str) -> DiarizeSettings:
        """The same with another detector of speech."""
        return replace(self, vad=replace(self.vad, method=method))


@dataclass(frozen=True)
class Diarized:
    """Who spoke when in one recording.

    Parameters
    ----------
    duration, speech : float
        Seconds of the recording, and of the speech found in it.
    session : SessionSummary
        What clustering tells.
    turns : tuple of Turn
        In order of time.
    notes : tuple of str
        What the user should know: channels mixed, warnings.
    """

    duration: float
    speech: float
    session: SessionSummary
    turns: tuple[Turn, ...]
    notes: tuple[str, ...] = ()


def find_recordings(paths: Iterable[Path]) -> list[Recording]:
    """List what is meant by audio files, data directories and `wav.scp` tables.

    Parameters
    ----------
    paths : iterable of Path
        A folder needs a `wav.scp`; a file that ends in ``.scp`` is such a table;
        any other file is a recording named like the file, with ``_`` for spaces.
    """
    found: dict[str, Recording] = {}
    for path in paths:
        for recording in _recordings_of(path):
            if recording.id in found:
                sources = [found[recording.id].source.text, recording.source.text]
                raise InvalidParameterError(
                    f"find_recordings: recordings must have different names, got "
                    f"{recording.id!r} for {sources[0]} and {sources[1]}; name them "
                    f"in a wav.scp"
                )
            found[recording.id] = recording
    return list(found.values())


def diarize_all(
    recordings: Sequence[Recording],
    model: IvectorModel,
    estimator: SpeakerEstimator,
    settings: DiarizeSettings | None = None,
    *,
    uem: Uem | None = None,
    workers: int = 1,
    problems: list[FeatureProblem],
    progress: Progress | None = None,
) -> list[Diarized]:
    """Diarize recordings one after another; what is wrong with some is handed back.

    Parameters are those of `diarize_recording`; `problems` receives why recordings
    are not in the result.
    """
    listener = progress or Silence()
    # A bar for all, or, of a single one, bars for its parts; never one in another.
    alone = len(recordings) == 1
    results = []
    with (Silence() if alone else listener).track("recordings", len(recordings)) as one:
        for recording in recordings:
            try:
                result = diarize_recording(
                    recording,
                    model,
                    estimator,
                    settings,
                    uem=uem,
                    workers=workers,
                    progress=listener if alone else None,
                )
            except (SmsDiarError, OSError) as error:
                problems.append(FeatureProblem(recording.id, None, str(error)))
            else:
                results.append(result)
            one()
    return results


def diarize_recording(
    recording: Recording,
    model: IvectorModel,
    estimator: SpeakerEstimator,
    settings: DiarizeSettings | None = None,
    *,
    uem: Uem | None = None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Diarized:
    """Find out who spoke when.

    Parameters
    ----------
    recording : Recording
        Its pieces do not matter.
    model : IvectorModel
        Makes the vectors.
    estimator : SpeakerEstimator
        Clusters them, with the back end that it was given.
    settings : DiarizeSettings, optional
        The rest.
    uem : Uem, optional
        Only speech in these regions counts.
    workers : int, default=1
        Threads; results do not depend on it.
    progress : Progress, optional
        Who wants to know.
    """
    chosen = settings or DiarizeSettings()
    listener = progress or Silence()
    front_end = _front_end(model, chosen)
    rate = front_end.mfcc.rate
    with tempfile.TemporaryDirectory(prefix="sms-diar-") as name:
        folder = Path(name)
        audio = folder / "audio.wav"
        write_text(folder / "wav.scp", f"{recording.id} {audio}\n")
        data = DataDir(folder)
        duration, notes = decode_mono(
            recording,
            audio,
            rate,
            channel=chosen.channel,
            allow_commands=chosen.allow_commands,
            progress=listener,
        )
        [(_, regions)] = speech_of_recordings(data, chosen.vad, rate=rate)
        if uem is not None:
            regions = within(regions, _bounds(uem, recording))
        windows = _windows(recording, regions, duration, chosen.windows)
        write_segments(folder / "segments", windows)
        vectors = extract_ivectors(
            Speech(data, front_end),
            model.extractor,
            workers=workers,
            progress=listener,
        )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clustering = cluster_embeddings(
            vectors, estimator, segments=windows, per_recording=True, progress=listener
        )
    notes += [f"warning: {warning.message}" for warning in caught]
    return Diarized(
        duration,
        sum(region.duration for region in regions),
        clustering.sessions[0],
        tuple(clustering.turns(chosen.max_gap)),
        tuple(f"{recording.id}: {note}" for note in dict.fromkeys(notes)),
    )


def _recordings_of(path: Path) -> Iterator[Recording]:
    if not path.exists():
        raise MissingFileError(f"{path}: no such file or folder")
    table = path / "wav.scp" if path.is_dir() else path
    if path.is_dir() and not table.is_file():
        raise MissingFileError(
            f"{table}: no such file; a folder must be a Kaldi data directory, name "
            f"audio files one by one"
        )
    if table.suffix == _TABLE:
        for name, source in read_wav_scp(table).items():
            yield Recording(name, source, table.parent, ())
    else:
        name = "_".join(path.stem.split()) or "recording"
        yield Recording(name, AudioSource(str(path)), path.parent, ())


def _bounds(uem: Uem, recording: Recording) -> list[Segment]:
    bounds = regions_of(uem, recording.id)
    if not bounds:
        raise DataFormatError(f"lists no region of {recording.id!r}", path=uem.path)
    return bounds


def _front_end(model: IvectorModel, settings: DiarizeSettings) -> FrontEnd:
    """Front end of windows that hold nothing but speech."""
    own = front_end_of(model.extractor)
    cmvn = replace(own.cmvn, method=settings.cmvn)
    return replace(own, vad=VadConfig(method="none"), cmvn=cmvn)


def _windows(
    recording: Recording, regions: list[Segment], duration: float, windows: WindowLayout
) -> dict[str, Segment]:
    if duration < windows.least:
        raise DataFormatError(
            f"{duration:.3g} s are too short to tell who speaks; at least "
            f"{windows.least:g} s are needed",
            path=recording.source.text,
        )
    found = windows_of_regions(regions, **vars(windows))
    if not found:
        raise DataFormatError(
            f"no speech was found in {duration:.1f} s; --vad none takes everything "
            f"for speech",
            path=recording.source.text,
        )
    return found
