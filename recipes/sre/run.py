"""NIST SRE 2008 (the paper's own corpus) to 2021: table of speakers, and trials.

Needs the discs of LDC with NIST's answer keys, or i-vectors made from them. See
README.md for what must be where::

    sms-diar run sre --set 'corpus=["/ldc/LDC2011S05", "/ldc/LDC2011S08"]' \
        --set model=ivectors.npz --workers 8
    sms-diar run sre --set year=2016 --set corpus=/ldc/LDC2019S20 \
        --set model=ivectors.npz --exp exp/sre16
    sms-diar run sre --set embeddings=ivectors.scp --set labels=utt2spk \
        --set plda=plda

The answer is in exp/sre/report.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sms_diar.errors import ConfigError
from sms_diar.experiment.stages import Stage, StageRun
from sms_diar.io.kaldi.data_dir import DataDir

from .._common import extraction
from .._common.sessions import (
    backend_path,
    load_backend,
    prepare_data,
    remove_prepared,
)
from .._common.settings import (
    EmbeddingFiles,
    SpeakerTable,
    SpeechSettings,
    part_of,
)
from .._common.speaker_report import table_stages
from .cuts import SegmentLaw
from .steps import DATA, TRIAL_DATA, Tree, write_data, write_report, write_scores

PRINTED = Path(__file__).parent.parent / "speakers" / "paper.csv"


@dataclass(frozen=True)
class DetectorSettings(SpeechSettings):
    """Speech detection.

    Parameters
    ----------
    method : str
        "energy", or "neural" (needs the extra "vad").
    """

    method: str


@dataclass(frozen=True)
class Config(SpeakerTable, EmbeddingFiles, extraction.ModelSettings, Tree):
    """Settings of the recipe; the defaults are in conf.toml.

    Parameters
    ----------
    draw_segments : bool
        Draw the number of segments of each speaker from [law] instead of taking all.
        Segments cut from `corpus` follow the law already.
    vad : DetectorSettings
        Speech detection in whole sides of conversations.
    law : SegmentLaw
        Lengths and numbers of segments, as in the paper.
    """

    draw_segments: bool
    vad: DetectorSettings
    law: SegmentLaw

    def __post_init__(self) -> None:
        _ = self.evaluation
        if bool(self.corpus) == bool(self.embeddings):
            raise ConfigError(
                f"'corpus' must name the folders of the evaluation, or 'embeddings' "
                f"vectors made of it, got {'both' if self.corpus else 'neither'}"
            )
        if self.embeddings and not self.labels:
            raise ConfigError("'labels' must be a utt2spk for 'embeddings', got none")
        Tree.__post_init__(self)
        SpeakerTable.__post_init__(self)
        EmbeddingFiles.__post_init__(self)

    def files(self, before: dict[str, Path]) -> EmbeddingFiles:
        """Vectors and labels of earlier stages, and the back end: given, or theirs."""
        given = (self.backend, self.plda, self.transform)
        own = before["ivectors"] / extraction.BACKEND
        if not any(given) and own.exists():
            given = (str(own), "", "")
        backend, plda, transform = given
        return EmbeddingFiles(
            embeddings=str(before["ivectors"] / extraction.IVECTORS),
            labels=str(before["corpus"] / DATA / "utt2spk"),
            backend=backend,
            plda=plda,
            transform=transform,
        )


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""

    def corpus(run: StageRun) -> None:
        write_data(
            run.folder,
            config,
            config.vad.detector(config.vad.method),
            config.law,
            seed=config.seed,
            progress=run.progress,
        )

    def ivectors(run: StageRun) -> None:
        extraction.write_ivectors(
            run.folder,
            DataDir(run.before["corpus"] / DATA),
            config.choice,
            workers=run.workers,
            progress=run.progress,
        )

    def trial_vectors(run: StageRun) -> None:
        trained = run.before["ivectors"] / extraction.MODEL
        choice = config.choice
        if trained.exists():
            choice = replace(choice, model=str(trained), train=())
        extraction.write_ivectors(
            run.folder,
            DataDir(run.before["corpus"] / TRIAL_DATA),
            choice,
            detect=True,
            workers=run.workers,
            progress=run.progress,
        )

    def trials(run: StageRun) -> None:
        write_scores(
            run.folder,
            run.before["trial-ivectors"] / extraction.IVECTORS,
            run.before["corpus"] / TRIAL_DATA,
            load_backend(backend_path(run.before["prepare"])),
            config.evaluation,
        )

    def prepare(run: StageRun) -> None:
        remove_prepared(run.folder)
        prepare_data(
            run.folder, config.files(dict(run.before)) if config.corpus else config
        )

    def report(run: StageRun) -> None:
        choice = config.choice if config.corpus else None
        write_report(run, PRINTED, asdict(config), choice)

    made = []
    if config.corpus:
        cut = {
            "vad": asdict(config.vad),
            "law": asdict(config.law),
            "seed": config.seed,
        }
        made = [
            Stage("corpus", corpus, {**asdict(part_of(config, Tree)), **cut}),
            Stage("ivectors", ivectors, config.choice.inputs(), after=("corpus",)),
        ]
    names = tuple(stage.name for stage in made)
    scored = []
    if config.corpus and config.trials:
        scored = [
            Stage("trial-ivectors", trial_vectors, config.choice.inputs(), after=names),
            Stage(TRIAL_DATA, trials, after=("corpus", "trial-ivectors", "prepare")),
        ]
    files = config.digests() if config.embeddings else config.backend_digests()
    law = (config.law.mean_count, config.law.std_count)
    return [
        *made,
        Stage("prepare", prepare, {"files": files}, after=names),
        *scored,
        *table_stages(
            config,
            PRINTED,
            report,
            law=law if config.draw_segments else None,
            reads=(*names, *(stage.name for stage in scored)),
        ),
    ]
