"""Real data and models that are part of the package.

``ivectors_8k.npz`` is a compact i-vector model for 8 kHz speech with its back end.
``digits_ivectors.npz`` contains its i-vectors of 60 speakers outside the training data.
Both are written by ``recipes/digits`` (``scripts/make-model``); ``MODEL_CARD.md``
describes training data, licences and accuracy. ``campplus_backend.npz`` is the back end
for vectors of the network `campplus`, which is not part of the package (``sms-diar
models``). ``conversation.ogg`` and ``conversation.rttm`` are a simulated conversation
and its reference (``CONVERSATION.md``).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sms_diar.types import EmbeddingSet

_HERE = Path(__file__).resolve().parent

__all__ = [
    "DigitsIvectors",
    "SampleConversation",
    "default_model_path",
    "digits_ivectors_path",
    "load_digits_ivectors",
    "sample_conversation",
    "voice_backend_path",
]


class DigitsIvectors(NamedTuple):
    """I-vectors of spoken digits.

    Parameters
    ----------
    embeddings : EmbeddingSet
        2013 vectors with the fingerprint of their extractor.
    speakers : tuple of str
        Name of the speaker of each vector.
    """

    embeddings: EmbeddingSet
    speakers: tuple[str, ...]


class SampleConversation(NamedTuple):
    """Files of an example conversation.

    Parameters
    ----------
    audio : Path
        Recording of 90 s at 8 kHz.
    reference : Path
        RTTM file with the four speakers.
    """

    audio: Path
    reference: Path


def sample_conversation() -> SampleConversation:
    """Return the simulated conversation of the package.

    Derived from AudioMNIST (Becker et al., MIT licence).

    Examples
    --------
    >>> from sms_diar.datasets import sample_conversation
    >>> sample_conversation().audio.name
    'conversation.ogg'
    """
    return SampleConversation(_HERE / "conversation.ogg", _HERE / "conversation.rttm")


def default_model_path() -> Path:
    """Return the path of the default model of ``sms-diar ivectors``."""
    return _HERE / "ivectors_8k.npz"


def voice_backend_path() -> Path:
    """Return the path of the back end for vectors of the network ``campplus``."""
    return _HERE / "campplus_backend.npz"


def digits_ivectors_path() -> Path:
    """Return the path of the bundled i-vectors, an ordinary embeddings file."""
    return _HERE / "digits_ivectors.npz"


def load_digits_ivectors() -> DigitsIvectors:
    """Load the i-vectors of 60 speakers saying digits.

    Derived from AudioMNIST (Becker et al., MIT licence): segments of 0.7 s and more,
    2.5 s on average, about 34 per speaker.

    Examples
    --------
    >>> from sms_diar.datasets import load_digits_ivectors
    >>> embeddings, speakers = load_digits_ivectors()
    >>> len(embeddings), len(set(speakers))
    (2013, 60)
    """
    from sms_diar.io.embeddings.arrays import read_speakers  # noqa: PLC0415
    from sms_diar.io.embeddings.files import read_embeddings  # noqa: PLC0415

    path = digits_ivectors_path()
    embeddings = read_embeddings(path)
    speakers = read_speakers(path)
    return DigitsIvectors(embeddings, tuple(speakers[name] for name in embeddings.ids))
