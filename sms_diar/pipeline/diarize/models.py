"""Which model diarizes: the networks where they are, else the one that is embedded."""

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
"""Fingerprint of the extractor that comes with the package."""

DiarizeModel: TypeAlias = str | Path | IvectorModel | Networks
"""A word, the path of an i-vector model or of a network's TOML, or a model."""

_FETCH = f"sms-diar models fetch {' '.join(NEEDED)}"
_WEAK = (
    f"in doubt: embedded i-vectors often link different people and miss known voices; "
    f"'{_FETCH}' gets networks that do better"
)


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """A model, what it is, and what to tell a user who did not choose it."""

    model: IvectorModel | Networks
    name: str
    note: str = ""

    @property
    def backend(self) -> BackEnd | None:
        """Back end for its vectors."""
        return self.model.backend

    @property
    def comparison(self) -> same_voice.VoiceComparison:
        """Compares voices of several recordings."""
        if isinstance(self.model, Networks):
            if self.backend is not None:
                return same_voice.VoiceComparison(same_voice.CAMPPLUS, self.backend)
            name = self.model.embedder.name
            return same_voice.VoiceComparison(
                same_voice.NETWORK, note=_borrowed(f"the network {name}")
            )
        # Cosines of i-vectors stand differences of channels better than the PLDA
        # model, which was trained on one recording of each speaker (LINKING.md).
        own = self.model.extractor.fingerprint == EMBEDDED_EXTRACTOR
        note = _WEAK if own else _borrowed("this i-vector model")
        return same_voice.VoiceComparison(same_voice.IVECTORS, note=note)


def choose_model(model: DiarizeModel | None, *, vad: str | None) -> ChosenModel:
    """Find the model that is meant; nothing is ever downloaded.

    Parameters
    ----------
    model : {"auto", "embedded", "neural"}, path, IvectorModel, Networks or None
        "auto", and None, take the networks if both are in the cache folder and no
        detector of speech is asked for; they have their own.
    vad : str or None
        The detector that is asked for.
    """
    if isinstance(model, IvectorModel):
        return ChosenModel(model, IVECTORS)
    word = AUTO if model is None else str(model)
    detects = isinstance(model, Networks) or word == NEURAL or word.endswith(".toml")
    if detects and vad is not None:
        raise InvalidParameterError(
            f"diarize: vad must be left out with neural networks, which detect speech "
            f"themselves, got {vad!r}; --model embedded has detectors"
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
    """The two networks from the cache folder, with the back end that is embedded."""
    segmenter, embedder = load_segmenter(), load_embedder("campplus")
    backend = backend_from_model(read_model(voice_backend_path(), BACKEND))
    # A back end of another network would score nonsense without a word.
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
        f"in doubt: what scores of two voices are worth was not learnt for {model}, "
        f"but for another one; probabilities may be far off"
    )


def _are_stored() -> bool:
    return all(map(is_stored, NEEDED))
