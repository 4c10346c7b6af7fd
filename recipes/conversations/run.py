"""Diarization of a corpus of conversations, scored by its usual rules, with oracles.

The corpus is any folder of recordings and RTTM, or AMI, ICSI, NIST's RT meetings,
VoxConverse, DIHARD, CALLHOME or MSDWild in the layout in which it is distributed::

    sms-diar run conversations
    sms-diar run conversations --set data=meetings --set 'models=["balanced", "fast"]' \
        --set 'peers=["senko", "theirs=their-rttm"]'
    sms-diar run conversations --set layout=ami --set data=AMI-diarization-setup \
        --set audio=amicorpus --set microphone=Array1-01
    sms-diar run conversations --set layout=simulated --exp exp/meetings

The answer is in exp/conversations/report, the turns in exp/conversations/diarize.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sms_diar._json import json_line
from sms_diar.clustering.methods import METHODS
from sms_diar.errors import ConfigError
from sms_diar.experiment.stages import Stage, StageRun
from sms_diar.networks.catalogue import QUALITIES
from sms_diar.pipeline.diarize.neural import NEURAL

from .._common.corpora import corpora_folder
from .._common.digests import file_digest
from . import report as conversation_report
from . import steps
from .corpus import Conversation, Place
from .layouts import (
    LAYOUTS,
    OVERLAPS,
    SIMULATED,
    UEMS,
    Rules,
)
from .peers import Peer
from .report import SIMULATE
from .simulated import Meetings, write_meetings


@dataclass(frozen=True)
class Config:
    """Settings of the recipe; the defaults are in conf.toml.

    Parameters
    ----------
    seed : int
        Random seed.
    layout : str
        Layout of the corpus: "folder" (recordings and RTTM, or a Kaldi data directory
        with ref.rttm), "ami", "icsi", "rt" (NIST's meetings), "voxconverse", "dihard",
        "callhome", "callhome-calls" (LDC's calls and transcripts), "msdwild", or
        "simulated" (meetings are made first). README.md draws them.
    data : str
        Folder of the corpus; empty: `conversations` in the folder of the corpora.
    audio : str
        Folder of the recordings, if it is not `data`.
    split : str
        Part of the corpus; empty: the usual one.
    microphone : str
        Microphone: "Mix-Headset" or "Array1-01" of AMI, "Mix-Headset" or "chan6" and
        others of ICSI, "mdm", "sdm" or a part of file names of RT; empty: the first.
    only : tuple of str
        Names of the recordings to take; empty: all.
    channel : int
        Channel of recordings with several, counted from 1; 0: the mix of all.
    allow_commands : bool
        Run commands in wav.scp. sph2pipe and flac never need it.
    collar : float
        Seconds on each side of a reference boundary that are not scored; negative:
        the usual value of the layout.
    overlap : str
        Overlapping speech is "scored" or "ignored"; empty: as usual for the layout.
    uem : str
        UEM files are "used" or "ignored"; empty: as usual for the layout.
    models : tuple of str
        Models, which get a row each: "neural", "embedded", or a quality of the networks
        ("fast", "balanced", "best"). The first may also be a path, or "auto": neural if
        the networks are installed. Oracles refer to the first, and all other systems
        are compared with it.
    peers : tuple of str
        Systems of others, which get a row each: ``NAME=FOLDER`` of RTTM files,
        ``NAME=COMMAND`` with {audio} and perhaps {rttm}, or a program with its
        arguments ("sherpa-onnx FOLDER", "senko", "resemblyzer").
    python : str
        Python that has these programs; empty: the one that runs the recipe.
    vad : str
        Speech detector of i-vector models: "energy", "neural" or "none"; empty: the
        default of the model.
    method : str
        Clustering method, as in `sms-diar diarize --method`.
    step : float
        Seconds between windows of the networks; 0: the step of the quality.
    oracles : tuple of str
        Additional rows for which part of the truth is given: "count" (of speakers),
        "labels" (of voices), "speech" (regions; i-vector models only).
    figures : bool
        Draw figures; needs the extra "plot".
    meetings : Meetings
        Meetings of the layout "simulated", one for each source, number of speakers
        and overlap.
    """

    seed: int
    layout: str
    data: str
    audio: str
    split: str
    microphone: str
    only: tuple[str, ...]
    channel: int
    allow_commands: bool
    collar: float
    overlap: str
    uem: str
    models: tuple[str, ...]
    peers: tuple[str, ...]
    python: str
    vad: str
    method: str
    step: float
    oracles: tuple[str, ...]
    figures: bool
    meetings: Meetings

    def __post_init__(self) -> None:
        for name, choices in (
            ("layout", tuple(LAYOUTS)),
            ("overlap", ("", *OVERLAPS)),
            ("uem", ("", *UEMS)),
            ("vad", ("", "energy", "neural", "none")),
            ("method", tuple(METHODS)),
        ):
            _check_choice(name, getattr(self, name), choices)
        for oracle in self.oracles:
            _check_choice("oracles", oracle, steps.ORACLES)
        if not self.models:
            raise ConfigError(
                "'models' must have at least one entry, got an empty list"
            )
        for model in self.models[1:]:
            _check_choice("models", model, steps.MODELS)
        reserved = [steps.FOUND, *steps.ORACLES, *steps.MODELS]
        for peer in map(Peer.of, self.peers):
            if peer.name in reserved:
                raise ConfigError(
                    f"'peers' must have names that differ from each other and from "
                    f"{', '.join(reserved)}, got {peer.name!r}; write OTHER=... for "
                    f"another name"
                )
            reserved.append(peer.name)
        LAYOUTS[self.layout].split(self.layout, self.split)
        LAYOUTS[self.layout].microphone(self.layout, self.microphone)
        if self.data and self.layout == SIMULATED:
            raise ConfigError(
                f"'data' must be empty with layout 'simulated', got {self.data!r}; "
                f"'meetings.sources' names what meetings are made of"
            )
        if not self.data and self.layout not in ("folder", SIMULATED):
            raise ConfigError(
                f"'data' must be given with layout {self.layout!r}, got an empty text"
            )

    def rules(self) -> Rules:
        """Return the scoring rules."""
        usual = LAYOUTS[self.layout].rules
        return Rules(
            usual.collar if self.collar < 0.0 else self.collar,
            self.overlap or usual.overlap,
            self.uem or usual.uem,
        )

    def place(self, simulated: Path | None = None) -> Place:
        """Return the location of the corpus, which may be the folder of a stage."""
        data = simulated or self._data()
        return Place(
            data,
            Path(self.audio) if self.audio else data,
            LAYOUTS[self.layout].split(self.layout, self.split),
            LAYOUTS[self.layout].microphone(self.layout, self.microphone),
            self.rules().uem == "used",
            self.only,
        )

    def _data(self) -> Path:
        return Path(self.data) if self.data else corpora_folder() / "conversations"

    def source(self) -> dict[str, Any]:
        """Return arguments of `steps.diarize_one` that open recordings."""
        return {
            "channel": self.channel or None,
            "allow_commands": self.allow_commands,
        }

    def diarizer(self) -> dict[str, Any]:
        """Return arguments of `steps.diarize_one` that select the system."""
        model = steps.resolve_model(self.models[0], self.vad)
        if steps.SPEECH in self.oracles and (
            model in (NEURAL, *QUALITIES) or model.endswith(".toml")
        ):
            raise ConfigError(
                "'oracles' must not have 'speech' with neural networks, which find "
                "speech and voices in one go; --set models=embedded has it"
            )
        return {
            "model": model,
            "vad": self.vad,
            "method": self.method,
            "step": self.step,
            "seed": self.seed,
            **self.source(),
        }


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""
    rules, diarizer, source = config.rules(), config.diarizer(), config.source()
    others = [model for model in config.models[1:] if model != diarizer["model"]]
    parsed = [Peer.of(text) for text in config.peers]
    peers = {peer.name: peer for peer in parsed if peer.is_installed(config.python)}
    absent = [peer.words[0] for peer in parsed if peer.name not in peers]
    systems = (steps.FOUND, *config.oracles, *others, *peers)
    read = LAYOUTS[config.layout].read
    made = [SIMULATE] if config.layout == SIMULATED else []
    # Simulated data is read after it was written.
    conversations = [] if made else read(config.place())

    def simulate(run: StageRun) -> None:
        write_meetings(run, config.meetings, config.seed)

    def prepare(run: StageRun) -> None:
        found = read(config.place(run.before[SIMULATE])) if made else conversations
        steps.write_prepared(run, found, **source)

    def diarize(run: StageRun, system: str) -> None:
        if system in peers:
            steps.write_peer(run, peers[system], {"python": config.python, **source})
        else:
            steps.write_diarized(run, system, _settings(diarizer, system))

    def inputs(system: str) -> dict[str, Any]:
        if system not in peers:
            return _inputs(_settings(diarizer, system))
        peer = peers[system]
        return {"peer": peer.words, "files": peer.digests(), "python": config.python}

    def score(run: StageRun) -> None:
        steps.write_scores(run, systems, rules, seed=config.seed)

    corpus = ", ".join(config.meetings.sources) if made else str(config.place().data)
    split = LAYOUTS[config.layout].split(config.layout, config.split)
    shown = asdict(config) | {"data": corpus, "split": split, "absent": absent}

    def report(run: StageRun) -> None:
        conversation_report.write_report(run, shown, diarizer["model"], rules)

    found = tuple(steps.stage_of(system) for system in systems)
    needed = {"corpus": _digest(conversations), "only": config.only, **source}
    return [
        *(
            Stage(name, simulate, {**config.meetings.digest(), "seed": config.seed})
            for name in made
        ),
        Stage("prepare", prepare, needed, after=tuple(made)),
        *(
            Stage(
                name,
                partial(diarize, system=system),
                inputs(system),
                after=("prepare",),
            )
            for name, system in zip(found, systems, strict=True)
        ),
        Stage(
            "score",
            score,
            {**asdict(rules), "seed": config.seed},
            after=("prepare", *found),
        ),
        Stage(
            "report",
            report,
            {"config": shown},
            after=(*made, "prepare", *found, "score"),
        ),
    ]


def _settings(diarizer: dict[str, Any], system: str) -> dict[str, Any]:
    """Return the settings of a system; another model has its own detector."""
    if system not in steps.MODELS:
        return diarizer
    return {**diarizer, "model": system, "vad": ""}


def _inputs(diarizer: dict[str, Any]) -> dict[str, Any]:
    return {**diarizer, "file": _model_digest(diarizer["model"])}


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        known = ", ".join(choice for choice in choices if choice)
        raise ConfigError(f"'{name}' must be one of {known}, got {value!r}")


def _digest(conversations: Sequence[Conversation]) -> str:
    """Return a digest of a corpus without its audio."""
    digest = hashlib.sha256()
    for one in conversations:
        digest.update(json_line(asdict(one)).encode())
    return digest.hexdigest()


def _model_digest(model: str) -> str:
    return "" if model in steps.MODELS else file_digest(Path(model))
