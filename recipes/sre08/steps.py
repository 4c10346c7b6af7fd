"""The paper's corpus: from an LDC tree to a data directory of short segments.

Keys say who speaks on which side of which conversation, a speech detector says when,
and the paper's law gives the lengths of segments. The report has the tables of the
speaker experiment. The printed rows are for the same corpus, so the report also names
the i-vector model, which decides whether rows may be compared.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

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
from sms_diar.io.audio.recording import AudioSource
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.kaldi.tables import (
    write_reco2dur,
    write_segments,
    write_spk2gender,
    write_spk2utt,
    write_utt2spk,
    write_wav_scp,
)
from sms_diar.types import Problem, Segment

from .._common import speaker_report
from .._common.extraction import ModelChoice, tell_problems
from .._common.sessions import read_record
from .corpus import Corpus, collect_corpus
from .cuts import Cuts, SegmentLaw, cut_segments
from .keys import Side

DATA = "data"
RECORD = "corpus.json"
PAPER_SPEAKERS = 198
GIVEN = "unknown, the vectors were given"


@dataclass(frozen=True)
class Tree:
    """Selection from the folders of the corpus; see `collect_corpus`.

    Parameters
    ----------
    corpus : tuple of str
        Folders of LDC's SRE 2008, searched to any depth. If two of them hold a file
        of one name, the first folder counts.
    keys : str
        Folder with NIST_SRE08_KEYS.v0.1, if it is not in `corpus`.
    condition : int
        Common condition; 7 is English telephone speech in training and test.
    gender : str
        "m" or "f".
    sides : str
        "training" (short2), "test" (short3, target trials) or "both".
    allow_missing : bool
        Continue without files that are missing or unreadable.
    crosstalk : str
        "remove" the speech of the other side that is heard faintly, or "keep" it.
    """

    corpus: tuple[str, ...]
    keys: str
    condition: int
    gender: str
    sides: str
    allow_missing: bool
    crosstalk: str

    def __post_init__(self) -> None:
        if self.crosstalk not in CHOICES:
            raise ConfigError(
                f"'crosstalk' must be 'keep' or 'remove', got {self.crosstalk!r}"
            )


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
    `spk2gender`, `reco2dur`) and ``corpus.json``. Speech is detected in whole sides.
    The draws of a speaker do not depend on other speakers.
    """
    corpus = collect_corpus(
        tree.corpus,
        keys=tree.keys or None,
        condition=tree.condition,
        gender=tree.gender,
        sides=tree.sides,
        allow_missing=tree.allow_missing,
    )
    path = folder / DATA
    path.mkdir(exist_ok=True)
    write_wav_scp(
        path / "wav.scp",
        {side.id: _source(file, side) for side, file in corpus.audio.items()},
    )
    write_reco2dur(
        path / "reco2dur", {side.id: time for side, time in corpus.durations.items()}
    )
    problems: list[Problem] = []
    speech = _speech(DataDir(path), vad, problems, len(corpus.audio), progress)
    shares = {}
    for side, file in corpus.audio.items():
        if side.id in speech:
            leaked = _crosstalk(file)[side.channel - 1]
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
    write_spk2gender(
        path / "spk2gender",
        {name: genders[name] for name in sorted(set(speakers.values()))},
    )
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
    words = {
        "title": "NIST SRE 2008",
        "extractor": extractor,
        "comparison": _comparison(n_speakers, embedded=embedded),
        "kinship": (
            "the same corpus, but the demonstration model: our figures are a check "
            "that the recipe runs"
            if embedded
            else "the same corpus"
        ),
    }
    speaker_report.write_report(run, printed, named, words)


def _source(file: Path, side: Side) -> AudioSource:
    """Return a command as in Kaldi's recipes, which is never run here."""
    place = shlex.quote(str(file.resolve()))
    return AudioSource(f"sph2pipe -f wav -p -c {side.channel} {place} |")


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
        "sides": len(corpus.audio),
        "hours": sum(corpus.durations.values()) / 3600.0,
        "hours_of_speech": heard / 3600.0,
        "segments": len(lengths),
        "segments_per_speaker": [float(np.mean(counts)), float(np.std(counts))],
        "seconds_per_segment": [float(np.mean(lengths)), min(lengths), max(lengths)],
        "shortened": sum(cut.n_shortened for cut in cuts.values()),
        "dropped": sum(cut.n_dropped for cut in cuts.values()),
    }


def _corpus_words(record: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    mean, low, high = record["seconds_per_segment"]
    gender = {"m": "male", "f": "female"}[settings["gender"]]
    return (
        f"I-vectors of NIST SRE 2008, short2-short3, condition "
        f"{settings['condition']}, {gender}: {record['sides']} sides with "
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
