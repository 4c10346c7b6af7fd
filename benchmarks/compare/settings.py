"""Settings of ``benchmarks/compare``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.compare.peers import PEERS
from benchmarks.compare.sources import SourceTraining
from benchmarks.compare.timed import TimedSettings
from benchmarks.compare.vectors import KINDS, LAW_WORDS, UntrainedSettings
from recipes._common.corpora import DEVELOPMENT, TEST, corpora_place
from sms_diar.errors import ConfigError

GROUPS = (
    "simulated",
    "arabic8k",
    "libri-testother10-8k",
    "hard",
    "meeting",
    "untrained",
    "doubled",
    "changing",
    "isotropic",
    "windows",
    "lengths",
)
UNTIL = ("develop", "test")
TEST_CORPORA = (TEST, *DEVELOPMENT, "simulated")


@dataclass(frozen=True)
class Worlds:
    """Simulated worlds; see `sms_diar.synthetic.PldaWorld`.

    Parameters
    ----------
    dim : int
        Dimensions of the vectors.
    decay : float
        Ratio of the smallest to the largest variance between speakers.
    duration_share : float
        Share of the variance within speakers that is due to short segments.
    eers : tuple of float
        Equal error rates.
    base_eer : float
        Equal error rate while the numbers of speakers and segments vary.
    base_speakers : int
        Number of speakers while other settings vary.
    speakers : tuple of int
        Numbers of speakers.
    each : tuple of int
        Numbers of segments per speaker.
    other_eer : float
        Equal error rate of the world that trains the mismatched back end.
    other_decay : float
        Its `decay`.
    other_duration_share : float
        Its `duration_share`.
    """

    dim: int
    decay: float
    duration_share: float
    eers: tuple[float, ...]
    base_eer: float
    base_speakers: int
    speakers: tuple[int, ...]
    each: tuple[int, ...]
    other_eer: float
    other_decay: float
    other_duration_share: float

    def fields(self, eer: float) -> dict[str, Any]:
        """Arguments of the world at an error rate."""
        return {
            "dim": self.dim,
            "eer": eer,
            "decay": self.decay,
            "duration_share": self.duration_share,
        }

    @property
    def other(self) -> dict[str, Any]:
        """Arguments of the world that the mismatched back end knows."""
        return {
            "dim": self.dim,
            "eer": self.other_eer,
            "decay": self.other_decay,
            "duration_share": self.other_duration_share,
        }


@dataclass(frozen=True)
class Config:
    """Settings of the recipe; the defaults are in conf.toml.

    Parameters
    ----------
    seed : int
        Random seed.
    until : str
        Last step: "develop", "freeze" (record everything the test depends on) or
        "test" (open the test corpus, if nothing has changed since the freeze).
    runs : int
        Sessions of each condition of the test.
    runs_corpora : int
        Sessions of each condition of a development corpus.
    runs_simulated : int
        Sessions of each simulated condition.
    runs_large : int
        Sessions of conditions with at least `large` speakers.
    runs_meeting : int
        Random seeds of the meeting.
    large : int
        Number of speakers from which `runs_large` holds.
    methods : tuple of str
        Methods to compare.
    limited : tuple of str
        Slow methods, skipped for sessions with more than `limit` segments.
    limit : int
        Maximum number of segments for the methods of `limited`.
    limit_pairs : int
        Maximum number of segments for methods that score all pairs.
    groups : tuple of str
        Groups of development conditions to run.
    test_corpus : str
        Corpus of the test. A development corpus, or "simulated", may replace it in
        trials.
    test_speakers : tuple of int
        Numbers of speakers in the test.
    test_uneven : tuple of int
        Numbers of speakers of test sessions in which speakers talk unevenly.
    test_base : int
        Number of speakers of test sessions under the law "zipf", and with 5 and 10
        segments per speaker.
    figures : bool
        Draw figures; needs the extra "plot".
    data : str
        Folder of the corpora; empty: $SMS_DIAR_DATA, `data` in conf/site.toml, or
        ../shared/data. Corpora that are missing there are skipped.
    world : Worlds
        Simulated worlds.
    training : SourceTraining
        Training of back ends and extractors.
    untrained : UntrainedSettings
        Sessions without a PLDA model.
    timed : TimedSettings
        Windows in time.
    """

    seed: int
    until: str
    runs: int
    runs_corpora: int
    runs_simulated: int
    runs_large: int
    runs_meeting: int
    large: int
    methods: tuple[str, ...]
    limited: tuple[str, ...]
    limit: int
    limit_pairs: int
    groups: tuple[str, ...]
    test_corpus: str
    test_speakers: tuple[int, ...]
    test_uneven: tuple[int, ...]
    test_base: int
    figures: bool
    data: str
    world: Worlds
    training: SourceTraining
    untrained: UntrainedSettings
    timed: TimedSettings

    def __post_init__(self) -> None:
        choices: dict[str, tuple[Any, tuple[str, ...]]] = {
            "until": (self.until, UNTIL),
            "test_corpus": (self.test_corpus, TEST_CORPORA),
            "methods": (self.methods, tuple(PEERS)),
            "limited": (self.limited, tuple(PEERS)),
            "groups": (self.groups, GROUPS),
            "untrained.methods": (self.untrained.methods, tuple(PEERS)),
            "untrained.kinds": (self.untrained.kinds, tuple(KINDS)),
            "untrained.laws": (self.untrained.laws, tuple(LAW_WORDS)),
        }
        for name, (given, known) in choices.items():
            if isinstance(given, str) and given not in known:
                raise ConfigError(
                    f"'{name}' must be one of {', '.join(known)}, got {given!r}"
                )
            if not isinstance(given, str) and not set(given) <= set(known):
                raise ConfigError(
                    f"'{name}' must be some of {', '.join(known)}, got "
                    f"{', '.join(given)}"
                )
        numbers = {
            "runs": self.runs,
            "runs_corpora": self.runs_corpora,
            "runs_simulated": self.runs_simulated,
            "runs_large": self.runs_large,
            "runs_meeting": self.runs_meeting,
            "untrained.runs": self.untrained.runs,
            "untrained.runs_doubled": self.untrained.runs_doubled,
            "timed.runs": self.timed.runs,
            "timed.runs_cuts": self.timed.runs_cuts,
        }
        for name, number in numbers.items():
            if number < 1:
                raise ConfigError(f"'{name}' must be a number >= 1, got {number}")
        if self.timed.repeated not in (0.0, *self.timed.cuts):
            known_cuts = ", ".join(f"{seconds:g}" for seconds in self.timed.cuts)
            raise ConfigError(
                f"'timed.repeated' must be one of 'timed.cuts' ({known_cuts}) or 0, "
                f"got {self.timed.repeated:g}"
            )

    @property
    def root(self) -> Path:
        """Folder of the corpora, whether or not it is there."""
        return corpora_place(self.data)

    @property
    def work(self) -> dict[str, Any]:
        """Return the inputs of all sessions."""
        return {
            "methods": self.methods,
            "limited": self.limited,
            "limit": self.limit,
            "limit_pairs": self.limit_pairs,
            "seed": self.seed,
        }

    @property
    def untrained_work(self) -> dict[str, Any]:
        """Return the inputs of sessions without a PLDA model."""
        return {**self.work, "methods": self.untrained.methods}

    @property
    def sizes(self) -> dict[str, int]:
        """Sessions of conditions of the test."""
        return {"runs": self.runs, "runs_large": self.runs_large, "large": self.large}

    @property
    def development_sizes(self) -> dict[str, int]:
        """Sessions of conditions of a corpus of development."""
        return {**self.sizes, "runs": self.runs_corpora}

    @property
    def untrained_sizes(self) -> dict[str, int]:
        """Sessions of conditions without a PLDA model."""
        return {**self.sizes, "runs": self.untrained.runs}
