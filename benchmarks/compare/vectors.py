"""Sessions without a PLDA model: the vectors alone, and as many laws of talk.

This is the usual case: vectors of any network, without a trained back end.
Sources are networks' vectors as files give them, and i-vectors without their back end.
In development these are of extractors that have not seen the corpus, because the
embedded extractor was trained on both; in the test they are of the embedded one.

A doubled session has all segments of its speakers, and its half every second one, so
that nothing but the length of the recording differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.conditions import Condition, draw_isotropic
from recipes._common.corpora import VECTORS
from recipes._common.sessions import load_corpus
from recipes._common.threads import one_thread
from sms_diar._random import named_generator
from sms_diar.io.embeddings.arrays import read_npz, read_speakers, write_npz
from sms_diar.metrics import all_pairs, equal_error_rate
from sms_diar.scoring.backend_training import session_backend
from sms_diar.synthetic import PldaWorld
from sms_diar.types import AnyArray, EmbeddingSet, FloatArray

STAND_IN = "stand-in"
KINDS = {"campplus": "CAM++", "ge2e": "GE2E", "ivectors": "i-vectors"}
"""Kinds of vectors, and what rows of the table call them."""

FILES = {"campplus": "campplus_8k.npz", "ge2e": VECTORS}
"""Files beside the audio of a corpus; i-vectors are computed."""

POOLS = {
    "pool": ("arabic8k", "libri-testother10-8k"),
    "crowd": ("arabic8k", "libri-testother10-8k", "libri251-8k"),
}
"""Corpora whose speakers take part in one session, where a single one has too few. Most
of the second have five or six segments."""

LAW_WORDS = {"all": "even", "uneven": "uneven", "zipf": "zipf", "4": "few"}
ISOTROPIC = ((64, 1.0), (64, 0.6), (192, 0.5))
"""Dimensions and separations of isotropic speakers."""

_ISOTROPIC_EACH = ("4", "12")  # segments of each speaker
_ISOTROPIC_PAIR = "40"  # of each of two speakers
_STAND_IN_SPEAKERS = 12


@dataclass(frozen=True)
class UntrainedSettings:
    """Sessions without a PLDA model.

    Parameters
    ----------
    methods : tuple of str
        Methods to compare, here and on windows in time.
    kinds : tuple of str
        Kinds of vectors: "campplus", "ge2e", "ivectors".
    laws : tuple of str
        Amount of talk per speaker: "all" segments, "uneven", "zipf", or "4" segments.
    arabic : tuple of int
        Numbers of speakers in sessions of arabic8k.
    testother : tuple of int
        Numbers of speakers in sessions of libri-testother10-8k.
    pool : tuple of int
        Numbers of speakers in sessions of both corpora together.
    crowd : tuple of int
        Numbers of speakers in sessions of these two and libri251-8k, whose speakers
        have five segments.
    stand_in : tuple of int
        Numbers of speakers of a simulated corpus that replaces these corpora; empty:
        use the corpora.
    test : tuple of int
        Numbers of speakers in sessions of the test corpus.
    runs : int
        Sessions of each condition; `runs_large` holds from `large` speakers.
    doubled : tuple of int
        Numbers of speakers of sessions that are doubled, if the corpus has more.
    runs_doubled : int
        Sessions of each doubled condition.
    isotropic : tuple of int
        Numbers of speakers who vary alike in all directions.
    """

    methods: tuple[str, ...]
    kinds: tuple[str, ...]
    laws: tuple[str, ...]
    arabic: tuple[int, ...]
    testother: tuple[int, ...]
    pool: tuple[int, ...]
    crowd: tuple[int, ...]
    stand_in: tuple[int, ...]
    test: tuple[int, ...]
    runs: int
    doubled: tuple[int, ...]
    runs_doubled: int
    isotropic: tuple[int, ...]

    @property
    def speakers(self) -> dict[str, tuple[int, ...]]:
        """Speakers of sessions, by corpus of development."""
        if self.stand_in:
            return {STAND_IN: self.stand_in}
        wanted = {
            "arabic8k": self.arabic,
            "libri-testother10-8k": self.testother,
            "pool": self.pool,
            "crowd": self.crowd,
        }
        return {corpus: numbers for corpus, numbers in wanted.items() if numbers}


def corpora_in(corpus: str) -> tuple[str, ...]:
    """Corpora that a pool is made of; of any other corpus, itself."""
    return POOLS.get(corpus, (corpus,))


def raw_name(corpus: str, kind: str) -> str:
    """Name of the source of vectors of a kind, without a back end."""
    return f"{corpus}-{kind}-raw"


def without_backend(source: Mapping[str, Any], words: str) -> dict[str, Any]:
    """Entry of the catalogue for the same vectors, scored by the session alone."""
    corpus = load_corpus(source["corpus"])
    return {
        "corpus": source["corpus"],
        "speakers": source["speakers"],
        "segments": source["segments"],
        "backend": "",
        "eer": cosine_eer(corpus.X, corpus.speakers),
        "words": words,
    }


def cosine_eer(X: FloatArray, speakers: AnyArray) -> float:
    """Equal error rate of all pairs, scored as methods do without a back end."""
    if len(np.unique(speakers)) < 2:
        return 0.0
    return equal_error_rate(*all_pairs(session_backend(X).score_matrix(X), speakers))


@one_thread
def prepare_vectors(
    *, corpus: str, network: str, root: str, folder: str
) -> dict[str, dict[str, Any]]:
    """Vectors of a network, as files beside the audio of corpora have them."""
    ids: list[str] = []
    rows: list[FloatArray] = []
    speakers: dict[str, str] = {}
    for name in corpora_in(corpus):
        path = Path(root) / name / FILES[network]
        vectors, own = read_npz(path), read_speakers(path)
        # Ids and names of speakers are unique within a corpus only.
        ids += [f"{name}/{one}" for one in vectors.ids]
        rows.append(vectors.vectors)
        speakers |= {f"{name}/{one}": f"{name}/{own[one]}" for one in vectors.ids}
    return _kept(
        raw_name(corpus, network),
        EmbeddingSet(tuple(ids), np.concatenate(rows)),
        speakers,
        folder,
        f"{KINDS[network]}, no PLDA: cosine, fitted to the session",
    )


@one_thread
def prepare_stand_in(
    *, world: Mapping[str, Any], folder: str, seed: int
) -> dict[str, dict[str, Any]]:
    """Vectors of simulated speakers, for trials without a corpus."""
    rng = named_generator(seed, "compare", STAND_IN)
    drawn = PldaWorld(**world).draw_session(_STAND_IN_SPEAKERS, rng)
    ids = tuple(f"seg{i:04d}" for i in range(len(drawn.X)))
    names = [f"spk{number:02d}" for number in drawn.speakers]
    return _kept(
        raw_name(STAND_IN, "vectors"),
        EmbeddingSet(ids, drawn.X),
        dict(zip(ids, names, strict=True)),
        folder,
        "simulated, no PLDA: cosine, fitted to the session",
    )


@one_thread
def prepare_isotropic(
    *, name: str, dim: int, separation: float, seed: int
) -> dict[str, dict[str, Any]]:
    """Describe isotropic speakers; nothing is written."""
    rng = named_generator(seed, "compare", name)
    drawn = draw_isotropic([12] * 60, rng, dim=dim, separation=separation)
    return {
        name: {
            "isotropic": {"dim": dim, "separation": separation},
            "backend": "",
            "speakers": 0,
            "segments": 0,
            "eer": cosine_eer(drawn.X, drawn.speakers),
            "words": "simulated, isotropic, no PLDA: cosine, fitted to the session",
        }
    }


def isotropic_name(dim: int, separation: float) -> str:
    """Name of a source of isotropic speakers."""
    return f"isotropic-{dim}-{separation:g}"


def isotropic_conditions(
    speakers: Sequence[int], *, runs: int, runs_large: int, large: int
) -> list[Condition]:
    """Rows of isotropic speakers: few with many segments, and crowds with few."""
    return [
        Condition(
            f"isotropic {dim}-d {separation:g}, {count} spk x {law}",
            "isotropic",
            isotropic_name(dim, separation),
            count,
            law,
            min(runs, runs_large) if count >= large else runs,
            part="untrained",
        )
        for dim, separation in ISOTROPIC
        for count in speakers
        for law in (_ISOTROPIC_EACH if count > 2 else (_ISOTROPIC_PAIR,))
    ]


def changing_conditions(
    corpus: str, label: str, kinds: Mapping[str, str], runs: int
) -> list[Condition]:
    """Rows of two people whose voice changes."""
    return [
        Condition(
            f"{label} {words} 2 changing",
            "voice changes",
            raw_name(corpus, kind),
            2,
            "extremes",
            runs,
            part="untrained",
        )
        for kind, words in kinds.items()
    ]


def untrained_conditions(
    corpus: str,
    label: str,
    kinds: Mapping[str, str],
    speakers: Sequence[int],
    laws: Sequence[str],
    *,
    runs: int,
    runs_large: int,
    large: int,
) -> list[Condition]:
    """Rows of a corpus without a PLDA model: every kind, law and number.

    Parameters
    ----------
    corpus, label : str
        Its name in sources, and in rows of the table.
    kinds : mapping from str to str
        Kinds of vectors, and what rows call them.
    speakers : sequence of int
        Speakers of a session.
    laws : sequence of str
        Distribution of speech over speakers; some need two.
    runs, runs_large, large : int
        Sessions; fewer where there are at least `large` speakers.
    """
    return [
        Condition(
            f"{label} {words} {count} {LAW_WORDS[law]}",
            f"{words} {LAW_WORDS[law]}",
            raw_name(corpus, kind),
            count,
            law,
            min(runs, runs_large) if count >= large else runs,
            part="untrained",
        )
        for kind, words in kinds.items()
        for law in laws
        for count in speakers
        if count > 1 or law not in ("zipf", "4")
    ]


def doubled_conditions(
    corpus: str,
    label: str,
    kinds: Mapping[str, str],
    speakers: Sequence[int],
    runs: int,
) -> list[Condition]:
    """Pairs of rows: half of all segments of each speaker, and all of them."""
    return [
        Condition(
            f"{label} {words} {count} spk, {length}",
            words,
            raw_name(corpus, kind),
            count,
            law,
            runs,
            part="doubled",
            stream=f"{label} {words} {count} spk, doubled",
            doubles="" if law == "half" else f"{label} {words} {count} spk, half",
        )
        for kind, words in kinds.items()
        for count in speakers
        for law, length in (("half", "half"), ("all", "doubled"))
    ]


def _kept(
    name: str,
    vectors: EmbeddingSet,
    speakers: Mapping[str, str],
    folder: str,
    words: str,
) -> dict[str, dict[str, Any]]:
    path = Path(folder) / f"{name}.npz"
    write_npz(path, vectors, speakers=speakers)
    own = {speakers[name] for name in vectors.ids}
    source = {"corpus": str(path), "speakers": len(own), "segments": len(vectors)}
    return {name: without_backend(source, words)}
