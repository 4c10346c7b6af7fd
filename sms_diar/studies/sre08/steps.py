"""The paper's corpus: from an LDC tree to a data directory of short segments.

Keys say who speaks on which side of which conversation, a speech detector says
when, and the paper's law says how much of it makes a segment. The report is that
of the speaker experiment; but here the printed rows are for the same corpus.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar._json import read_json, write_json
from sms_diar._progress import Progress
from sms_diar._random import named_generator
from sms_diar.embeddings.cuts import Cuts, SegmentLaw, cut_segments
from sms_diar.errors import DataFormatError
from sms_diar.experiment.stages import StageRun
from sms_diar.features.extract import speech_of_recordings
from sms_diar.features.vad import VadConfig
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
from sms_diar.io.sre08 import Corpus, collect_corpus
from sms_diar.io.sre08_keys import Side
from sms_diar.studies._shared import speaker_report
from sms_diar.studies._shared.extraction import tell_problems
from sms_diar.studies._shared.prepared import read_record
from sms_diar.types import Problem, Segment

DATA = "data"
RECORD = "corpus.json"
PAPER_SPEAKERS = 198


@dataclass(frozen=True)
class Tree:
    """What to take from which folders; see `collect_corpus`."""

    corpus: tuple[str, ...]
    keys: str
    condition: int
    gender: str
    sides: str
    allow_missing: bool


def write_data(
    folder: Path,
    tree: Tree,
    vad: VadConfig,
    law: SegmentLaw,
    *,
    seed: int,
    progress: Progress,
) -> None:
    """Make a data directory of segments of known speakers, and a record of it.

    Parameters
    ----------
    folder : Path
        Gets ``data`` (`wav.scp`, `segments`, `utt2spk`, `spk2utt`, `spk2gender`,
        `reco2dur`) and ``corpus.json``.
    tree : Tree
        The corpus.
    vad : VadConfig
        Finds speech in whole sides.
    law : SegmentLaw
        Lengths and numbers of segments.
    seed : int
        Draws them; those of a speaker do not depend on the other speakers.
    progress : Progress
        Receives progress.
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
        "missing": list(corpus.missing),
        "problems": [str(problem) for problem in problems],
    }
    write_json(folder / RECORD, record)
    tell_problems([*record["missing"], *record["problems"]], progress)


def read_corpus_record(folder: Path) -> dict[str, Any]:
    """What `write_data` noted."""
    record: dict[str, Any] = read_json(folder / RECORD)
    return record


def write_report(
    run: StageRun,
    printed: Path,
    settings: Mapping[str, Any],
    *,
    corpus: Path | None,
) -> None:
    """Write the report of the speaker experiment, with words for this corpus.

    Parameters
    ----------
    run : StageRun
        The stage "report", after "prepare" and "sessions".
    printed : Path
        The paper's rows.
    settings : mapping
        All settings of the run.
    corpus : Path or None
        Folder with the record of the corpus; None for embeddings of the user's.
    """
    named = dict(settings)
    if corpus is not None:
        named["embeddings"] = _corpus_words(read_corpus_record(corpus), settings)
    n_speakers = read_record(run.before["prepare"])["corpus_speakers"]
    words = {"title": "NIST SRE 2008", "comparison": _comparison(n_speakers)}
    speaker_report.write_report(run, printed, named, words)


def _source(file: Path, side: Side) -> AudioSource:
    """As Kaldi's recipes write it; it is understood here without being run."""
    place = shlex.quote(str(file.resolve()))
    return AudioSource(f"sph2pipe -f wav -p -c {side.channel} {place} |")


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
    """Segments by id, and their speakers; ids begin with the speaker, as Kaldi asks."""
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


def _comparison(n_speakers: int) -> str:
    who = (
        f"the paper's {PAPER_SPEAKERS} speakers"
        if n_speakers == PAPER_SPEAKERS
        else f"{n_speakers} speakers here and {PAPER_SPEAKERS} in the paper"
    )
    return (
        f"The paper's corpus is NIST SRE 2008, and so is this one ({who}): the rows "
        f"may be compared. They cannot be expected to agree to the digit. The paper "
        f"does not say which sides it cut, how it found speech, on what it trained, "
        f"the rank of T, the dimensions after the PCA, or how close resting points "
        f"must be to count as one cluster."
    )
