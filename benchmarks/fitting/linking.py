"""Train the likelihood ratios of voice prints on development speakers.

Back ends that ship have been trained on the development corpora. Each of these is
therefore scored by one that was trained without it; clips of real meetings, which no
back end has seen, by the one that ships.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.fitting.linking_pairs import Pairs, cost, fit_calibration, pairs_of
from benchmarks.fitting.linking_recordings import make_recordings
from benchmarks.fitting.voice_cuts import train_on_cuts, vectors_of
from recipes._common.corpora import DEVELOPMENT, TRAINING, speech_of
from recipes.digits import steps
from sms_diar.io.embeddings.arrays import load_arrays
from sms_diar.io.toml import read_toml
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.metrics import equal_error_rate
from sms_diar.pipeline.diarize.api import diarize
from sms_diar.pipeline.diarize.models import load_networks
from sms_diar.pipeline.diarize.neural import Networks
from sms_diar.pipeline.diarize.result import DiarizedRecording
from sms_diar.pipeline.train.extraction import extract_ivectors
from sms_diar.pipeline.train.models import (
    IvectorModel,
    read_ivector_model,
    require_model_path,
)
from sms_diar.report.tables import Table
from sms_diar.scoring import BackEnd, train_backend
from sms_diar.scoring.same_voice import (
    COSINE,
    DISCRIMINANT,
    Calibration,
    VoiceComparison,
)
from sms_diar.types import Turn

SEEDS = {"arabic8k": (0, 1), "libri-testother10-8k": (0, 1, 2, 3)}
"""Sets of recordings of each corpus; the smaller one is drawn more often."""

MEETINGS = "conversations"

DIGITS = Path(steps.__file__).parent
"""Folder of the recipe that trains the embedded model."""


@dataclass(frozen=True, eq=False)
class DevelopmentSet:
    """Diarized recordings, their references, and a back end of other speakers."""

    corpus: str
    recordings: tuple[DiarizedRecording, ...]
    reference: tuple[Turn, ...]
    backend: BackEnd | None


def development_sets(corpora: Path, work: Path, kind: str) -> Iterator[DevelopmentSet]:
    """Simulate and diarize all development recordings.

    Parameters
    ----------
    corpora : Path
        Folder of the corpora.
    work : Path
        Keeps recordings and vectors between runs.
    kind : {"neural", "embedded"}
        Name of the model.
    """
    for corpus in (*DEVELOPMENT, MEETINGS):
        model = model_without(corpus, corpora, work, kind)
        if corpus == MEETINGS:
            paths = sorted((corpora / corpus / "flac").glob("*.flac"))
            sets = [(paths, tuple(read_rttm(corpora / corpus / "ref.rttm")))]
        else:
            sets = []
            for seed in SEEDS[corpus]:
                folder = work / f"{corpus}-{seed}"
                made = make_recordings(corpora / corpus, folder, seed=seed)
                sets.append((list(made.paths), made.reference))
        for paths, reference in sets:
            found = diarize(paths, model=model).recordings
            yield DevelopmentSet(corpus, found, reference, model.backend)


def forms_of(sets: Sequence[DevelopmentSet]) -> dict[str, dict[str, Pairs]]:
    """Return the pairs of each corpus for each form of the score."""
    found: dict[str, dict[str, Pairs]] = {}
    for form in (COSINE, DISCRIMINANT):
        by_corpus: dict[str, list[Pairs]] = {}
        for one in sets:
            how = VoiceComparison(Calibration(form, 1, 0, 0, 0), one.backend)
            pairs = pairs_of(one.recordings, one.reference, how)
            by_corpus.setdefault(one.corpus, []).append(pairs)
        found[form] = {name: Pairs.join(parts) for name, parts in by_corpus.items()}
    return found


def table(forms: dict[str, dict[str, Pairs]]) -> str:
    """Evaluate each form of the score on a corpus that was not used for training."""
    rows = []
    for form, corpora in forms.items():
        for name, pairs in corpora.items():
            others = Pairs.join([p for other, p in corpora.items() if other != name])
            rows.append(
                (
                    form,
                    name,
                    str(np.count_nonzero(pairs.same)),
                    str(np.count_nonzero(~pairs.same)),
                    f"{100 * equal_error_rate(pairs.scores, pairs.same):.1f}",
                    f"{cost(pairs, fit_calibration(others, form)):.3f}",
                    f"{cost(pairs, fit_calibration(pairs, form)):.3f}",
                )
            )
    head = (
        "score",
        "corpus",
        "same",
        "different",
        "EER %",
        "Cllr",
        "Cllr, own weights",
    )
    return Table(head, tuple(rows)).markdown()


def calibrations(forms: dict[str, dict[str, Pairs]]) -> list[Calibration]:
    """Train the weights of each form on all development pairs."""
    return [
        fit_calibration(Pairs.join(list(corpora.values())), form)
        for form, corpora in forms.items()
    ]


def model_without(
    corpus: str, corpora: Path, work: Path, kind: str
) -> Networks | IvectorModel:
    """Return the shipped model with a back end trained without a corpus."""
    names = [name for name in TRAINING if name != corpus]
    if kind == "neural":
        networks = load_networks()
        if corpus == MEETINGS:
            return networks
        embedder = networks.embedder
        sets = [vectors_of(corpora / name, embedder, work) for name in names]
        return replace(networks, backend=train_on_cuts(sets, embedder.fingerprint))
    model = read_ivector_model()
    if corpus == MEETINGS or model.backend is None:
        return model
    X, speakers = [], []
    for name in names:
        speech = speech_of(name, corpora / name, "full")
        found = extract_ivectors(speech, model.extractor, problems=[])
        X.append(found.vectors)
        speakers += [speech.data.utt2spk[segment] for segment in found.ids]
        for number in range(int(read_toml(DIGITS / "conf.toml")["room_copies"])):
            copy = work / f"{name}-room-{number}.npz"
            steps.extract_room_copy(
                corpus=name,
                source=str(corpora / name),
                number=number,
                seed=1,
                model=str(require_model_path()),
                band="full",
                target=str(copy),
            )
            arrays = load_arrays(copy)
            X.append(arrays["vectors"])
            speakers += arrays["spk"].tolist()
    backend = train_backend(
        np.concatenate(X),
        speakers,
        n_components=model.backend.score_dim,
        extractor=model.extractor.fingerprint,
    )
    return IvectorModel(model.extractor, backend)
