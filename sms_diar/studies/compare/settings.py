"""Settings of ``recipes/compare``, and the sources and conditions they ask for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sms_diar.datasets.corpora import corpora_place
from sms_diar.errors import ConfigError
from sms_diar.studies._shared.corpora import DEVELOPMENT, TEST, TRAINING
from sms_diar.studies.compare import sources
from sms_diar.studies.compare.audio import Disturbance
from sms_diar.studies.compare.conditions import (
    TAIL,
    Condition,
    corpus_conditions,
    simulated_conditions,
    world_name,
)
from sms_diar.studies.compare.peers import PEERS

GROUPS = ("simulated", "arabic8k", "libri-testother10-8k", "hard", "meeting")
UNTIL = ("develop", "freeze", "test")
TEST_CORPORA = (TEST, *DEVELOPMENT, "simulated")

# Disturbances of arabic8k under which the error rate of all pairs is 20 to 25 %.
HARD = (
    Disturbance(1.0, share=1.0, snr_db=15.0),
    Disturbance(1.0, share=1.0, band=True),
    Disturbance(2.5, share=1.0, snr_db=6.0),
    Disturbance(2.5, share=0.5, snr_db=25.0),
    Disturbance(2.5, share=0.15, band=True),
    Disturbance(5.0, share=1.0, snr_db=4.0),
)
_HARD_SPEAKERS = (7, 15, 30)  # of the first; the others have 15
_PIECES = 40  # most pieces of a speaker


@dataclass(frozen=True)
class Worlds:
    """The simulated worlds; see `sms_diar.synthetic.PldaWorld`.

    Parameters
    ----------
    dim, decay, duration_share
        Of all worlds.
    eers : tuple of float
        Error rates.
    base_eer : float
        Error rate of the world in which numbers of speakers and segments vary.
    base_speakers : int
        Speakers where the number does not vary.
    speakers, each : tuple of int
        Numbers of speakers, and of segments of each, to be tried.
    other_eer, other_decay, other_duration_share : float
        World on which the mismatched back end is trained.
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
    """Everything a run depends on; defaults are in conf.toml, not here."""

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
    groups: tuple[str, ...]
    test_corpus: str
    test_speakers: tuple[int, ...]
    test_uneven: tuple[int, ...]
    test_base: int
    figures: bool
    data: str
    world: Worlds
    training: sources.SourceTraining

    def __post_init__(self) -> None:
        choices: dict[str, tuple[str, ...]] = {
            "until": UNTIL,
            "test_corpus": TEST_CORPORA,
            "methods": tuple(PEERS),
            "limited": tuple(PEERS),
            "groups": GROUPS,
        }
        for name, known in choices.items():
            given = getattr(self, name)
            if isinstance(given, str) and given not in known:
                raise ConfigError(
                    f"'{name}' must be one of {', '.join(known)}, got {given!r}"
                )
            if not isinstance(given, str) and not set(given) <= set(known):
                raise ConfigError(
                    f"'{name}' must be some of {', '.join(known)}, got "
                    f"{', '.join(given)}"
                )
        for name in (
            "runs",
            "runs_corpora",
            "runs_simulated",
            "runs_large",
            "runs_meeting",
        ):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"'{name}' must be a number >= 1, got {getattr(self, name)}"
                )

    @property
    def root(self) -> Path:
        """Folder of the corpora, whether or not it is there."""
        return corpora_place(self.data)

    @property
    def work(self) -> dict[str, Any]:
        """What all sessions depend on."""
        return {
            "methods": self.methods,
            "limited": self.limited,
            "limit": self.limit,
            "seed": self.seed,
        }

    @property
    def sizes(self) -> dict[str, int]:
        """Sessions of conditions of the test."""
        return {"runs": self.runs, "runs_large": self.runs_large, "large": self.large}

    @property
    def development_sizes(self) -> dict[str, int]:
        """Sessions of conditions of a corpus of development."""
        return {**self.sizes, "runs": self.runs_corpora}


