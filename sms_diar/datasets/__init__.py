"""Real data and a model that come with the package.

``ivectors_8k.npz`` is a compact i-vector model for 8 kHz speech with its back end,
``digits_ivectors.npz`` the i-vectors it gives for 60 speakers it was not trained
on. Both are written by ``recipes/digits`` (``scripts/make-model``); the card in
``MODEL_CARD.md`` says what they were trained on, under which licences, and how well
they do. ``campplus_backend.npz`` is the back end for vectors of the network
`campplus`, which does not come with the package (``sms-diar models``).
``conversation.ogg`` and ``conversation.rttm`` are a simulated conversation and its
reference (``CONVERSATION.md``).
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
        2013 vectors; they know the fingerprint of their extractor.
    speakers : tuple of str
        Who speaks in each.
    """

    embeddings: EmbeddingSet
    speakers: tuple[str, ...]


class SampleConversation(NamedTuple):
    """Files of a conversation to try things on.

    Parameters
    ----------
    audio : Path
        90 s at 8 kHz.
    reference : Path
        RTTM of its four speakers.
    """

    audio: Path
    reference: Path


def sample_conversation() -> SampleConversation:
    """A simulated conversation that comes with the package.

    Derived from AudioMNIST (Becker et al., MIT licence).

    Examples
    --------
    >>> from sms_diar.datasets import sample_conversation
    >>> sample_conversation().audio.name
    'conversation.ogg'
    """
    return SampleConversation(_HERE / "conversation.ogg", _HERE / "conversation.rttm")


def default_model_path() -> Path:
    """Model file that ``sms-diar ivectors`` uses unless told otherwise."""
    return _HERE / "ivectors_8k.npz"


def voice_backend_path() -> Path:
    """Back end for the vectors of the network ``campplus``."""
    return _HERE / "campplus_backend.npz"


def digits_ivectors_path() -> Path:
    """File of the bundled i-vectors, as any embeddings file."""
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
    known = read_speakers(path)
    return DigitsIvectors(embeddings, tuple(known[name] for name in embeddings.ids))
