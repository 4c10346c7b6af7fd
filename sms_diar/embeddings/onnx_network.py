"""User-supplied speaker networks: an ONNX file with a short description.

The description is a TOML file::

    file = "voices.onnx"     # relative to this description
    rate = 16000
    features = "fbank"       # or "waveform"
    n_filters = 80
    subtract_mean = true
    scale = 1.0              # 32768 for networks trained on 16-bit integers
    input = "feats"
    output = "embs"
    licence = "CC-BY-4.0"

The input has shape (segments, frames, filters), or (segments, samples) for a waveform,
in 32-bit floating point. It is run by onnxruntime, from the extra ``[neural]``.
"""

from __future__ import annotations

import dataclasses
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar.embeddings.network import NetworkEmbedder, NetworkInput
from sms_diar.errors import ConfigError, DataFormatError, MissingExtraError
from sms_diar.errors import InvalidParameterError as Invalid
from sms_diar.features.filterbank import FilterbankConfig
from sms_diar.features.front_end import check_known
from sms_diar.io.toml import read_toml
from sms_diar.limits import LARGEST_RATE, LEAST_RATE, LONGEST_DEMAND, MOST_FILTERS
from sms_diar.networks.store import file_digest
from sms_diar.types import AnyArray, FloatArray

_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
}
_RANGES = {
    "rate": (LEAST_RATE, LARGEST_RATE),
    "n_filters": (1, MOST_FILTERS),
    "scale": (1e-9, 1e9),
    "shortest": (0.0, LONGEST_DEMAND),
}


@dataclass(frozen=True, slots=True)
class Description:
    """Content of the TOML file; see the module docstring."""

    file: str
    input: str
    output: str
    licence: str
    rate: int = 16000
    features: str = "fbank"
    n_filters: int = 80
    subtract_mean: bool = True
    scale: float = 1.0
    shortest: float = 0.1

    @property
    def front(self) -> NetworkInput:
        """Conversion of samples to the network's input."""
        bank = FilterbankConfig(rate=self.rate, n_filters=self.n_filters)
        samples = max(1, round(self.shortest * self.rate))
        if self.features == "waveform":
            return NetworkInput(self.rate, None, False, self.scale, samples)  # noqa: FBT003
        frames = max(1, bank.frames_of(samples))
        return NetworkInput(self.rate, bank, self.subtract_mean, self.scale, frames)


def load_onnx_embedder(path: str | Path) -> NetworkEmbedder:
    """Load an embedder from the description, in TOML, of an ONNX file."""
    path = Path(path)
    description = read_description(path)
    try:
        front = description.front
    except Invalid as error:
        raise ConfigError(f"{path}: {error}") from error
    file = path.parent / description.file
    digest = file_digest(file)
    network = OnnxNetwork(file, description)
    network.try_out(front.of(np.zeros(max(front.shortest_samples, description.rate))))
    return NetworkEmbedder(network, digest, front, name=path.stem)


def read_description(path: Path) -> Description:
    """Read and validate the TOML file."""
    settings = read_toml(path)
    kinds = {"int": int, "float": float, "str": str, "bool": bool}
    fields = {entry.name: entry for entry in dataclasses.fields(Description)}
    values: dict[str, Any] = {}
    for key, value in settings.items():
        check_known(key, fields, str(path), "")
        kind = kinds[str(fields[key].type)]
        is_whole = type(value) is int and kind is float
        if not (type(value) is kind or is_whole):
            raise ConfigError(f"{path}: '{key}' must be {_WORDS[kind]}, got {value!r}")
        low, high = _RANGES.get(key, (value, value))
        if not low <= value <= high:
            raise ConfigError(
                f"{path}: '{key}' must be between {low:g} and {high:g}, got "
                f"{value!r:.40}"
            )
        values[key] = float(value) if is_whole else value
    missing = [
        name
        for name, entry in fields.items()
        if entry.default is dataclasses.MISSING and name not in values
    ]
    if missing:
        raise ConfigError(f"{path}: missing {', '.join(missing)}")
    if values.get("features", "fbank") not in ("fbank", "waveform"):
        raise ConfigError(
            f"{path}: 'features' must be 'fbank' or 'waveform', got "
            f"{values['features']!r}"
        )
    return Description(**values)


class OnnxNetwork:
    """Network that is run by onnxruntime on one thread.

    `words` has the names of the input and the output; `dim` is the dimension of the
    embeddings, if known.
    """

    def __init__(self, file: Path, words: Description, dim: int = 0) -> None:
        self.dim = dim
        self._file = file
        self._words = words
        runtime = _runtime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self._session = runtime.InferenceSession(
                str(file), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            problem = f"onnxruntime cannot load it ({_first_line(error)})"
            raise DataFormatError(problem, path=file) from error
        for role, expected, entries in (
            ("input", words.input, self._session.get_inputs()),
            ("output", words.output, self._session.get_outputs()),
        ):
            names = [entry.name for entry in entries]
            if expected not in names:
                problem = f"has no {role} '{expected}', only {', '.join(names)}"
                raise DataFormatError(problem, path=file)

    def __reduce__(self) -> tuple[type[OnnxNetwork], tuple[Path, Description, int]]:
        # A session cannot be pickled; the other process opens the file itself.
        return OnnxNetwork, (self._file.resolve(), self._words, self.dim)

    def try_out(self, example: FloatArray) -> None:
        """Run the network once to check the description and to find the dimension."""
        self.dim = self._run(example[None]).shape[1]

    def embed(self, inputs: FloatArray) -> FloatArray:
        """Embed segments of equal length."""
        return self._run(inputs)

    def _run(self, inputs: AnyArray) -> FloatArray:
        fed = {self._words.input: inputs.astype(np.float32)}
        try:
            (output,) = self._session.run([self._words.output], fed)
        except Exception as error:
            raise DataFormatError(
                f"does not take an input of shape {inputs.shape} "
                f"({_first_line(error)}); check the description",
                path=self._file,
            ) from error
        array = np.asarray(output, dtype=np.float64)
        if not array.size or len(array) != len(inputs):
            raise DataFormatError(
                f"gave an output of shape {array.shape} for {len(inputs)} segments",
                path=self._file,
            )
        return array.reshape(len(inputs), -1)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _runtime() -> Any:
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        raise MissingExtraError(
            "ONNX networks need onnxruntime; install it with "
            "pip install 'sms-diar[neural]'"
        ) from error
