"""Stages of ``recipes/digits``: spoken digits from audio to speakers.

Extractor and back end are trained on three corpora whose speakers are not among
the test speakers, and every choice (sizes of the extractor, dimensions of the back
end) is made by cross-validation over training speakers. The test corpus is read only
after that.

A second back end, for the windows of a recording in diarization, is trained on copies
of the training corpora in simulated rooms as well. It is better there, and worse on
segments that were recorded close to the microphone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.signal import fftconvolve

from sms_diar._files import write_text
from sms_diar._json import read_json, write_json
from sms_diar._random import named_generator
from sms_diar.errors import MissingFileError
from sms_diar.experiment.stages import StageRun
from sms_diar.io.audio.files import AudioFile, write_audio
from sms_diar.io.embeddings.arrays import load_arrays, write_npz
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.model import read_model, write_model
from sms_diar.metrics import all_pairs, det_curve, equal_error_rate
from sms_diar.pipeline.train.extraction import Speech, extract_ivectors
from sms_diar.pipeline.train.ivectors import IvectorSettings, train_ivectors
from sms_diar.pipeline.train.models import (
    IvectorModel,
    front_end_of,
    read_ivector_model,
    write_ivector_model,
)
from sms_diar.preprocessing import FoldedChain
from sms_diar.report.tables import Table
from sms_diar.scoring import (
    BackEnd,
    backend_from_model,
    backend_to_model,
    build_backend,
    session_backend,
    train_backend,
)
from sms_diar.scoring.backend_training import KIND
from sms_diar.synthetic.acoustics import (
    Channel,
    Noise,
    PinkNoise,
    WhiteNoise,
    draw_distance,
    impulse_response,
    noise_level,
)
from sms_diar.types import AnyArray, EmbeddingSet, FloatArray, Problem, Segment

from .._common import figures
from .._common.components import choose_components
from .._common.corpora import TEST, TRAINING, UNTRIMMED, corpora_place, speech_of
from .._common.sessions import (
    BACKEND,
    CORPUS,
    read_record,
    write_record,
)
from .._common.threads import one_thread

MODEL = "model.npz"
VERIFICATION = "verification.json"

RT60 = (0.2, 0.6)
"""Range of reverberation times of simulated rooms in seconds."""

SNR = (10.0, 25.0)
"""Range of signal-to-noise ratios in these rooms in dB."""

SPEAKERS_IN_ROOM = 5

TELEPHONE = 0.25
"""Share of rooms that are heard over a telephone line."""


def corpus_folders(folder: str) -> dict[str, Path]:
    """Find the four corpora; an error names all that are missing.

    If the folder is empty, `recipes._common.corpora` chooses it.
    """
    root = corpora_place(folder)
    folders = {name: root / name for name in (*TRAINING, TEST)}
    missing = [name for name, path in folders.items() if not path.is_dir()]
    if missing:
        raise MissingFileError(
            f"{root}: no folder {', '.join(missing)}; the recipe needs "
            f"{', '.join(folders)} there (set 'data', or SMS_DIAR_DATA)"
        )
    return folders


@one_thread
def train_candidate(
    *,
    n_components: int,
    rank: int,
    band: str,
    folders: Mapping[str, str],
    folder: str,
    candidates: Sequence[int],
    folds: int,
    rounds: int,
    seed: int,
) -> dict[str, Any]:
    """Train one extractor and rate it by cross-validation over training speakers.

    The extractor needs no labels and sees all training speech. The back end does, and
    never sees the speakers on which it is rated.
    """
    # Extraction of the test corpus uses the front end of the first part, which is
    # therefore one without speech detection.
    order = sorted(folders, key=lambda name: name == UNTRIMMED)
    speech = [speech_of(name, Path(folders[name]), band) for name in order]
    settings = IvectorSettings(n_components=n_components, rank=rank, seed=seed)
    # Some segments of the untrimmed corpus contain no speech and are skipped.
    problems: list[Problem] = []
    model = train_ivectors(speech, settings, problems=problems)
    suffix = f"{n_components}-{rank}-{band}.npz"
    name = f"extractor-{suffix}"
    write_ivector_model(Path(folder) / name, model)
    X, speakers, groups = [], [], []
    for part, corpus in zip(speech, order, strict=True):
        vectors = extract_ivectors(part, model.extractor, problems=[])
        write_npz(
            Path(folder) / f"{corpus}-{suffix}",
            vectors,
            speakers=part.data.utt2spk,
        )
        X.append(vectors.vectors)
        speakers += [part.data.utt2spk[segment] for segment in vectors.ids]
        groups += [corpus] * len(vectors)
    choice = choose_components(
        np.concatenate(X),
        np.array(speakers),
        candidates,
        n_folds=folds,
        n_rounds=rounds,
        seed=seed,
        groups=np.array(groups),
    )
    return {
        "model": name,
        "n_components": n_components,
        "rank": rank,
        "band": band,
        "suffix": suffix,
        "choice": asdict(choice),
        "eer": min(choice.mean),
        "left_out": [str(problem.segment) for problem in problems],
    }


def best_candidate(candidates: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the extractor of lowest error rate."""
    best: Mapping[str, Any] = min(candidates.values(), key=lambda entry: entry["eer"])
    return best


