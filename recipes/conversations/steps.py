"""Stages of ``recipes/conversations``: prepare, diarize, score.

For every layout, `prepare` writes a Kaldi data directory with ``ref.rttm`` and, if the
corpus defines regions to score, ``all.uem``; other tools can read them.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sms_diar._json import read_json, write_json
from sms_diar.experiment.stages import StageRun
from sms_diar.io.audio.recording import Recording
from sms_diar.io.kaldi.tables import write_wav_scp
from sms_diar.io.turns.rttm import read_rttm, write_rttm
from sms_diar.io.turns.uem import read_uem, write_uem
from sms_diar.networks.catalogue import QUALITIES
from sms_diar.pipeline.audio.inputs import decode, open_channels, recordings_of
from sms_diar.pipeline.context import RunContext
from sms_diar.pipeline.diarize.api import diarize
from sms_diar.pipeline.diarize.diarizer import DiarizeSettings
from sms_diar.pipeline.diarize.models import (
    AUTO,
    EMBEDDED,
    ChosenModel,
    choose_model,
    stored_quality,
)
from sms_diar.pipeline.diarize.neural import NEURAL
from sms_diar.pipeline.score.api import score_systems
from sms_diar.report.score_report import ScoreReport
from sms_diar.timeline.regions import speech_of_turns
from sms_diar.types import Problem, Segment, Turn

from .._common.extraction import tell_problems
from .._common.threads import one_thread
from .corpus import Conversation
from .layouts import Rules
from .peers import WARM_UP, Peer, outcomes_of
from .true_labels import truly_labelled

FOUND, COUNT, SPEECH, LABELS = "found", "count", "speech", "labels"
ORACLES = (COUNT, SPEECH, LABELS)
"""Oracle information: number of speakers, speech regions, speakers of regions."""

MODELS = (NEURAL, EMBEDDED, *QUALITIES)
"""Models that may follow the first."""

PREPARED = "prepared.json"
DIARIZED = "diarized.json"
RTTM = "hypothesis.rttm"
SCORES = "scores.json"
REFERENCE = "ref.rttm"
UEM = "all.uem"

_SLACK = 0.5
"""Seconds by which a reference may outlast its audio, because annotators round."""


def stage_of(system: str) -> str:
    """Return the name of the stage that diarizes with a system."""
    if system == FOUND:
        return "diarize"
    kind = "oracle" if system in ORACLES else "diarize" if system in MODELS else "peer"
    return f"{kind}-{system}"


def resolve_model(model: str, vad: str) -> str:
    """Resolve the model "auto" on this machine; return other models unchanged."""
    if model != AUTO:
        return model
    return EMBEDDED if vad or stored_quality() is None else NEURAL


def write_prepared(
    run: StageRun,
    conversations: Sequence[Conversation],
    *,
    channel: int | None,
    allow_commands: bool,
) -> None:
    """Check every recording and write the data directory."""
    folder = run.folder
    problems: list[str] = []
    records: dict[str, Any] = {}
    (folder / "tables").mkdir(exist_ok=True)
    with run.progress.track("recordings", len(conversations)) as advance:
        for number, one in enumerate(conversations):
            seconds, problem = _check(one, channel, allow_commands=allow_commands)
            problems += [f"{one.recording}: {problem}"] if problem else []
            table = folder / "tables" / f"{number:05d}.scp"
            write_wav_scp(table, {one.recording: one.audio})
            write_uem(table.with_suffix(".uem"), speech_of_turns(one.turns))
            write_rttm(table.with_suffix(".rttm"), one.turns)
            records[one.recording] = {
                "table": table.name,
                "seconds": seconds,
                "speakers": one.n_speakers,
            }
            advance()
    write_wav_scp(
        folder / "wav.scp", {one.recording: one.audio for one in conversations}
    )
    write_rttm(
        folder / REFERENCE, [turn for one in conversations for turn in one.turns]
    )
    regions = [region for one in conversations for region in one.regions or ()]
    (folder / UEM).unlink(missing_ok=True)
    if regions:
        write_uem(folder / UEM, regions)
    write_json(folder / PREPARED, {"recordings": records, "problems": problems})
    for line in problems:
        run.progress.say(f"problem: {line}")


def write_diarized(run: StageRun, system: str, settings: Mapping[str, Any]) -> None:
    """Diarize every recording, and write RTTM and a record.

    The system is `FOUND` (no oracle), one of `ORACLES`, or one of `MODELS` (another
    model, no oracle). `settings` are the arguments of `diarize_one` that all
    recordings share.
    """
    prepared = run.before["prepare"]
    records = read_json(prepared / PREPARED)["recordings"]
    tables = [str(prepared / "tables" / one["table"]) for one in records.values()]
    tasks = {
        name: {
            "table": table,
            "first": tables[0],
            "num_speakers": record["speakers"] if system == COUNT else None,
            "oracle_speech": system == SPEECH,
            **settings,
        }
        for table, (name, record) in zip(tables, records.items(), strict=True)
    }
    if system == LABELS:
        outcomes = run.map(
            label_one,
            {name: {"table": tasks[name]["table"], **settings} for name in tasks},
        )
    else:
        outcomes = run.map(diarize_one, tasks)
    _write_outcomes(run, outcomes)


def write_peer(run: StageRun, peer: Peer, settings: Mapping[str, Any]) -> None:
    """As `write_diarized`, by a system of others; `settings` are of `outcomes_of`."""
    prepared = run.before["prepare"]
    records = read_json(prepared / PREPARED)["recordings"]
    tables = {
        name: str(prepared / "tables" / record["table"])
        for name, record in records.items()
    }
    _write_outcomes(run, outcomes_of(run, peer, tables, **settings))


def _write_outcomes(run: StageRun, outcomes: Mapping[str, Any]) -> None:
    turns = [
        Turn(Segment(name, start, end), speaker)
        for name, outcome in outcomes.items()
        for start, end, speaker in outcome.pop("turns")
    ]
    write_rttm(run.folder / RTTM, turns)
    write_json(run.folder / DIARIZED, outcomes)
    problems = [outcome["problem"] for outcome in outcomes.values()]
    tell_problems([problem for problem in problems if problem], run.progress)


@one_thread
def diarize_one(
    *,
    table: str,
    first: str,
    model: str,
    vad: str,
    method: str,
    step: float,
    seed: int,
    num_speakers: int | None,
    oracle_speech: bool,
    channel: int | None,
    allow_commands: bool,
) -> dict[str, Any]:
    """Diarize the one recording of a table; what is wrong with it is in the result.

    Before, a part of the recording of the table `first` is diarized once per process.
    """
    # With everything taken for speech, the bounds alone say where it is.
    detector = "none" if oracle_speech else vad or None
    chosen = _warm_model(model, vad, method, first, channel, allow_commands)
    begin = time.process_time()
    result = diarize(
        table,
        model=chosen,
        vad=detector,
        method=method,
        step=step or None,
        seed=seed,
        num_speakers=num_speakers,
        uem=Path(table).with_suffix(".uem") if oracle_speech else None,
        channel=channel,
        allow_commands=allow_commands,
    )
    cpu = time.process_time() - begin
    if result.problems:
        return _outcome(problem=str(result.problems[0]))
    return _outcome(result.turns, result.notes, cpu=cpu)


def label_one(
    *,
    table: str,
    model: str,
    vad: str,
    step: float,
    channel: int | None,
    allow_commands: bool,
    **_: Any,
) -> dict[str, Any]:
    """As `diarize_one`, with true labels; there is nothing to cluster."""
    settings = DiarizeSettings(channel=channel).with_vad(vad or "energy")
    context = RunContext(allow_commands=allow_commands)
    chosen = _model(model, vad)
    diarizer, quality = chosen.diarizer, chosen.quality
    if quality is not None:
        settings = replace(
            settings,
            step=step or quality.step,
            windows=quality.windows,
        )
    [recording] = recordings_of(table)
    truth = list(read_rttm(Path(table).with_suffix(".rttm")))
    try:
        return _outcome(truly_labelled(recording, truth, diarizer, settings, context))
    except Exception as error:  # noqa: BLE001 - of one recording, not of all
        return _outcome(problem=f"{recording.id}: {Problem.of(error).text}")


def _outcome(
    turns: Iterable[Turn] = (),
    notes: Iterable[str] = (),
    problem: str = "",
    cpu: float | None = None,
) -> dict[str, Any]:
    rows = [[turn.segment.start, turn.segment.end, turn.speaker] for turn in turns]
    return {"turns": rows, "notes": list(notes), "problem": problem, "cpu": cpu}


def write_scores(
    run: StageRun, systems: Iterable[str], rules: Rules, *, seed: int
) -> None:
    """Score every system; all speech of recordings without turns is missed.

    Differences to the first system have intervals of a paired bootstrap. The DER is
    also computed with another collar.
    """
    regions = run.before["prepare"] / UEM
    uem = read_uem(regions) if regions.is_file() else None
    reference = read_rttm(run.before["prepare"] / REFERENCE)
    turns = {
        system: read_rttm(run.before[stage_of(system)] / RTTM) for system in systems
    }
    options: dict[str, Any] = {
        "uem": uem,
        "ignore_overlap": rules.overlap == "ignored",
        "seed": seed,
    }
    report = score_systems(reference, turns, collar=rules.collar, **options)
    second = other_collar(rules.collar)
    other = score_systems(reference, turns, collar=second, bootstrap=0, **options)
    scores = {
        system: {
            **_figures(one),
            "other_collar": {
                "collar": second,
                "der": other.systems[system].overall["der"],
            },
        }
        for system, one in report.systems.items()
    }
    for system, compared in zip(list(scores)[1:], report.comparisons, strict=False):
        scores[system]["difference"] = asdict(compared.difference)
    rules_text = report.systems[FOUND].settings.sentences()
    write_json(run.folder / SCORES, {"systems": scores, "rules": rules_text})


def other_collar(collar: float) -> float:
    """Return the second collar: none, or 0.25 s if there is none."""
    return 0.0 if collar > 0.0 else 0.25


def _figures(report: ScoreReport) -> dict[str, Any]:
    return {
        "overall": report.overall,
        "macro": report.macro,
        "interval": asdict(report.interval) if report.interval else None,
        "recordings": {
            name: score.figures for name, score in report.recordings.items()
        },
    }


def _check(
    one: Conversation, channel: int | None, *, allow_commands: bool
) -> tuple[float | None, str]:
    """Return the seconds of a recording, and a problem or an empty string."""
    recording = Recording(one.recording, one.audio, Path(), ())
    try:
        with open_channels(
            recording, channel=channel, allow_commands=allow_commands
        ) as channels:
            seconds = channels[0].n_samples / channels[0].rate
    except Exception as error:  # noqa: BLE001 - of one recording, not of all
        return None, Problem.of(error).text
    last = max(turn.segment.end for turn in one.turns)
    if last > seconds + _SLACK:
        return seconds, (
            f"the reference ends at {last:.1f} s, but the recording at {seconds:.1f} s"
        )
    return seconds, ""


@functools.cache
def _model(model: str, vad: str) -> ChosenModel:
    """Read a model once per process."""
    if model in QUALITIES:
        return choose_model(NEURAL, vad=vad or None, quality=model)
    return choose_model(model, vad=vad or None)


@functools.cache
def _warm_model(
    model: str,
    vad: str,
    method: str,
    table: str,
    channel: int | None,
    allow_commands: bool,  # noqa: FBT001
) -> ChosenModel:
    """Read a model and diarize a minute, so that loops are compiled before timing."""
    chosen = _model(model, vad)
    rate, upsample = chosen.diarizer.rate, chosen.diarizer.upsamples
    context = RunContext(allow_commands=allow_commands)
    # A recording that cannot be read is reported where it is diarized.
    with contextlib.suppress(Exception):
        [recording] = recordings_of(table)
        audio, _ = decode(recording, rate, context, channel=channel, upsample=upsample)
        with audio:
            samples = audio.read(0, min(audio.n_samples, int(WARM_UP * rate)))
        diarize((samples, rate), model=chosen, vad=vad or None, method=method)
    return chosen
