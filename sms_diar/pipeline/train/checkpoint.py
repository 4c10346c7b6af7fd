"""Where training of an i-vector model stands, kept on disk against interruptions.

The file lies beside the model to be. It is written whole or not at all, carries a
digest, and belongs to one training: to its settings, its frames, and the versions of
what computes with them. Anything else that lies there is ignored, with a message.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar import __version__
from sms_diar.embeddings.mixture import GaussianMixture
from sms_diar.embeddings.total_variability_training import TotalVariabilityState
from sms_diar.embeddings.ubm import UbmState, UbmStep
from sms_diar.errors import DataFormatError, SmsDiarError
from sms_diar.io._foreign import foreign_errors
from sms_diar.io.model import ModelFile, read_model, write_model
from sms_diar.types import AnyArray

KIND = "checkpoint"
PAUSE = 30.0
"""Seconds of training that may be lost to a power cut; Ctrl-C loses none."""


@dataclass(frozen=True, eq=False)
class TrainingState:
    """What was reached: of the background model and then of T."""

    ubm: UbmState | None = None
    tv: TotalVariabilityState | None = None


def checkpoint_path(model: Path) -> Path | None:
    """Where the state of training `model` is kept; nowhere for devices and pipes."""
    if model.exists() and not model.is_file():
        return None
    target = model.resolve()  # lest it lie beside a link such as /dev/stdout
    return target.with_name(f"{target.name}.checkpoint")


def training_key(settings: Mapping[str, Any], frames: str) -> str:
    """What a training depends on, as hexadecimal digits.

    Parameters
    ----------
    settings : mapping
        Plain values.
    frames : str
        Fingerprint of the frames.
    """
    seen = {
        "settings": dict(settings),
        "frames": frames,
        "version": __version__,
        "numpy": np.__version__,
    }
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


class Checkpoint:
    """The file of one training.

    Parameters
    ----------
    path : Path or None
        Where it is kept; None keeps nothing.
    key : str
        What the training depends on; see `training_key`.
    say : callable
        Receives lines for people.
    """

    def __init__(self, path: Path | None, key: str, say: Callable[[str], None]) -> None:
        self._path = path
        self._key = key
        self._say = say
        self._written = time.monotonic()
        self._state = TrainingState()
        self._is_waiting = False

    def read(self, fits: Callable[[TrainingState], bool]) -> TrainingState:
        """What an interrupted run reached, or the start.

        Parameters
        ----------
        fits : callable
            Whether a state is of the right shape.
        """
        if self._path is None or not self._path.is_file():
            return self._state
        try:
            found = read_model(self._path, KIND)
            with foreign_errors(self._path, "it makes no sense"):
                if str(found.arrays["key"]) != self._key:
                    self._say(
                        f"{self._path}: belongs to other settings, data or versions; "
                        f"ignored, training starts anew"
                    )
                    return self._state
                state = _unpacked(found.arrays)
                if not fits(state):
                    raise DataFormatError("shapes do not fit", path=self._path)
        except (SmsDiarError, OSError):
            self._say(f"{self._path}: is damaged; ignored, training starts anew")
            return self._state
        self._state = state
        return state

    def keep(
        self,
        *,
        ubm: UbmState | None = None,
        tv: TotalVariabilityState | None = None,
    ) -> None:
        """Note what was reached, and write it if the last time is long ago."""
        if ubm is not None:
            self._state = TrainingState(ubm)
        if tv is not None:
            self._state = replace(self._state, tv=tv)
        self._is_waiting = True
        if time.monotonic() - self._written >= PAUSE:
            self._write()

    @contextmanager
    def on_interruption(self) -> Iterator[None]:
        """Write what was reached if Ctrl-C or an error ends the work."""
        try:
            yield
        except BaseException:
            if self._is_waiting:
                self._write()
            raise

    def _write(self) -> None:
        if self._path is None:
            return
        arrays = {"key": np.array(self._key), **_packed(self._state)}
        try:
            write_model(self._path, ModelFile(KIND, arrays, {}))
        except (SmsDiarError, OSError) as error:
            # Training can do without; the disk may have space again at its end.
            self._say(f"{error}; training goes on and keeps no checkpoints")
            self._path = None
        self._written = time.monotonic()
        self._is_waiting = False


def remove_checkpoint(path: Path | None) -> None:
    """Remove the file of a training that is done or not wanted."""
    if path is not None:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _packed(state: TrainingState) -> dict[str, AnyArray]:
    arrays: dict[str, AnyArray] = {}
    if state.ubm is not None:
        mixture = state.ubm.mixture
        words = {
            "steps": [asdict(step) for step in state.ubm.steps],
            "generator": dict(state.ubm.generator),
        }
        arrays |= {
            "ubm": np.array(json.dumps(words)),
            "weights": mixture.weights,
            "mixture_means": mixture.means,
            "covariances": mixture.covariances,
        }
    if state.tv is not None:
        arrays |= {
            "matrix": state.tv.matrix,
            "means": state.tv.means,
            "log_likelihoods": np.array(state.tv.log_likelihoods),
        }
    return arrays


def _unpacked(arrays: Mapping[str, AnyArray]) -> TrainingState:
    words = json.loads(str(arrays["ubm"]))
    mixture = GaussianMixture(
        arrays["weights"], arrays["mixture_means"], arrays["covariances"]
    )
    steps = tuple(UbmStep(**step) for step in words["steps"])
    ubm = UbmState(mixture, steps, words["generator"])
    if "matrix" not in arrays:
        return TrainingState(ubm)
    likelihoods = tuple(arrays["log_likelihoods"].tolist())
    tv = TotalVariabilityState(arrays["matrix"], arrays["means"], likelihoods)
    return TrainingState(ubm, tv)