def write_room_copy(
    data: DataDir, target: Path, *, number: int, seed: int
) -> list[dict[str, Segment]]:
    """Write a copy of a corpus in simulated rooms; return the segments in each room.

    The speakers of a room have different positions, and the noise and reverberation of
    the room. Other copies, with another `number`, have other rooms with others in them.
    A recording has one speaker.
    """
    stream = partial(named_generator, seed, "room copy", data.path.name, number)
    shuffled = stream().permutation(sorted(data.spk2utt))
    groups = np.array_split(shuffled, max(1, len(shuffled) // SPEAKERS_IN_ROOM))
    with AudioFile(data.wav_path(next(iter(data.audio)))) as audio:
        rate = audio.rate
    lines, rooms = [], []
    for place, group in enumerate(groups):
        rng = stream(place)
        rt60, snr = rng.uniform(*RT60), rng.uniform(*SNR)
        is_pink, is_telephone = rng.random() < 0.5, rng.random() < TELEPHONE
        noise: Noise = PinkNoise(rng, rate) if is_pink else WhiteNoise(rng)
        room: dict[str, Segment] = {}
        for speaker in group.tolist():
            segments = {name: data.segments[name] for name in data.spk2utt[speaker]}
            room |= segments
            response = impulse_response(rt60, draw_distance(rng), rate, rng)
            for recording in sorted({part.recording for part in segments.values()}):
                with AudioFile(data.wav_path(recording)) as audio:
                    samples = audio.read(0, audio.n_samples)
                heard = fftconvolve(samples, response)[: len(samples)]
                level = noise_level(float(np.sqrt(np.mean(heard**2))), snr)
                channel = Channel(
                    rate, noise=noise, level=level, telephone=is_telephone
                )
                path = target.resolve() / f"{recording}.flac"
                write_audio(path, [channel.pass_on(heard)], rate)
                lines.append(f"{recording} {path}\n")
        rooms.append(room)
    write_text(target / "wav.scp", "".join(sorted(lines)))
    return rooms


@one_thread
def extract_room_copy(
    *,
    corpus: str,
    source: str,
    number: int,
    seed: int,
    model: str,
    band: str,
    target: str,
) -> None:
    """Extract the i-vectors of a copy of a training corpus in simulated rooms.

    Every room is one session, as recordings are in diarization.
    """
    data, extractor = DataDir(Path(source)), read_ivector_model(model).extractor
    with TemporaryDirectory() as folder:
        rooms = write_room_copy(data, Path(folder), number=number, seed=seed)
        speech = speech_of(corpus, Path(folder), band)
        # Some segments of the untrimmed corpus contain no speech and are skipped.
        parts = [
            extract_ivectors(speech, extractor, segments=room, problems=[])
            for room in rooms
        ]
    ids = tuple(name for part in parts for name in part.ids)
    X = np.concatenate([part.vectors for part in parts])
    write_npz(target, EmbeddingSet(ids, X), speakers=data.utt2spk)


@one_thread
def prepare_test(
    run: StageRun,
    candidates: Mapping[str, Any],
    folders: Mapping[str, Path],
    room_copies: int,
) -> None:
    """Train the back end of the best extractor, then extract the test corpus.

    Writes corpus, back end and record, as `recipes._common.sessions` reads them, and
    the model of extractor and back ends in one file. The back end for windows is
    trained on the training corpora and their copies in rooms.
    """
    best = best_candidate(candidates)
    source = run.before["extractors"]
    model = read_ivector_model(source / best["model"])
    near = [source / f"{name}-{best['suffix']}" for name in TRAINING]
    rooms = [
        run.before["rooms"] / f"{name}-{number}.npz"
        for name in TRAINING
        for number in range(room_copies)
    ]

    def train(paths: Sequence[Path]) -> tuple[BackEnd, AnyArray]:
        training = [load_arrays(path) for path in paths]
        X = np.concatenate([arrays["vectors"] for arrays in training])
        speakers = np.concatenate([arrays["spk"] for arrays in training])
        backend = train_backend(
            X.astype(np.float64),
            speakers,
            n_components=best["choice"]["best"],
            extractor=model.extractor.fingerprint,
        )
        return backend, speakers

    backend, speakers = train(near)
    window_backend = train([*near, *rooms])[0] if rooms else None
    write_model(run.folder / BACKEND, backend_to_model(backend))
    fingerprint = write_ivector_model(
        run.folder / MODEL, IvectorModel(model.extractor, backend, window_backend)
    )
    data = DataDir(folders[TEST])
    vectors = extract_ivectors(
        Speech(data, front_end_of(model.extractor)),
        model.extractor,
        workers=run.workers,
        progress=run.progress,
    )
    write_npz(run.folder / CORPUS, vectors, dtype="float", speakers=data.utt2spk)
    record = {
        "source": "i-vectors",
        "words": (
            f"I-vectors ({best['n_components']} components, rank {best['rank']}, "
            f"{best['band']} band) of spoken digits, {TEST}: "
            f"{len(set(data.utt2spk.values()))} speakers, {len(vectors)} segments; "
            f"all segments of a drawn speaker are taken. "
            f"Cepstra are normalised over the whole corpus, as one session. "
            f"Extractor and back end are trained on {', '.join(TRAINING)} "
            f"({len(set(speakers.tolist()))} speakers, {len(speakers)} segments). "
            f"Sizes, band and dimensions were chosen among the candidates by held-out "
            f"training speakers; that the band belongs among them was noticed on "
            f"{TEST}."
        ),
        "model": fingerprint,
        "extractor": model.extractor.fingerprint,
        "backend": "plda, trained",
        "corpus_speakers": len(set(data.utt2spk.values())),
        "corpus_segments": len(vectors),
        "training": list(TRAINING),
        "training_speakers": len(set(speakers.tolist())),
        "training_segments": len(speakers),
        "room_copies": room_copies,
        "choice": best["choice"],
        "extractors": {
            name: {"eer": entry["eer"], "dimensions": entry["choice"]["best"]}
            for name, entry in candidates.items()
        },
    }
    write_record(run.folder, record)


@one_thread
def verify(run: StageRun, *, draw: bool) -> None:
    """Write the equal error rates of all pairs of the test corpus, and DET curves."""
    folder = run.before["prepare"]
    arrays = load_arrays(folder / CORPUS)
    X: FloatArray = arrays["vectors"].astype(np.float64)
    speakers: AnyArray = arrays["spk"]
    trained = backend_from_model(read_model(folder / BACKEND, KIND))
    d = X.shape[1]
    plain = FoldedChain(np.eye(d), np.zeros(d), in_length=1.0, out_length=1.0)
    systems: dict[str, BackEnd] = {
        "cosine": build_backend(plain),
        "centred cosine": build_backend(plain, center=X.mean(axis=0)),
        "cosine, session whitening": session_backend(X),
        "PLDA": trained,
    }
    windows = read_ivector_model(folder / MODEL).window_backend
    if windows is not None:
        systems["PLDA for windows in rooms"] = windows
    rates, curves = {}, {}
    for name, backend in systems.items():
        scores, same = all_pairs(backend.score_matrix(X), speakers)
        rates[name] = equal_error_rate(scores, same)
        if draw:
            curves[name] = det_curve(scores, same)
    result = {"corpus": TEST, "pairs": len(same), "eer": rates}
    write_json(run.folder / VERIFICATION, result)
    if draw:
        figure, axes = figures.new_figure(1, 1, width=5.5, height=5)
        figures.draw_det(axes[0, 0], curves)
        figures.save_figure(figure, run.folder, "det")


def add_verification(run: StageRun) -> None:
    """Add error rates and the choice of the extractor to the report."""
    record = read_record(run.before["prepare"])
    rates = verification_table(run.before["verification"])
    result = read_json(run.before["verification"] / VERIFICATION)
    path = run.folder / "results.json"
    write_json(path, {**read_json(path), "verification": result})
    path = run.folder / "report.md"
    text = path.read_text(encoding="utf-8")
    text += (
        f"\n## Verification\n\nEqual error rate of all {result['pairs']} pairs of "
        f"segments of {TEST}:\n\n{rates.markdown()}\n"
        f"## Extractor\n\nChosen (*) by cross-validation over the training speakers; "
        f"pairs within one corpus only:\n\n"
        f"{extractor_table(record['extractors']).markdown()}"
    )
    write_text(path, text)
    path = run.folder / "summary.txt"
    write_text(path, f"{rates.plain()}\n{path.read_text(encoding='utf-8')}")


def verification_table(folder: Path) -> Table:
    """Return the equal error rates."""
    result = read_json(folder / VERIFICATION)
    rows = tuple((name, f"{100 * rate:.2f}") for name, rate in result["eer"].items())
    return Table(("scores", "EER %"), rows)


def extractor_table(candidates: Mapping[str, Any]) -> Table:
    """Return cross-validated error rates of the extractors that were tried."""
    best = min(candidates, key=lambda name: candidates[name]["eer"])
    rows = tuple(
        (
            f"{name}{' *' if name == best else ''}",
            str(entry["dimensions"]),
            f"{100 * entry['eer']:.2f}",
        )
        for name, entry in candidates.items()
    )
    return Table(
        ("components/rank/band", "dimensions", "EER %, held-out speakers"), rows
    )


def write_embedded(folder: Path, path: Path, sample: Path) -> None:
    """Update the embedded model at `path` from the stage `prepare`, and its sample set.

    If the extractor has the numbers of the one at `path`, that one is kept, and the
    sample set with it. A new setting of the front end, at the value that leaves the
    frames as they were, would otherwise change its fingerprint, and vectors that users
    have stored would no longer find their back end.
    """
    trained, kept = read_ivector_model(folder / MODEL), read_ivector_model(path)
    if _numbers(trained) != _numbers(kept):
        copyfile(folder / MODEL, path)
        write_sample(folder, sample)
        return
    backends = {
        name: backend.with_extractor(kept.extractor.fingerprint)
        for name in ("backend", "window_backend")
        if (backend := getattr(trained, name)) is not None
    }
    write_ivector_model(path, IvectorModel(kept.extractor, **backends))


def _numbers(model: IvectorModel) -> dict[str, bytes]:
    """Return the arrays of an extractor, without the text of its front end."""
    arrays = model.extractor.to_model().arrays
    return {
        name: array.tobytes()
        for name, array in arrays.items()
        if array.dtype.kind != "U"
    }


def write_sample(folder: Path, path: Path) -> None:
    """Write the vectors of the test corpus, with speakers and extractor."""
    arrays = load_arrays(folder / CORPUS)
    record = read_record(folder)
    ids = tuple(str(name) for name in arrays["ids"])
    vectors = EmbeddingSet(
        ids, arrays["vectors"].astype(np.float64), extractor=record["extractor"]
    )
    speakers = dict(zip(ids, arrays["spk"].tolist(), strict=True))
    write_npz(path, vectors, dtype="float", speakers=speakers)
    # Like write_embeddings, which writes the extractor into a file beside this one.
    beside = path.with_name(path.name + ".json")
    write_json(beside, {"extractor": record["extractor"]})
