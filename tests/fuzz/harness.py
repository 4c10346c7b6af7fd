"""Every reader of files, and what feeds it bytes it did not expect.

A reader may return or raise an SmsDiarError. It may not raise anything else, take
longer than `LONGEST` seconds, or ask for more than `MEMORY` beyond what a whole file
needs. `scripts/soak fuzz` runs this file; the daily tests import it.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib.util
import io
import json
import os
import random
import re
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sms_diar.errors import SmsDiarError

HERE = Path(__file__).resolve().parent
CORPUS = HERE / "corpus"
LONGEST = 5.0
MEMORY = 300 << 20
LARGEST = 1 << 16
SRE = (2008, 2019)  # a year with fields by position, and one with named columns
MARK = b"\n=====part:"  # parts of archives, so that checksums do not hide the inside


class TookTooLong(BaseException):
    """Raised by the clock; no reader catches it."""


@dataclass(frozen=True)
class Reader:
    """A way to read a file.

    Parameters
    ----------
    name : str
        Also the folder of its seeds.
    suffix : str
        How the file is called.
    read : callable
        Takes its path.
    parts : bool
        Whether inputs are parts of an archive, packed before they are read.
    dear : bool
        Whether it takes long, and so gets a tenth of the executions that are asked for.
    compiled : bool
        Whether its first execution compiles loops, which is not timed.
    """

    name: str
    suffix: str
    read: Callable[[Path], object]
    parts: bool = False
    dear: bool = False
    compiled: bool = False

    def seeds(self) -> list[bytes]:
        """Kept inputs, in the order of their names."""
        return [path.read_bytes() for path in sorted((CORPUS / self.name).glob("*"))]


def readers() -> dict[str, Reader]:
    """All readers by name; imported late, so that atheris can watch them."""
    from recipes._common.nist import EVALUATIONS, read_models, read_trial_key
    from recipes.conversations.transcripts import (
        scan_icsi,
        scan_stm,
        scan_transcript,
    )
    from recipes.telephone.layouts import LAYOUTS, read_calls, read_speaker_list
    from sms_diar.embeddings.extractor import KIND as IVECTORS
    from sms_diar.embeddings.onnx_network import read_description
    from sms_diar.experiment.config import parse_assignment
    from sms_diar.features import kaldi
    from sms_diar.features.front_end import FrontEnd
    from sms_diar.io import labels, trials
    from sms_diar.io.audio.files import AudioFile
    from sms_diar.io.audio.recording import parse_unpacking, split_command
    from sms_diar.io.detect import is_label_table
    from sms_diar.io.embeddings import arrays
    from sms_diar.io.embeddings.files import read_embeddings
    from sms_diar.io.kaldi import ark, plda, tables, transform
    from sms_diar.io.kaldi.data_dir import DataDir, list_recordings
    from sms_diar.io.kaldi.ivector_models import read_extractor, read_mixture
    from sms_diar.io.kaldi.nnet3 import Nnet3, read_nnet3
    from sms_diar.io.kaldi.validate import validate_data_dir
    from sms_diar.io.model import ModelFile, is_model, read_model, write_model
    from sms_diar.io.registry import (
        READ_TRANSCRIPTS,
        TRANSCRIPT_FORMATS,
        WRITTEN_TRANSCRIPTS,
    )
    from sms_diar.io.toml import read_toml
    from sms_diar.io.transcripts.files import read_transcript, transcript_text
    from sms_diar.io.turns import uem
    from sms_diar.io.turns.files import check_annotation, read_annotation
    from sms_diar.networks.nnet3 import Nnet3Network
    from sms_diar.networks.onnx_weights import read_weights
    from sms_diar.networks.torch_archive import read_tensors
    from sms_diar.pipeline.train.models import read_backend, read_ivector_model
    from sms_diar.scoring.calibration import read_fusion

    def checkpoint(path: Path) -> None:
        read_tensors(path, member="state_dict")

    def turns(path: Path) -> None:
        is_label_table(path)
        check_annotation(path)
        read_annotation(path)

    def spoken(format: str) -> Reader:
        """Words and turns of a transcript, by its content and by name.

        The words are written in a format that the size of the file selects.
        """

        def read(path: Path) -> None:
            written = path.stat().st_size % len(WRITTEN_TRANSCRIPTS)
            with suppress(SmsDiarError):
                transcript = read_transcript(path, format)
                transcript_text(transcript, WRITTEN_TRANSCRIPTS[written])
            is_label_table(path)
            check_annotation(path)
            read_transcript(path)

        return Reader(f"words-{format}", TRANSCRIPT_FORMATS[format].suffix, read)

    def audio(path: Path) -> None:
        with AudioFile(path, channel=1) as file:
            file.read(0, min(file.n_samples, 20_000))

    def beside(path: Path) -> None:
        main = path.with_suffix(".ark")
        main.write_bytes(b"a [ 1 2 ]\n")
        path.replace(main.with_name(main.name + ".json"))
        read_embeddings(main)

    def models_of(year: int) -> Callable[[Path], object]:
        return lambda path: read_models([path], EVALUATIONS[year])

    def trials_of(year: int) -> Callable[[Path], object]:
        return lambda path: list(read_trial_key(path, EVALUATIONS[year]))

    def calls(path: Path) -> None:
        layout = LAYOUTS["swbc1"]
        list(read_calls({layout.table: path}, layout))

    def speaker_list(path: Path) -> None:
        list(read_speaker_list(path, "sre2004"))

    def data_dir(path: Path) -> None:
        for line in path.read_bytes().split(MARK):
            name, _, content = line.partition(b"\n")
            if name in (b"wav.scp", b"segments", b"utt2spk", b"spk2utt", b"reco2dur"):
                (path.parent / name.decode()).write_bytes(content)
        validate_data_dir(path.parent)
        list_recordings(DataDir(path.parent))

    def command(path: Path) -> None:
        text = path.read_text(encoding="utf-8", errors="replace")
        parse_unpacking(text)
        try:
            split_command(text)
        except ValueError:  # its way to say so
            return

    def model(path: Path) -> None:
        """A model with the right fingerprint, whatever its arrays."""
        is_model(path)
        found = arrays.load_arrays(path)
        words = {}
        if "words" in found:
            try:
                words = json.loads(str(found.pop("words")))
            except (ValueError, RecursionError):
                return
        words = words if isinstance(words, dict) else {}
        for kind, read in ((IVECTORS, read_ivector_model), ("backend", read_backend)):
            write_model(path, ModelFile(kind, found, words))
            try:
                read(path)
            except SmsDiarError:
                continue

    def nnet3(path: Path) -> None:
        network = Nnet3Network(read_nnet3(path))
        network.output(np.ones((30, min(network.frame_dim, 100))))

    def nnet3_config(path: Path) -> None:
        Nnet3(path, {}, {}).with_config(path)

    def settings(path: Path) -> None:
        FrontEnd.from_dict(read_toml(path))

    def kaldi_options(path: Path) -> None:
        for kind in (kaldi.KaldiMfcc, kaldi.KaldiVad, kaldi.KaldiDeltas):
            try:
                kind.read(path)
            except SmsDiarError:
                continue

    def assignment(path: Path) -> None:
        parse_assignment(path.read_text(encoding="utf-8", errors="replace"))

    def sidekit(path: Path) -> None:
        """Every kind of file of SIDEKIT, whichever it is."""
        for read in (
            read_embeddings,
            labels.read_labels,
            trials.read_scores,
            lambda path: trials.read_trials(path, ("m1", "m2"), ("a", "b", "c")),
        ):
            with suppress(SmsDiarError):
                read(path)

    known = [
        Reader("ark", ".ark", lambda path: list(ark.read_ark(path))),
        Reader("embeddings", ".dat", read_embeddings),
        Reader("scp", ".scp", read_embeddings),
        Reader("csv", ".csv", read_embeddings),
        Reader("json-lines", ".jsonl", read_embeddings),
        Reader("npy", ".npy", arrays.read_npy),
        Reader("npz", ".npz", arrays.read_npz),
        Reader("npz-parts", ".npz", read_embeddings, parts=True),
        Reader("ids", ".ids", arrays.read_ids),
        Reader("parquet", ".parquet", read_embeddings, dear=True),
        Reader("beside", ".json", beside),
        Reader("labels-csv", ".csv", labels.read_labels),
        Reader("labels-json", ".json", labels.read_labels),
        Reader("labels-text", ".txt", labels.read_labels),
        Reader("rttm", ".rttm", turns),
        Reader("ctm", ".ctm", turns),
        Reader("turn-csv", ".csv", turns),
        Reader("turn-json", ".json", turns),
        Reader("srt", ".srt", turns),
        Reader("vtt", ".vtt", turns),
        Reader("textgrid", ".TextGrid", turns),
        Reader("eaf", ".eaf", turns),
        Reader("audacity", ".txt", turns),
        *map(spoken, READ_TRANSCRIPTS),
        Reader("uem", ".uem", uem.read_uem),
        Reader("lab", ".lab", lambda path: uem.read_vad_lab(path, "x")),
        Reader("segments", "", tables.read_segments),
        Reader("utt2spk", "", tables.read_utt2spk),
        Reader("spk2utt", "", tables.read_spk2utt),
        Reader("reco2dur", "", tables.read_reco2dur),
        Reader("reco2num_spk", "", tables.read_reco2num_spk),
        Reader("spk2gender", "", tables.read_spk2gender),
        Reader("wav-scp", ".scp", tables.read_wav_scp),
        Reader("data-dir", ".dir", data_dir, dear=True),
        Reader("command", ".txt", command),
        Reader(
            "trials", ".txt", lambda path: trials.read_trials(path, ("a",), ("b", "c"))
        ),
        Reader("scores", ".txt", trials.read_scores),
        Reader("fusion", ".json", read_fusion),
        Reader("sidekit", ".h5", sidekit, dear=True),
        Reader("mat-h5", ".mat", read_embeddings, dear=True),
        Reader("mat", ".mat", read_embeddings),
        Reader("alize", ".y", read_embeddings),
        Reader("plda", "", plda.read_plda),
        Reader("nnet3", ".raw", nnet3),
        Reader("nnet3-config", ".config", nnet3_config),
        Reader("kaldi-mixture", "", read_mixture),
        Reader("kaldi-extractor", "", read_extractor),
        Reader("kaldi-options", ".conf", kaldi_options),
        Reader("transform", "", transform.read_transform),
        Reader("transform-parts", ".npz", transform.read_transform, parts=True),
        Reader("transform-h5", ".h5", transform.read_transform, dear=True),
        Reader("model", ".npz", lambda path: read_model(path, IVECTORS)),
        Reader("model-parts", ".npz", model, parts=True, dear=True),
        Reader("settings", ".toml", settings),
        Reader("description", ".toml", read_description),
        Reader("assignment", ".txt", assignment),
        Reader("wav", ".wav", audio, dear=True),
        Reader("flac", ".flac", audio, dear=True),
        Reader("ogg", ".ogg", audio, dear=True),
        Reader("sphere", ".sph", audio, dear=True),
        Reader("shorten", ".sph", audio, dear=True, compiled=True),
        Reader("onnx", ".onnx", read_weights),
        Reader("torch", ".bin", read_tensors),
        Reader("torch-parts", ".bin", read_tensors, parts=True),
        Reader("torch-checkpoint", ".bin", checkpoint, parts=True),
        *(Reader(f"sre-models-{year}", ".csv", models_of(year)) for year in SRE),
        *(Reader(f"sre-trials-{year}", ".csv", trials_of(year)) for year in SRE),
        Reader("calls", ".tbl", calls),
        Reader("transcript", ".txt", lambda path: scan_transcript(path, "r")),
        Reader("stm", ".stm", lambda path: list(scan_stm(path))),
        Reader("icsi", ".xml", lambda path: scan_icsi(path, path, "r")),
        Reader("speaker-list", ".txt", speaker_list),
    ]
    return {reader.name: reader for reader in known}


def packed(data: bytes) -> bytes:
    """A zip of the parts of an input."""
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w") as archive:
        warnings.simplefilter("ignore")  # two parts of one name are fair
        for part in data.split(MARK)[1:]:
            name, _, content = part.partition(b"\n")
            archive.writestr(name.decode("latin-1").replace("\0", "") or "x", content)
    return stream.getvalue()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TookTooLong` in what takes longer."""

    def ring(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@functools.cache
def compile_loops(reader: Reader) -> None:
    """Read a seed, so that later executions need not compile."""
    reader.read(min((CORPUS / reader.name).glob("*")))


def fault_of(reader: Reader, data: bytes, folder: Path) -> str | None:
    """Read bytes; what is wrong with the reader, or None."""
    if reader.compiled:
        compile_loops(reader)
    path = folder / f"input{reader.suffix}"
    path.write_bytes(packed(data) if reader.parts else data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fault = None
    try:
        with time_limit(LONGEST), warnings.catch_warnings():
            warnings.simplefilter("error")
            reader.read(path)
    except SmsDiarError as error:
        str(error).encode("utf-8")  # can be shown
    except TookTooLong:
        fault = "took too long"
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        frame = next(
            (f for f in reversed(traceback.extract_tb(error.__traceback__))
             if "sms_diar" in f.filename), None,
        )  # fmt: skip
        where = (
            "" if frame is None else f" at {Path(frame.filename).name}:{frame.lineno}"
        )
        fault = f"{type(error).__name__}{where}: {str(error)[:100]}"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if fault is None and grown * 1024 > MEMORY:
        fault = f"asked for {grown >> 10} MiB"
    return fault


_WORDS = (
    b"\0", b"\xff", b"\xef\xbb\xbf", b"\n", b"\r\n", b" ", b"\t", b",", b'"', b"'",
    b"[", b"]", b"{", b"}", b":", b";", b"|", b"#", b"=", b"-", b"0", b"-1", b"1e999",
    b"nan", b"inf", b"1_0", b"9" * 20, b"9" * 400, b"1e-400", b"\xc2\xb2",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8", b"/dev/zero", b"..", b"x" * 300, b"\0B", b"FV ", b"DM ", b"CM ",
    b"<Plda>", b"<Dim>", b"Offset(", b"IfDefined(",
    b"\x04\xff\xff\xff\x7f", b"\xff\xff\xff\xff", b"\x00\x00\x00\x80",
    b"id", b"speaker", b"true", b"null", b"[[", b"\x80", b"2147483647", b"4294967296",
    b"9223372036854775807", b"18446744073709551616", b"'<U0'", b"'|O'", b"(1, 0)",
)  # fmt: skip


def mutated(rng: random.Random, seeds: list[bytes]) -> bytes:
    """An input made from kept ones by one to six changes."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 2, 4, 8, 30)))
        kind = rng.randrange(9)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            data[min(at, len(data) - 1)] = rng.randrange(256)
        elif kind == 2:
            data[at:at] = rng.choice(_WORDS)
        elif kind == 3:
            data[at:end] = rng.choice(_WORDS)
        elif kind == 4:
            del data[at:end]
        elif kind == 5:
            data[at:at] = data[at:end] * rng.choice((1, 2, 50))
        elif kind == 6:
            del data[at:]
        elif kind == 7:
            other = rng.choice(seeds)
            data[at:] = other[rng.randrange(len(other) + 1) :]
        else:
            number = rng.choice((0, 1, -1, 2**31 - 1, -(2**31), rng.getrandbits(31)))
            data[at : at + 4] = struct.pack(rng.choice("<>") + "i", number)
    return bytes(data[:LARGEST])


@dataclass
class Outcome:
    """What a run found."""

    executions: int = 0
    faults: dict[str, bytes] = field(default_factory=dict)

    def add(self, fault: str | None, data: bytes) -> None:
        """Count an execution; the first input of each fault is kept."""
        self.executions += 1
        if fault is not None:
            key = re.sub(r"\d{3,}", "N", fault)
            kept = self.faults.get(key)
            if kept is None or len(data) < len(kept):
                self.faults[key] = data


def mutate(
    reader: Reader,
    folder: Path,
    *,
    seed: int = 0,
    executions: int | None = None,
    seconds: float | None = None,
) -> Outcome:
    """Feed a reader changed seeds, as often or as long as is said."""
    rng = random.Random(f"{reader.name} {seed}")
    seeds, outcome = reader.seeds(), Outcome()
    end = time.monotonic() + (float("inf") if seconds is None else seconds)
    while outcome.executions != executions and time.monotonic() < end:
        data = mutated(rng, seeds)
        outcome.add(fault_of(reader, data, folder), data)
    return outcome


def watch(
    reader: Reader, folder: Path, report: Path, executions: int | None, seconds: float
) -> None:
    """Let atheris drive a reader by its coverage; ends the process."""
    import atheris

    outcome = Outcome()
    inner = folder / "read"
    inner.mkdir(exist_ok=True)
    end = time.monotonic() + seconds - 0.5
    last = float("inf") if executions is None else executions - 1

    def one(data: bytes) -> None:
        outcome.add(fault_of(reader, data, inner), data)
        done = outcome.executions
        if time.monotonic() > end or done >= last or done % 2000 == 0:
            write_report(report, outcome)

    found = folder / "found"
    found.mkdir(exist_ok=True)
    how_long = (
        f"-max_total_time={round(seconds)}" if executions is None
        else f"-runs={executions}"
    )  # fmt: skip
    options = [
        how_long,
        f"-max_len={LARGEST}",
        "-timeout=60",
        "-rss_limit_mb=4096",
        "-verbosity=0",
        "-print_final_stats=0",
    ]
    seeds = str(CORPUS / reader.name)
    atheris.Setup([sys.argv[0], *options, str(found), seeds], one)
    atheris.Fuzz()


def write_report(path: Path, outcome: Outcome) -> None:
    """Leave what was found for the parent."""
    faults = {fault: data.hex() for fault, data in outcome.faults.items()}
    record = {"executions": outcome.executions, "faults": faults}
    path.write_text(json.dumps(record))


def _run(reader: Reader, options: argparse.Namespace, folder: Path) -> Outcome:
    """Fuzz one reader in a child, which a crash of a library may end."""
    report = folder / "report.json"
    executions, seconds = options.executions, options.seconds
    if executions is not None:
        executions, seconds = executions // (10 if reader.dear else 1), float("inf")
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        if options.engine == "atheris":
            watch(reader, folder, report, executions, seconds)
        found = mutate(
            reader, folder, seed=options.seed, executions=executions, seconds=seconds
        )
        write_report(report, found)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    record: dict[str, Any] = {"executions": 0, "faults": {}}
    if report.exists():
        record = json.loads(report.read_text())
    faults = {fault: bytes.fromhex(data) for fault, data in record["faults"].items()}
    if code != 0 or not report.exists():
        faults[f"the process ended with {code}"] = b""
    return Outcome(record["executions"], faults)


def _watched_readers(engine: str) -> dict[str, Reader]:
    if engine == "mutation":
        return readers()
    import atheris

    with atheris.instrument_imports(include=["sms_diar"]):
        return readers()


def fast_folder() -> str | None:
    """A folder in memory, where there is one: files are written for every input."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def main() -> int:
    """Fuzz readers one after another, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="for each reader")
    parser.add_argument(
        "--executions",
        type=int,
        help="for each reader, in place of a time; a tenth for dear ones",
    )
    parser.add_argument("--engine", choices=("mutation", "atheris"), default=None)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--keep", type=Path, help="folder for inputs that found faults")
    options = parser.parse_args()
    if options.engine is None:
        found = importlib.util.find_spec("atheris")
        options.engine = "mutation" if found is None else "atheris"
    total, wrong = 0, 0
    known = _watched_readers(options.engine)
    for name in options.only or known:
        with tempfile.TemporaryDirectory(dir=fast_folder()) as folder:
            outcome = _run(known[name], options, Path(folder))
        total += outcome.executions
        wrong += len(outcome.faults)
        print(f"{name:16} {outcome.executions:9} executions", flush=True)
        for fault, data in outcome.faults.items():
            print(f"    {fault}\n        {data[:120]!r}", flush=True)
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                digest = hashlib.sha256(data).hexdigest()[:12]
                (options.keep / f"{name}-{digest}").write_bytes(data)
    print(f"{total} executions by {options.engine}, {wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
