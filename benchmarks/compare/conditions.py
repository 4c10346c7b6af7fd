"""Conditions: who speaks how much in a session, and where the speech comes from.

A condition is a plain value, so that it can travel to a worker and into the frozen
settings. Its sessions follow from the seed, the name of the condition and the
number of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recipes._common.sessions import Drawn, load_corpus
from sms_diar._random import named_generator
from sms_diar._validation import check_count
from sms_diar.errors import InvalidParameterError
from sms_diar.synthetic import PldaWorld
from sms_diar.types import FloatArray, IntArray

LAWS = ("all", "half", "uneven", "zipf", "extremes")
LEAST_UNEVEN = 6  # segments of the quietest speaker
LEAST_ZIPF = 2
WHOLE_SHARE = 0.9  # of the segments, where a session has all speakers of a corpus
TAIL = 5.0  # degrees of freedom of heavy-tailed residuals
BALANCED = (34.0, 6.0)  # mean and spread of the number of segments of a speaker


@dataclass(frozen=True)
class Condition:
    """One row of the table.

    Parameters
    ----------
    name : str
        Unique.
    group : str
        Rows that are averaged together.
    source : str
        Name of the prepared source.
    speakers : int
        Speakers of a session.
    law : str
        "all": all segments of a drawn speaker; "half": half of them; "uneven": 6 to
        all of them, all numbers as likely; "zipf": the r-th speaker 1 / r of them, at
        least 2; "extremes": the outer two thirds along the first principal component
        of a speaker, whose voice therefore changes; a number: this many.
    runs : int
        Sessions.
    part : str, default="trained"
        Section of the report: "trained" where a PLDA model scores, else "untrained"
        or "doubled".
    stream : str, default=""
        Name that the draws follow from; empty for the name of the condition. Conditions
        that share it draw the same speakers.
    doubles : str, default=""
        Condition of which each session is doubled.
    """

    name: str
    group: str
    source: str
    speakers: int
    law: str = "all"
    runs: int = 20
    part: str = "trained"
    stream: str = ""
    doubles: str = ""

    def __post_init__(self) -> None:
        check_count("Condition", "speakers", self.speakers)
        check_count("Condition", "runs", self.runs)
        if self.law not in LAWS and not self.law.isdecimal():
            raise InvalidParameterError(
                f"must be {', '.join(map(repr, LAWS))} or a number, got {self.law!r}",
                owner="Condition",
                parameter="law",
            )

    @property
    def expected_segments(self) -> int:
        """Segments of a session, about."""
        mean = BALANCED[0]
        if self.law == "half":
            mean = mean / 2.0
        elif self.law == "extremes":
            mean = mean * 2.0 / 3.0
        elif self.law == "uneven":
            mean = (LEAST_UNEVEN + mean) / 2.0
        elif self.law == "zipf":
            ranks = np.arange(1, self.speakers + 1)
            mean = float(np.maximum(LEAST_ZIPF, mean / ranks).mean())
        elif self.law != "all":
            mean = float(self.law)
        return round(mean * self.speakers)


def segments_of(law: str, available: int, rank: int, rng: np.random.Generator) -> int:
    """Return the number of segments of the speaker of a rank (from 1)."""
    if law in ("all", "extremes"):
        return available
    if law == "half":
        return (available + 1) // 2
    if law == "uneven":
        return int(rng.integers(min(LEAST_UNEVEN, available), available + 1))
    if law == "zipf":
        return min(available, max(LEAST_ZIPF, round(available / rank)))
    return min(available, int(law))


def draw(condition: Condition, source: Mapping[str, Any], run: int, seed: int) -> Drawn:
    """Draw one session, its segments in random order.

    Parameters
    ----------
    condition : Condition
        Distribution of speech over speakers.
    source : mapping
        ``{"corpus": npz of vectors and spk}``, ``{"world": fields of PldaWorld,
        "tail": degrees of freedom, 0 for Gaussian residuals}``, or ``{"isotropic":
        arguments of `draw_isotropic`}``.
    run, seed : int
        Number of the session.
    """
    rng = named_generator(seed, "compare", condition.stream or condition.name, run)
    if "world" in source:
        world = PldaWorld(**source["world"])
        session = draw_world(world, _world_counts(condition, rng), source["tail"], rng)
    elif "isotropic" in source:
        counts = _world_counts(condition, rng)
        session = draw_isotropic(counts, rng, **source["isotropic"])
    else:
        session = _draw_corpus(condition, load_corpus(source["corpus"]), rng)
    order = rng.permutation(len(session.X))
    return Drawn(session.X[order], session.speakers[order])


def draw_world(
    world: PldaWorld, counts: Sequence[int], tail: float, rng: np.random.Generator
) -> Drawn:
    """Draw speakers of a PLDA world, each with a given number of segments.

    Parameters
    ----------
    world : PldaWorld
        Speakers and segments; its own law of numbers is not used.
    counts : sequence of int
        Segments of each speaker.
    tail : float
        Degrees of freedom of Student's t, above 2, which residuals then follow with
        the same covariance; 0 means Gaussian.
    rng : Generator
        Source of the draws.
    """
    if tail and tail <= 2.0:
        raise InvalidParameterError(
            f"must be 0 or a number > 2, got {tail!r}",
            owner="draw_world",
            parameter="tail",
        )
    model = world.model
    speakers = np.repeat(np.arange(len(counts)), counts)
    durations = world.draw_durations(len(speakers), rng)
    voices = np.sqrt(model.psi) * rng.standard_normal((len(counts), world.dim))
    spread: FloatArray = np.sqrt(world.residual_variance(durations))
    if tail:
        # t = normal / sqrt(chi2 / tail) has the variance tail / (tail - 2).
        spread = spread * np.sqrt((tail - 2.0) / rng.chisquare(tail, len(speakers)))
    residuals = spread[:, None] * rng.standard_normal((len(speakers), world.dim))
    # The axes are orthonormal rows: their transpose turns back.
    return Drawn((voices[speakers] + residuals) @ model.transform, speakers)


def draw_isotropic(
    counts: Sequence[int], rng: np.random.Generator, *, dim: int, separation: float
) -> Drawn:
    """Draw speakers and segments that vary alike in all directions.

    `counts` are the segments of each speaker, and `separation` is the standard
    deviation between speakers in units of the one within them.
    """
    speakers = np.repeat(np.arange(len(counts)), counts)
    voices = separation * rng.standard_normal((len(counts), dim))
    return Drawn(voices[speakers] + rng.standard_normal((len(speakers), dim)), speakers)


def extremes(X: FloatArray) -> IntArray:
    """Return the outer two thirds of rows along their first principal component."""
    centred = X - X.mean(axis=0)
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    order = np.argsort(centred @ axis, kind="stable")
    third = max(1, len(X) // 3)
    return np.sort(np.concatenate([order[:third], order[len(X) - third :]]))


def fitting(
    conditions: Iterable[Condition], available: Mapping[str, int]
) -> list[Condition]:
    """Conditions whose sources exist and have enough speakers.

    Parameters
    ----------
    conditions : iterable of Condition
        All.
    available : mapping from str to int
        Speakers of the sources that there are; 0 for any number.
    """
    return [
        condition
        for condition in conditions
        if condition.source in available
        and not 0 < available[condition.source] < condition.speakers
    ]


def _world_counts(condition: Condition, rng: np.random.Generator) -> list[int]:
    if condition.law.isdecimal():
        return [int(condition.law)] * condition.speakers
    drawn = np.rint(rng.normal(*BALANCED, size=condition.speakers)).astype(int)
    return [
        segments_of(condition.law, max(1, int(number)), rank, rng)
        for rank, number in enumerate(drawn, start=1)
    ]


def _draw_corpus(
    condition: Condition, corpus: Drawn, rng: np.random.Generator
) -> Drawn:
    names = np.unique(corpus.speakers)
    if condition.speakers > len(names):
        raise InvalidParameterError(
            f"must be at most the {len(names)} of the corpus, got {condition.speakers}",
            owner="draw",
            parameter="speakers",
        )
    rows = []
    chosen = rng.choice(names, size=condition.speakers, replace=False)
    for rank, name in enumerate(chosen, start=1):
        own = rng.permutation(np.flatnonzero(corpus.speakers == name))
        if condition.law == "extremes":
            own = own[extremes(corpus.X[own])]
        rows.append(own[: segments_of(condition.law, len(own), rank, rng)])
    taken = np.concatenate(rows)
    if condition.speakers == len(names) and condition.law == "all":
        # All sessions would be one and the same.
        kept = rng.choice(len(taken), round(WHOLE_SHARE * len(taken)), replace=False)
        taken = taken[np.sort(kept)]
    return Drawn(corpus.X[taken], corpus.speakers[taken])


def simulated_conditions(
    eers: Sequence[float],
    speakers: Sequence[int],
    each: Sequence[int],
    *,
    base_eer: float,
    base_speakers: int,
    runs: int,
    runs_large: int,
    large: int,
) -> list[Condition]:
    """Worlds of several error rates, and one world in all other respects."""
    base = world_name(base_eer)
    n = base_speakers

    def row(what: str, source: str, count: int = n, law: str = "all") -> Condition:
        number = runs_large if count >= large else runs
        return Condition(f"sim {what}", "simulated", source, count, law, number)

    rows = [row(f"EER {100 * eer:g} %, {n} spk", world_name(eer)) for eer in eers]
    rows.append(row(f"heavy tails, {n} spk", "heavy"))
    rows.append(row(f"mismatched, {n} spk", "mismatched"))
    rows += [row(f"{count} spk", base, count) for count in speakers if count != n]
    rows.append(row(f"{n} uneven", base, law="uneven"))
    rows.append(row(f"{n} zipf", base, law="zipf"))
    rows += [row(f"{n} spk x {k}", base, law=str(k)) for k in each]
    if base_eer not in eers:
        rows.insert(0, row(f"{n} spk", base))
    return rows


def world_name(eer: float) -> str:
    """Name of the source at an error rate."""
    return f"eer-{100 * eer:g}"


def corpus_conditions(
    corpus: str,
    label: str,
    group: str,
    speakers: Sequence[int],
    laws: Sequence[tuple[int, str]] = (),
    *,
    runs: int,
    runs_large: int,
    large: int,
) -> list[Condition]:
    """Sessions of a corpus: all segments of some speakers, and further laws.

    Parameters
    ----------
    corpus : str
        Name of the source.
    label, group : str
        Return the first columns of rows, by which they are averaged.
    speakers : sequence of int
        Speakers of balanced sessions.
    laws : sequence of (int, str)
        Speakers and law of further rows.
    runs, runs_large, large : int
        Sessions; fewer where there are at least `large` speakers.
    """
    pairs = [*((count, "all") for count in speakers), *laws]
    words = {"all": "spk", "uneven": "uneven", "zipf": "zipf"}
    return [
        Condition(
            f"{label} {count} {words.get(law, f'spk x {law}')}",
            group,
            corpus,
            count,
            law,
            runs_large if count >= large else runs,
        )
        for count, law in pairs
    ]
