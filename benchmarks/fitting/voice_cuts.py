"""Vectors of short cuts of the corpora, as windows of a diarization are short.

And back ends that are trained on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.fitting.shrunk_plda import train_shrunk_backend
from sms_diar._files import replacing
from sms_diar.embeddings.network import Embedder
from sms_diar.features.mono import ArraySamples, MonoAudio
from sms_diar.io.audio.recording import Piece, open_recording
from sms_diar.io.embeddings.arrays import load_arrays
from sms_diar.io.kaldi.data_dir import DataDir, list_recordings
from sms_diar.scoring import BackEnd
from sms_diar.synthetic.acoustics import Telephone
from sms_diar.types import AnyArray, FloatArray, Segment

SHORT, WINDOW, LONG, LONGEST = 0.75, 1.5, 3.0, 4.0
_GRAIN = 0.05  # lengths are whole multiples: cuts of one length are embedded together


@dataclass(frozen=True, eq=False)
class CutVectors:
    """Vectors of cuts.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
        One for each cut.
    speakers, utterances, kinds : ndarray of shape (n,)
        Speaker, original segment, and kind: "whole", "window", "long",
        "short" or "telephone".
    """

    vectors: FloatArray
    speakers: AnyArray
    utterances: AnyArray
    kinds: AnyArray


@dataclass(frozen=True)
class _Cut:
    utterance: str
    kind: str
    segment: Segment


def cut_vectors(data: DataDir, embedder: Embedder, *, seed: int = 0) -> CutVectors:
    """Vectors of all cuts of a corpus.

    Each segment is taken whole (up to 4 s), in windows of 1.5 s, once for 3 s where it
    is that long, once for 0.75 s, and once for 0.75 to 4 s over a telephone; where
    cuts begin is drawn.
    """
    rng = np.random.default_rng(seed)
    vectors: list[FloatArray] = []
    cuts: list[_Cut] = []
    recordings, _ = list_recordings(data)
    for recording in recordings:
        with (
            open_recording(recording) as channel,
            MonoAudio([channel], embedder.rate) as audio,
        ):
            found = [
                cut
                for piece in recording.pieces
                for cut in _cuts(piece, recording.id, audio.duration, rng)
            ]
            samples = audio.read(0, audio.n_samples)
            line = ArraySamples(Telephone(audio.rate).pass_on(samples), audio.rate)
            for source, telephone in ((audio, False), (line, True)):
                chosen = [
                    cut for cut in found if (cut.kind == "telephone") == telephone
                ]
                places = [cut.segment for cut in chosen]
                vectors.append(embedder.embed(source, places))
                cuts += chosen
    names = [cut.utterance for cut in cuts]
    return CutVectors(
        np.concatenate(vectors),
        np.array([data.utt2spk[name] for name in names]),
        np.array(names),
        np.array([cut.kind for cut in cuts]),
    )


def _cuts(
    piece: Piece, recording: str, duration: float, rng: np.random.Generator
) -> Iterator[_Cut]:
    start = piece.start
    length = min(duration if piece.end is None else piece.end, duration) - start
    if length < SHORT:
        return

    def cut(kind: str, offset: float, seconds: float) -> _Cut:
        first = round(start + offset, 3)
        return _Cut(piece.id, kind, Segment(recording, first, first + seconds))

    yield cut("whole", 0.0, _whole_grains(min(length, LONGEST)))
    if length >= LONG:
        yield cut("long", rng.uniform(0.0, length - LONG), LONG)
    n_windows = int(length // WINDOW)
    first = rng.uniform(0.0, length - n_windows * WINDOW)
    for number in range(n_windows):
        yield cut("window", first + number * WINDOW, WINDOW)
    yield cut("short", rng.uniform(0.0, length - SHORT), SHORT)
    seconds = _whole_grains(min(float(rng.uniform(SHORT, LONGEST)), length))
    yield cut("telephone", rng.uniform(0.0, max(0.0, length - seconds)), seconds)


def _whole_grains(seconds: float) -> float:
    return _GRAIN * int(seconds / _GRAIN + 1e-6)


def vectors_of(folder: Path, embedder: Embedder, work: Path) -> CutVectors:
    """Vectors of the cuts of a corpus, computed once and kept in a folder."""
    kept = work / f"{folder.name}-{embedder.fingerprint}.npz"
    if not kept.is_file():
        found = cut_vectors(DataDir(folder), embedder)
        with replacing(kept) as temporary, temporary.open("wb") as file:
            np.savez(file, **vars(found))
    arrays = load_arrays(kept)
    return CutVectors(**{name: arrays[name] for name in CutVectors.__annotations__})


def train_on_cuts(sets: Sequence[CutVectors], extractor: str) -> BackEnd:
    """Back end from the vectors of several corpora."""
    speakers = [
        f"{number} {speaker}"
        for number, one in enumerate(sets)
        for speaker in one.speakers
    ]
    vectors = np.concatenate([one.vectors for one in sets])
    return train_shrunk_backend(vectors, speakers, extractor=extractor)
