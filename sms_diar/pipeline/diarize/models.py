"""Choice of the model: the networks if installed, otherwise the embedded model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from sms_diar.datasets import voice_backend_path
from sms_diar.embeddings.network import load_embedder
from sms_diar.errors import InvalidParameterError
from sms_diar.features.segmentation import load_segmenter
from sms_diar.io.model import read_model
from sms_diar.networks.store import is_stored
from sms_diar.pipeline.diarize.diarizer import Diarizer
from sms_diar.pipeline.diarize.ivectors import IvectorDiarizer
from sms_diar.pipeline.diarize.neural import NEURAL, Networks, NeuralDiarizer
from sms_diar.pipeline.train.models import IvectorModel, read_ivector_model
from sms_diar.scoring import backend_from_model
from sms_diar.scoring.backend_training import KIND as BACKEND

AUTO, EMBEDDED = "auto", "embedded"
NEEDED = ("campplus", "segmentation")
EMBEDDED_EXTRACTOR = "c84e4cd1294ce437"
"""Fingerprint of the extractor of the embedded model."""

DiarizeModel: TypeAlias = str | Path | IvectorModel | Networks | Diarizer
"""Name of a model, path of an i-vector model or network TOML, or a model."""

_FETCH = f"sms-diar models fetch {' '.join(NEEDED)}"
_WEAK = (
    f"in doubt: embedded i-vectors often link different people and miss known voices; "
    f"'{_FETCH}' gets networks that do better"
)


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """A diarizer, and a note for users who did not choose it."""

    diarizer: Diarizer
    note: str = ""


def choose_model(model: DiarizeModel | None, *, vad: str | None) -> ChosenModel:
    """Load the requested model; nothing is ever downloaded.

    "auto" and None use the networks if both are in the cache folder and no speech
    detector `vad` is requested, because networks detect speech themselves.
    """
    if model is None or isinstance(model, str | Path):
        return _named_model(AUTO if model is None else str(model), vad)
    diarizer = as_diarizer(model)
    if diarizer.name == NEURAL:
        _refuse_detector(vad)
    return ChosenModel(diarizer)


def as_diarizer(model: IvectorModel | Networks | Diarizer) -> Diarizer:
    """Return the diarizer of a model that is loaded already."""
    if isinstance(model, Networks):
        name = f"the network {model.embedder.name}"
        return NeuralDiarizer(model, warning=_borrowed(name))
    if isinstance(model, IvectorModel):
        # The calibration of the embedded model is its own, but weak.
        is_embedded = model.extractor.fingerprint == EMBEDDED_EXTRACTOR
        warning = _WEAK if is_embedded else _borrowed("this i-vector model")
        return IvectorDiarizer(model, warning=warning)
    return model


def load_networks() -> Networks:
    """Load both networks from the cache folder, with the embedded back end."""
    segmenter, embedder = load_segmenter(), load_embedder("campplus")
    backend = backend_from_model(read_model(voice_backend_path(), BACKEND))
    # A back end of another network would silently give meaningless scores.
    fits = backend.extractor == embedder.fingerprint
    return Networks(segmenter, embedder, backend if fits else None)


def _named_model(name: str, vad: str | None) -> ChosenModel:
    """Load a model by its name or path."""
    if name == NEURAL or name.endswith(".toml"):
        _refuse_detector(vad)
        if name == NEURAL:
            return ChosenModel(as_diarizer(load_networks()))
        networks = Networks(load_segmenter(), load_embedder(name))
        return ChosenModel(as_diarizer(networks))
    are_stored = all(map(is_stored, NEEDED))
    if name == AUTO and vad is None and are_stored:
        note = f"model: neural networks ({', '.join(NEEDED)}), with overlap"
        return ChosenModel(as_diarizer(load_networks()), note)
    if name not in (AUTO, EMBEDDED):
        return ChosenModel(as_diarizer(read_ivector_model(name)))
    note = ""
    if name == AUTO:
        better = (
            f"'{_FETCH}' gets networks that do better on real recordings"
            if vad is None or not are_stored
            else "without a speech detector the neural networks find speech and overlap"
        )
        note = f"model: embedded i-vectors; overlap is unknown; {better}"
    return ChosenModel(as_diarizer(read_ivector_model()), note)


def _refuse_detector(vad: str | None) -> None:
    if vad is not None:
        raise InvalidParameterError(
            f"must be omitted with neural networks, which detect speech themselves, "
            f"got {vad!r}; model='embedded' has detectors",
            owner="diarize",
            parameter="vad",
            mentions=("model='embedded'",),
        )


def _borrowed(model: str) -> str:
    return (
        f"in doubt: the score calibration was fitted on another model than {model}; "
        f"probabilities may be far off"
    )
