"""Speaker clustering with k neighbours: the paper's table of 3 to 60 speakers.

Needs no data: sessions are simulated unless settings say otherwise. Takes a few minutes
on two cores::

    sms-diar run speakers --workers 2
    sms-diar run speakers --conf speakers-small             # seconds
    sms-diar run speakers --set source=digits --exp exp/speakers-digits
    sms-diar run speakers --set source=data --set embeddings=xvectors.ark \
        --set labels=utt2spk --set backend=backend.npz

The answer is in exp/speakers/report; RESULTS.md holds copies of full runs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sms_diar.errors import ConfigError
from sms_diar.experiment.stages import Stage, StageRun

from .._common import speaker_report
from .._common.digests import file_digest
from .._common.sessions import prepare_data, remove_prepared
from .._common.settings import (
    BackendTraining,
    EmbeddingFiles,
    SpeakerTable,
)
from .._common.speaker_report import table_stages
from .sources import (
    SOURCES,
    World,
    bundled_files,
    digits_files,
    prepare_bundled,
    prepare_digits,
    prepare_simulated,
)

PRINTED = Path(__file__).parent / "paper.csv"


@dataclass(frozen=True)
class Config(SpeakerTable, EmbeddingFiles):
    """Settings of the recipe; the defaults are in conf.toml.

    Parameters
    ----------
    source : str
        "simulated", "bundled" (i-vectors that ship with the package), "data" (your
        embeddings) or "digits" (audiomnist8k, neural embeddings).
    data : str
        Folder of the corpora for source "digits"; empty: $SMS_DIAR_DATA, `data` in
        conf/site.toml, or ../shared/data.
    draw_segments : bool
        Draw the number of segments of each speaker of a corpus from the law below,
        instead of taking all segments.
    mean_segments : float
        Mean number of segments per speaker.
    std_segments : float
        Standard deviation of the number of segments per speaker.
    world : World
        Simulated world.
    training : BackendTraining
        Training of the back ends of sources "simulated" and "digits".
    """

    source: str
    data: str
    draw_segments: bool
    mean_segments: float
    std_segments: float
    world: World
    training: BackendTraining

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ConfigError(
                f"'source' must be one of {', '.join(SOURCES)}, got {self.source!r}"
            )
        SpeakerTable.__post_init__(self)
        EmbeddingFiles.__post_init__(self)

    @property
    def law(self) -> tuple[float, float]:
        """Mean and deviation of the number of segments of a speaker."""
        return self.mean_segments, self.std_segments

    @property
    def simulation(self) -> dict[str, Any]:
        """Arguments of the simulated world."""
        return {
            **asdict(self.world),
            "mean_segments": self.mean_segments,
            "std_segments": self.std_segments,
        }


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""

    def prepare(run: StageRun) -> None:
        remove_prepared(run.folder)
        if config.source == "simulated":
            prepare_simulated(
                run.folder, config.simulation, config.training, config.seed
            )
        elif config.source == "bundled":
            prepare_bundled(run.folder)
        elif config.source == "digits":
            files = digits_files(config.data)
            prepare_digits(run.folder, files, config.training, config.seed)
        else:
            prepare_data(run.folder, config)

    def report(run: StageRun) -> None:
        speaker_report.write_report(run, PRINTED, asdict(config))

    return [
        Stage("prepare", prepare, _inputs(config)),
        *table_stages(
            config,
            PRINTED,
            report,
            law=config.law if config.draw_segments else None,
            world=config.simulation if config.source == "simulated" else None,
        ),
    ]


def _inputs(config: Config) -> dict[str, Any]:
    """Return everything that "prepare" depends on, including contents of files."""
    settings: dict[str, Any] = {"source": config.source, "seed": config.seed}
    if config.source == "data":
        return {**settings, "files": config.digests()}
    if config.source == "bundled":
        digests = {name: file_digest(path) for name, path in bundled_files().items()}
        return {**settings, "files": digests}
    settings["training"] = asdict(config.training)
    if config.source == "simulated":
        return {**settings, "world": config.simulation}
    files = digits_files(config.data)
    return {**settings, "files": {n: file_digest(p) for n, p in files.items()}}
