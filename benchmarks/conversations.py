"""Error rate and processor time of diarization systems on the same recordings.

The recordings are clips of AMI meetings below ``$SMS_DIAR_DATA`` or ``../shared/data``,
at 16 kHz. Each system runs in its own process with one thread. Peers have a virtual
environment of their own, which ``scripts/bench conversations`` makes, together with the
two networks for sherpa-onnx (or ``--sherpa FOLDER`` holds segmentation.onnx and
embedding.onnx).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import soundfile

from benchmarks._records import ONE_THREAD, ROOT, Measurement, Options
from benchmarks._runner import tell
from recipes._common.corpora import corpora_folder
from sms_diar.io.kaldi.data_dir import DataDir
from sms_diar.io.turns.rttm import read_rttm
from sms_diar.metrics.diarization.evaluation import score_diarization
from sms_diar.networks.store import is_stored
from sms_diar.pipeline.diarize.models import NEEDED

RATE = 16000
PEERS = ROOT / ".bench-diarizers" / "bin" / "python"
"""Python of the environment of other diarizers."""

SHERPA = ROOT / ".bench-diarizers" / "sherpa"
"""Networks of sherpa-onnx, unless others are given."""

THRESHOLDS = (0.5, 0.7, 0.9)
"""Thresholds of sherpa-onnx, whose users choose one; the first is its default."""


class System(NamedTuple):
    """A system: its name in the report, its function in `_diarizers`, its options."""

    name: str
    kind: str
    options: dict[str, Any]
    absent: str = ""


def systems(options: Options) -> list[System]:
    """Return our systems and peers, with the reason if one cannot run."""
    fetched = all(map(is_stored, NEEDED))
    missing = "" if fetched else f"sms-diar models fetch {' '.join(NEEDED)} gets them"
    alone = "" if PEERS.is_file() else "scripts/bench conversations installs it"
    sherpa = options.paths.get("sherpa", str(SHERPA))
    known = (Path(sherpa) / "embedding.onnx").is_file()
    given = "" if known else "--sherpa names the folder of its networks"
    neural = {"model": "neural"}
    return [
        System("sms-diar, networks", "sms-diar", neural, missing),
        System("sms-diar, step 5 s", "sms-diar", {**neural, "step": 5.0}, missing),
        System("sms-diar, embedded", "sms-diar", {"model": "embedded"}),
        *(
            System(
                f"sherpa-onnx, threshold {threshold}",
                "sherpa-onnx",
                {"networks": sherpa, "threshold": str(threshold)},
                alone or given,
            )
            for threshold in THRESHOLDS
        ),
        System("senko", "senko", {}, alone),
        System("Resemblyzer, spectralcluster, Silero", "resemblyzer", {}, alone),
    ]


def run(options: Options) -> list[Measurement]:
    """Measure every system once; three clips only if quick."""
    data = DataDir(corpora_folder() / "conversations")
    names = sorted(data.audio)[: 3 if options.quick else None]
    found = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        seconds = sum(_write_wav(data.wav_path(name), folder, name) for name in names)
        for system in systems(options):
            tell(f"  diarize     {system.name}")
            found.append(_measure(system, folder, data.path / "ref.rttm", seconds))
    return found


def _measure(
    system: System, folder: Path, reference: Path, seconds: float
) -> Measurement:
    case = f"{len(list(folder.glob('*.wav')))} clips, {seconds:.0f} s"
    known = (system.name, case, round(seconds))
    if system.absent:
        return Measurement(*known, "absent", note=system.absent)
    python = sys.executable if system.kind == "sms-diar" else str(PEERS)
    target = folder / "found.rttm"
    script = Path(__file__).with_name("_diarizers.py")
    command = [python, str(script), system.kind, str(folder), str(target)]
    done = subprocess.run(  # noqa: S603
        [*command, json.dumps(system.options)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **ONE_THREAD},
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        absent = reason.startswith("absent: ")
        return Measurement(
            *known,
            "absent" if absent else "failed",
            note=reason.removeprefix("absent: "),
        )
    cost = json.loads(done.stdout.splitlines()[-1])
    facts = {"factor": cost["cpu"] / seconds, "peak": cost["peak"]}
    facts |= _errors(reference, target, folder)
    return Measurement(*known, "measured", (cost["cpu"],), (cost["wall"],), facts=facts)


def _errors(reference: Path, found: Path, folder: Path) -> dict[str, float]:
    """Return DER in per cent with and without a collar, and its parts with one."""
    names = {path.stem for path in folder.glob("*.wav")}
    true = [turn for turn in read_rttm(reference) if turn.segment.recording in names]
    errors: dict[str, float] = {}
    for name, collar in (("der", 0.25), ("der0", 0.0)):
        overall = score_diarization(true, read_rttm(found), collar=collar).overall
        errors[name] = 100.0 * float(overall["der"] or 0.0)
        if name == "der":
            for part in ("missed", "false_alarm", "confusion"):
                share = float(overall[part] or 0.0) / float(overall["scored"] or 1.0)
                errors[part] = 100.0 * share
    return errors


def _write_wav(path: Path, folder: Path, name: str) -> float:
    """Copy a recording and return its length in seconds."""
    samples, rate = soundfile.read(path, dtype="int16")
    if rate != RATE:
        raise ValueError(f"{path}: must have {RATE} samples per second, has {rate}")
    soundfile.write(folder / f"{name}.wav", samples, rate)
    return len(samples) / rate
