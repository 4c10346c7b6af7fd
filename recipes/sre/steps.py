"""A NIST evaluation: from an LDC tree to segments, vectors, trials and a report.

Keys say who speaks on which side of which conversation, a speech detector says when,
and the paper's law gives the lengths of segments. The report has the tables of the
speaker experiment, and the error rates of NIST's trials. The printed rows are for SRE
2008, so the report also names the i-vector model, which decides whether rows may be
compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar._files import write_text
from sms_diar._json import read_json, write_json
from sms_diar._progress import Progress
from sms_diar._random import named_generator
from sms_diar.errors import ConfigError, DataFormatError
from sms_diar.experiment.stages import StageRun
from sms_diar.features.crosstalk import (
    CHOICES,
    STRONG_SHARE,
    find_crosstalk,
    without_crosstalk,
)
from sms_diar.features.extract import speech_of_recordings
from sms_diar.features.vad import Span, VadConfig
from sms_diar.io.audio.files import AudioFile
from sms_diar.io.embeddings.files import read_embeddings
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.tables import (
    write_segments,
    write_spk2gender,
    write_spk2utt,
    write_utt2spk,
)
from sms_diar.io.trials import read_trials
from sms_diar.preprocessing import scale_rows
from sms_diar.scoring.backend import BackEnd
from sms_diar.scoring.backend_plda import TrialTerms, phi_of, plda_of, trial_terms
from sms_diar.scoring.backend_training import session_backend
from sms_diar.types import Problem, Segment

from .._common import speaker_report
from .._common.extraction import ModelChoice, tell_problems
from .._common.nist import EVALUATIONS, Evaluation, trial_figures
from .._common.sessions import read_record
from .._common.sides import Corpus, collect_corpus, write_sides
from .cuts import Cuts, SegmentLaw, cut_segments

DATA = "data"
TRIAL_DATA = "trials"
RECORD = "corpus.json"
ENROLMENT = "enrolment"
TRIALS = "trials"
SCORES = "scores"
FIGURES = "trials.json"
PAPER_SPEAKERS = 198
GIVEN = "unknown, the vectors were given"

_BLOCK = 1 << 15  # number of trials scored at once


@dataclass(frozen=True)
class Tree:
    """Selection from the folders of the corpus; see `collect_corpus`.

    Parameters
    ----------
    year : int
        Year of the evaluation: 2008, 2010, 2012, 2016, 2018, 2019, 2020 or 2021.
    corpus : tuple of str
        Folders of LDC's discs, searched to any depth. If two of them hold a file of
        one name, the first folder counts.
    keys : str
        Folder of NIST's answer keys, if it is not in `corpus`.
    condition : int
        Common condition, until 2012; 0: the usual one of the year (7, 5 and 2).
    gender : str
        "m", "f" or "all"; empty: "m" in 2008, as in the paper, and "all" later.
    where : tuple of str
        Columns of the trial key that trials must have, as column=value, since 2016;
        empty: as usual (2018: data_source=cmn2, 2019: test_set=eval).
    sides : str
        Sides cut into segments: of enrolment ("training"), of target trials ("test")
        or "both".
    trials : bool
        Score NIST's trials too: equal error rate and minimum cost. Only with `corpus`.
    allow_missing : bool
        Continue without files that are missing or unreadable.
    crosstalk : str
        "remove" the speech of the other side that is heard faintly, or "keep" it.
    """

    year: int
    corpus: tuple[str, ...]
    keys: str
    condition: int
    gender: str
    where: tuple[str, ...]
    sides: str
    trials: bool
    allow_missing: bool
    crosstalk: str

    def __post_init__(self) -> None:
        if self.crosstalk not in CHOICES:
            raise ConfigError(
                f"'crosstalk' must be 'keep' or 'remove', got {self.crosstalk!r}"
            )

    @property
    def evaluation(self) -> Evaluation:
        """Files and usual scoring of the year."""
        if self.year not in EVALUATIONS:
            raise ConfigError(
                f"'year' must be one of {', '.join(map(str, EVALUATIONS))}, got "
                f"{self.year}"
            )
        return EVALUATIONS[self.year]


def write_data(
    folder: Path,
    tree: Tree,
    vad: VadConfig,
    law: SegmentLaw,
    *,
    seed: int,
    progress: Progress,
) -> None:
    """Write a data directory of segments of known speakers, and a record of it.

    The folder receives ``data`` (`wav.scp`, `segments`, `utt2spk`, `spk2utt`,
    `spk2gender`, `reco2dur`), ``trials`` (whole sides, and the key of their trials) if
    trials are scored, and ``corpus.json``. Speech is detected in whole sides. The draws
    of a speaker do not depend on other speakers.
    """
    corpus = collect_corpus(
        tree.corpus,
        year=tree.year,
        keys=tree.keys or None,
        condition=tree.condition,
        gender=tree.gender,
        where=tree.where,
        sides=tree.sides,
        with_trials=tree.trials,
        allow_missing=tree.allow_missing,
    )
    path = folder / DATA
    speakers_of = corpus.selection.speakers
    write_sides(path, {s.id: s for s in speakers_of}, corpus.audio, corpus.durations)
    if tree.trials:
        _write_trials(folder / TRIAL_DATA, corpus)
    problems: list[Problem] = []
    speech = _speech(DataDir(path), vad, problems, len(speakers_of), progress)
    shares = {}
    for side in speakers_of:
        if side.id in speech:
            leaked = _crosstalk(corpus.audio[side])[side.channel - 1]
            remaining, shares[side.id] = without_crosstalk(speech[side.id], leaked)
            if tree.crosstalk == "remove":
                speech[side.id] = remaining
    cuts = _cut(corpus, speech, law, seed)
    segments, speakers = _named(cuts)
    if not segments:
        raise DataFormatError(
            f"no segment of at least {law.shortest:g} s could be cut; look at the "
            f"settings of [vad]",
            path=path,
        )
    write_segments(path / "segments", segments)
    write_utt2spk(path / "utt2spk", speakers)
    write_spk2utt(path / "spk2utt", speakers)
    genders = corpus.selection.genders
    named = sorted(set(speakers.values()))
    if all(name in genders for name in named):
        write_spk2gender(path / "spk2gender", {name: genders[name] for name in named})
    record = {
        **_described(corpus, speech, cuts),
        "crosstalk": {s: p for s, p in shares.items() if p >= STRONG_SHARE},
        "missing": list(corpus.missing),
        "problems": [str(problem) for problem in problems],
    }
    write_json(folder / RECORD, record)
    tell_problems([*record["missing"], *record["problems"]], progress)


def read_corpus_record(folder: Path) -> dict[str, Any]:
    """Read the record of `write_data`."""
    record: dict[str, Any] = read_json(folder / RECORD)
    return record


def write_report(
    run: StageRun,
    printed: Path,
    settings: Mapping[str, Any],
    choice: ModelChoice | None,
) -> None:
    """Write the report of the speaker experiment, with texts on this corpus.

    `printed` is the file of the paper's rows, and `choice` the i-vector model; None
    means that the vectors were given.
    """
    named, extractor, embedded = dict(settings), GIVEN, False
    if choice is not None:
        corpus = read_corpus_record(run.before["corpus"])
        named["embeddings"] = _corpus_words(corpus, settings)
        extractor, embedded = choice.description, choice.embedded
    n_speakers = read_record(run.before["prepare"])["corpus_speakers"]
    layout = EVALUATIONS[settings["year"]]
    words = {"title": layout.title.partition(",")[0], "extractor": extractor}
    if settings["year"] == 2008:
        words |= {
            "comparison": _comparison(n_speakers, embedded=embedded),
            "kinship": (
                "the same corpus, but the demonstration model: our figures are a check "
                "that the recipe runs"
                if embedded
                else "the same corpus"
            ),
        }
    scored = read_json(run.before[TRIAL_DATA] / FIGURES) if _scores(run) else None
    speaker_report.write_report(run, printed, named, words, trials=scored)


def _scores(run: StageRun) -> bool:
    return TRIAL_DATA in run.before


def _write_trials(folder: Path, corpus: Corpus) -> None:
    """Write whole sides, the sides of each model, and a Kaldi list of trials."""
    tested = {trial.model for trial in corpus.trials}
    models = {name: corpus.models[name] for name in corpus.models if name in tested}
    sides = dict.fromkeys(side for model in models.values() for side in model.sides)
    sides |= dict.fromkeys(trial.side for trial in corpus.trials)
    ordered = sorted(sides)
    write_sides(folder, {s.id: s for s in ordered}, corpus.audio, corpus.durations)
    enrolment = [" ".join([n, *(s.id for s in m.sides)]) for n, m in models.items()]
    write_text(folder / ENROLMENT, "\n".join(enrolment) + "\n")
    answers = {True: "target", False: "nontarget"}
    lines = (f"{t.model} {t.side.id} {answers[t.is_target]}\n" for t in corpus.trials)
    write_text(folder / TRIALS, "".join(lines))


def write_scores(
    folder: Path,
    vectors: Path,
    data: Path,
    backend: BackEnd | None,
    layout: Evaluation,
) -> None:
    """Score the trials of `data`; write scores (model, side, score) and error rates.

    A model is the mean of the vectors of its sides. Without a back end, cosine scoring
    is fitted to all sides. Trials of sides without a vector are skipped and counted.
    """
    embeddings = read_embeddings(vectors)
    scorer = backend or session_backend(embeddings.vectors)
    phi = phi_of(scorer, embeddings.vectors)  # shape: (n_vectors, q)
    row_of = {name: row for row, name in enumerate(embeddings.ids)}
    lines = (data / ENROLMENT).read_text(encoding="utf-8").splitlines()
    models = {
        name: [row_of[side] for side in sides if side in row_of]
        for name, *sides in map(str.split, lines)
    }
    sides = tuple(DataDir(data).audio)
    trials = read_trials(data / TRIALS, tuple(models), sides)
    counts = np.array([len(rows) for rows in models.values()])  # shape: (n_models,)
    vector_of = np.array([row_of.get(side, -1) for side in sides])
    usable = (counts[trials.rows] > 0) & (vector_of[trials.columns] >= 0)
    left, right = trials.rows[usable], trials.columns[usable]
    truth = np.asarray(trials.is_target, dtype=np.bool_)[usable]
    if not truth.any() or truth.all():
        raise DataFormatError(
            f"must hold target and nontarget trials of sides with speech, got "
            f"{len(truth)} of one kind",
            path=data / TRIALS,
        )
    means = np.array(
        [phi[rows or [0]].mean(axis=0) for rows in models.values()]
    )  # shape: (n_models, q); without vectors any will do
    if scorer.kind == "plda":
        terms = trial_terms(
            plda_of(scorer),
            means,
            phi,
            n_enroll=np.maximum(counts, 1),
            normalize_length=bool(scorer.norm_weights.any()),
        )
    else:
        terms = TrialTerms(scale_rows(means), np.zeros(len(means)), phi)
    blocks = [slice(i, i + _BLOCK) for i in range(0, len(left), _BLOCK)]
    scores = np.concatenate(
        [terms.pairs(left[block], vector_of[right[block]]) for block in blocks]
    )
    names = tuple(models)
    rows = zip(left.tolist(), right.tolist(), scores.tolist(), strict=True)
    text = "".join(f"{names[i]} {sides[j]} {score:.9g}\n" for i, j, score in rows)
    write_text(folder / SCORES, text)
    record = {
        "trials": len(scores),
        "targets": int(truth.sum()),
        "models": int(np.count_nonzero(counts)),
        "sides": len(embeddings),
        "skipped": len(trials.rows) - len(scores),
        "backend": "cosine, fitted to all sides" if backend is None else backend.kind,
        "p_target": list(layout.cost.p_target),
        **trial_figures(scores, truth, layout.cost),
    }
    write_json(folder / FIGURES, record)


def _crosstalk(file: Path) -> list[list[Span]]:
    """Find cross-talk in all channels of a file."""
    with ExitStack() as stack:
        first = stack.enter_context(AudioFile(file, channel=1))
        others = (first.other(number + 1) for number in range(1, first.n_channels))
        return find_crosstalk([first, *map(stack.enter_context, others)])


def _speech(
    data: DataDir,
    vad: VadConfig,
    problems: list[Problem],
    n_sides: int,
    progress: Progress,
) -> dict[str, list[Segment]]:
    speech = {}
    with progress.track("speech", n_sides) as advance:
        for name, regions in speech_of_recordings(data, vad, problems=problems):
            speech[name] = regions
            advance()
    return speech


def _cut(
    corpus: Corpus, speech: Mapping[str, list[Segment]], law: SegmentLaw, seed: int
) -> dict[str, Cuts]:
    regions: dict[str, list[Segment]] = {}
    for side, speaker in corpus.selection.speakers.items():
        regions.setdefault(speaker, []).extend(speech.get(side.id, []))
    return {
        speaker: cut_segments(
            regions[speaker], law, named_generator(seed, "cut", speaker)
        )
        for speaker in sorted(regions)
    }


def _named(
    cuts: Mapping[str, Cuts],
) -> tuple[dict[str, Segment], dict[str, str]]:
    """Return segments and speakers by id; ids begin with the speaker, as in Kaldi."""
    segments, speakers = {}, {}
    for speaker, cut in cuts.items():
        for segment in cut.segments:
            times = (round(1000.0 * t) for t in (segment.start, segment.end))
            start, end = (f"{time:07d}" for time in times)
            name = f"{speaker}-{segment.recording}-{start}-{end}"
            segments[name], speakers[name] = segment, speaker
    return segments, speakers


def _described(
    corpus: Corpus, speech: Mapping[str, Sequence[Segment]], cuts: Mapping[str, Cuts]
) -> dict[str, Any]:
    lengths = [segment.duration for cut in cuts.values() for segment in cut.segments]
    counts = [len(cut.segments) for cut in cuts.values()]
    heard = sum(region.duration for regions in speech.values() for region in regions)
    return {
        "speakers": sum(count > 0 for count in counts),
        "speakers_without_segments": [s for s, cut in cuts.items() if not cut.segments],
        "sides": len(corpus.selection.speakers),
        "hours": sum(corpus.durations[s] for s in corpus.selection.speakers) / 3600.0,
        "hours_of_speech": heard / 3600.0,
        "segments": len(lengths),
        "segments_per_speaker": [float(np.mean(counts)), float(np.std(counts))],
        "seconds_per_segment": [float(np.mean(lengths)), min(lengths), max(lengths)],
        "shortened": sum(cut.n_shortened for cut in cuts.values()),
        "dropped": sum(cut.n_dropped for cut in cuts.values()),
    }


def _corpus_words(record: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    mean, low, high = record["seconds_per_segment"]
    layout = EVALUATIONS[settings["year"]]
    number = settings["condition"] or layout.condition
    gender = settings["gender"] or layout.gender
    parts = [
        layout.title,
        *([f"condition {number}"] if number else settings["where"] or layout.where),
        {"m": "male", "f": "female", "all": "men and women"}[gender],
    ]
    return (
        f"I-vectors of {', '.join(parts)}: {record['sides']} sides with "
        f"{record['hours_of_speech']:.1f} h of speech; segments of {low:.2f} to "
        f"{high:.2f} s, {mean:.2f} s on average, {record['shortened']} of them "
        f"shortened and {record['dropped']} dropped for lack of room"
    )


def _comparison(n_speakers: int, *, embedded: bool) -> str:
    speakers = (
        f"the paper's {PAPER_SPEAKERS} speakers"
        if n_speakers == PAPER_SPEAKERS
        else f"{n_speakers} speakers here, {PAPER_SPEAKERS} in the paper"
    )
    same = f"The paper's corpus is NIST SRE 2008, and so is this one ({speakers})."
    if embedded:
        return (
            f"{same} But the i-vectors come from the demonstration model of this "
            f"package, which is small and was trained on 1.6 hours of read speech and "
            f"isolated words. The figures are a check that the recipe runs; do not "
            f"compare them with the paper's rows. For figures that can be compared, "
            f"train a model on telephone speech (--set train=DATA_DIR) or give one "
            f"(--set model=FILE)."
        )
    return (
        f"{same} The figures depend on the i-vector model: they are comparable with "
        f"the paper's only if that model was trained on comparable data (many hours of "
        f"telephone speech of other speakers). Even then exact agreement cannot be "
        f"expected. The paper does not state which sides it cut, how it found speech, "
        f"its training data, the rank of T, the dimensions after the PCA, or how close "
        f"resting points must be to count as one cluster."
    )
