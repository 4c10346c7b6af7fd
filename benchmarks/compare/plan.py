"""Sources and rows of the tables that the settings ask for."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.compare import sources
from benchmarks.compare.audio import Disturbance
from benchmarks.compare.conditions import (
    TAIL,
    Condition,
    corpus_conditions,
    simulated_conditions,
    world_name,
)
from benchmarks.compare.settings import Config
from benchmarks.compare.timed import (
    CONVERSATIONS,
    TimedCondition,
    length_conditions,
    timed_sources,
    window_conditions,
)
from benchmarks.compare.vectors import (
    FILES,
    ISOTROPIC,
    KINDS,
    POOLS,
    STAND_IN,
    changing_conditions,
    corpora_in,
    doubled_conditions,
    isotropic_conditions,
    isotropic_name,
    raw_name,
    untrained_conditions,
)
from recipes._common.corpora import DEVELOPMENT, TRAINING

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

UNTRAINED = ("untrained", "doubled", "changing")
"""Groups of sessions of a corpus without a PLDA model."""


def corpora_of(config: Config) -> tuple[list[str], list[str]]:
    """Return the development groups that can be run, and reasons for the others."""
    there, left_out = [], []
    for group in config.groups:
        needed: tuple[str, ...] = TRAINING
        if group == "meeting":
            needed = (sources.MEETING,)
        elif group in ("windows", "lengths"):
            needed = () if config.timed.stand_in else (CONVERSATIONS,)
        elif group in ("simulated", "isotropic") or (
            group in UNTRAINED and config.untrained.stand_in
        ):
            needed = ()
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
    tasks: dict[str, dict[str, Any]] = {}
    for corpus in (*DEVELOPMENT, *POOLS):
        tasks |= _corpus_tasks(config, corpus, str(folder))
    if "simulated" in there or config.test_corpus == "simulated":
        common = {
            "training": asdict(config.training),
            "folder": str(folder),
            "seed": config.seed,
        }
        tasks |= {name: {**task, **common} for name, task in _worlds(config).items()}
    if STAND_IN in _raw_corpora(config):
        tasks[STAND_IN] = {
            "kind": "stand-in",
            "world": config.world.fields(config.world.base_eer),
            "folder": str(folder),
            "seed": config.seed,
        }
    if "isotropic" in there:
        for dim, separation in ISOTROPIC:
            name = isotropic_name(dim, separation)
            tasks[name] = {
                "kind": "isotropic",
                "name": name,
                "dim": dim,
                "separation": separation,
                "seed": config.seed,
            }
    if {"windows", "lengths"} & set(there):
        places = timed_sources(config.root, config.timed, config.seed)
        tasks |= {
            name: {"kind": "conversations", "name": name, "source": at, "words": words}
            for name, (at, words) in places.items()
        }
    return tasks


def _corpus_tasks(
    config: Config, corpus: str, folder: str
) -> dict[str, dict[str, Any]]:
    """Tasks of a corpus of development: with back ends, and vectors alone."""
    there, _ = corpora_of(config)
    raw = corpus in _raw_corpora(config)
    kinds = config.untrained.kinds if raw else ()
    place = {"corpus": corpus, "root": str(config.root), "folder": folder}
    training = {"training": asdict(config.training), "seed": config.seed}
    tasks: dict[str, dict[str, Any]] = {
        raw_name(corpus, network): {"kind": "vectors", "network": network, **place}
        for network, file in FILES.items()
        if network in kinds
        and all((config.root / one / file).is_file() for one in corpora_in(corpus))
    }
    disturbed = HARD if corpus == "arabic8k" and "hard" in there else ()
    trained = corpus in there or bool(disturbed)
    # Two corpora have two i-vector extractors, so i-vectors are not pooled.
    if trained or ("ivectors" in kinds and corpus not in POOLS):
        tasks[f"{corpus}-ivectors"] = {
            "kind": "ivectors",
            "disturbances": [asdict(one) for one in disturbed],
            "most": _PIECES,
            **place,
            **training,
        }
    if trained:
        tasks[f"{corpus}-neural"] = {
            "kind": "neural",
            "trained_on": [name for name in DEVELOPMENT if name != corpus],
            **place,
            **training,
        }
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


def untrained_of_development(config: Config) -> list[Condition]:
    """Return development rows without a PLDA model."""
    there, _ = corpora_of(config)
    rows: list[Condition] = []
    for corpus in _raw_corpora(config):
        label, speakers = sources.LABELS[corpus], config.untrained.speakers[corpus]
        kinds = {"vectors": "vectors"} if corpus == STAND_IN else _kinds(config)
        if "untrained" in there:
            rows += untrained_conditions(
                corpus,
                label,
                kinds,
                speakers,
                config.untrained.laws,
                **config.untrained_sizes,
            )
        if "changing" in there and corpus not in POOLS:
            runs = config.untrained.runs
            rows += changing_conditions(corpus, label, kinds, runs)
        if "doubled" in there:
            # Sessions of a whole corpus are not all of it; see `conditions.draw`.
            doubled = [n for n in config.untrained.doubled if n < max(speakers)]
            doubled = [] if corpus in POOLS else doubled
            runs = config.untrained.runs_doubled
            rows += doubled_conditions(corpus, label, kinds, doubled, runs)
    if "isotropic" in there:
        numbers = config.untrained.isotropic
        rows += isotropic_conditions(numbers, **config.untrained_sizes)
    return rows


def timed_of_development(config: Config) -> list[TimedCondition]:
    """Rows of development on windows in time."""
    there, _ = corpora_of(config)
    rows: list[TimedCondition] = []
    if "windows" in there:
        rows += window_conditions()
    if "lengths" in there:
        rows += length_conditions(config.timed)
    return rows


def untrained_of_test(config: Config) -> list[Condition]:
    """Rows of the test without a PLDA model; some may turn out to have no source."""
    return untrained_conditions(
        config.test_corpus,
        sources.LABELS[config.test_corpus],
        _kinds(config),
        config.untrained.test,
        config.untrained.laws,
        **config.untrained_sizes,
    )


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


def _raw_corpora(config: Config) -> list[str]:
    """Corpora of development that are clustered without a PLDA model."""
    there, _ = corpora_of(config)
    if not set(UNTRAINED) & set(there):
        return []
    return [
        corpus
        for corpus in config.untrained.speakers
        if corpus == STAND_IN
        or all((config.root / one).is_dir() for one in corpora_in(corpus))
    ]


def _kinds(config: Config) -> dict[str, str]:
    return {kind: KINDS[kind] for kind in config.untrained.kinds}


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
