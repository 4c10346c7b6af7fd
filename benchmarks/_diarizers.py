"""Diarize all WAV files of a folder with one system, and say what it cost.

Run as a file, by the Python of whichever environment has the system; it needs nothing
of this package unless the system is ours::

    python benchmarks/_diarizers.py sherpa-onnx wavs out.rttm OPTIONS

OPTIONS are JSON: arguments of the system's function below. It prints JSON as well:
processor and clock seconds of all files after two that warm everything up, and
the peak of memory in MiB.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Turn = tuple[float, float, str]
Diarizer = Callable[[Path], Iterable[Turn]]
_RATE = 16000


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
    """sherpa-onnx, as it comes but for its threshold, with networks of a folder."""
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
    """Senko as it comes, on the processor."""
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
    """Resemblyzer's vectors, spectralcluster as its example has it, Silero's speech."""
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
        # Its windows need 1.6 s; what is cut out is put back by its place.
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
    """Turns of speech that is labelled at points of what is left of it, in samples."""
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


SYSTEMS: dict[str, Callable[..., Diarizer]] = {
    "sms-diar": sms_diar,
    "sherpa-onnx": sherpa_onnx,
    "senko": senko,
    "resemblyzer": resemblyzer,
}


def main() -> None:
    """Diarize a folder, write RTTM, print the cost."""
    system, folder, target, options = sys.argv[1:]
    try:
        diarizer = SYSTEMS[system](**json.loads(options))
    except ImportError as error:
        sys.exit(f"absent: {error}")
    files = sorted(Path(folder).glob("*.wav"))
    for _ in range(2):  # torch's compiler watches the first run and acts in the second
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