def corpora_of(config: Config) -> tuple[list[str], list[str]]:
    """Groups of development that can be run, and why others are left out."""
    there, left_out = [], []
    for group in config.groups:
        needed: tuple[str, ...] = ()
        if group == "meeting":
            needed = (sources.MEETING,)
        elif group != "simulated":
            needed = TRAINING
        missing = [name for name in needed if not (config.root / name).is_dir()]
        if missing:
            left_out.append(
                f"{group} is left out: no folder {', '.join(missing)} in {config.root} "
                f"(set 'data', or SMS_DIAR_DATA)."
            )
        else:
            there.append(group)
    return there, left_out


def prepare_tasks(config: Config, folder: Path) -> dict[str, dict[str, Any]]:
    """Arguments of `sources.prepare`, a task for each source."""
    there, _ = corpora_of(config)
    training = asdict(config.training)
    common = {"training": training, "folder": str(folder), "seed": config.seed}
    root = str(config.root)
    tasks: dict[str, dict[str, Any]] = {}
    for corpus in DEVELOPMENT:
        if corpus not in there and not (corpus == "arabic8k" and "hard" in there):
            continue
        disturbed = HARD if corpus == "arabic8k" and "hard" in there else ()
        tasks[f"{corpus}-ivectors"] = {
            "kind": "ivectors",
            "corpus": corpus,
            "root": root,
            "disturbances": [asdict(one) for one in disturbed],
            "most": _PIECES,
            **common,
        }
        tasks[f"{corpus}-neural"] = {
            "kind": "neural",
            "corpus": corpus,
            "trained_on": [name for name in DEVELOPMENT if name != corpus],
            "root": root,
            **common,
        }
    if "simulated" in there or config.test_corpus == "simulated":
        tasks |= {name: {**task, **common} for name, task in _worlds(config).items()}
    return tasks


def conditions_of_development(config: Config) -> list[Condition]:
    """Rows of the table of development; some may turn out to have no source."""
    there, _ = corpora_of(config)
    rows: list[Condition] = []
    if "simulated" in there:
        world = config.world
        rows += simulated_conditions(
            world.eers,
            world.speakers,
            world.each,
            base_eer=world.base_eer,
            base_speakers=world.base_speakers,
            runs=config.runs_simulated,
            runs_large=min(config.runs_simulated, config.runs_large),
            large=config.large,
        )
    for corpus, speakers, laws in (
        ("arabic8k", (3, 7, 15, 30), ((15, "uneven"),)),
        ("libri-testother10-8k", (3, 7), ((7, "uneven"),)),
    ):
        if corpus not in there:
            continue
        for kind, short in (("ivectors", "iv"), ("neural", "nn")):
            label = sources.LABELS[corpus]
            rows += corpus_conditions(
                f"{corpus}-{kind}",
                f"{label} {short}",
                f"{label}",
                speakers,
                laws,
                **config.development_sizes,
            )
    if "hard" in there:
        for index, disturbance in enumerate(HARD):
            numbers = _HARD_SPEAKERS if index == 0 else (15,)
            rows += corpus_conditions(
                sources.hard_name(index),
                f"hard {sources.hard_label(disturbance)},",
                "hard",
                (),
                [(number, "uneven") for number in numbers],
                **config.development_sizes,
            )
    return rows


def conditions_of_test(config: Config) -> list[Condition]:
    """Rows of the table of the test; some may turn out to have no source."""
    corpus = config.test_corpus
    label = sources.LABELS[corpus]
    laws = [(number, "uneven") for number in config.test_uneven]
    laws += [(config.test_base, law) for law in ("zipf", "5", "10")]
    rows: list[Condition] = []
    for kind, short, words in (
        ("ivectors", "iv", "i-vectors"),
        ("neural", "nn", "neural"),
    ):
        rows += corpus_conditions(
            f"{corpus}-{kind}",
            f"{label} {short}",
            words,
            config.test_speakers,
            laws,
            **config.sizes,
        )
    return rows


def _worlds(config: Config) -> dict[str, dict[str, Any]]:
    world = config.world
    base = world.fields(world.base_eer)
    plain = {
        world_name(eer): (world.fields(eer), world.fields(eer), 0.0)
        for eer in (*world.eers, world.base_eer)
    }
    every = {
        **plain,
        "heavy": (base, base, TAIL),
        "mismatched": (base, world.other, 0.0),
    }
    return {
        name: {
            "kind": "world",
            "name": name,
            "world": drawn,
            "trained_on": trained_on,
            "tail": tail,
        }
        for name, (drawn, trained_on, tail) in every.items()
    }
