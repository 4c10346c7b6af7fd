"""Cepstra of one segment, and the frames that become of them.

They are taken apart because normalisation may need the cepstra of all segments
before the frames of the first one can be finished.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sms_diar.errors import DataFormatError
from sms_diar.features import neural_vad
from sms_diar.features.cmvn import CmvnStats, row_blocks, sliding_cmvn_rows
from sms_diar.features.decisions import speech_mask
from sms_diar.features.deltas import add_deltas
from sms_diar.features.framing import frame_count
from sms_diar.features.front_end import FrontEnd
from sms_diar.features.mfcc import mfcc
from sms_diar.features.resample import at_rate
from sms_diar.features.vad import detect_speech
from sms_diar.io.audio.files import BLOCK, Samples, blocks, stretch
from sms_diar.io.audio.recording import Piece
from sms_diar.types import BoolArray, FloatArray

Frames = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Cepstra:
    """Cepstra of a segment, and which of its frames are speech."""

    frames: FloatArray
    is_speech: BoolArray

    def statistics(self) -> CmvnStats:
        """Sums over the speech frames."""
        parts = (
            CmvnStats.of(self.frames[rows][self.is_speech[rows]])
            for rows in row_blocks(len(self.frames))
        )
        return sum(parts, start=CmvnStats.none(self.frames.shape[1]))

    def finish(self, front_end: FrontEnd, stats: CmvnStats | None) -> Frames:
        """Normalise, append derivatives and keep speech, some rows at a time.

        Five hours of frames are 432 MB; nothing else of that size is made here.
        """
        context, n = front_end.deltas.context, len(self.frames)
        n_speech = np.count_nonzero(self.is_speech)
        out = np.empty((n_speech, front_end.dim), dtype=np.float32)
        at = 0
        for rows in row_blocks(n):
            wide = slice(max(rows.start - context, 0), min(rows.stop + context, n))
            normal = _normalised(self.frames, wide, front_end, stats)
            part = add_deltas(normal, front_end.deltas)
            part = part[rows.start - wide.start : rows.stop - wide.start]
            part = part[self.is_speech[rows]]
            out[at : at + len(part)] = part
            at += len(part)
        return out


def cepstra_of(
    audio: Samples, piece: Piece, recording: str, front_end: FrontEnd
) -> Cepstra:
    """Cepstra of a segment; an error says why it has none.

    Parameters
    ----------
    audio : Samples
        The recording, at any rate.
    piece : Piece
        The segment.
    recording : str
        Name of the recording.
    front_end : FrontEnd
        The settings.
    """
    owner = f"segment {piece.id!r}"
    settings, vad = front_end.mfcc, front_end.vad
    signal = _Signal(at_rate(audio, settings.rate), piece, owner)
    n_frames = frame_count(
        signal.n_samples, settings.frame_length, settings.frame_shift
    )
    if not n_frames:
        raise DataFormatError(
            f"{owner} of {signal.n_samples / settings.rate:g} s is shorter than a "
            f"frame of {settings.length:g} s; remove it",
            path=audio.path,
        )
    is_speech = np.ones(n_frames, dtype=np.bool_)
    if vad.method != "none":
        heard = signal
        if vad.method == "neural" and settings.rate not in neural_vad.RATES:
            rate = 16000 if audio.rate >= 16000 else 8000
            heard = _Signal(at_rate(audio, rate), piece, owner)
        speech = detect_speech(
            heard, vad, rate=heard.rate, recording=recording, start=piece.start
        )
        is_speech = speech_mask(speech, n_frames, front_end.grid, piece.start)
        if not is_speech.any():
            raise DataFormatError(
                f"no speech was found in {owner}; --vad none (vad.method = "
                f"'none') keeps all frames",
                path=audio.path,
            )
    frames = np.empty((n_frames, settings.dim))
    at = 0
    for chunk in mfcc(signal, settings):
        frames[at : at + len(chunk)] = chunk
        at += len(chunk)
    return Cepstra(frames, is_speech)


class _Signal:
    """Samples of a segment, in blocks; short ones are read only once."""

    def __init__(self, audio: Samples, piece: Piece, owner: str) -> None:
        self._audio = audio
        self._first, self._last = stretch(audio, piece.start, piece.end, owner=owner)
        self._kept: FloatArray | None = None

    @property
    def rate(self) -> int:
        return self._audio.rate

    @property
    def n_samples(self) -> int:
        return self._last - self._first

    def __iter__(self) -> Iterator[FloatArray]:
        if self._kept is None and self.n_samples <= BLOCK:
            self._kept = self._audio.read(self._first, self._last)
        if self._kept is not None:
            yield self._kept
        else:
            yield from blocks(self._audio, self._first, self._last)


def _normalised(
    frames: FloatArray, rows: slice, front_end: FrontEnd, stats: CmvnStats | None
) -> FloatArray:
    cmvn = front_end.cmvn
    if cmvn.method == "none":
        return frames[rows]
    if cmvn.method == "sliding":
        window = max(1, round(cmvn.window / front_end.grid.shift))
        return sliding_cmvn_rows(frames, rows, window, variance=cmvn.variance)
    if stats is None:  # a bug, not something a user can cause
        raise AssertionError(cmvn.method)
    return stats.apply(frames[rows], variance=cmvn.variance)
