"""Speech recognisers: the interface, faster-whisper, and other packages.

Another package provides a recogniser by an entry point in the group
``sms_diar.recognisers`` that refers to a function with the keyword arguments `model` (a
path or name), `language` (a code or None) and `workers` (a number of threads). Nothing
is downloaded: faster-whisper loads a model from a folder, or from its own cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sms_diar.errors import (
    DataFormatError,
    InvalidParameterError,
    MissingExtraError,
    MissingFileError,
)
from sms_diar.io._foreign import foreign_errors
from sms_diar.io.transcripts._source import probability, timed_words
from sms_diar.networks.registry import load_named, names
from sms_diar.networks.store import file_digest
from sms_diar.timeline.transcript import Word
from sms_diar.types import FloatArray

GROUP = "sms_diar.recognisers"
DEFAULT = "faster-whisper"
_FILES = ("config.json", "model.bin", "tokenizer.json")  # of a CTranslate2 model
_REMEDY = (
    "; nothing is downloaded here, get a model with: hf download "
    "Systran/faster-whisper-small --local-dir FOLDER"
)


@runtime_checkable
class Recogniser(Protocol):
    """Interface of models that convert speech to words."""

    @property
    def name(self) -> str:
        """Name used in messages."""

    @property
    def rate(self) -> int:
        """Required sampling rate in hertz."""

    @property
    def fingerprint(self) -> str:
        """Text that identifies everything the words depend on, except the audio."""

    def transcribe(self, samples: FloatArray) -> Iterable[Sequence[Word]]:
        """Yield the phrases of a part of a recording.

        The samples, shape (n,), are one channel in [-1, 1) at `rate`. Times are in
        seconds from the first sample.
        """


class FasterWhisper:
    """Whisper model that runs with faster-whisper.

    A speech detector skips silence, in which Whisper invents words. Whisper draws
    random texts if its best one is improbable, and random numbers start with a new
    model. So the model is loaded for every part, and parts do not influence each other.
    """

    name = DEFAULT
    rate = 16000

    def __init__(self, folder: Path, language: str | None, workers: int) -> None:
        self._folder = folder
        self._language = language
        self._workers = workers
        self._network = self._load()  # reports errors before the work
        known = self._network.supported_languages
        if language is not None and language not in known:
            raise InvalidParameterError(
                f"must be one of {', '.join(known)}, got {language!r}",
                owner="transcribe",
                parameter="language",
            )

    def _load(self) -> Any:
        import ctranslate2  # noqa: PLC0415 an extra
        import faster_whisper  # noqa: PLC0415 an extra

        ctranslate2.set_random_seed(0)
        with foreign_errors(self._folder, "cannot be loaded", _REMEDY):
            return faster_whisper.WhisperModel(
                str(self._folder), compute_type="auto", cpu_threads=self._workers
            )

    @cached_property
    def fingerprint(self) -> str:
        """Digests of the model, the language and the versions of the libraries."""
        import ctranslate2  # noqa: PLC0415 an extra
        import faster_whisper  # noqa: PLC0415 an extra

        digests = [file_digest(self._folder / name) for name in _FILES]
        versions = [faster_whisper.__version__, ctranslate2.__version__]
        return json.dumps([digests, self._language, versions])

    def transcribe(self, samples: FloatArray) -> Iterator[list[Word]]:
        """Yield the phrases; see `Recogniser`."""
        network, self._network = self._network or self._load(), None
        segments, _ = network.transcribe(
            samples.astype(np.float32),
            language=self._language,
            word_timestamps=True,
            vad_filter=True,
            condition_on_previous_text=False,  # repeated phrases would spread
        )
        for segment in segments:
            yield [word for item in segment.words for word in _words(item)]


def load_recogniser(
    model: str | Path, *, language: str | None = None, workers: int = 1
) -> Recogniser:
    """Load a recogniser.

    The model is ``NAME:MODEL`` with the name of a recogniser, or the folder or name of
    a model of faster-whisper.
    """
    name, colon, rest = str(model).partition(":")
    if not colon or name not in names(GROUP, _BUILT_IN):
        name, rest = DEFAULT, str(model)
    options = {"model": rest, "language": language, "workers": workers}
    return load_named(GROUP, _BUILT_IN, name, Recogniser, **options)  # type: ignore[type-abstract]


def load_faster_whisper(
    *, model: str, language: str | None, workers: int
) -> FasterWhisper:
    """Load a CTranslate2 model from its folder, or by a name that is installed."""
    try:
        import faster_whisper  # noqa: PLC0415 an extra
    except ImportError as error:
        raise MissingExtraError(
            "speech recognition needs faster-whisper; install it with: "
            "pip install 'sms-diar[asr]'"
        ) from error
    folder = Path(model)
    if not folder.exists():
        try:
            folder = Path(faster_whisper.download_model(model, local_files_only=True))
        except (ValueError, OSError):
            raise MissingFileError(
                f"{model}: is neither a folder nor the name of a model that "
                f"faster-whisper has stored on this machine{_REMEDY}"
            ) from None
    absent = [name for name in _FILES if not (folder / name).is_file()]
    if absent:  # without its tokenizer, faster-whisper would download one
        raise DataFormatError(
            f"not a model for faster-whisper, which has {', '.join(absent)}{_REMEDY}",
            path=folder,
        )
    return FasterWhisper(folder, language, workers)


_BUILT_IN = {DEFAULT: load_faster_whisper}


def _words(item: Any) -> list[Word]:
    """Convert a word of faster-whisper, which begins with a space if separated."""
    start = max(float(item.start), 0.0)
    end = max(float(item.end), start)
    sure = probability(float(item.probability))
    is_joined = not item.word[:1].isspace()
    return timed_words(item.word, start, end, sure, is_joined=is_joined)
