"""Spoken digits from audio: train i-vectors, verify, cluster 3 to 60 speakers.

Needs four corpora of real speech (see README.md), and takes about 25 minutes on two
cores::

    sms-diar run digits
    sms-diar run digits --set data=/corpora --set runs=5

The answer is in exp/digits/report; RESULTS.md holds a copy of a full run. The model
that comes with the package is exp/digits/prepare/model.npz of such a run.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from sms_diar._json import read_json, write_json
from sms_diar.experiment.stages import Stage, StageRun

from .._common import speaker_report
from .._common.corpora import TEST, TRAINING
from .._common.digests import listing_digest
from .._common.settings import CrossValidation, SpeakerTable
from .._common.speaker_report import table_stages
from . import steps as digits

PRINTED = Path(__file__).parent.parent / "speakers" / "paper.csv"
CANDIDATES = "candidates.json"


@dataclass(frozen=True)
class Config(SpeakerTable):
    """Settings of the recipe; the defaults are in conf.toml.

    Parameters
    ----------
    data : str
        Folder of the corpora; empty: $SMS_DIAR_DATA, `data` in conf/site.toml, or
        ../shared/data.
    components : tuple of int
        Components of the background model, one number per candidate extractor.
    ranks : tuple of int
        Ranks of the total variability matrix T, one per candidate extractor.
    bands : tuple of str
        Bands of the filters, one per candidate extractor: "telephone" (200 to
        3700 Hz) or "full" (0 to 4000 Hz).
    room_copies : int
        Copies of the training corpora in simulated rooms, on which the back end for
        windows is trained as well; with 0 there is no such back end.
    training : CrossValidation
        Dimensions of the back end, chosen by cross-validation over training speakers.
    """

    data: str
    components: tuple[int, ...]
    ranks: tuple[int, ...]
    bands: tuple[str, ...]
    room_copies: int
    training: CrossValidation


def stages(config: Config) -> list[Stage]:
    """Declare the stages; each names the settings it depends on."""
    folders = digits.corpus_folders(config.data)
    training = {name: folders[name] for name in TRAINING}

    def extractors(run: StageRun) -> None:
        tasks = {
            f"{n_components}/{rank}/{band}": {
                "n_components": n_components,
                "rank": rank,
                "band": band,
                "folders": {name: str(path) for name, path in training.items()},
                "folder": str(run.folder),
                **rating,
            }
            for n_components, rank, band in zip(
                config.components, config.ranks, config.bands, strict=True
            )
        }
        write_json(run.folder / CANDIDATES, run.map(digits.train_candidate, tasks))

    def rooms(run: StageRun) -> None:
        before = run.before["extractors"]
        best = digits.best_candidate(read_json(before / CANDIDATES))
        tasks = {
            f"{name}-{number}": {
                "corpus": name,
                "source": str(path),
                "number": number,
                "seed": config.seed,
                "model": str(before / best["model"]),
                "band": best["band"],
                "target": str(run.folder / f"{name}-{number}.npz"),
            }
            for name, path in training.items()
            for number in range(config.room_copies)
        }
        run.map(digits.extract_room_copy, tasks)

    def prepare(run: StageRun) -> None:
        candidates = read_json(run.before["extractors"] / CANDIDATES)
        digits.prepare_test(run, candidates, folders, config.room_copies)

    def verification(run: StageRun) -> None:
        digits.verify(run, draw=config.figures)

    def report(run: StageRun) -> None:
        speaker_report.write_report(run, PRINTED, asdict(config))
        digits.add_verification(run)

    rating = {**asdict(config.training), "seed": config.seed}
    sizes = {
        "components": config.components,
        "ranks": config.ranks,
        "bands": config.bands,
    }
    heard = {name: listing_digest(path) for name, path in training.items()}
    tested = {"test": listing_digest(folders[TEST])}
    return [
        Stage("extractors", extractors, {**rating, **sizes, "corpora": heard}),
        Stage(
            "rooms",
            rooms,
            {"room_copies": config.room_copies},
            after=("extractors",),
        ),
        Stage("prepare", prepare, tested, after=("extractors", "rooms")),
        Stage(
            "verification",
            verification,
            {"figures": config.figures},
            after=("prepare",),
        ),
        *table_stages(config, PRINTED, report, reads=("verification",)),
    ]
