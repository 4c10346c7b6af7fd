"""Choice of the model: the networks if installed, otherwise the embedded model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from sms_diar._validation import check_choice
from sms_diar.datasets import voice_backend_path
from sms_diar.embeddings.network import FusedEmbedder, load_embedder
from sms_diar.errors import InvalidParameterError, MissingFileError
from sms_diar.features.segmentation import load_segmenter
from sms_diar.io.model import read_model
from sms_diar.networks.catalogue import DEFAULT_QUALITY, QUALITIES, Quality
from sms_diar.networks.store import is_stored, path_of
from sms_diar.pipeline.diarize.diarizer import Diarizer
from sms_diar.pipeline.diarize.ivectors import IvectorDiarizer
from sms_diar.pipeline.diarize.neural import NEURAL, Networks, NeuralDiarizer
from sms_diar.pipeline.train.models import IvectorModel, read_ivector_model
from sms_diar.scoring import backend_from_model
from sms_diar.scoring.backend_training import KIND as BACKEND

AUTO, EMBEDDED = "auto", "embedded"
BALANCED = QUALITIES[DEFAULT_QUALITY]
NEEDED = BALANCED.networks
EMBEDDED_EXTRACTOR = "c84e4cd1294ce437"
"""Fingerprint of the extractor of the embedded model."""

DiarizeModel: TypeAlias = str | Path | IvectorModel | Networks | Diarizer
"""Name of a model, path of an i-vector model or network TOML, or a model."""

_FETCH = "sms-diar models fetch"
_SECOND = "segmentation-2022"
_WEAK = (
    f"in doubt: embedded i-vectors often link different people and miss known voices; "
    f"'{_FETCH}' gets networks that do better"
)


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """A diarizer, and a note for users on a model that is chosen for them, or weak.

    `quality` is None for i-vectors. `choose_model` returns it unchanged.
    """

    diarizer: Diarizer
    note: str = ""
    quality: Quality | None = None


def choose_model(
    model: DiarizeModel | ChosenModel | None,
    *,
    vad: str | None,
    quality: str | None = None,
) -> ChosenModel:
    """Load the requested model; nothing is ever downloaded.

    "auto" and None use the networks of the default quality, or of "fast", if they are
    in the cache folder and no speech detector `vad` is requested, because networks
    detect speech themselves. A `quality`, a name of `QUALITIES`, requires networks.
    """
    if quality is not None:
        check_choice("diarize", "quality", quality, tuple(QUALITIES))
    if isinstance(model, ChosenModel):
        return model
    if model is None or isinstance(model, str | Path):
        return _named_model(AUTO if model is None else str(model), vad, quality)
    diarizer = as_diarizer(model)
    if diarizer.name != NEURAL:
        _refuse_quality(quality)
        return ChosenModel(diarizer)
    return ChosenModel(diarizer, quality=_quality_of_network(vad, quality))


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


def stored_quality() -> Quality | None:
    """Return the default quality, or "fast" if only its networks are installed."""
    for quality in (BALANCED, QUALITIES["fast"]):
        if all(map(is_stored, quality.networks)):
            return quality
    return None


def load_networks(quality: Quality = BALANCED) -> Networks:
    """Load the networks from the cache folder, with the embedded back end."""
    missing = [name for name in quality.networks if not is_stored(name)]
    if missing:
        raise MissingFileError(
            f"{path_of(missing[0]).parent}: quality {quality.name} needs networks that "
            f"are not installed ({', '.join(missing)}); get them with "
            f"'{_fetch(quality)}'"
        )
    segmenter, embedder = load_segmenter(), load_embedder("campplus")
    backend = backend_from_model(read_model(voice_backend_path(), BACKEND))
    # A back end of another network would silently give meaningless scores.
    fits = backend.extractor == embedder.fingerprint
    if quality.weight > 0.0:
        embedder = FusedEmbedder(embedder, load_embedder("resnet34"), quality.weight)
    second = load_segmenter(_SECOND) if _SECOND in quality.networks else None
    return Networks(segmenter, embedder, backend if fits else None, second)


def _named_model(name: str, vad: str | None, quality: str | None) -> ChosenModel:
    """Load a model by its name or path."""
    if name.endswith(".toml"):
        settings = _quality_of_network(vad, quality)
        networks = Networks(load_segmenter(), load_embedder(name))
        return ChosenModel(as_diarizer(networks), quality=settings)
    stored = stored_quality()
    if name == NEURAL or (
        name == AUTO and vad is None and (stored or quality is not None)
    ):
        _refuse_detector(vad)
        settings = (stored or BALANCED) if quality is None else QUALITIES[quality]
        diarizer = as_diarizer(load_networks(settings))
        note = _network_note(settings) if name == AUTO else ""
        return ChosenModel(diarizer, note, settings)
    _refuse_quality(quality)
    if name not in (AUTO, EMBEDDED):
        return ChosenModel(as_diarizer(read_ivector_model(name)))
    note = (
        "model: embedded i-vectors, which are not good at rooms, distant microphones "
        "and overlap"
    )
    if name == AUTO:
        better = (
            f"'{_FETCH}' gets networks that do better on real recordings"
            if vad is None or not stored
            else "without a speech detector the neural networks find speech and overlap"
        )
        note = f"{note}; {better}"
    return ChosenModel(as_diarizer(read_ivector_model()), note)


def _quality_of_network(vad: str | None, quality: str | None) -> Quality:
    """Check options for an embedder that the caller chose; return the quality."""
    _refuse_detector(vad)
    settings = QUALITIES[quality or DEFAULT_QUALITY]
    if settings.weight > 0.0:
        raise InvalidParameterError(
            f"must be 'fast' or 'balanced' with another network, got {quality!r}",
            owner="diarize",
            parameter="quality",
        )
    return settings


def _fetch(quality: Quality) -> str:
    by_default = set(quality.networks) <= set(BALANCED.networks)
    return _FETCH if by_default else f"{_FETCH} {quality.name}"


def _network_note(quality: Quality) -> str:
    names = ", ".join(quality.networks)
    note = f"model: neural networks ({names}), with overlap; quality {quality.name}"
    for better in (BALANCED, QUALITIES["best"]):
        if not all(map(is_stored, better.networks)):
            return f"{note}; '{_fetch(better)}' gets what quality {better.name} needs"
    return note


def _refuse_quality(quality: str | None) -> None:
    if quality is not None:
        raise InvalidParameterError(
            f"must be omitted with i-vectors, got {quality!r}; it applies to "
            f"model='neural'",
            owner="diarize",
            parameter="quality",
            mentions=("model='neural'",),
        )


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
