"""Checkpoints of the training of i-vector models.

The file is in the folder of the future model. It is written atomically and has a
digest. It is valid for one training only: the same settings, frames and versions of the
libraries. Any other file with this name is ignored, with a message.
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
"""Minimum seconds between two checkpoints; Ctrl-C also writes one."""


@dataclass(frozen=True, eq=False)
class TrainingState:
    """State of the background model and then of T."""

    ubm: UbmState | None = None
    tv: TotalVariabilityState | None = None


def checkpoint_path(model: Path) -> Path | None:
    """Return the path of the checkpoint; None for devices and pipes."""
    if model.exists() and not model.is_file():
        return None
    target = model.resolve()  # not in the folder of a link such as /dev/stdout
    return target.with_name(f"{target.name}.checkpoint")


def training_key(settings: Mapping[str, Any], frames: str) -> str:
    """Return a digest of the settings, the fingerprint of the frames, and versions."""
    seen = {
        "settings": dict(settings),
        "frames": frames,
        "version": __version__,
        "numpy": np.__version__,
    }
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


class Checkpoint:
    """Checkpoint file of one training.

    A path of None disables checkpoints. See `training_key` for the key; `say` receives
    messages for the user.
    """

    def __init__(self, path: Path | None, key: str, say: Callable[[str], None]) -> None:
        self._path = path
        self._key = key
        self._say = say
        self._written = time.monotonic()
        self._state = TrainingState()
        self._is_waiting = False

    def read(self, fits: Callable[[TrainingState], bool]) -> TrainingState:
        """Return the state of an interrupted training, or the initial state.

        `fits` returns True if the arrays of a state have the right shapes.
        """
        if self._path is None or not self._path.is_file():
            return self._state
        try:
            model = read_model(self._path, KIND)
            with foreign_errors(self._path, "it makes no sense"):
                if str(model.arrays["key"]) != self._key:
                    self._say(
                        f"{self._path}: belongs to other settings, data or versions; "
                        f"ignored, training starts again"
                    )
                    return self._state
                state = _unpacked(model.arrays)
                if not fits(state):
                    raise DataFormatError("shapes do not fit", path=self._path)
        except (SmsDiarError, OSError):
            self._say(f"{self._path}: is damaged; ignored, training starts again")
            return self._state
        self._state = state
        return state

    def keep(
        self, *, ubm: UbmState | None = None, tv: TotalVariabilityState | None = None
    ) -> None:
        """Store the state, and write it if the last checkpoint is old enough."""
        if ubm is not None:
            self._state = TrainingState(ubm)
        if tv is not None:
            self._state = replace(self._state, tv=tv)
        self._is_waiting = True
        if time.monotonic() - self._written >= PAUSE:
            self._write()

    @contextmanager
    def on_interruption(self) -> Iterator[None]:
        """Write the state if Ctrl-C or an error ends the training."""
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
            # Training does not depend on it, and space on the disk may become free.
            self._say(f"{error}; training continues without checkpoints")
            self._path = None
        self._written = time.monotonic()
        self._is_waiting = False


def remove_checkpoint(path: Path | None) -> None:
    """Remove the file of a training that is finished or discarded."""
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
