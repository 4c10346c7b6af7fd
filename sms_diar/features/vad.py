"""Speech detection: by energy, or by a small neural network.

The energy detector is Kaldi's: a frame is loud if its log energy exceeds a
constant plus a share of the mean log energy, and speech if enough of the frames
around it are loud. The constant belongs to 16-bit samples at a usual level; the
adaptive variant places the threshold between the quietest and the loudest frames
instead and does not depend on the level at all. Rooms rumble and hiss where voices do
not speak; measured in a telephone's band, quiet rooms are quiet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from sms_diar._validation import (
    check_choice,
    check_count,
    check_not_negative,
    check_share,
    is_real,
)
from sms_diar.errors import InvalidParameterError
from sms_diar.features import neural_vad
from sms_diar.features.decisions import FrameGrid, tidy, to_segments
from sms_diar.features.framing import frame_chunks, overlapping_frames
from sms_diar.features.mfcc import SCALE
from sms_diar.limits import LONGEST_CONTEXT
from sms_diar.types import BoolArray, FloatArray, Segment

METHODS = ("energy", "neural", "none")

GRID = FrameGrid(0.025, 0.01)
"""Frames of the energy detector, whatever those of the features are."""

_BAND_HZ = (300.0, 3400.0)
_QUIET, _LOUD = 5.0, 95.0  # percentiles between which an adaptive threshold lies
_CONTRAST = 3.0  # nats (13 dB) without which there is nothing to separate


@dataclass(frozen=True, slots=True)
class VadConfig:
    """Speech detection.

    Parameters
    ----------
    method : {"energy", "neural", "none"}, default="energy"
        Detector: "energy", "neural" (needs the extra "vad") or "none".
    constant : float, default=5.5
        Energy threshold: `constant` + `mean_scale` * mean log energy.
    mean_scale : float, default=0.5
        Weight of the mean log energy in that threshold.
    adaptive : bool, default=False
        Place the threshold by `share` instead.
    share : float, default=0.35
        Adaptive threshold: this far from the level of the quietest frames (5th
        percentile) to that of the loudest (95th). Where they differ by less
        than 13 dB everything counts as speech.
    speech_band : bool, default=False
        Measure energy between 300 and 3400 Hz only. On far microphones in quiet
        rooms (14 clips of AMI meetings) this took false alarms from 38 % of the
        speech to 22 %, and misses from 6 % to 14 %.
    context : int, default=2
        Number of frames on each side that vote.
    proportion : float, default=0.12
        Minimum share of speech votes that makes a frame speech.
    probability : float, default=0.5
        Neural detector: speech begins at this probability and ends when the
        probability falls 0.15 below it.
    min_speech : float, default=0.1
        Seconds; shorter stretches of speech are dropped.
    min_pause : float, default=0.1
        Seconds; shorter pauses are bridged.
    padding : float, default=0.0
        Seconds added on each side of speech.
    """

    method: str = "energy"
    constant: float = 5.5
    mean_scale: float = 0.5
    adaptive: bool = False
    share: float = 0.35
    speech_band: bool = False
    context: int = 2
    proportion: float = 0.12
    probability: float = 0.5
    min_speech: float = 0.1
    min_pause: float = 0.1
    padding: float = 0.0

    def __post_init__(self) -> None:
        check_choice("VadConfig", "method", self.method, METHODS)
        check_count("VadConfig", "context", self.context, least=0, most=LONGEST_CONTEXT)
        for name in ("share", "proportion", "probability"):
            check_share("VadConfig", name, getattr(self, name))
        for name in ("mean_scale", "min_speech", "min_pause", "padding"):
            check_not_negative("VadConfig", name, getattr(self, name))
        if not is_real(self.constant):
            raise InvalidParameterError(
                f"VadConfig: constant must be a finite number, got {self.constant!r}"
            )
        for name in ("adaptive", "speech_band"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidParameterError(
                    f"VadConfig: {name} must be true or false, got "
                    f"{getattr(self, name)!r}"
                )


def detect_speech(
    blocks: Iterable[FloatArray],
    config: VadConfig,
    *,
    rate: int,
    recording: str = "",
    start: float = 0.0,
) -> list[Segment]:
    """Find the speech in consecutive samples.

    Parameters
    ----------
    blocks : iterable of ndarray
        Samples in [-1, 1), in blocks of any sizes: they do not change the result.
    config : VadConfig
        The settings; with the method ``"none"`` all is speech.
    rate : int
        Samples per second; 8000 or 16000 for the neural detector.
    recording : str, optional
        Recording of the segments that are returned.
    start : float, default=0.0
        Where in the recording the samples begin, in seconds.

    Returns
    -------
    segments : list of Segment
        In order, apart from each other; empty where there is no speech.
    """
    counted = _Counted(blocks)
    if config.method == "neural":
        grid, is_speech = neural_vad.decide(counted, rate, config.probability)
    elif config.method == "energy":
        heard = speech_band(counted, rate) if config.speech_band else counted
        grid, is_speech = GRID, _decide(log_energies(heard, rate), config)
    else:
        for _ in counted:
            pass
        grid, is_speech = GRID, np.ones(1, dtype=np.bool_)
    duration = counted.n_samples / rate
    spans = tidy(
        grid.spans(is_speech, duration),
        duration,
        min_speech=config.min_speech,
        min_pause=config.min_pause,
        padding=config.padding,
    )
    return to_segments(spans, recording, start)


def speech_band(blocks: Iterable[FloatArray], rate: int) -> Iterator[FloatArray]:
    """Samples between 300 and 3400 Hz; cutting into blocks changes nothing."""
    # Only here, because commands without audio load this module as well.
    from scipy.signal import butter, sosfilt, sosfilt_zi  # noqa: PLC0415

    high = min(_BAND_HZ[1], 0.45 * rate)
    sections = butter(4, (_BAND_HZ[0], high), "bandpass", fs=rate, output="sos")
    state = None
    for block in blocks:
        if state is None and len(block):
            # As if the first sample had been there for ever: no click at the start.
            state = sosfilt_zi(sections) * block[0]
        if state is not None:
            block, state = sosfilt(sections, block, zi=state)  # noqa: PLW2901
        yield block


def log_energies(blocks: Iterable[FloatArray], rate: int) -> FloatArray:
    """Log energy of each frame about its mean, on the 16-bit scale."""
    length, shift = int(GRID.length * rate + 0.5), int(GRID.shift * rate + 0.5)
    found = [np.empty(0)]
    for chunk in frame_chunks(blocks, length, shift):
        frames = overlapping_frames(chunk.samples * SCALE, length, shift)
        # The variance times the length is the energy without the direct current.
        energy = frames.var(axis=1) * length
        found.append(np.log(np.maximum(energy, 1.0)))
    return np.concatenate(found)


def energy_threshold(energies: FloatArray, config: VadConfig) -> float:
    """Log energy above which a frame is loud."""
    if not config.adaptive:
        return config.constant + config.mean_scale * float(energies.mean())
    quiet, loud = np.percentile(energies, (_QUIET, _LOUD))
    if loud - quiet < _CONTRAST:
        return -np.inf
    return float(quiet + config.share * (loud - quiet))


def _decide(energies: FloatArray, config: VadConfig) -> BoolArray:
    if not len(energies):
        return np.zeros(0, dtype=np.bool_)
    loud = energies > energy_threshold(energies, config)
    votes = np.concatenate(([0], np.cumsum(loud)))
    at = np.arange(len(loud))
    first = np.maximum(at - config.context, 0)
    last = np.minimum(at + config.context + 1, len(loud))
    is_speech: BoolArray = votes[last] - votes[first] >= config.proportion * (
        last - first
    )
    return is_speech


class _Counted:
    """Blocks, and how many samples have gone by."""

    def __init__(self, blocks: Iterable[FloatArray]) -> None:
        self._blocks = blocks
        self.n_samples = 0

    def __iter__(self) -> Iterator[FloatArray]:
        for block in self._blocks:
            self.n_samples += len(block)
            yield block
