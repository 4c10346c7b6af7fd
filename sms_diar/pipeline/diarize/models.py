"""Choice of the model: the networks if installed, otherwise the embedded model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from sms_diar.datasets import voice_backend_path
from sms_diar.embeddings.registry import load_embedder
from sms_diar.errors import InvalidParameterError
from sms_diar.features.segmentation import load_segmenter
from sms_diar.io.model import read_model
from sms_diar.networks.store import is_stored
from sms_diar.pipeline.diarize.neural import Networks
from sms_diar.pipeline.train.models import IvectorModel, read_ivector_model
from sms_diar.scoring import BackEnd, backend_from_model, same_voice
from sms_diar.scoring.backend_training import KIND as BACKEND

AUTO, EMBEDDED, NEURAL = "auto", "embedded", "neural"
IVECTORS = "i-vectors"
NEEDED = ("campplus", "segmentation")
EMBEDDED_EXTRACTOR = "c84e4cd1294ce437"
"""Fingerprint of the extractor of the embedded model."""

DiarizeModel: TypeAlias = str | Path | IvectorModel | Networks
"""Name of a model, path of an i-vector model or network TOML, or a model."""

_FETCH = f"sms-diar models fetch {' '.join(NEEDED)}"
_WEAK = (
    f"in doubt: embedded i-vectors often link different people and miss known voices; "
    f"'{_FETCH}' gets networks that do better"
)


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """A model with its name, and a note for users who did not choose it."""

    model: IvectorModel | Networks
    name: str
    note: str = ""

    @property
    def backend(self) -> BackEnd | None:
        """Back end for the vectors of the model."""
        return self.model.backend

    @property
    def comparison(self) -> same_voice.VoiceComparison:
        """Comparison of voices of several recordings."""
        if isinstance(self.model, Networks):
            if self.backend is not None:
                return same_voice.VoiceComparison(same_voice.CAMPPLUS, self.backend)
            name = self.model.embedder.name
            return same_voice.VoiceComparison(
                same_voice.NETWORK, note=_borrowed(f"the network {name}")
            )
        # Cosines of i-vectors are more robust to channel differences than the PLDA
        # model, which was trained on one recording per speaker (LINKING.md).
        is_embedded = self.model.extractor.fingerprint == EMBEDDED_EXTRACTOR
        note = _WEAK if is_embedded else _borrowed("this i-vector model")
        return same_voice.VoiceComparison(same_voice.IVECTORS, note=note)


def choose_model(model: DiarizeModel | None, *, vad: str | None) -> ChosenModel:
    """Load the requested model; nothing is ever downloaded.

    Parameters
    ----------
    model : {"auto", "embedded", "neural"}, path, IvectorModel, Networks or None
        "auto" and None use the networks if both are in the cache folder and `vad`
        is None, because networks detect speech themselves.
    vad : str or None
        Requested speech detector.
    """
    if isinstance(model, IvectorModel):
        return ChosenModel(model, IVECTORS)
    word = AUTO if model is None else str(model)
    detects = isinstance(model, Networks) or word == NEURAL or word.endswith(".toml")
    if detects and vad is not None:
        raise InvalidParameterError(
            f"must be omitted with neural networks, which detect speech themselves, "
            f"got {vad!r}; --model embedded has detectors",
            owner="diarize",
            parameter="vad",
        )
    if isinstance(model, Networks):
        return ChosenModel(model, NEURAL)
    if word.endswith(".toml"):
        return ChosenModel(Networks(load_segmenter(), load_embedder(word)), NEURAL)
    if word == NEURAL:
        return ChosenModel(load_networks(), NEURAL)
    if word == AUTO and vad is None and _are_stored():
        note = f"model: neural networks ({', '.join(NEEDED)}), with overlap"
        return ChosenModel(load_networks(), NEURAL, note)
    return _ivectors(word, vad)


def load_networks() -> Networks:
    """Load both networks from the cache folder, with the embedded back end."""
    segmenter, embedder = load_segmenter(), load_embedder("campplus")
    backend = backend_from_model(read_model(voice_backend_path(), BACKEND))
    # A back end of another network would silently give meaningless scores.
    fits = backend.extractor == embedder.fingerprint
    return Networks(segmenter, embedder, backend if fits else None)


def _ivectors(word: str, vad: str | None) -> ChosenModel:
    if word not in (AUTO, EMBEDDED):
        return ChosenModel(read_ivector_model(word), IVECTORS)
    note = ""
    if word == AUTO:
        better = (
            f"'{_FETCH}' gets networks that do better on real recordings"
            if vad is None or not _are_stored()
            else "without --vad the neural networks find speech and overlap"
        )
        note = f"model: embedded i-vectors; overlap is unknown; {better}"
    return ChosenModel(read_ivector_model(), IVECTORS, note)


def _borrowed(model: str) -> str:
    return (
        f"in doubt: the score calibration was fitted on another model than {model}; "
        f"probabilities may be far off"
    )


def _are_stored() -> bool:
    return all(map(is_stored, NEEDED))
